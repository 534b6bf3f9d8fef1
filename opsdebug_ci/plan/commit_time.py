"""When a commit came to its branch."""

from __future__ import annotations

from datetime import datetime, timezone
from pathlib import Path

from opsdebug_ci.git.command import answer


def commit_time(root: Path, commit: str) -> datetime | None:
    """Commit time, which a rebase or a squash renews; None: this clone does not know the commit."""
    text = answer(root, "log", "--max-count=1", "--format=%ct", commit, "--")
    return datetime.fromtimestamp(int(text), timezone.utc) if text and text.isdigit() else None

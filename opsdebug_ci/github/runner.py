"""The machine a job runs on, as its variables describe it: where files are and where answers go."""

from __future__ import annotations

import tempfile
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True, slots=True, kw_only=True)
class Runner:
    """Paths of one step."""

    workspace: Path
    """Root of the repository; the current directory outside CI."""

    temporary: Path
    """Emptied before every job; the system's temporary directory outside CI."""

    output_file: Path | None
    """Where step outputs go; None outside CI."""

    summary_file: Path | None
    """Where the step's part of the job summary goes; None outside CI."""

    self_hosted: bool
    """The machine outlives the job."""


def read_runner(environ: Mapping[str, str]) -> Runner:
    """Read the runner's variables."""
    return Runner(
        workspace=Path(environ.get("GITHUB_WORKSPACE") or ".").resolve(),
        temporary=Path(environ.get("RUNNER_TEMP") or tempfile.gettempdir()),
        output_file=_path(environ.get("GITHUB_OUTPUT")),
        summary_file=_path(environ.get("GITHUB_STEP_SUMMARY")),
        self_hosted=environ.get("RUNNER_ENVIRONMENT") == "self-hosted",
    )


def _path(text: str | None) -> Path | None:
    return Path(text) if text else None

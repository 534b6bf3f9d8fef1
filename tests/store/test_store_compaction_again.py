"""A pack that is packed again while files it stands for are still there, as a killed compaction leaves them."""

from __future__ import annotations

import shutil
from datetime import date
from pathlib import Path

from store_documents import run_document

from opsdebug_ci.store.places.backends import open_store
from opsdebug_ci.store.upkeep.compaction import CompactionRules, compact


def compacted(store: Path, entropy: str) -> None:
    compact(open_store(store).backend, today=date(2026, 11, 30), entropy=entropy, rules=CompactionRules(fewest=2))


def test_what_stood_for_files_and_was_packed_again_is_left_to_the_next_compaction(tmp_path: Path) -> None:
    store, before = tmp_path / "store", tmp_path / "before"
    for name in ("r1", "r2"):
        open_store(store).append(run_document("add:pass", name))
    shutil.copytree(store, before)
    compacted(store, "a")
    shutil.copytree(before, store, dirs_exist_ok=True)  # as if it was killed before it removed what it packed
    for name in ("r3", "r4"):
        open_store(store).append(run_document("add:pass", name))
    compacted(store, "b")
    compacted(store, "c")
    assert sorted(open_store(store).load(name).run.id for name in ("r1", "r2", "r3", "r4")) == ["r1", "r2", "r3", "r4"]
    assert [path.name for path in store.glob("runs/**/*r1*")] == []

"""When failures were first seen, and which are accepted."""

from __future__ import annotations

from datetime import datetime, timedelta, timezone
from pathlib import Path

from store_documents import run_document

from opsdebug_ci.store.files.encoding import encode_rows
from opsdebug_ci.store.memory.history import accepted_fingerprints, first_seen
from opsdebug_ci.store.places.backends import open_store
from opsdebug_ci.store.tables import acceptances

NOW = datetime(2026, 11, 30, 12, tzinfo=timezone.utc)


def accept(store: Path, **until: datetime | None) -> None:
    """Record acceptances as `<store>/acceptances/date=.../<id>.parquet`."""
    rows = [{"id": name, "fingerprint": f"v2:{name}", "until": end} for name, end in until.items()]
    directory = store / "acceptances" / "date=2026-11-30"
    directory.mkdir(parents=True)
    (directory / "accepted.parquet").write_bytes(encode_rows(acceptances.TABLE, rows))


def test_without_a_store_there_is_nothing(tmp_path: Path) -> None:
    assert accepted_fingerprints(tmp_path / "none", NOW) == frozenset()
    assert first_seen(tmp_path / "none") == {}


def test_an_acceptance_counts_until_it_lapses(tmp_path: Path) -> None:
    open_store(tmp_path).append(run_document("add:pass", "run-1"))
    assert accepted_fingerprints(tmp_path, NOW) == frozenset()
    second = timedelta(seconds=1)
    accept(tmp_path, forever=None, soon=NOW + second, now=NOW, past=NOW - second)
    assert accepted_fingerprints(tmp_path, NOW) == {"v2:forever", "v2:soon"}


def test_a_failure_was_first_seen_in_its_first_run(tmp_path: Path) -> None:
    store = open_store(tmp_path)
    for run_id, cases in (("run-1", "add:fail/f1"), ("run-2", "add:fail/f1 gelu:fail/f2"), ("run-3", "add:pass")):
        store.append(run_document(cases, run_id))
    seen = first_seen(tmp_path)
    assert set(seen) == {"f1", "f2"}
    assert all(moment.tzinfo is not None for moment in seen.values())

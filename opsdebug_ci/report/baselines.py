"""A store and its runs as text. What is to be known of them beside that, the notes, is for another stream.

Decides what is shown at a glance; everything else is one SQL query away.
"""

from __future__ import annotations

from opsdebug_ci.model.baselines import BaselinesDocument, StoredRunRow
from opsdebug_ci.model.vocabulary import Stage
from opsdebug_ci.report.escape import plain
from opsdebug_ci.report.figures import counted
from opsdebug_ci.report.table import aligned

SHORT = 12
"""Characters of a commit hash that are shown."""

_BY_HAND = "outside CI"

_HEADER = ("run", "started (UTC)", "stage", "commit", "event", "verdict", "machine", "cases", "failed")


def baselines_text(document: BaselinesDocument) -> str:
    """Runs in a table, then the store in a line."""
    lines = aligned(_HEADER, [_cells(run) for run in document.runs], left=7) if document.runs else [_none(document)]
    hidden = document.run_count - len(document.runs)
    more = [f"and {hidden:,} older"] if hidden > 0 and document.runs else []
    return "\n".join([*lines, *more, "", *_store(document), *(f"next: {line}" for line in document.next)])


def store_text(document: BaselinesDocument) -> str:
    """The store: tables and their sizes."""
    tables = [(size.table, f"{size.files:,}", _size(size.size_bytes)) for size in document.tables]
    return "\n".join(
        [
            *_store(document),
            "",
            *aligned(("table", "files", "size"), tables),
            *(f"next: {line}" for line in document.next),
        ]
    )


def run_text(document: BaselinesDocument) -> str:
    """One run: every fact of its row."""
    (run,) = document.runs
    imported = run.stage == Stage.IMPORT
    facts = [
        ("run", run.id),
        ("started", f"{run.started_at[:19].replace('T', ' ')} (UTC)"),
        ("stage", run.stage),
        ("commit", run.commit or "outside git"),
        ("branch", run.branch or ("-" if imported else "detached")),
        ("event", f"{run.event}, attempt {run.attempt}" if run.event else _BY_HAND),
        ("machine", run.machine_key),
        ("verdict", run.verdict),
        ("cases", f"{run.cases:,}, {run.failures:,} failed"),
        ("stored", _stored(run)),
    ]
    shown = aligned(("", ""), [(name, plain(value)) for name, value in facts], left=2)[1:]
    superseded = ["superseded: a higher attempt of this job is stored"] if run.superseded else []
    return "\n".join([*shown, *superseded, *(f"next: {line}" for line in document.next)])


def run_facts(run: StoredRunRow) -> str:
    """One run in a line: id, start, stage, commit, size."""
    started = f"{run.started_at[:16].replace('T', ' ')} UTC"
    size = _size(run.size_bytes) if run.size_bytes else "size not recorded"
    return plain(f"{run.id}, {started}, {run.stage}, {run.commit[:SHORT] or 'outside git'}, {size}")


def _store(document: BaselinesDocument) -> list[str]:
    rows_bytes = sum(size.size_bytes for size in document.tables)
    files = sum(size.files for size in document.tables)
    bundles = "size not known" if document.bundle_bytes is None else _size(document.bundle_bytes)
    lines = [
        f"store {plain(document.location)}: {counted(document.run_count, 'run')} in "
        f"{counted(files, 'file')} ({counted(document.packs, 'pack')}), {_size(rows_bytes)}; "
        f"{counted(document.bundles, 'bundle')}, {bundles}; format {document.format_version}"
    ]
    if document.leftover_files:
        left = f"{counted(document.leftover_files, 'file')} left over"
        lines.append(f"{left}: `opsdebug baselines verify` says of what")
    return lines


def _none(document: BaselinesDocument) -> str:
    return "no run that can be read" if document.run_count or not document.complete else "no run"


def _cells(run: StoredRunRow) -> tuple[str, ...]:
    verdict = f"{run.verdict} (superseded)" if run.superseded else run.verdict
    started = run.started_at[:16].replace("T", " ")
    facts = (run.id, started, run.stage, run.commit[:SHORT], run.event or _BY_HAND, verdict, run.machine_key)
    return (*map(plain, facts), f"{run.cases:,}", f"{run.failures:,}")


def _stored(run: StoredRunRow) -> str:
    rows = f"{counted(run.rows, 'row')}, {_size(run.size_bytes)}" if run.rows else "size not recorded"
    return f"{rows}, in pack {run.pack}" if run.pack else f"{rows}, in files of its own"


def _size(size_bytes: int) -> str:
    """Bytes in the largest binary unit (IEC 80000-13) of which there is one."""
    amount = float(size_bytes)
    for unit in ("B", "KiB", "MiB"):
        if amount < 1024:
            return f"{amount:.0f} {unit}" if unit == "B" else f"{amount:.1f} {unit}"
        amount /= 1024
    return f"{amount:.1f} GiB"

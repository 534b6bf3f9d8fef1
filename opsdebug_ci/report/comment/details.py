"""What nobody need look at first: every operator in a table, where it ran, what it was compared with, remarks.

Decides which lines there are; the summary of a single run has the same.
"""

from __future__ import annotations

from opsdebug_ci.model.document import RunDocument
from opsdebug_ci.model.machine import Machine
from opsdebug_ci.report import figures, rollup
from opsdebug_ci.report.comment.amount import STATEMENT_LIMIT
from opsdebug_ci.report.comment.unsettled import operators
from opsdebug_ci.report.escape import md_prose, md_text
from opsdebug_ci.report.text import HEADER


def operator_table(document: RunDocument, most: int) -> list[str]:
    """One row per operator, those with failures first."""
    rows = rollup.operator_rows(document)
    if not rows:
        return []
    lines = ["| " + " | ".join(HEADER) + " |", "|---|" + "---:|" * (len(HEADER) - 1), *map(_row, rows[:most])]
    return ["\n".join(lines), *([f"and {len(rows) - most:,} more operators."] if len(rows) > most else [])]


def _row(row: rollup.OperatorRow) -> str:
    numbers = (row.cases, row.passed, row.failed, row.other)
    cells = [
        md_text(row.operator),
        *map(figures.count, numbers),
        figures.error_size(row.worst),
        figures.count(row.ulp_p99),
    ]
    return f"| {' | '.join(cells)} |"


def remarks(document: RunDocument, most: int) -> list[str]:
    """The baseline, amber passes, own tolerances, what did not run, notes."""
    amber, causes = rollup.amber_cases(document), figures.tally(rollup.amber_causes(document))
    overridden, unchanged = rollup.overridden_operators(document), document.unchanged
    unavailable = tuple(item.operator for item in document.unavailable)
    how = md_prose(document.baseline_how, STATEMENT_LIMIT)
    return [
        *([f"{how[:1].upper()}{how[1:]}."] if how else []),
        *([f"Amber, passing within the worst case: {amber:,}{causes}."] if amber else []),
        *([f"Judged by their own tolerance: {operators(overridden, most)}."] if overridden else []),
        *([f"Unchanged, not run: {operators(unchanged, most)}."] if unchanged else []),
        *(f"Note: {md_prose(note, STATEMENT_LIMIT)}." for note in document.notes[:most]),
        *([f"Not on this machine: {operators(unavailable, most)}."] if unavailable else []),
    ]


def machine_line(machine: Machine) -> str:
    """Where the run was made."""
    devices = ", ".join(md_text(device) for device in machine.devices) or "no accelerator"
    cores = figures.counted(machine.cores, "core")
    place = f"{md_text(machine.cpu)} ({cores}), {devices}, {md_text(machine.system)}"
    return f"Ran on {place}; Python {md_text(machine.python)}, torch {md_text(machine.torch or 'none')}."

"""A run as text for a terminal or a log: conclusion, table, failures, what did not run, next commands.

Decides what is shown at which verbosity. No colour: the command line adds it to a terminal.
"""

from __future__ import annotations

from opsdebug_ci.model.document import ObservationDocument, RunDocument
from opsdebug_ci.model.judgement import Group
from opsdebug_ci.model.vocabulary import Verdict
from opsdebug_ci.report import figures, rollup
from opsdebug_ci.report.attribution import look_command
from opsdebug_ci.report.escape import plain
from opsdebug_ci.report.performance import performance_sections
from opsdebug_ci.report.readings import output_lines, short_lines
from opsdebug_ci.report.table import aligned

HEADER = ("operator", "cases", "pass", "fail", "other", "worst error", "ULP P99")

GROUPS_SHOWN = 3
"""New causes told unless more detail is asked for."""

REASONS_SHOWN = 10
"""Reasons of a list, each with its next command where there is one, shown unless more detail is asked for."""

SLOWEST_SHOWN = 3
"""Operators named as the slowest."""

_NAME_WIDTH = 60


def text(document: RunDocument, verbosity: int = 0, *, recorded: str | None = None) -> str:
    """The report, ending in a newline.

    Args:
        document: the run.
        recorded: store the run was recorded in; None: nothing is said about it.
        verbosity: 0 conclusion and key numbers; 1 adds the readings of each case that did not pass; 2 of every case.
    """
    sections = [
        [f"{str(document.summary.verdict).upper()}: {rollup.conclusion(document)}"],
        _table(document),
        _failures(document, verbosity),
        *performance_sections(document.performance, verbosity),
        _unsettled(document, verbosity),
        _skipped(document, verbosity),
        _notes(document),
        _cases(document, verbosity),
        [
            *([] if recorded is None else [f"recorded as {document.run.id} in {plain(recorded)}"]),
            *(f"next: {plain(command)}" for command in document.next[:1]),
        ],
    ]
    return "\n\n".join("\n".join(section) for section in sections if section) + "\n"


def _table(document: RunDocument) -> list[str]:
    rows = [
        (
            plain(row.operator, _NAME_WIDTH),
            figures.count(row.cases),
            figures.count(row.passed),
            figures.count(row.failed),
            figures.count(row.other),
            figures.error_size(row.worst),
            figures.count(row.ulp_p99),
        )
        for row in rollup.operator_rows(document)
    ]
    return aligned(HEADER, rows) if rows else []


def _failures(document: RunDocument, verbosity: int) -> list[str]:
    groups = document.summary.groups
    if verbosity:
        lines = [line for number, group in enumerate(groups, 1) for line in _group(document, number, group)]
        return ["failures:", *lines] if lines else []
    new = [group for group in groups if not group.known]
    known = len(groups) - len(new)
    lines = [line for number, group in enumerate(new[:GROUPS_SHOWN], 1) for line in _short(document, number, group)]
    rest = [
        *([figures.counted(len(new) - GROUPS_SHOWN, "more cause")] if len(new) > GROUPS_SHOWN else []),
        *([figures.counted(known, "known cause")] if known else []),
    ]
    return ["failures:", *lines, *([f"  and {', '.join(rest)}: -v lists them"] if rest else [])] if groups else []


def _short(document: RunDocument, number: int, group: Group) -> list[str]:
    """The sentence, where it fails, and how to see it."""
    case = rollup.representative(document, group)
    finding = case.findings[0] if case is not None and case.findings else None
    command = group.replay or (None if finding is None else finding.next)
    where = "; ".join(rollup.group_facts(group))
    return [
        f"  {number}. {plain(group.operator, _NAME_WIDTH)}: {group.cause}: {plain(group.statement)}",
        f"     {plain(where)}",
        *([f"     {'replay' if group.replay else 'next'}: {plain(command)}"] if command else []),
    ]


def _group(document: RunDocument, number: int, group: Group) -> list[str]:
    case = rollup.representative(document, group)
    finding = case.findings[0] if case is not None and case.findings else None
    look = look_command(case) if case is not None else None
    blame = f", blames the {finding.blame}" if finding is not None else ""
    cases = f"{group.count:,} case" + ("" if group.count == 1 else "s")
    known = f", {plain(rollup.recorded(group))}" if group.known else ""
    return [
        f"  {number}. {plain(group.operator, _NAME_WIDTH)}: {group.cause}{blame}, {cases}, {group.fingerprint}{known}",
        f"     {plain(group.statement)}",
        *(f"     {plain(line)}" for line in rollup.group_facts(group)),
        *(f"     {line}" for line in ([] if case is None else short_lines(case))),
        *([f"     next: {plain(finding.next)}"] if finding is not None else []),
        *([f"     then: {plain(look)}"] if look is not None else []),
        *([f"     replay: {plain(group.replay)}"] if group.replay is not None else []),
    ]


def _unsettled(document: RunDocument, verbosity: int) -> list[str]:
    shown, more = _first(rollup.reasons(document, rollup.UNSETTLED), verbosity)
    lines = []
    for item in shown:
        lines.append(f"  {item.verdict}, {item.count:,}x {plain(item.operator, _NAME_WIDTH)}: {plain(item.reason)}")
        if item.next is not None:
            lines.append(f"     next: {plain(item.next)}")
    return ["not settled:", *lines, *more] if lines else []


def _skipped(document: RunDocument, verbosity: int) -> list[str]:
    shown, more = _first(rollup.reasons(document, (Verdict.SKIPPED,)), verbosity)
    lines = [f"  {item.count:,}x {plain(item.operator, _NAME_WIDTH)}: {plain(item.reason)}" for item in shown]
    return ["skipped:", *lines, *more] if lines else []


def _first(items: tuple[rollup.Reason, ...], verbosity: int) -> tuple[tuple[rollup.Reason, ...], list[str]]:
    """The reasons that are shown, and the line that stands for the others."""
    shown = items if verbosity else items[:REASONS_SHOWN]
    hidden = len(items) - len(shown)
    return shown, [f"  ... and {hidden:,} more: -v lists them"] if hidden else []


def _notes(document: RunDocument) -> list[str]:
    amber, causes = rollup.amber_cases(document), figures.tally(rollup.amber_causes(document))
    slow = [f"{plain(name, _NAME_WIDTH)} {seconds:.0f} s" for name, seconds in rollup.slowest(document).items()]
    overridden, never = rollup.overridden_operators(document), rollup.never_judged(document)
    return [
        *([plain(document.baseline_how)] if document.baseline_how else []),
        *([f"never judged: {_names(never)} (every case skipped)"] if never else []),
        *(
            [f"amber: {amber:,} passing, beyond the statistical tolerance, within the worst case{causes}"]
            if amber
            else []
        ),
        *([f"own tolerance (atol, rtol) instead of ours: {_names(overridden)}"] if overridden else []),
        *([f"unchanged, not run: {_names(document.unchanged)}"] if document.unchanged else []),
        *(f"note: {plain(note)}" for note in document.notes),
        *([f"slowest: {', '.join(slow[:SLOWEST_SHOWN])}"] if slow else []),
        *(f"not here: {plain(o.operator, _NAME_WIDTH)}: {plain(o.reason)}" for o in document.unavailable),
    ]


def _names(operators: tuple[str, ...]) -> str:
    return ", ".join(plain(operator, _NAME_WIDTH) for operator in operators)


def _cases(document: RunDocument, verbosity: int) -> list[str]:
    quiet = (Verdict.PASS, Verdict.SKIPPED)
    shown = [o for o in document.observations if verbosity > 1 or (verbosity == 1 and o.verdict not in quiet)]
    return ["cases:", *(line for observation in shown for line in _case(observation))] if shown else []


def _case(observation: ObservationDocument) -> list[str]:
    reference = observation.reference
    used = f"reference {reference.used}, confidence {reference.confidence}" if reference.used else "nothing compared"
    dissent = f"; {plain(reference.dissent)}" if reference.dissent else ""
    timing = observation.timing
    time = f"; {figures.milliseconds(timing.total_ns)} in all" if timing is not None else ""
    return [
        f"  {str(observation.verdict).upper()} {plain(observation.case.name)}",
        f"    {used}{dissent}{time}",
        *([f"    reason: {plain(observation.reason)}"] if observation.reason else []),
        *(f"    {line}" for output in observation.outputs for line in output_lines(output)),
        *(
            f"    {finding.cause} {finding.confidence:.2f} ({finding.blame}): {plain(finding.statement)}"
            for finding in observation.findings
        ),
    ]

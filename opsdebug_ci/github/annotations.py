"""Annotations of a run: one for each failure group and each regression, beside the operator that is wrong or slower.

Decides what deserves one and where it goes. Pure; rendering and capping are `workflow_commands`' business.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import PurePath

from opsdebug_ci.github.workflow_commands import Annotation, Level
from opsdebug_ci.model import FAILING_VERDICTS, ObservationDocument, OperatorSource, RunDocument, Verdict
from opsdebug_ci.model.speed import Comparison, SpeedVerdict

DOUBTFUL: tuple[Verdict, ...] = (Verdict.ERROR, Verdict.INCONCLUSIVE)
"""Verdicts that need a person but do not accuse the operator."""


def annotate(document: RunDocument, workspace: PurePath) -> tuple[Annotation, ...]:
    """Every remark of `document`, errors first.

    Args:
        document: the run.
        workspace: root of the repository on the machine that ran it; paths outside it lose their location.
    """
    sources = {source.operator: source for source in document.sources}
    errors = _first_of_each(document, FAILING_VERDICTS)
    warnings = _first_of_each(document, DOUBTFUL)
    failed, doubtful = (
        tuple(_annotation(level, seen, count, sources.get(seen.case.operator), workspace) for seen, count in chosen)
        for level, chosen in ((Level.ERROR, errors), (Level.WARNING, warnings))
    )
    slower = tuple(_slower(group, sources.get(group[0].case.operator), workspace) for group in _regressions(document))
    return (*failed, *slower, *doubtful)


def _regressions(document: RunDocument) -> tuple[tuple[Comparison, ...], ...]:
    """Regressed series by operator, as they are ordered: the worst first. Those somebody accepted are left out."""
    run = None if document.performance is None else document.performance.comparison
    flagged = frozenset(document.regressions)
    groups: dict[str, list[Comparison]] = {}
    for comparison in () if run is None else run.comparisons:
        operator = comparison.case.operator
        if comparison.verdict is SpeedVerdict.REGRESSED and operator in flagged:
            groups.setdefault(operator, []).append(comparison)
    return tuple(map(tuple, groups.values()))


def _slower(group: tuple[Comparison, ...], source: OperatorSource | None, workspace: PurePath) -> Annotation:
    worst = group[0]
    more = f", and {len(group) - 1} more" if len(group) > 1 else ""
    return Annotation(
        level=Level.WARNING,
        title=f"{worst.case.operator}: slower, needs a person",
        message=f"{worst.statement}\n{worst.case.name}{more}\nnext: opsdebug profile {worst.case.operator}",
        file=None if source is None else relative_path(source.file, workspace),
        line=None if source is None else source.line,
    )


def _first_of_each(document: RunDocument, verdicts: tuple[Verdict, ...]) -> tuple[tuple[ObservationDocument, int], ...]:
    """One observation of every group (fingerprint, else operator and cause), with the size of the group: the one that
    speaks for it elsewhere too, else the first.

    Failures known at the baseline are left out: no line of the change is to blame for them."""
    known = {group.fingerprint for group in document.summary.groups if group.known}
    groups: dict[tuple[str, str], list[ObservationDocument]] = {}
    for observation in document.observations:
        if observation.verdict in verdicts and observation.fingerprint not in known:
            cause = str(observation.findings[0].cause) if observation.findings else str(observation.verdict)
            key = (observation.case.operator, observation.fingerprint or cause)
            groups.setdefault(key, []).append(observation)
    leads = {group.fingerprint: group.cases[0] for group in document.summary.groups if group.cases}
    return tuple((_lead(members, leads), len(members)) for members in groups.values())


def _lead(members: list[ObservationDocument], leads: Mapping[str, str]) -> ObservationDocument:
    lead = leads.get(members[0].fingerprint or "")
    return next((member for member in members if member.case.id == lead), members[0])


def _annotation(
    level: Level, observation: ObservationDocument, count: int, source: OperatorSource | None, workspace: PurePath
) -> Annotation:
    finding = observation.findings[0] if observation.findings else None
    what = str(finding.cause) if finding else str(observation.verdict)
    statement = finding.statement if finding else observation.reason or str(observation.verdict)
    cases = "1 case" if count == 1 else f"{count} cases"
    lines = [statement, f"{cases}, first: {observation.case.name}"]
    if finding and finding.next:
        lines.append(f"next: {finding.next}")
    return Annotation(
        level=level,
        title=f"{observation.case.operator}: {what}",
        message="\n".join(lines),
        file=None if source is None else relative_path(source.file, workspace),
        line=None if source is None else source.line,
    )


def relative_path(file: str, workspace: PurePath) -> str | None:
    """`file` relative to `workspace` as a POSIX path, or None when it lies elsewhere."""
    path = type(workspace)(file)
    if not path.is_absolute():
        return path.as_posix()
    return path.relative_to(workspace).as_posix() if path.is_relative_to(workspace) else None

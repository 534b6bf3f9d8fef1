"""Annotations of a run: one for each failure group, beside the operator that is wrong.

Decides what deserves one and where it goes. Pure; rendering and capping are `workflow_commands`' business.
"""

from __future__ import annotations

from pathlib import PurePath

from opsdebug_ci.github.workflow_commands import Annotation, Level
from opsdebug_ci.model import FAILING_VERDICTS, ObservationDocument, OperatorSource, RunDocument, Verdict

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
    return tuple(
        _annotation(level, observation, count, sources.get(observation.case.operator), workspace)
        for level, chosen in ((Level.ERROR, errors), (Level.WARNING, warnings))
        for observation, count in chosen
    )


def _first_of_each(document: RunDocument, verdicts: tuple[Verdict, ...]) -> tuple[tuple[ObservationDocument, int], ...]:
    """The first observation of every group (fingerprint, else operator and cause), with the size of the group."""
    groups: dict[tuple[str, str], list[ObservationDocument]] = {}
    for observation in document.observations:
        if observation.verdict in verdicts:
            cause = str(observation.findings[0].cause) if observation.findings else str(observation.verdict)
            key = (observation.case.operator, observation.fingerprint or cause)
            groups.setdefault(key, []).append(observation)
    return tuple((members[0], len(members)) for members in groups.values())


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
        file=None if source is None else _relative(source.file, workspace),
        line=None if source is None else source.line,
    )


def _relative(file: str, workspace: PurePath) -> str | None:
    """`file` relative to `workspace` as a POSIX path, or None when it lies elsewhere."""
    path = type(workspace)(file)
    if not path.is_absolute():
        return path.as_posix()
    return path.relative_to(workspace).as_posix() if path.is_relative_to(workspace) else None

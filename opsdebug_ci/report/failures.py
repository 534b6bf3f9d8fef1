"""Recorded causes as text: a table of all, or everything about one.

Decides what is shown, not what is known.
"""

from __future__ import annotations

import json

from opsdebug_ci.model.failure_list import CauseDetail, CauseState, FailureCause, FailuresDocument, Sighting
from opsdebug_ci.report.escape import plain
from opsdebug_ci.report.figures import MISSING
from opsdebug_ci.report.table import aligned

COMMIT_DIGITS, FINGERPRINT_DIGITS, BUNDLE_DIGITS = 10, 11, 12
"""Digits shown in a table; the fingerprint's version included."""


MOST_LISTED = 10
"""Bundles of one cause that are listed; the document has all."""


def failures_text(document: FailuresDocument) -> str:
    """The report, ending in a newline."""
    if document.detail is not None and len(document.causes) == 1:
        sections = [_heading(document.causes[0]), *_sections(document.causes[0], document.detail)]
    else:
        sections = [_conclusion(document), _table(document), *(_told(cause) for cause in document.causes)]
    sections += [
        [f"refused: {plain(text)}" for text in document.refused],
        [f"next: {plain(command)}" for command in document.next],
    ]
    return "\n\n".join("\n".join(section) for section in sections if section) + "\n"


def _conclusion(document: FailuresDocument) -> list[str]:
    where = " and ".join(map(plain, document.places))
    if not document.causes:
        return [f"no failure is recorded in {where}"]
    open_ = sum(cause.state is CauseState.OPEN for cause in document.causes)
    return [f"{_counted(len(document.causes), 'cause')} in {where}, {open_:,} open"]


def _table(document: FailuresDocument) -> list[str]:
    header = ("fingerprint", "operator", "cause", "state", "cases", "runs", "first seen", "last seen", "bundle")
    rows = [
        (
            cause.fingerprint[:FINGERPRINT_DIGITS],
            plain(cause.operator),
            plain(cause.cause),
            _state(cause),
            f"{cause.cases:,}",
            f"{cause.runs:,}" if cause.runs else MISSING,
            _seen(cause.first),
            _seen(cause.last),
            MISSING if cause.bundle is None else cause.bundle[:BUNDLE_DIGITS],
        )
        for cause in document.causes
    ]
    return aligned(header, rows, left=4) if rows else []


def _told(cause: FailureCause) -> list[str]:
    return [
        f"{cause.fingerprint[:FINGERPRINT_DIGITS]} {plain(cause.operator)}: {plain(cause.statement)}",
        *(f"  fails where {plain(text)}" for text in cause.separators[:1]),
        *([f"  {plain(cause.boundary)}"] if cause.boundary is not None else []),
    ]


def _heading(cause: FailureCause) -> list[str]:
    return [
        f"{plain(cause.operator)}: {plain(cause.cause)}: {plain(cause.statement)}",
        f"  {_state(cause)}; {_counted(cause.cases, 'case')} {_runs(cause)}",
        f"  first seen {_seen(cause.first)}, last seen {_seen(cause.last)}",
        *([f"  one cause because: {plain(cause.why)}"] if cause.why else []),
        *(f"  fails where {plain(text)}" for text in cause.separators),
        *([f"  {plain(cause.boundary)}"] if cause.boundary is not None else []),
    ]


def _runs(cause: FailureCause) -> str:
    return f"in {_counted(cause.runs, 'run')}" if cause.runs else "in bundles; no recorded run tells of it"


def _sections(cause: FailureCause, detail: CauseDetail) -> list[list[str]]:
    return [
        _fields(cause),
        _listed("bundles:", _bundles(cause)),
        _listed("failed:", [f"{row.verdict} {row.name} {_seen(row.seen)}" for row in detail.failed]),
        _listed("evidence:", [f"{name} {json.dumps(value)}" for name, value in detail.evidence.items()]),
        _listed("memory:", detail.readings),
        _listed("stack, innermost last:", detail.stack),
        _listed("unhealthy steps:", detail.steps),
        _listed("nearest passing case:", [detail.nearest_passing] if detail.nearest_passing else ()),
        _listed("failed with:", [f"{name} {value}" for name, value in detail.environment]),
        _listed("note:", detail.notes),
    ]


def _bundles(cause: FailureCause) -> list[str]:
    every = list(cause.bundles) or [*filter(None, (cause.bundle,))]
    more = len(every) - MOST_LISTED
    return [*every[:MOST_LISTED], *([f"and {more:,} more, in `--json`"] if more > 0 else [])]


def _fields(cause: FailureCause) -> list[str]:
    found = cause.identity
    if found is None:
        return _listed("fingerprint:", cause.members)
    fields = (
        ("kind", found.kind),
        ("cause", found.cause),
        ("target", found.target),
        ("step", found.node),
        ("zone", found.zone),
        ("distance", found.distance),
        ("pattern", found.pattern),
        ("frames", ", ".join(found.frames)),
        ("dtypes", found.dtype_family),
    )
    return [
        *_listed("fingerprint:", cause.members),
        *(f"  {name:<9}{plain(value)}" for name, value in fields if value),
    ]


def _listed(title: str, lines: list[str] | tuple[str, ...]) -> list[str]:
    return [title, *(f"  {plain(line)}" for line in lines)] if lines else []


def _counted(number: int, noun: str) -> str:
    return f"{number:,} {noun}" + ("" if number == 1 else "s")


def _state(cause: FailureCause) -> str:
    if cause.state is CauseState.NOT_SEEN:
        return f"not seen since {_commit(cause.last)}"
    return str(cause.state)


def _seen(seen: Sighting) -> str:
    day = (seen.at or "").partition("T")[0]
    return " ".join(filter(None, (_commit(seen), day))) or MISSING


def _commit(seen: Sighting) -> str:
    return plain(seen.commit)[:COMMIT_DIGITS] or ("" if seen.at else MISSING)

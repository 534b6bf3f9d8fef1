"""A self-test as text: conclusion, rates, causes, then everything that was missed, misnamed or alarmed.

Decides what is shown at which verbosity. No colour: the command line adds it to a terminal.
"""

from __future__ import annotations

from collections.abc import Callable

from opsdebug_ci.model.selftest import CleanTrouble, DefectResult, Rate, SelftestDocument
from opsdebug_ci.model.vocabulary import FAILING_VERDICTS
from opsdebug_ci.report import figures
from opsdebug_ci.report.escape import plain
from opsdebug_ci.report.table import aligned

TROUBLES_SHOWN = 20
"""Cases of correct operators listed unless more detail is asked for."""

NEXT = "opsdebug ci --stage smoke"
"""Next step once the tool has shown that it can be trusted."""


def selftest_text(document: SelftestDocument, verbosity: int = 0) -> str:
    """The report, ending in a newline.

    Args:
        document: the self-test.
        verbosity: 0 rates and what went wrong; 1 adds what was said of it; 2 of every defect.
    """
    sections = [
        [f"{str(document.verdict).upper()}: {_conclusion(document)}"],
        _rates(document),
        _causes(document),
        _missed(document.defects),
        _misnamed(document.defects, verbosity),
        _troubles(document.troubles, verbosity),
        _named(document.defects) if verbosity > 1 else [],
        [f"not here: {plain(item.operator)}: {plain(item.reason)}" for item in document.unavailable],
        [f"next: {plain(_next(document))}"],
    ]
    return "\n\n".join("\n".join(section) for section in sections if section) + "\n"


def _conclusion(document: SelftestDocument) -> str:
    if document.reasons:
        return "; ".join(map(plain, document.reasons))
    return (
        f"{_of(document.detection)} planted defects caught, {document.false_alarms.count:,} false alarms in "
        f"{document.false_alarms.of:,} correct cases, {document.duration_ns / 1e9:.0f} s"
    )


def _of(rate: Rate) -> str:
    return f"{rate.count:,} of {rate.of:,}"


def _rates(document: SelftestDocument) -> list[str]:
    rows = (
        ("planted defects caught", document.detection),
        ("cause named first", document.top1),
        ("cause among the first three", document.top3),
        ("false alarms on correct cases", document.false_alarms),
        ("correct cases left open", document.inconclusive),
    )
    header = ("", "count", "share", "95 % interval")
    return aligned(header, [(name, _of(rate), _share(rate), _interval(rate)) for name, rate in rows])


def _share(rate: Rate) -> str:
    return figures.percent(rate.count / rate.of if rate.of else None)


def _interval(rate: Rate) -> str:
    return f"{rate.low:.2%} to {rate.high:.2%}"


def _causes(document: SelftestDocument) -> list[str]:
    rows = [
        (str(row.cause), *map(figures.count, (row.planted, row.detected, row.top1, row.top3)))
        for row in document.causes
    ]
    return aligned(("cause", "planted", "caught", "named first", "in first three"), rows) if rows else []


def _missed(defects: tuple[DefectResult, ...]) -> list[str]:
    missed = [defect for defect in defects if not defect.detected]
    return _listed("missed:", missed, lambda defect: [f"no case of {defect.cases:,} failed"])


def _misnamed(defects: tuple[DefectResult, ...], verbosity: int) -> list[str]:
    misnamed = [defect for defect in defects if defect.detected and not defect.top1]
    return _listed("caught under another name:", misnamed, lambda defect: _findings(defect, verbosity))


def _named(defects: tuple[DefectResult, ...]) -> list[str]:
    named = [defect for defect in defects if defect.top1]
    return _listed("caught and named:", named, lambda defect: _findings(defect, verbosity=1))


def _listed(title: str, defects: list[DefectResult], details: Callable[[DefectResult], list[str]]) -> list[str]:
    lines = [line for defect in defects for line in _defect(defect, details(defect))]
    return [title, *lines] if lines else []


def _defect(defect: DefectResult, details: list[str]) -> list[str]:
    wanted = " or ".join(map(str, defect.accepted))
    return [
        f"  {defect.name}: {plain(defect.wrong)}; wanted {wanted}",
        *(f"     {line}" for line in details),
        f"     next: {plain(defect.next)}",
    ]


def _findings(defect: DefectResult, verbosity: int) -> list[str]:
    if not verbosity:
        return ["said " + ", ".join(f"{named.cause} {named.confidence:.2f}" for named in defect.found[:3])]
    said = [f"{named.cause} {named.confidence:.2f}: {plain(named.statement)}" for named in defect.found]
    return [*([plain(defect.case)] if defect.case else []), *said]


def _troubles(troubles: tuple[CleanTrouble, ...], verbosity: int) -> list[str]:
    """Alarms first."""
    ordered = sorted(troubles, key=lambda trouble: trouble.verdict not in FAILING_VERDICTS)
    shown = ordered if verbosity else ordered[:TROUBLES_SHOWN]
    lines = [line for trouble in shown for line in _trouble(trouble)]
    if len(ordered) > len(shown):
        lines.append(f"  ... and {len(ordered) - len(shown):,} more: -v lists them")
    return ["correct operators that did not pass:", *lines] if lines else []


def _trouble(trouble: CleanTrouble) -> list[str]:
    return [
        f"  {str(trouble.verdict).upper()} {plain(trouble.case)}",
        f"     {plain(trouble.statement)}",
        f"     next: {plain(trouble.next)}",
    ]


def _next(document: SelftestDocument) -> str:
    """The gravest first: a missed defect, an alarm, an open case, a wrong name."""
    grave = [
        *(defect.next for defect in document.defects if not defect.detected),
        *(trouble.next for trouble in document.troubles if trouble.verdict in FAILING_VERDICTS),
        *(trouble.next for trouble in document.troubles),
        *(defect.next for defect in document.defects if not defect.top1),
    ]
    return grave[0] if grave else NEXT

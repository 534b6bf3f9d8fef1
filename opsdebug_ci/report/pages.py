"""`opsdebug trace --guard pages` in words: what was touched, which launch showed it, the line of code.

Decides the words for modes and outcomes. Deliberately not those for a fault, which are the judge's.
"""

from __future__ import annotations

from collections.abc import Sequence

from opsdebug_ci.model.inquiry import TraceDocument
from opsdebug_ci.model.memory import PageFault, PageInquiry, PageLaunch
from opsdebug_ci.model.vocabulary import PageMode
from opsdebug_ci.report import figures
from opsdebug_ci.report.escape import plain
from opsdebug_ci.report.subject import ending_lines, heading_lines
from opsdebug_ci.report.table import aligned

HEADER = ("mode", "pages watched", "the operator", "at")

_PLACES = {
    PageMode.TAIL: "behind ends",
    PageMode.TAIL_READABLE: "behind ends",
    PageMode.HEAD: "before beginnings",
    PageMode.HEAD_READABLE: "before beginnings",
    PageMode.INPUTS_READABLE: "arguments nobody may write",
}

_ALLOWED = {
    PageMode.TAIL: "no access",
    PageMode.TAIL_READABLE: "reads allowed",
    PageMode.HEAD: "no access",
    PageMode.HEAD_READABLE: "reads allowed",
    PageMode.INPUTS_READABLE: "reads allowed",
}


def pages_conclusion(inquiry: PageInquiry, faults: Sequence[str]) -> tuple[str, ...]:
    """Sentences, the most telling first; `faults` are the inquiry's in words."""
    lived = ", ".join(dict.fromkeys(str(launch.mode) for launch in inquiry.launches if _lived(launch)))
    if faults:
        return tuple(faults)
    if inquiry.launches and inquiry.launches[-1].died:
        return inquiry.notes[:1]
    unlearnt = [launch for launch in inquiry.launches if launch.reason is not None]
    if not lived:
        return (f"no page was watched: {unlearnt[0].reason if unlearnt else 'nothing was launched'}",)
    rest = f"; then nothing more was learnt: {unlearnt[0].reason}" if unlearnt else ""
    return (f"touches nothing beyond its tensors under watched pages ({lived}){rest}",)


def pages_text(document: TraceDocument) -> str:
    """The answer as text, ending in a newline."""
    inquiry = document.pages
    if inquiry is None:
        launches, faults = [], []
    else:
        launches = [_row(launch) for launch in inquiry.launches]
        faults = [line for fault in inquiry.faults for line in _code(fault)]
    sections = [
        heading_lines("TRACE", document.subject, document.conclusion),
        aligned(HEADER, launches, left=len(HEADER)) if launches else [],
        faults,
        [f"note: {plain(note)}" for note in document.notes if note not in document.conclusion],
        ending_lines(document.next),
    ]
    return "\n\n".join("\n".join(section) for section in sections if section) + "\n"


def _lived(launch: PageLaunch) -> bool:
    return launch.reason is None and not launch.died


def _row(launch: PageLaunch) -> tuple[str, ...]:
    allowed = _ALLOWED[launch.mode] if launch.protected else "all allowed"
    aligned_to = f", aligned to {launch.alignment}" if launch.alignment > 1 else ""
    became = "dies" if launch.died else "lives" if launch.reason is None else "tells nothing"
    at = plain(launch.place) if launch.place is not None else figures.MISSING
    alone = "" if launch.only is None else f", `{plain(launch.only)}` alone"
    return (str(launch.mode), f"{_PLACES[launch.mode]}{alone}: {allowed}{aligned_to}", became, at)


def _code(fault: PageFault) -> list[str]:
    if fault.place is None:
        return [f"{fault.access} from {plain(fault.frames[-1])}"] if fault.frames else []
    line = [] if fault.source is None else [f"    {plain(fault.source)}"]
    return [f"{fault.access} at {plain(fault.place)}", *line]

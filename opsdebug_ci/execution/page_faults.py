"""What an operator did to memory that is not its own, from the launches its worker does not survive.

Decides which launches are made and what their deaths mean together (worker side: `guard.pages`):

    dies in tail, lives in tail_readable         it reads behind an end
    dies in both, in the same frames             it writes there, or reads and writes
    dies in both, in other frames                it reads at the first and writes at the second
    dies in tail even where pages are open       it needs aligned memory, or dies of something else
    dies in inputs_readable                      it writes an argument that nobody may write

and likewise before a beginning, with head and head_readable. Whose pages they are shows where those of one argument
alone are watched. A launch that nothing depends on is not made, so an operator that touches nothing costs three.
Deliberately judges nothing: reading behind an end may be by design.
"""

from __future__ import annotations

import contextlib
import linecache
from collections.abc import Callable
from dataclasses import replace
from typing import Union, final

from opsdebug_ci.execution.last_frames import own_frame, place_of
from opsdebug_ci.execution.pool import WorkerPool
from opsdebug_ci.model import Case, Observation, Phase, Status
from opsdebug_ci.model.bundle import StoredInputs
from opsdebug_ci.model.memory import PageFault, PageInquiry, PageLaunch
from opsdebug_ci.model.message import PageCase, PagesKept
from opsdebug_ci.model.vocabulary import Access, PageMode, Side

Ask = Callable[[PageCase], Union[PagesKept, Observation]]
"""Has one launch made."""

ALIGNMENTS = (1, 16, 64)
"""Tried in this order until the operator lives on open pages: flush to the byte; what vectors of 128 bits and some
kernels ask for; what the framework's own allocator on the CPU gives, c10::gAlignment."""

PAGE_SIGNALS = ("SIGSEGV", "SIGBUS")
"""What touching a protected page is answered with, on Linux and on macOS."""

ONE_DEATH = "a process dies once: of each kind of access the first is told, further ones may follow it"
MOST_ASKED = 8
"""Arguments watched alone to find whose pages were touched."""

LEAST_S = 0.05
"""Seconds below which no launch is begun."""

OUT_OF_TIME = "watched pages were given up: there was no time for another launch"

RESULTS_OPEN = "the operator does not run while tensors of its own are watched; its arguments alone were"


def page_faults(
    pool: WorkerPool, case: Case, inputs: StoredInputs | None = None, left_s: Callable[[], float] | None = None
) -> PageInquiry:
    """Launch `case` under watched pages, and say what it touched.

    Args:
        pool: its workers die of the launches and are replaced.
        case: what to launch.
        inputs: kept inputs to launch it on; None: made from the case.
        left_s: seconds that are left for launches; what is known by then is told. None: as long as it takes.
    """
    return inquire(
        lambda request: pool.about(request, PagesKept, None if left_s is None else left_s()), case, inputs, left_s
    )


def inquire(
    ask: Ask, case: Case, inputs: StoredInputs | None = None, left_s: Callable[[], float] | None = None
) -> PageInquiry:
    """The same for any way of having launches made."""
    inquiry = _Inquiry(ask, case, inputs, left_s)
    with contextlib.suppress(_NothingLearntError):  # noted where it happened; what was found before stands
        inquiry.watch()
    return inquiry.told()


class _NothingLearntError(Exception):
    """A launch told nothing of its pages, and so would the next."""


@final
class _Inquiry:
    def __init__(self, ask: Ask, case: Case, inputs: StoredInputs | None, left_s: Callable[[], float] | None) -> None:
        self._left_s = left_s
        self._ask = ask
        self._case = case
        self._inputs = inputs
        self._alignment = ALIGNMENTS[0]
        self._arguments: tuple[str, ...] = ()
        self._launches: list[PageLaunch] = []
        self._faults: list[PageFault] = []
        self._notes: list[str] = []

    def told(self) -> PageInquiry:
        """What came of it, writes first."""
        faults = sorted(self._faults, key=lambda fault: fault.access is Access.READ)
        notes = [*self._notes, *([ONE_DEATH] if faults else [])]
        return PageInquiry(launches=tuple(self._launches), faults=tuple(faults), notes=tuple(dict.fromkeys(notes)))

    def watch(self) -> None:
        """Make the launches."""
        # (1) behind the ends, at the first alignment the operator can live with
        if not any(self._lives_behind(alignment) for alignment in ALIGNMENTS):
            at = self._launches[-1].place
            where = "" if at is None else f", at {at}"
            self._give_up(f"the operator dies even where every page is open{where}: watched pages tell nothing")
        # (2) before the beginnings, which any page is aligned for
        self._faults += self._accesses(Side.HEAD, PageMode.HEAD, PageMode.HEAD_READABLE)
        # (3) in the arguments
        self._inside()
        # (4) whose pages these are: only of the right ones, watched alone, it dies again
        for position, fault in enumerate(self._faults):
            self._faults[position] = self._told_apart(fault)

    def _lives_behind(self, alignment: int) -> bool:
        """Whether what was seen behind the ends, storages aligned so, can be held against the operator."""
        self._alignment = alignment
        found = self._accesses(Side.TAIL, PageMode.TAIL, PageMode.TAIL_READABLE)
        writes = any(fault.access is Access.WRITE for fault in found)
        if writes and self._launch(PageMode.TAIL, protected=False).died:
            return False
        if alignment > 1:
            self._notes.append(
                f"the operator dies unless its tensors begin at multiples of {alignment} bytes: up to {alignment - 1} "
                "bytes behind an end were not watched"
            )
        self._faults += found
        return True

    def _accesses(self, side: Side, closed: PageMode, readable: PageMode) -> list[PageFault]:
        """What was done on one side of the storages."""
        first = self._launch(closed)
        if not first.died:
            return []
        second = self._launch(readable)
        if not second.died:
            return [_fault(Access.READ, side, first)]
        if second.frames == first.frames:
            return [_fault(Access.WRITE, side, first, second)]
        return [_fault(Access.READ, side, first), _fault(Access.WRITE, side, second)]

    def _inside(self) -> None:
        launch = self._launch(PageMode.INPUTS_READABLE)
        if not launch.died:
            return
        if any(fault.access is Access.WRITE and fault.frames == launch.frames for fault in self._faults):
            self._notes.append("whether it writes into its arguments as well cannot be told: it dies in the same place")
        else:
            self._faults.append(_fault(Access.WRITE, Side.INSIDE, launch))

    def _told_apart(self, fault: PageFault) -> PageFault:
        """`fault` with the argument whose pages it touched."""
        if fault.side is Side.INSIDE and len(self._arguments) == 1:
            return replace(fault, argument=self._arguments[0])
        for name in self._arguments[:MOST_ASKED]:
            alone = self._launch(fault.modes[-1], only=name)
            if alone.died and alone.frames == fault.frames:
                return replace(fault, argument=name)
        every = len(self._arguments) <= MOST_ASKED and RESULTS_OPEN not in self._notes
        return replace(fault, own=every and fault.side is not Side.INSIDE)

    def _launch(self, mode: PageMode, *, protected: bool = True, only: str | None = None) -> PageLaunch:
        """One launch; raises when nothing was learnt of it."""
        if self._left_s is not None and self._left_s() < LEAST_S:
            self._give_up(OUT_OF_TIME)
        request = PageCase(
            case=self._case,
            mode=mode,
            inputs=self._inputs,
            alignment=self._alignment,
            protected=protected,
            only=only,
        )
        launch = _launch_of(request, answer := self._ask(request))
        self._launches.append(launch)
        if launch.reason is not None:
            self._give_up(launch.reason)
        if isinstance(answer, PagesKept):
            self._arguments = answer.arguments
            self._notes += [] if answer.results else [RESULTS_OPEN]
        return launch

    def _give_up(self, why: str) -> None:
        self._notes.append(why)
        raise _NothingLearntError(why)


def _launch_of(request: PageCase, answer: PagesKept | Observation) -> PageLaunch:
    if isinstance(answer, PagesKept):
        reason = None if answer.watched else answer.reason or "no page could be watched"
        return _spelled(request, died=False, reason=reason)
    process = answer.process
    touched = (
        answer.status is Status.CRASHED
        and process is not None
        and process.phase is Phase.FUNCTION
        and process.signal in PAGE_SIGNALS
    )
    frames = process.frames if process is not None else ()
    return _spelled(request, died=touched, reason=None if touched else answer.reason, frames=frames)


def _spelled(request: PageCase, *, died: bool, reason: str | None, frames: tuple[str, ...] = ()) -> PageLaunch:
    return PageLaunch(
        mode=request.mode,
        alignment=request.alignment,
        protected=request.protected,
        died=died,
        place=place_of(own_frame(frames)),
        frames=frames,
        reason=reason,
        only=request.only,
    )


def _fault(access: Access, side: Side, *launches: PageLaunch) -> PageFault:
    place = launches[-1].place
    return PageFault(
        access=access,
        side=side,
        place=place,
        frames=launches[-1].frames,
        modes=tuple(launch.mode for launch in launches),
        source=None if place is None else source_line(place),
    )


def source_line(place: str) -> str | None:
    """The line of code at `file:line`; None: it cannot be read from here."""
    file, _, number = place.rpartition(":")
    return linecache.getline(file, int(number)).strip() or None

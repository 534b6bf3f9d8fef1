"""The moment at which bytes change that nothing was to change: which step, which line.

Decides when to look: before and after every call that reaches the dispatcher, at every checkpoint, and at every line of
code that is neither installed nor ours, Triton kernels under the interpreter included. Code that makes no calls (a
kernel reached through a pointer) is blamed by the line that called it. A launch of a kernel is one step: calls made in
it are those of whoever carries it out. Looking ends when it has taken too long: no
step is better than a wrong one.
"""

from __future__ import annotations

import sys
import sysconfig
import time
from collections.abc import Callable, Iterator, Mapping, Set
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from types import FrameType
from typing import Any

from torch.utils._python_dispatch import _disable_current_modes

from opsdebug_ci.model.checkpoint import listening
from opsdebug_ci.model.memory import MemoryReading
from opsdebug_ci.model.vocabulary import Side

LOOKING_S = 2.0
"""Seconds of work looking may take in one launch."""

_PACKAGE = Path(__file__).parents[1]

_OTHERS = tuple(
    {
        *(str(child) for child in _PACKAGE.iterdir() if child.name != "catalogue"),
        *(sysconfig.get_path(name) for name in ("stdlib", "platstdlib", "purelib", "platlib")),
    }
)
"""Code nobody wrote who reads the report: of this package all but its own operators, and what is installed."""

Key = tuple[int, Side]
"""Address of a storage and where its bytes changed; `inside` stands for gaps too."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Where:
    """The moment of a change."""

    step: str
    """A call or checkpoint, or between which two."""

    place: str | None
    """`file:line`; None: no line of the user's was being run."""


class Locator:
    """Looks at one launch, and remembers when each change was first seen."""

    def __init__(self, damaged: Callable[[], Set[Key]]) -> None:
        """`damaged` tells what has changed by now."""
        self.found: dict[Key, Where] = {}
        self._damaged = damaged
        self._running: list[str] = []
        self._last: str | None = None
        self._open: list[Key] = []
        self._line: str | None = None
        self._spent_s = 0.0
        self._launching = False

    @contextmanager
    def looking(self) -> Iterator[None]:
        """Look during this block, and once more at its end."""
        previous = sys.gettrace()
        sys.settrace(self._called)
        try:
            with listening(self._marked):
                yield
        finally:
            sys.settrace(previous)
            self._look()
            self._name_open("the end")

    @contextmanager
    def launching(self, kernel: str) -> Iterator[None]:
        """A kernel is launched in this block: one step, whatever is called in it."""
        name = f"launch {kernel}"
        self.entered(name)
        self._launching = True
        try:
            yield
        finally:
            self._launching = False
            self.left(name)

    def entered(self, name: str) -> None:
        """A call begins."""
        if self._launching:
            return
        self._look()
        self._name_open(name)
        self._running.append(name)

    def left(self, name: str) -> None:
        """It ended."""
        if self._launching:
            return
        self._look()
        del self._running[self._running.index(name) :]
        self._last = name

    def _marked(self, name: str, value: object) -> None:
        del value
        self._look()
        self._last = f"checkpoint {name}"
        self._name_open(self._last)

    def _look(self) -> None:
        if self._spent_s > LOOKING_S:
            return
        began = time.thread_time()
        with _disable_current_modes():  # looking makes calls too, which are no steps of the operator's
            damaged = self._damaged()
        for key in damaged - self.found.keys():
            step = self._running[-1] if self._running else self._last or "the start"
            self.found[key] = Where(step=step, place=self._line)
            if not self._running:
                self._open.append(key)
        self._spent_s += time.thread_time() - began

    def _name_open(self, name: str) -> None:
        """Now it is known before which step the changes came that no step made."""
        for key in self._open:
            found = self.found[key]
            self.found[key] = Where(step=f"between {found.step} and {name}", place=found.place)
        self._open.clear()

    def _called(self, frame: FrameType, event: str, argument: Any) -> Any:
        """The interpreter's hook of new frames: lines are followed only in the user's code."""
        del event, argument
        if not _is_the_users(frame.f_code.co_filename):
            return None
        self._look()
        return self._followed

    def _followed(self, frame: FrameType, event: str, argument: Any) -> Any:
        """The interpreter's hook of lines, of frames `_called` accepted."""
        del argument
        self._look()
        if event == "line":
            self._line = _place(frame)
        elif event == "return":
            caller = frame.f_back
            while caller is not None and not _is_the_users(caller.f_code.co_filename):
                caller = caller.f_back
            self._line = self._line if caller is None else _place(caller)
        return self._followed


def at(reading: MemoryReading, address: int, located: Mapping[Key, Where] | None) -> MemoryReading:
    """`reading` about the storage at `address`, with the moment it came about where that is known."""
    side = Side.INSIDE if reading.side is Side.GAP else reading.side
    where = (located or {}).get((address, side))
    return reading if where is None else replace(reading, step=where.step, place=where.place)


def _is_the_users(filename: str) -> bool:
    return not filename.startswith(("<", *_OTHERS))


def _place(frame: FrameType) -> str:
    return f"{frame.f_code.co_filename}:{frame.f_lineno}"

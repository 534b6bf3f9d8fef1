"""Whether a reference is entered while the operator runs, watched from outside.

Decides by the code objects the interpreter enters, never by reading source. A reference that is the operator itself is
no concern: comparing a function with itself is legal. Nor is one that the framework or the standard library provides,
which any operator may build on. Compiled references leave no trace.
"""

from __future__ import annotations

import functools
import sys
import sysconfig
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from types import CodeType, FrameType
from typing import Any

import torch

from opsdebug_ci.model.property import Property, PropertyReading
from opsdebug_ci.operators import Operator

_PROVIDED = (str(Path(torch.__file__).parent), sysconfig.get_path("stdlib"), "<frozen")
"""Where functions lie that everybody shares."""


class Entered:
    """References by their code, and which of them were entered."""

    def __init__(self, operator: Operator) -> None:
        own = _codes(operator.function)
        self.references = {
            code: str(kind)
            for kind, reference in operator.references.items()
            for code in _codes(reference)
            if code not in own and not code.co_filename.startswith(_PROVIDED)
        }
        self.found: dict[str, CodeType] = {}

    def __call__(self, frame: FrameType, event: str, _: Any) -> None:
        """What `sys.setprofile` calls."""
        if event == "call" and frame.f_code in self.references:
            self.found[self.references[frame.f_code]] = frame.f_code


@contextmanager
def watching(operator: Operator) -> Iterator[Entered]:
    """Note every reference of `operator` that this thread enters in the block.

    Where somebody else profiles already, or no reference has code of its own, nothing is watched and nothing found.
    """
    entered = Entered(operator)
    if not entered.references or sys.getprofile() is not None:
        entered.references = {}
        yield entered
        return
    sys.setprofile(entered)
    try:
        yield entered
    finally:
        sys.setprofile(None)


def own_work(entered: Entered) -> Iterator[PropertyReading]:
    """No launch: what was seen during another one."""
    watched = len(set(entered.references.values()))
    if watched:
        evidence = {kind: f"{code.co_filename}:{code.co_firstlineno}" for kind, code in entered.found.items()}
        yield PropertyReading(property=Property.OWN_WORK, compared=watched, broken=len(evidence), evidence=evidence)


def _codes(function: Any) -> set[CodeType]:
    """The code of a function, of what it wraps or binds, and of a callable object's call."""
    codes: set[CodeType] = set()
    while function is not None:
        if isinstance(function, functools.partial):
            function = function.func
            continue
        code = getattr(function, "__code__", None) or getattr(type(function).__call__, "__code__", None)
        if isinstance(code, CodeType):
            codes.add(code)
        function = getattr(function, "__wrapped__", None)
    return codes

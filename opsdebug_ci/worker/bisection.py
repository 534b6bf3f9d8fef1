"""Bisection over steps: with which of the reference's results in the place of the operator's does an output come right?

Decides the experiment: the operator is launched again, and its first N calls return what the torch reference's same
calls returned in float64, rounded to the operator's dtypes. The least N with which an output is right names the call
that spoils it. Asked per output, since branches of an operator may be spoiled by calls of their own; a launch answers
for all of them. Deliberately not for NaN, which may vanish again: `health` follows those step by step.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from typing import Any, final

import torch

from opsdebug_ci.model.case import Case
from opsdebug_ci.model.trace import Bisection
from opsdebug_ci.numerics.compared import ComparedOutput
from opsdebug_ci.numerics.comparison import examine
from opsdebug_ci.operators import Arguments, Operator
from opsdebug_ci.trace import Mark, common_start, numbered, step_name
from opsdebug_ci.worker.watched_runs import launch_watched


@final
class _Substitution:
    """Watcher in whose runs some calls return what they are told."""

    def __init__(self, marks: Sequence[Mark], first: int, until: int) -> None:
        self._marks = marks
        self._first = first
        self._until = until
        self._position = 0

    @contextmanager
    def listening(self) -> Iterator[None]:
        """Checkpoints are not heard."""
        yield

    def __call__(self, func: Any, args: tuple[Any, ...], kwargs: dict[str, Any], result: Any) -> Any:
        """The result to use instead."""
        del args, kwargs
        if step_name(func, result) is None:
            return result
        position, self._position = self._position, self._position + 1
        if not self._first <= position < self._until or self._marks[position].values.shape != result.shape:
            return result
        own = result if func._schema.is_mutable else torch.empty_like(result)
        return own.copy_(self._marks[position].values)


@final
class Bisector:
    """Experiments on one case; each is made once."""

    def __init__(
        self,
        operator: Operator,
        arguments: Arguments,
        case: Case,
        outputs: Sequence[ComparedOutput],
        mine: Sequence[Mark],
        theirs: Sequence[Mark],
    ) -> None:
        """The case, its outputs beside the references', and the calls of operator and torch reference."""
        self._case = (operator, arguments, case)
        self._outputs = outputs
        self._theirs = theirs
        self._shared = list(numbered(list(mine)).items())[: common_start(list(mine), list(theirs))]
        self._launched: dict[tuple[int, int], Mapping[str, torch.Tensor]] = {}

    def bisect(self) -> tuple[tuple[Bisection, ...], tuple[str, ...]]:
        """The spoiling call of every wrong output, and what must be said where there is none."""
        wrong = [output for output in self._outputs if examine(output)[1] is not None]
        if not wrong:
            return (), ("nothing to bisect: every output is right",)
        if not self._shared:
            return (), ("no bisection: operator and torch reference begin with no call in common",)
        found, notes = [], []
        for output in wrong:
            if self._cured(output, 0, len(self._shared)):
                found.append(self._spoiler(output))
            else:
                notes.append(
                    f"no bisection of `{output.name}`: it stays wrong with the reference's results of all "
                    f"{len(self._shared)} calls both begin with, so what is wrong lies elsewhere"
                )
        return tuple(found), tuple(notes)

    def _spoiler(self, output: ComparedOutput) -> Bisection:
        wrong, right = 0, len(self._shared)
        while right - wrong > 1:
            middle = (wrong + right) // 2
            wrong, right = (wrong, middle) if self._cured(output, 0, middle) else (middle, right)
        name, mark = self._shared[right - 1]
        alone = self._cured(output, right - 1, right)
        return Bisection(
            output=output.name,
            step=name,
            place=mark.place,
            replaced=right,
            shared=len(self._shared),
            alone=alone,
            launches=len(self._launched),
        )

    def _cured(self, output: ComparedOutput, first: int, until: int) -> bool:
        if (first, until) not in self._launched:
            substitution = _Substitution(self._theirs, first, until)
            self._launched[first, until] = launch_watched(*self._case, substitution) or {}
        actual = self._launched[first, until].get(output.name)
        if actual is None or actual.shape != output.actual.shape or actual.dtype != output.actual.dtype:
            return False
        return examine(replace(output, actual=actual))[1] is None

"""Asking the references: each on its own copies, the precise one derived where it is not declared.

Decides which references answer a case and why the others do not.
"""

from __future__ import annotations

import functools
import itertools
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Any

import torch
from torch.utils._pytree import tree_leaves, tree_map, tree_map_only

from opsdebug_ci.errors import Unsupported
from opsdebug_ci.guard import clone_values
from opsdebug_ci.model.observation import ReferenceReading
from opsdebug_ci.model.vocabulary import Kind, ReferenceKind
from opsdebug_ci.numerics.formats import float_format
from opsdebug_ci.numerics.lifting import NodeObserver, ObservedMode, call_lifted, widen
from opsdebug_ci.numerics.spread import Arithmetic, Change, Evaluations, ReferenceRun, Spread
from opsdebug_ci.operators import Arguments, Operator, positional_outputs
from opsdebug_ci.worker.exceptions import text_of
from opsdebug_ci.worker.isolation import isolated
from opsdebug_ci.worker.oracle import FunctionRecorder, put_right

Tensors = list[torch.Tensor]

SPREAD_AROUND = (ReferenceKind.TORCH, ReferenceKind.NAIVE, ReferenceKind.PRECISE)
"""References in the order the spread is measured around: the first shows its steps, the others only their arguments."""


@dataclass(slots=True, kw_only=True)
class ReferenceAnswers:
    """What the references said. Holds live tensors, so it never leaves the worker."""

    outputs: dict[ReferenceKind, Tensors] = field(default_factory=dict)
    """Outputs in contract order, of every reference that answered."""

    readings: list[ReferenceReading] = field(default_factory=list)
    """What became of each reference."""

    exact: bool = False
    """The torch reference is one call that rounds nothing, so that an open kind is `exact`."""

    evaluate: Callable[[], Evaluations | None] = lambda: None
    """Other evaluations of the reference, made when first asked for; None where none can be."""

    truth: Callable[[torch.Tensor], torch.Tensor | None] = lambda _: None
    """True values at flat places of the output, where the torch reference is one library function."""

    adjust: Callable[[int], Callable[[Spread, bool], Spread]] = lambda _: lambda spread, _: spread
    """Per output: what widens its spread; told whether it is the last that can be had."""


class References:
    """The references of one operator on one set of arguments."""

    def __init__(self, operator: Operator, arguments: Arguments, enter: Callable[[str], None], seed: int) -> None:
        self._operator = operator
        self._arguments = arguments
        self._enter = enter
        self._seed = seed
        self._recorder = FunctionRecorder()
        self._lifted_torch: Evaluations | None = None

    def ask(self, which: tuple[ReferenceKind, ...], arithmetic: Arithmetic) -> ReferenceAnswers:
        """Every reference in `which` that exists or can be derived, then the spread around the torch one."""
        answers = ReferenceAnswers()
        for kind in which:
            declared = self._operator.references.get(kind)
            if declared is not None:
                self._enter(str(kind))
                self._record(answers, kind, functools.partial(self._call, declared), derived=False)
            elif kind is ReferenceKind.PRECISE:
                self._derive(answers, arithmetic)
        if answers.outputs:
            answers.evaluate = functools.cache(functools.partial(self._evaluations, arithmetic, tuple(answers.outputs)))
            answers.truth = functools.partial(self._truth, answers)
        return answers

    def altered(self, arguments: Arguments, observer: NodeObserver | None, change: Change | None = None) -> Tensors:
        """Outputs of the first reference in float64 on other arguments, `change`d once they are wide, or with results
        of its steps replaced.

        Raises whatever the reference raises. References of `quantize` kinds run as they are written.
        """
        function = next(self._operator.references[kind] for kind in SPREAD_AROUND if kind in self._operator.references)
        lifting = not any(kind is Kind.QUANTIZE for kind in self._kinds())
        copies = clone_values(arguments.values)
        own = Arguments(names=arguments.names, values=copies, by_keyword=arguments.by_keyword)
        if lifting:
            own = own.map(lambda _, value: _changed(widen(value), change))
        with isolated(self._seed):
            if lifting:
                return positional_outputs(call_lifted(lambda: own.call(function), observer))
            with torch.no_grad(), ObservedMode(observer):
                return positional_outputs(own.call(function))

    def on(self, arguments: Arguments) -> Tensors | None:
        """Outputs of the first reference in float64 on other arguments; None when it raises."""
        try:
            return self.altered(arguments, None)
        except BaseException:  # noqa: BLE001 - user code on arguments it was not written for; exits too
            return None

    def _derive(self, answers: ReferenceAnswers, arithmetic: Arithmetic) -> None:
        function = self._operator.references.get(ReferenceKind.TORCH)
        reason = self._not_derivable(function)
        if function is None or reason is not None:
            answers.readings.append(_absent(ReferenceKind.PRECISE, reason or "no torch reference"))
            return
        self._enter("precise, derived from torch")

        def centre() -> Tensors:
            run = self._isolated(functools.partial(self._lifted, function), ReferenceKind.TORCH)
            self._lifted_torch = Evaluations(run, arithmetic, self._recorder)
            return list(self._lifted_torch.centre)

        self._record(answers, ReferenceKind.PRECISE, centre, derived=True)
        if ReferenceKind.PRECISE in answers.outputs:
            answers.exact = self._recorder.is_exact
            outputs, source = put_right(answers.outputs[ReferenceKind.PRECISE], self._recorder, self._seed)
            answers.outputs[ReferenceKind.PRECISE] = outputs
            answers.readings[-1] = replace(answers.readings[-1], reason=source)

    def _not_derivable(self, function: object) -> str | None:
        if function is None:
            return "no torch reference to derive it from"
        if any(kind is Kind.QUANTIZE for kind in self._kinds()):
            return "quantisation means its casts, so its reference is not lifted to float64"
        floats = [v for _, v in self._arguments.leaves() if isinstance(v, torch.Tensor) and v.is_floating_point()]
        if floats and all(value.dtype is torch.float64 for value in floats):
            return "the torch reference works in float64 already"
        return None

    def _kinds(self) -> list[Kind]:
        kinds = self._operator.kinds
        return [kinds] if isinstance(kinds, Kind) else list(kinds.values())

    def _all_exact(self) -> bool:
        return all(kind in (Kind.EXACT, Kind.INDEX, Kind.QUANTIZE) for kind in self._kinds())

    def _record(
        self, answers: ReferenceAnswers, kind: ReferenceKind, call: Callable[[], Tensors], *, derived: bool
    ) -> None:
        try:
            with isolated(self._seed):
                answers.outputs[kind] = call()
        except Unsupported as refusal:
            answers.readings.append(_absent(kind, str(refusal) or "unsupported"))
            return
        except BaseException as error:  # noqa: BLE001 - user code: what it raises, exits too, is what became of it
            answers.readings.append(
                ReferenceReading(
                    reference=kind,
                    derived=derived,
                    answered=False,
                    reason=text_of(error),
                    fault=not derived,
                )
            )
            return
        answers.readings.append(ReferenceReading(reference=kind, derived=derived, answered=True, reason=None))

    def _call(self, function: Callable[..., Any]) -> Tensors:
        with torch.no_grad():
            return [t.clone() for t in positional_outputs(self._copies().call(function))]

    def _lifted(
        self,
        function: Callable[..., Any],
        change: Callable[[torch.Tensor], torch.Tensor] | None,
        observer: NodeObserver | None,
    ) -> Tensors:
        def widened(_: str, value: Any) -> Any:
            return _changed(widen(value), change)

        arguments = self._copies().map(widened)
        shown = None if observer is None else _on_dense(observer)
        return [t.clone() for t in positional_outputs(call_lifted(lambda: arguments.call(function), shown))]

    def _truth(self, answers: ReferenceAnswers, places: torch.Tensor) -> torch.Tensor | None:
        answers.evaluate()  # which runs the reference, where nothing has been derived from it
        return self._recorder.truth(places)

    def _evaluations(self, arithmetic: Arithmetic, answered: tuple[ReferenceKind, ...]) -> Evaluations | None:
        """Of the first reference that runs in float64, else of one as it is written, on arguments perturbed by one
        rounding of their own format: all that can be done from outside."""
        if self._lifted_torch is not None:
            return self._lifted_torch
        for kind in SPREAD_AROUND:
            function = self._operator.references.get(kind)
            if function is None:
                continue
            self._enter(f"evaluations of {kind}")
            try:
                run = self._isolated(functools.partial(self._lifted, function), kind)
                return Evaluations(run, arithmetic, self._recorder if kind is ReferenceKind.TORCH else None)
            except BaseException:  # noqa: BLE001, S112 - a reference may exit here although it does not as it is written
                continue
        if self._all_exact():
            return None
        floats = [v.dtype for _, v in self._arguments.leaves() if isinstance(v, torch.Tensor) and v.is_floating_point()]
        own = [float_format(dtype) for dtype in floats]
        coarsest = min(own, key=lambda fmt: fmt.precision, default=arithmetic.compute)
        kind = next(kind for kind in SPREAD_AROUND if kind in answered)
        run = self._isolated(functools.partial(self._as_written, self._operator.references[kind]), kind)
        return Evaluations(run, replace(arithmetic, compute=coarsest, operand=None))

    def _isolated(self, run: ReferenceRun, kind: ReferenceKind) -> ReferenceRun:
        """`run` with the case's seed; all but the first say that it is a reference that runs."""
        earlier = itertools.count()

        def guarded(change: Callable[[torch.Tensor], torch.Tensor] | None, observer: NodeObserver | None) -> Tensors:
            if next(earlier) == 1:
                self._enter(f"evaluations of {kind}")
            with isolated(self._seed):
                return run(change, observer)

        return guarded

    def _as_written(
        self,
        function: Callable[..., Any],
        change: Callable[[torch.Tensor], torch.Tensor] | None,
        observer: NodeObserver | None,
    ) -> Tensors:
        del observer  # the steps cannot be watched: they run at their own precision

        def changed(_: str, value: Any) -> Any:
            if change is None or not _takes_noise(value):
                return value
            return change(value.double()).to(value.dtype)

        with torch.no_grad():
            return [t.clone() for t in positional_outputs(self._copies().map(changed).call(function))]

    def _copies(self) -> Arguments:
        copies = clone_values(self._arguments.values)
        return Arguments(names=self._arguments.names, values=copies, by_keyword=self._arguments.by_keyword)


def _changed(value: Any, change: Change | None) -> Any:
    return value if change is None or not _takes_noise(value) else change(value)


def _takes_noise(value: Any) -> bool:
    """A float tensor with strides: errors are added in place, which sparse layouts refuse."""
    return isinstance(value, torch.Tensor) and value.is_floating_point() and value.layout is torch.strided


def _on_dense(observer: NodeObserver) -> NodeObserver:
    """`observer`, shown a step on sparse tensors as the same step on dense ones. One that makes a sparse tensor, or
    that torch has for them alone, moves numbers in or out of them and is not shown."""

    def is_sparse(value: Any) -> bool:
        return isinstance(value, torch.Tensor) and value.layout is not torch.strided

    def observe(func: Any, args: tuple[Any, ...], kwargs: dict[str, Any], result: Any) -> Any:
        if any(map(is_sparse, tree_leaves(result))):
            return result
        if any(map(is_sparse, tree_leaves((args, kwargs)))):
            args, kwargs = tree_map(lambda value: value.to_dense() if is_sparse(value) else value, (args, kwargs))
            try:
                func(*tree_map_only(torch.Tensor, torch.clone, args), **kwargs)
            except (RuntimeError, TypeError):
                return result
        return observer(func, args, kwargs, result)

    return observe


def _absent(kind: ReferenceKind, reason: str) -> ReferenceReading:
    return ReferenceReading(reference=kind, derived=kind is ReferenceKind.PRECISE, answered=False, reason=reason)

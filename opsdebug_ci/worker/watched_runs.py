"""Watched runs of an operator and of its references: the same calls as ever, with somebody listening.

Decides what is copied, lifted and caught around them. Deliberately compares nothing.
"""

from __future__ import annotations

import contextlib
import copy
from collections.abc import Callable, Mapping
from typing import Any, Protocol

import torch

from opsdebug_ci.errors import OpsdebugError, Unsupported
from opsdebug_ci.guard import clone_values
from opsdebug_ci.model.case import Case
from opsdebug_ci.model.vocabulary import Kind, ReferenceKind
from opsdebug_ci.numerics.lifting import NodeObserver, ObservedMode, widen
from opsdebug_ci.numerics.spread import Arithmetic, Spread, measure_spread
from opsdebug_ci.operators import Arguments, Operator
from opsdebug_ci.trace import Interception, Mark, NodeWatcher, Recorder, numbered
from opsdebug_ci.worker.isolation import isolated
from opsdebug_ci.worker.launches import Launcher, NotAnOutput, OperatorFault
from opsdebug_ci.worker.references import References

Change = Callable[[torch.Tensor], torch.Tensor]


class Watcher(Protocol):
    """Sees ATen calls, and hears checkpoints while `listening`."""

    def __call__(self, func: Any, args: tuple[Any, ...], kwargs: dict[str, Any], result: Any) -> Any: ...

    def listening(self) -> contextlib.AbstractContextManager[None]:
        """Hear the checkpoints of a block."""


class Inconstant(Exception):  # noqa: N818 - a fact about a reference, not an error of ours
    """The reference does not run in float64, or takes other steps there when rounding errors are injected."""


def watch_operator(operator: Operator, arguments: Arguments, case: Case, watcher: Watcher) -> bool:
    """One launch on copies, watched. False when the operator does not run while its ATen calls are watched."""
    return launch_watched(operator, arguments, case, watcher) is not None


def launch_watched(
    operator: Operator, arguments: Arguments, case: Case, watcher: Watcher
) -> Mapping[str, torch.Tensor] | None:
    """Outputs of one launch on copies, whose ATen calls return what the watcher does. None as above."""
    watched = copy.copy(operator)

    def function(*args: Any, **kwargs: Any) -> Any:
        with watcher.listening(), ObservedMode(watcher):
            return operator.function(*args, **kwargs)

    watched.function = function
    try:
        return Launcher(watched, arguments, case.seed).once()
    except (OperatorFault, NotAnOutput, Unsupported, OpsdebugError):
        return None


class RunWatcher(NodeWatcher, Protocol):
    """Is shown every node of a run, its checkpoints, its arguments and what it returned."""

    def listening(self) -> contextlib.AbstractContextManager[None]:
        """Hear the checkpoints of a block."""

    def given(self, arguments: Mapping[str, Any]) -> None:
        """The arguments the operator is about to be called with, by name."""

    def returned(self, outputs: Mapping[str, torch.Tensor]) -> None:
        """Copies of its outputs, by name."""


def intercept_operator(
    operator: Operator, arguments: Arguments, case: Case, watcher: RunWatcher
) -> Mapping[str, torch.Tensor] | None:
    """Outputs of one launch on copies, every node shown: those inside custom operators and Triton launches too.

    None when the operator does not run while it is watched.
    """
    watched = copy.copy(operator)

    def function(*args: Any, **kwargs: Any) -> Any:
        watcher.given({**dict(zip(arguments.names, args, strict=False)), **kwargs})
        with watcher.listening(), Interception(watcher):
            return operator.function(*args, **kwargs)

    watched.function = function
    try:
        outputs = Launcher(watched, arguments, case.seed).once()
    except (OperatorFault, NotAnOutput, Unsupported, OpsdebugError):
        return None
    watcher.returned(outputs)
    return outputs


def listen_to_operator(operator: Operator, arguments: Arguments, case: Case, watcher: Watcher) -> bool:
    """The same with its checkpoints alone."""
    try:
        with watcher.listening():
            Launcher(operator, arguments, case.seed).once()
    except (OperatorFault, NotAnOutput, Unsupported, OpsdebugError):
        return False
    return True


def watch_reference(
    operator: Operator, arguments: Arguments, case: Case, watcher: Watcher, *, change: Change | None = None
) -> bool:
    """The torch reference in float64 on copies, watched. False when there is none, or it raises there."""
    if ReferenceKind.TORCH not in operator.references:
        return False
    try:
        _lifted_run(operator, arguments, case, watcher, watcher, change)
    except BaseException:  # noqa: BLE001 - user code in a precision it was not written for; exits too
        return False
    return True


def listen_to_reference(
    operator: Operator, arguments: Arguments, case: Case, watcher: Watcher, which: ReferenceKind
) -> bool:
    """A reference as it is written, its checkpoints alone. False when there is none, or it raises."""
    function = operator.references.get(which)
    if function is None:
        return False
    copies = Arguments(names=arguments.names, values=clone_values(arguments.values), by_keyword=arguments.by_keyword)
    try:
        with isolated(case.seed), torch.no_grad(), watcher.listening():
            copies.call(function)
    except BaseException:  # noqa: BLE001 - as above
        return False
    return True


def spread_of_steps(
    operator: Operator, arguments: Arguments, case: Case, arithmetic: Arithmetic, *, calls: bool, limit: int | None
) -> dict[str, Spread]:
    """How far correct evaluations of the torch reference lie apart at each of its steps; empty where it does not say.

    Args:
        operator: its torch reference runs in float64.
        arguments: pristine.
        case: the case.
        arithmetic: precision the operator promises.
        calls: the steps are ATen calls, else checkpoints.
        limit: steps looked at.
    """
    if _as_written(operator):
        return {}
    names: list[str] = []

    def run(change: Change | None, observer: NodeObserver | None) -> list[torch.Tensor]:
        recorder = Recorder(calls=calls, limit=limit)
        try:
            _lifted_run(operator, arguments, case, recorder, _after(observer, recorder), change)
        except BaseException as error:  # a reference may exit here although it does not at its own precision
            if names:
                raise
            raise Inconstant from error
        marks = numbered(recorder.calls if calls else recorder.checkpoints)
        names.extend([] if names else marks)
        if list(marks) != names:
            raise Inconstant
        return [mark.values for mark in marks.values()]

    try:
        spreads = measure_spread(run, arithmetic)
    except Inconstant:
        return {}
    return dict(zip(names, spreads, strict=True))


def _lifted_run(
    operator: Operator,
    arguments: Arguments,
    case: Case,
    watcher: Watcher,
    observer: NodeObserver,
    change: Change | None,
) -> None:
    def changed(_: str, value: Any) -> Any:
        wide = widen(value)
        is_float = isinstance(wide, torch.Tensor) and wide.is_floating_point()
        return change(wide) if change is not None and is_float else wide

    own = arguments if _as_written(operator) else arguments.map(changed)
    with watcher.listening():
        References(operator, arguments, _unheard, case.seed).altered(own, observer)


def _as_written(operator: Operator) -> bool:
    """Quantisation means its casts, so its reference is not lifted."""
    kinds = [operator.kinds] if isinstance(operator.kinds, Kind) else list(operator.kinds.values())
    return Kind.QUANTIZE in kinds


def _after(observer: NodeObserver | None, recorder: Recorder) -> NodeObserver:
    """First what changes a result, then what records it."""
    if observer is None:
        return recorder

    def both(func: Any, args: tuple[Any, ...], kwargs: dict[str, Any], result: Any) -> Any:
        return recorder(func, args, kwargs, observer(func, args, kwargs, result))

    return both


def _unheard(_: str) -> None:
    """Watched runs leave no breadcrumbs: the phase is known."""


def by_name(recorder: Recorder, *, calls: bool) -> dict[str, Mark]:
    """Steps of a run by name."""
    return numbered(recorder.calls if calls else recorder.checkpoints)

"""`capture`: an operator inside a service, whose failing calls leave bundles.

Decides when a call fails: it raises, or returns NaN or infinities though it was given none. Deliberately changes
nothing else: the operator's result and its exceptions reach the caller as they are, and whatever goes wrong here ends
in the log. No reference is asked, so what is kept is a suspicion until it is replayed.
"""

from __future__ import annotations

import functools
import logging
import threading
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any, final

import torch

from opsdebug_ci.bundle.entry_name import SUFFIX
from opsdebug_ci.errors import Unsupported
from opsdebug_ci.model.contract import Contract
from opsdebug_ci.operators import Arguments, Operator, written_names
from opsdebug_ci.trace.counts import has_health, is_sick
from opsdebug_ci.worker.captured_bundle import captured, keep_bundle, raised, unhealthy
from opsdebug_ci.worker.captured_case import arguments_of, name_of, tensors_in
from opsdebug_ci.worker.placement import settled

LOG = logging.getLogger("opsdebug_ci.capture")

MOST_BUNDLES = 20
"""Bundles in a directory after which no more are left there."""


def capture(
    op: Callable[..., Any],
    directory: str | Path,
    *,
    most_bundles: int = MOST_BUNDLES,
    values: bool = True,
    health: bool = True,
) -> Callable[..., Any]:
    """Wrap an operator so that failing calls leave a bundle each.

    Args:
        op: an `Operator`, or a function, which is then known by its name.
        directory: where bundles go; made when there is one. `opsdebug failures import FILE` takes them from there.
        most_bundles: how many it may hold; later failures are only logged.
        values: False keeps input values out of the bundles; what is left cannot be replayed.
        health: False looks at exceptions alone. Looking waits for the outputs, on accelerators too.

    Returns:
        Something to call like `op`, from any thread. Raises what `op` raises and nothing else.
    """
    return _Capture(op, Path(directory), most_bundles=most_bundles, values=values, health=health)


@final
class _Capture:
    """A wrapped operator."""

    def __init__(
        self, op: Callable[..., Any], directory: Path, *, most_bundles: int, values: bool, health: bool
    ) -> None:
        self._operator = op
        self._directory = directory
        self._most_bundles = most_bundles
        self._values = values
        self._health = health
        self._lock = threading.Lock()
        self._known: set[tuple[str, str | None]] = set()
        contract = op.contract if isinstance(op, Operator) else Contract()
        self._writes = bool(contract.mutates) or contract.out is not None
        functools.update_wrapper(self, op.function if isinstance(op, Operator) else op)

    def __call__(self, *given: Any, **named: Any) -> Any:
        before = self._guarded(self._before, given, named)
        try:
            result = self._operator(*given, **named)
        except Unsupported:
            raise
        except Exception as error:
            self._guarded(self._keep_raised, before, error)
            raise
        if self._health:
            self._guarded(self._keep_unhealthy, before, (result, given, named) if self._writes else result)
        return result

    def _guarded(self, work: Callable[..., Any], *arguments: Any) -> Any:
        """The result of something of ours, or None and a line in the log: a service never fails because of us."""
        try:
            return work(*arguments)
        except Exception as error:  # noqa: BLE001 - whatever it is, it is ours and not the service's
            LOG.warning("`%s` was not captured: %s: %s", name_of(self._operator), type(error).__name__, error)
            return None

    def _before(self, given: tuple[Any, ...], named: dict[str, Any]) -> Arguments:
        """The arguments, with those that the operator may write as they are now."""
        arguments = arguments_of(self._operator, given, named)
        if not self._writes or not isinstance(self._operator, Operator):
            return arguments
        written = set(written_names(self._operator.contract, arguments))
        copies = iter(settled([value for name, value in arguments.items() if name in written]))
        values = tuple(next(copies) if name in written else value for name, value in arguments.items())
        return replace(arguments, values=values)

    def _keep_raised(self, before: Arguments | None, error: Exception) -> None:
        if before is not None:
            self._keep(before, lambda case_id: raised(case_id, error))

    def _keep_unhealthy(self, before: Arguments | None, result: Any) -> None:
        if before is None:
            return
        sick = [(position, tensor) for position, tensor in enumerate(tensors_in(result)) if _is_sick(tensor)]
        if sick and not any(map(_is_sick, tensors_in(before.values))):
            self._keep(before, lambda case_id: unhealthy(case_id, *sick[0]))

    def _keep(self, before: Arguments, observe: Callable[[str], Any]) -> None:
        with self._lock:
            there = sum(1 for _ in self._directory.glob(f"*{SUFFIX}"))
            if there >= self._most_bundles:
                LOG.warning("%s holds %d bundles; no more are left there", self._directory, there)
                return
            call = captured(self._operator, before, observe, values=self._values)
            if call.key not in self._known:
                LOG.warning("`%s` failed: %s", name_of(self._operator), keep_bundle(call, self._directory))
                self._known.add(call.key)


def _is_sick(tensor: torch.Tensor) -> bool:
    """Whether it has NaN or infinities."""
    return has_health(tensor) and is_sick(tensor, torch.finfo(tensor.dtype).max)

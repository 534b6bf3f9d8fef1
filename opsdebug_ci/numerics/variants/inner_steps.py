"""The steps inside one library call: the gradient of a norm, a loss, a resampling.

To whoever watches a reference such a call is one step. The framework also has it written out in elementary steps, for
its compiler; each of them may be wrong as any step of a reference may.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from functools import partial
from typing import Any

import torch
from torch._decomp import decomposition_table

from opsdebug_ci.numerics.lifting import ObservedMode
from opsdebug_ci.numerics.variants.call import Alternative, Call, CallRule, read_call
from opsdebug_ci.numerics.variants.constants import constants
from opsdebug_ci.numerics.variants.operands import operands
from opsdebug_ci.numerics.variants.reductions import reductions
from opsdebug_ci.numerics.variants.signs import signs
from opsdebug_ci.numerics.variants.sources import sources
from opsdebug_ci.numerics.variants.terms import terms

RULES: tuple[CallRule, ...] = (constants, operands, reductions, signs, sources, terms)
"""What an inner step might have been instead."""

BACKWARD = ("_backward", "_backward_data")
"""Ends of the names of gradients."""

WRITTEN_OUT = tuple(
    """native_ _native_ _fused_rms_norm upsample_ _upsample_ grid_sampler_ nll_loss smooth_l1_loss binary_cross_entropy
    soft_margin_loss multi_margin_loss _weight_norm""".split()  # noqa: SIM905 - a word list
)
"""How the names of other calls of many steps begin."""

MOST_STEPS = 80
"""Steps of one call that are altered, its first."""

LIKELIHOOD = 0.9
"""Times its weight: a library call is more often wrong as a whole."""


def inner_steps(call: Call, only: str = "") -> Iterator[Alternative]:
    """One step inside the call altered; `only` by the alternative of that name, where one is meant."""
    steps = decomposition_table.get(call.function)
    if steps is None or (not call.name.endswith(BACKWARD) and not call.name.startswith(WRITTEN_OUT)):
        return
    end = next((end for end in BACKWARD if call.name.endswith(end)), "")
    plain = call.name.removesuffix(end).removeprefix("_").removeprefix("native_")
    where = f"{'in the gradient of' if end else 'inside'} `{plain}`"
    inner = _InnerRun(call, int(only.rpartition("#")[2]) if only else None)
    if not _same(inner.run(steps), call.result):
        return
    for place, item in inner.found:
        yield replace(
            item,
            name=f"{where}, {item.name} #{place}",
            statement=f"{where}, {item.statement}",
            result=partial(_InnerRun(call, place, item.name).run, steps),
            weight=item.weight * LIKELIHOOD,
        )


class _InnerRun:
    """Runs the steps of a call, and notes what each, or the one at `place`, might have been instead; with the `name` of
    an alternative that one takes its place."""

    def __init__(self, call: Call, place: int | None = None, name: str = "") -> None:
        self._call, self._place, self._name = call, place, name
        self._count = 0
        self._makers: dict[int, Call] = {}
        self._alive: list[Any] = []
        self._arguments = {name: value for name, value in call.values.items() if isinstance(value, torch.Tensor)}
        self.found: list[tuple[int, Alternative]] = []

    def run(self, steps: Callable[..., Any]) -> Any:
        """What the steps come to."""
        schema = self._call.function._schema.arguments
        positional = [self._call.values[item.name] for item in schema if not item.kwarg_only]
        keywords = {item.name: self._call.values[item.name] for item in schema if item.kwarg_only}
        with ObservedMode(self):
            return steps(*positional, **keywords)

    def __call__(self, func: Any, args: tuple[Any, ...], kwargs: dict[str, Any], result: Any) -> Any:
        step = read_call(func, args, kwargs, result, self._makers, self._arguments)
        if isinstance(result, torch.Tensor) and all(result is not value for value in args):
            self._makers[id(result)] = step
            self._alive.append(result)
        place, self._count = self._count, self._count + 1
        if place >= MOST_STEPS or self._place not in (None, place):
            return result
        found = (item for rule in RULES for item in rule(step))
        if not self._name:
            self.found += [(place, item) for item in found]
            return result
        made = next(item for item in found if item.name == self._name).result()
        return result.copy_(made) if func._schema.is_mutable else made


def _same(ours: Any, theirs: Any) -> bool:
    """The steps are those of this call, up to rounding."""
    pairs = zip(*(each if isinstance(each, (tuple, list)) else (each,) for each in (ours, theirs)), strict=False)
    tensors = [
        (one, other) for one, other in pairs if isinstance(one, torch.Tensor) and isinstance(other, torch.Tensor)
    ]
    return bool(tensors) and all(
        one.shape == other.shape and torch.allclose(one.double(), other.double(), rtol=1e-6, atol=1e-12, equal_nan=True)
        for one, other in tensors
    )

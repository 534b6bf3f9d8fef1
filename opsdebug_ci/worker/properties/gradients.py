"""Gradients as an operator of their own: same arguments, outputs `grad_<argument>`, the reference's as its reference.

Decides of what and with respect to what: of every output that carries a gradient in operator and reference alike, with
one cotangent each of the form the case's direction names, with respect to every floating argument the reference's
outputs depend on. What is then run and compared is an operator like any other, so gradients meet the same launches,
guards, bounds and votes.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import replace
from typing import Any, cast

import torch
from torch.utils._pytree import tree_leaves

from opsdebug_ci.errors import Unsupported
from opsdebug_ci.guard import clone_values
from opsdebug_ci.inputs import arrange, to_device
from opsdebug_ci.model.case import Case
from opsdebug_ci.model.vocabulary import Direction, Layout, ReferenceKind
from opsdebug_ci.numerics.spread import Spread
from opsdebug_ci.operators import Arguments, Operator

DIFFERENTIABLE = (torch.float64, torch.float32, torch.float16, torch.bfloat16)
"""Dtypes the framework differentiates through."""

STEPS = 128
"""Cotangents are whole multiples of 1/STEPS in [-1, 1], which every format above holds exactly: no path rounds them."""

WORST = 12.0
"""Floor of the worst case over that of the deviation: twice the six deviations of the tolerance (docs/tolerance.md)."""

_NO_FORMULA = ("no autograd formula was registered", "is not implemented", "does not require grad")
"""How the framework says that an operator has no gradient."""


LARGE_SHARE = 3
"""Part of a format's range of exponents that `backward_large` uses: as much is left to each of two factors."""

_LAYOUTS = {Direction.BACKWARD_VIEW: Layout.PADDED, Direction.BACKWARD_TRANSPOSED: Layout.TRANSPOSED}


def gradient_operator(operator: Operator, arguments: Arguments, case: Case) -> Operator:
    """The gradients of `operator`; its torch reference is run once on copies of `arguments`, to see what has one.

    Raises:
        Unsupported: nothing here has a gradient that could be verified.
    """
    function = operator.references.get(ReferenceKind.TORCH)
    contract = operator.contract
    if function is None:
        raise Unsupported("gradients are verified against those of a torch reference, and there is none")
    if contract.out is not None or contract.mutates:
        raise Unsupported("gradients of operators that write their arguments are not verified")
    pullback = _Pullback(case.seed, case.direction)
    pullback.wanted = tuple(name for name, value in arguments.items() if _is_differentiable(value))
    pullback.explore(function, arguments)
    contract = replace(contract, index=None)
    return Operator(
        operator.name,
        pullback.of(operator.function, arguments.names, narrowing=True),
        operator.inputs,
        {"torch": pullback.of(function, arguments.names, narrowing=False)},
        dtypes=operator.dtypes,
        dims=operator.dims,
        contract=contract,
        requires=operator.requires_function,
        devices=operator.devices,
    )


def floored(spread: Spread, gradient: torch.Tensor, unit_roundoff: float) -> Spread:
    """Spread of at least `unit_roundoff` times the root mean square of the gradient.

    A backward formula subtracts what may cancel (y * (g - sum(g * y)) of a softmax), and another one of the same
    function cancels elsewhere: an element near zero is as exact as its terms are, and these do not show.
    """
    finite = gradient.double()[torch.isfinite(gradient)]
    if not finite.numel() or spread.deviation.shape != gradient.shape:
        return spread
    floor = unit_roundoff * float(torch.linalg.vector_norm(finite)) / math.sqrt(finite.numel())
    worst = None if spread.worst is None else spread.worst.clamp_min(WORST * floor)
    return replace(spread, deviation=spread.deviation.clamp_min(floor), worst=worst)


class _Pullback:
    """What one operator and its reference share: the outputs, the arguments and the cotangents."""

    def __init__(self, seed: int, direction: Direction) -> None:
        self._direction = direction
        self._generator = torch.Generator().manual_seed(seed)
        self._cotangents: dict[int, torch.Tensor] = {}
        self.wanted: tuple[str, ...] = ()
        """Names of the arguments to differentiate with respect to."""

    def explore(self, function: Callable[..., Any], arguments: Arguments) -> None:
        """Keep the outputs and arguments between which `function` has gradients. Raises Unsupported when none do."""
        copies = Arguments(
            names=arguments.names, values=clone_values(arguments.values), by_keyword=arguments.by_keyword
        )
        leaves = self._leaves(dict(copies.items()))
        with torch.enable_grad():
            try:
                returned = copies.map(leaves.get).call(function)
            except Exception as error:  # user code: without a reference there is nothing to verify gradients against
                raise Unsupported(f"the torch reference raises when gradients are on: {error}") from error
            outputs = dict(_differentiable_outputs(returned))
            if not outputs:
                raise Unsupported("no output of the torch reference has a gradient")
            for position, output in outputs.items():
                self._cotangents[position] = self._cotangent(output)
            found = self._gradients(outputs, leaves, unused=True)
        self.wanted = tuple(name for name, gradient in found.items() if gradient is not None)

    def of(self, function: Callable[..., Any], names: tuple[str, ...], *, narrowing: bool) -> Callable[..., Any]:
        """`function`'s gradients; `narrowing` leaves out, for the reference too, outputs without one."""

        @functools.wraps(function)
        def gradients(*values: Any, **by_name: Any) -> dict[str, torch.Tensor]:
            given = {**dict(zip(names, values, strict=False)), **by_name}
            leaves = self._leaves(given)
            with torch.enable_grad(), _told_apart():
                returned = function(
                    *(leaves.get(name, value) for name, value in zip(names, values, strict=False)),
                    **{name: leaves.get(name, value) for name, value in by_name.items()},
                )
                outputs = {p: out for p, out in _differentiable_outputs(returned) if p in self._cotangents}
                if narrowing:
                    self._narrow(outputs)
                found = self._gradients({p: outputs[p] for p in self._cotangents}, leaves, unused=False)
            return {f"grad_{name}": gradient.detach() for name, gradient in found.items() if gradient is not None}

        return gradients

    def _narrow(self, outputs: Mapping[int, torch.Tensor]) -> None:
        if not outputs:
            raise Unsupported("no output of the operator has a gradient")
        self._cotangents = {p: cotangent for p, cotangent in self._cotangents.items() if p in outputs}

    def _leaves(self, given: Mapping[str, Any]) -> dict[str, torch.Tensor]:
        return {name: given[name].detach().requires_grad_() for name in self.wanted if name in given}

    def _cotangent(self, output: torch.Tensor) -> torch.Tensor:
        """float64 values that the output's own dtype holds exactly, on the CPU."""
        steps = torch.randint(-STEPS, STEPS + 1, output.shape, generator=self._generator).double() / STEPS
        if self._direction is Direction.BACKWARD_EXPANDED:
            return torch.full_like(steps, 0.75)
        if self._direction is Direction.BACKWARD_ZERO:
            return torch.zeros_like(steps)
        if self._direction is Direction.BACKWARD_LARGE:
            return steps * 2.0 ** (math.frexp(torch.finfo(output.dtype).max)[1] // LARGE_SHARE)
        return steps

    def _gradients(
        self, outputs: Mapping[int, torch.Tensor], leaves: Mapping[str, torch.Tensor], *, unused: bool
    ) -> dict[str, torch.Tensor | None]:
        """Gradient by argument; None, or zeros, for one that the outputs do not depend on."""
        found = torch.autograd.grad(
            tuple(outputs.values()),
            tuple(leaves.values()),
            tuple(self._fitting(position, output) for position, output in outputs.items()),
            allow_unused=True,
            materialize_grads=not unused,
        )
        return dict(zip(leaves, found, strict=True))

    def _fitting(self, position: int, output: torch.Tensor) -> torch.Tensor:
        """The output's cotangent; a fresh one for an output of another shape, which fails by its gradient's values."""
        values = self._cotangents[position]
        if values.shape != output.shape:
            return torch.ones_like(output)
        values = values.to(output.dtype, copy=True)
        if self._direction is Direction.BACKWARD_EXPANDED and values.numel():
            # As much storage as a dense one has, so that who takes it for dense reads NaN and nothing of others.
            storage = torch.full((values.numel(),), float("nan"), dtype=output.dtype)
            storage[0] = values.flatten()[0]
            values = storage.as_strided(values.shape, [0] * values.ndim)
        else:
            values = arrange(values, self._layout(values))
        placed = values if output.device.type == "cpu" else to_device({"": values}, output.device)[""]
        return cast(torch.Tensor, placed)

    def _layout(self, values: torch.Tensor) -> Layout:
        """A single row is a view where its elements lie apart."""
        layout = _LAYOUTS.get(self._direction, Layout.CONTIGUOUS)
        return Layout.STRIDED if layout is Layout.PADDED and values.ndim == 1 else layout


@contextmanager
def _told_apart() -> Iterator[None]:
    """Raises Unsupported where the framework says that an operator has no gradient at all."""
    try:
        yield
    except RuntimeError as error:  # NotImplementedError is one
        if any(words in str(error) for words in _NO_FORMULA):
            raise Unsupported(f"the operator has no gradient: {error}"[:300]) from error
        raise


def _is_differentiable(value: Any) -> bool:
    return isinstance(value, torch.Tensor) and value.layout is torch.strided and value.dtype in DIFFERENTIABLE


def _differentiable_outputs(returned: Any) -> Iterator[tuple[int, torch.Tensor]]:
    """Position among the returned tensors, and the tensor, of those that carry a gradient."""
    tensors = [leaf for leaf in tree_leaves(returned) if isinstance(leaf, torch.Tensor)]
    for position, tensor in enumerate(tensors):
        if tensor.requires_grad:
            yield position, tensor

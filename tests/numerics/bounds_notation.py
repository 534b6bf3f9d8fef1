"""A small notation for the tests of bounds: distributions, noisy runs, and the zone an implementation lands in."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import Any

import torch

from opsdebug_ci.model.contract import Contract
from opsdebug_ci.model.dtype import FLOAT_FORMATS, compute_format
from opsdebug_ci.model.observation import OutputReading
from opsdebug_ci.model.vocabulary import Kind, ReferenceKind
from opsdebug_ci.numerics.compared import ComparedOutput
from opsdebug_ci.numerics.comparison import compare
from opsdebug_ci.numerics.formats import dtype_name
from opsdebug_ci.numerics.lifting import call_lifted, widen
from opsdebug_ci.numerics.noise import Draws, Noise
from opsdebug_ci.numerics.noise_rules import noisy_result
from opsdebug_ci.numerics.spread import Arithmetic, Evaluations, ReferenceRun, Spread, measure_spread

U = 2.0**-24
"""Unit roundoff of float32."""

DISTRIBUTIONS: dict[str, Callable[[torch.Tensor], torch.Tensor]] = {
    "normal": lambda z: z,
    "uniform": torch.special.ndtr,
    "shifted": lambda z: z + 30.0,
    "heavy": lambda z: z**3,
    "constant": lambda z: torch.full_like(z, 0.1),
}
"""What becomes of normal numbers."""


def drawn(distribution: str, *shape: int, dtype: torch.dtype = torch.float32, seed: int = 0) -> torch.Tensor:
    normal = torch.randn(shape, generator=torch.Generator().manual_seed(seed), dtype=torch.float64)
    return DISTRIBUTIONS[distribution](normal).to(dtype)


def wide(*values: Any) -> torch.Tensor:
    return torch.tensor(values, dtype=torch.float64)


def noise(*, worst: bool = False, seed: int = 0, u: float = U, accumulator: float = U, operand: float = 0.0) -> Noise:
    return Noise(
        unit_roundoff=u,
        accumulator_roundoff=accumulator,
        draws=Draws(seed, signs=worst),
        worst=worst,
        operand_roundoff=operand,
    )


def replaced(source: Noise, func: Any, args: Any, kwargs: Any, result: Any) -> Any:
    """The noisy result, written in place where the call writes."""
    noisy = noisy_result(source, func, args, kwargs, result)
    return result.copy_(noisy) if func._schema.is_mutable and noisy is not result else noisy


def noisy_errors(
    function: Callable[..., Any], *args: Any, runs: int = 1, worst: bool = False, operand: float = 0.0
) -> torch.Tensor:
    """Differences of noisy runs from the exact one, stacked; `function` returns one tensor."""
    source = noise(worst=worst, operand=operand)
    exact = call_lifted(lambda: function(*args))
    errors = []
    for _ in range(runs):
        source.restart()
        noisy = call_lifted(lambda: function(*args), lambda *call: replaced(source, *call))
        assert noisy.shape == exact.shape
        errors.append(noisy - exact)
    return torch.stack(errors)


def deviation(function: Callable[..., Any], *args: Any, runs: int = 200) -> torch.Tensor:
    """Standard deviation of the noise, per element."""
    return noisy_errors(function, *args, runs=runs).square().mean(0).sqrt()


def arithmetic(dtype: torch.dtype = torch.float32, *, seed: int = 0, operand: str | None = None) -> Arithmetic:
    compute = compute_format(dtype_name(dtype))
    return Arithmetic(
        compute=compute, accumulate=compute, operand=FLOAT_FORMATS[operand] if operand else None, seed=seed
    )


def reference_run(function: Callable[..., Any], *args: Any) -> ReferenceRun:
    """The reference in float64, as the worker runs it: on fresh copies."""

    def run(change: Any, observer: Any) -> list[torch.Tensor]:
        copies = [widen(arg).clone() if isinstance(arg, torch.Tensor) else arg for arg in args]
        floating = [isinstance(copy, torch.Tensor) and copy.is_floating_point() for copy in copies]
        changed = [
            change(copy) if change and is_float else copy for copy, is_float in zip(copies, floating, strict=True)
        ]
        result = call_lifted(lambda: function(*changed), observer)
        return list(result) if isinstance(result, tuple) else [result]

    return run


def spread_of(function: Callable[..., Any], *args: Any, seed: int = 0, operand: str | None = None) -> Spread:
    return measure_spread(reference_run(function, *args), arithmetic(seed=seed, operand=operand))[0]


def judged(
    actual: torch.Tensor,
    function: Callable[..., Any],
    *args: Any,
    kind: Kind = Kind.AUTO,
    references: dict[ReferenceKind, torch.Tensor] | None = None,
    contract: Contract | None = None,
    operand: str | None = None,
    own_values: bool = False,
) -> OutputReading:
    """`actual` compared with `function`: torch in the arguments' dtype, precise in float64; as a worker does."""
    floats = [arg for arg in args if isinstance(arg, torch.Tensor) and arg.is_floating_point()]
    run, precision = reference_run(function, *args), arithmetic(floats[0].dtype, operand=operand)
    native = function(*args)
    return compare(
        ComparedOutput(
            name="out0",
            kind=kind,
            actual=actual,
            references=references or {ReferenceKind.TORCH: native, ReferenceKind.PRECISE: run(None, None)[0]},
            derived_precise=True,
            spread=None,
            evaluate=cache(lambda: Evaluations(run, precision)),
            arithmetic=precision,
            contract=contract or Contract(),
            index_source=None,
            index_axis=None,
            own_values=own_values,
        )
    )

"""A small notation for failures of numbers: `failing(function, reference, x=..., kind="norm")` and `said(failure)`."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch

from opsdebug_ci.model.clue import Clue
from opsdebug_ci.model.contract import Contract
from opsdebug_ci.model.dtype import compute_format
from opsdebug_ci.model.vocabulary import Kind, ReferenceKind
from opsdebug_ci.numerics.compared import ComparedOutput
from opsdebug_ci.numerics.comparison import examine
from opsdebug_ci.numerics.failure import Failure
from opsdebug_ci.numerics.formats import dtype_name
from opsdebug_ci.numerics.lifting import call_lifted, widen
from opsdebug_ci.numerics.spread import Arithmetic, measure_spread

EXACT = (Kind.EXACT, Kind.INDEX, Kind.QUANTIZE)


def normal(*shape: int, seed: int = 0, dtype: torch.dtype = torch.float32) -> torch.Tensor:
    return torch.randn(shape, generator=torch.Generator().manual_seed(seed), dtype=torch.float64).to(dtype)


def uniform(*shape: int, seed: int = 0, dtype: torch.dtype = torch.float32) -> torch.Tensor:
    return torch.rand(shape, generator=torch.Generator().manual_seed(seed), dtype=torch.float64).to(dtype)


def integers(low: int, high: int, *shape: int, seed: int = 0, dtype: torch.dtype = torch.int64) -> torch.Tensor:
    return torch.randint(low, high, shape, generator=torch.Generator().manual_seed(seed)).to(dtype)


def failing(
    function: Callable[..., torch.Tensor],
    reference: Callable[..., torch.Tensor],
    *,
    kind: str = "auto",
    **arguments: Any,
) -> Failure:
    """What rules see of `function` beside `reference`, which runs in float64 unless the kind is `quantize`."""
    failure = examined(function, reference, kind=kind, **arguments)
    assert failure is not None, "nothing is rejected"
    return failure


def examined(
    function: Callable[..., torch.Tensor],
    reference: Callable[..., torch.Tensor],
    *,
    kind: str = "auto",
    **arguments: Any,
) -> Failure | None:
    """`failing`, None where nothing is rejected."""
    values = list(arguments.values())
    named = Kind(kind)

    def run(change: Any, observer: Any) -> list[torch.Tensor]:
        copies = [widen(v).clone() if isinstance(v, torch.Tensor) else v for v in values]
        floating = [isinstance(c, torch.Tensor) and c.is_floating_point() for c in copies]
        changed = [change(c) if change and f else c for c, f in zip(copies, floating, strict=True)]
        return [call_lifted(lambda: reference(*changed), observer)]

    floats = [v for v in values if isinstance(v, torch.Tensor) and v.is_floating_point()]
    native = reference(*values)
    lifted = native if named is Kind.QUANTIZE else run(None, None)[0]
    compute = compute_format(dtype_name(floats[0].dtype) if floats else "float32")
    precision = Arithmetic(compute=compute, accumulate=compute, operand=None, seed=0)
    measurable = named not in EXACT and native.is_floating_point() and bool(floats)
    return examine(
        ComparedOutput(
            name="out",
            kind=named,
            actual=function(*values),
            references={ReferenceKind.TORCH: native, ReferenceKind.PRECISE: lifted},
            derived_precise=True,
            spread=measure_spread(run, precision)[0] if measurable else None,
            arithmetic=precision,
            contract=Contract(),
            index_source=floats[0] if named is Kind.INDEX else None,
            index_axis=-1 if named is Kind.INDEX else None,
            arguments=arguments,
            dims={},
        )
    )[1]


def said(rule: Callable[[Failure], Any], failure: Failure) -> list[str]:
    """Causes a rule names, most probable first."""
    clues: list[Clue] = sorted(rule(failure), key=lambda clue: -clue.confidence)
    return [str(clue.cause) for clue in clues]

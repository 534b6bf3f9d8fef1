"""The bounds granted to one output: its kind, its formats, what its references show of flushing and low precision.

Decides which facts of an output make its bound. Deliberately holds no formula: that is `bounds`.
"""

from __future__ import annotations

import torch

from opsdebug_ci.model.dtype import compute_format
from opsdebug_ci.model.vocabulary import Kind, ReferenceKind
from opsdebug_ci.numerics.bounds import Bound, BoundTerms, bound_of, licensed
from opsdebug_ci.numerics.compared import ComparedOutput
from opsdebug_ci.numerics.formats import dtype_name, float_format


def granted(
    output: ComparedOutput, used: ReferenceKind, expected: torch.Tensor, native: torch.Tensor | None
) -> Bound | None:
    """Bounds around `expected`; None for integers.

    Args:
        output: what is compared.
        used: the reference it is compared with.
        expected: that reference, float64 for a floating comparison, the output's shape.
        native: the framework's result at its own precision, widened, where it is another reference of this shape.
    """
    if not output.actual.is_floating_point() or not expected.is_floating_point():
        return None
    arithmetic, flushes = output.arithmetic, "ftz" in output.contract.allow
    terms = BoundTerms(
        kind=output.kind,
        output=float_format(output.actual.dtype),
        compute=arithmetic.compute,
        accumulate=arithmetic.accumulate,
        flushes=flushes or (native is not None and _framework_flushes(output, expected, native)),
        self_reference=output.kind is not Kind.QUANTIZE
        and (used is ReferenceKind.TORCH or arithmetic.compute.name == "float64"),
    )
    spread = output.spread
    if spread is not None and spread.deviation.shape != expected.shape:
        spread = None  # measured on a reference of another shape
    bound = bound_of(expected, spread, terms, output.contract)
    if native is None or output.kind is not Kind.AUTO or output.contract.overrides_tolerance:
        return bound
    return licensed(bound, expected, native, None if spread is None else spread.low)


def _framework_flushes(output: ComparedOutput, expected: torch.Tensor, native: torch.Tensor) -> bool:
    """The framework's own result is zero where the truth is a subnormal of the compute format."""
    if output.kind is Kind.EXACT:
        return False
    size = expected.abs()
    tiny = (size > 0) & (size < compute_format(dtype_name(output.actual.dtype)).min_normal)
    return bool((tiny & (native == 0) & (size > float_format(output.actual.dtype).min_subnormal)).any())

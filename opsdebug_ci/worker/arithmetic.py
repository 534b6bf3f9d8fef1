"""The precision an operator promises to work in on one case.

Decides how contract, dtype, kind and direction combine. Deliberately measures nothing.
"""

from __future__ import annotations

from dataclasses import replace

from opsdebug_ci.model.case import Case
from opsdebug_ci.model.contract import Contract
from opsdebug_ci.model.dtype import FLOAT_FORMATS, TF32, FloatFormat, compute_format
from opsdebug_ci.model.vocabulary import Direction, Kind
from opsdebug_ci.numerics.spread import Arithmetic
from opsdebug_ci.operators import Operator

REARRANGED_BITS = 3
"""Bits granted to gradients: a backward formula is not unique. Fused attention, which subtracts row sums of dO * O,
lies up to 4.1 times the tolerance of the written-out formula away from it; 8 is the next power of two."""


def arithmetic_of(operator: Operator, case: Case) -> Arithmetic:
    """Formats of the operator's steps, accumulators and operands on `case`.

    What a gradient is made from is stored in between at the outputs' dtype, so its steps may be as narrow as that.
    """
    contract = operator.contract
    own, declared = FLOAT_FORMATS.get(case.dtype), FLOAT_FORMATS[contract.accumulate]
    wider = own if own is not None and own.precision > declared.precision else declared
    kinds = operator.kinds
    forgiving = kinds is Kind.AUTO or (isinstance(kinds, dict) and Kind.AUTO in kinds.values())
    compute = compute_format(case.dtype)
    if case.direction is not Direction.FORWARD and own is not None:
        compute, wider = (own, wider) if own.precision < compute.precision else (_loosened(own), _loosened(wider))
    return Arithmetic(
        compute=compute,
        accumulate=wider,
        declared_operand=_declared_operand(contract, case),
        operand=FLOAT_FORMATS.get(case.dtype) if forgiving else None,
        seed=case.seed,
    )


def _loosened(fmt: FloatFormat) -> FloatFormat:
    return replace(fmt, precision=fmt.precision - REARRANGED_BITS)


def _declared_operand(contract: Contract, case: Case) -> FloatFormat | None:
    """Format the contract rounds operands of products to; the coarser one when it names two."""
    declared = [
        *([TF32] if "tf32" in contract.allow and case.dtype == "float32" else []),
        *([FLOAT_FORMATS[case.dtype]] if "low_precision_p" in contract.allow and case.dtype in FLOAT_FORMATS else []),
    ]
    return min(declared, key=lambda fmt: fmt.precision, default=None)

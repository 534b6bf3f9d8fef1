"""References that differ from each other in shape: a dispute between them, not a fault of the operator."""

from __future__ import annotations

import torch

from opsdebug_ci.model.contract import Contract
from opsdebug_ci.model.dtype import FLOAT_FORMATS
from opsdebug_ci.model.observation import OutputReading
from opsdebug_ci.model.vocabulary import Confidence, Kind, ReferenceKind
from opsdebug_ci.numerics.compared import ComparedOutput
from opsdebug_ci.numerics.comparison import compare
from opsdebug_ci.numerics.spread import Arithmetic, Spread

SINGLE = FLOAT_FORMATS["float32"]


def reading(actual: torch.Tensor, **references: torch.Tensor) -> OutputReading:
    wanted = references["torch"]
    none = torch.zeros(wanted.shape, dtype=torch.float64)
    return compare(
        ComparedOutput(
            name="out0",
            kind=Kind.MATMUL,
            actual=actual,
            references={ReferenceKind(name): values for name, values in references.items()},
            derived_precise=True,
            spread=Spread(deviation=none, worst=none, operand=None),
            arithmetic=Arithmetic(compute=SINGLE, accumulate=SINGLE, operand=None, seed=0),
            contract=Contract(),
            index_source=None,
            index_axis=None,
        )
    )


def test_a_reference_that_shares_the_output_s_shape_is_used_and_the_others_dissent() -> None:
    nothing = torch.zeros(2, 0, 5)
    found = reading(torch.ones(2, 4, 5), torch=nothing, precise=nothing.double(), naive=torch.ones(2, 4, 5).double())
    assert (found.used, found.rejected, found.confidence) == (ReferenceKind.NAIVE, 0, Confidence.LOW)
    assert found.actual.shape == found.expected.shape
    assert {vote.reference: vote.elements for vote in found.votes} == {
        ReferenceKind.TORCH: 40,
        ReferenceKind.PRECISE: 40,
    }


def test_one_reference_of_another_shape_lowers_the_confidence() -> None:
    ones = torch.ones(2, 4)
    found = reading(ones, torch=ones, precise=ones.double(), naive=torch.ones(2, 4, 1).double())
    assert (found.used, found.rejected, found.confidence) == (ReferenceKind.PRECISE, 0, Confidence.MEDIUM)
    assert {vote.reference: vote.elements for vote in found.votes} == {ReferenceKind.TORCH: 0, ReferenceKind.NAIVE: 8}


def test_a_shape_no_reference_has_is_the_operator_s() -> None:
    ones = torch.ones(2, 4)
    found = reading(torch.ones(2, 3), torch=ones, precise=ones.double(), naive=torch.ones(2, 5).double())
    assert found.accuracy is None
    assert (found.actual.shape, found.expected.shape) == ((2, 3), (2, 4))

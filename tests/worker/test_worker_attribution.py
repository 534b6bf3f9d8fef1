"""`attribute` in the worker: which output, which region, what is said of operators that break."""

from __future__ import annotations

import pytest
import torch
from worker_notation import case_of, unary

from opsdebug_ci import Contract, Operator, tensor
from opsdebug_ci.model import Status
from opsdebug_ci.model.attribution import Alignment, Attribution, TensorRole
from opsdebug_ci.model.message import AttributeCase, Breadcrumb
from opsdebug_ci.model.region import parse_region
from opsdebug_ci.worker.attribution import attribute


def attributed(operator: Operator, text: str | None = None, output: str | None = None, **fields: object) -> Attribution:
    region = None if text is None else parse_region(text)
    crumbs: list[Breadcrumb] = []
    request = AttributeCase(case=case_of(operator, **fields), region=region, output=output)
    return attribute(operator, request, crumbs.append)


def clipped(x: torch.Tensor) -> torch.Tensor:
    return torch.where(x.abs() > 1.0, 2.0001 * x, 2 * x)


def test_a_planted_branch_is_told_with_its_threshold_inside_and_outside() -> None:
    reading = attributed(unary(clipped), "[10..29]", N=400).reading
    assert reading is not None
    best = reading.splits[0]
    assert (best.feature, best.balanced_accuracy) == ("|x|", 1.0)
    assert best.threshold == pytest.approx(1.0, abs=0.02)
    assert reading.inside.elements == 20
    assert reading.inside.bad == best.region_bad > 0
    assert best.region_good == 0
    assert reading.inside.bad + reading.outside.bad == best.bad


def test_tensors_are_summarised_by_role() -> None:
    reading = attributed(unary(clipped), "[0..3]", N=40).reading
    assert reading is not None
    assert [(t.name, t.role, t.inside.count, t.outside.count) for t in reading.tensors] == [
        ("x", TensorRole.INPUT, 4, 36),
        ("out0", TensorRole.OUTPUT, 4, 36),
        ("expected", TensorRole.REFERENCE, 4, 36),
        ("error", TensorRole.ERROR, 4, 36),
    ]
    worst = reading.elements[0]
    assert worst.expected == 2 * worst.inputs["x"]


def test_a_right_operator_has_no_split() -> None:
    reading = attributed(unary(lambda x: x + x), N=40).reading
    assert reading is not None
    assert (reading.inside.bad, reading.outside.elements, reading.splits) == (0, 0, ())


def test_a_region_that_does_not_fit_is_refused_with_the_shape() -> None:
    refused = attributed(unary(clipped), "[0, 1]", N=40)
    assert refused.reading is None
    assert refused.refusal is not None
    assert "output `out0`, which has shape [40]" in refused.refusal


def test_an_output_is_chosen_by_name_and_the_worst_by_default() -> None:
    two = Operator(
        "two",
        lambda x: (x + x, x + 1),
        {"x": tensor("N")},
        {"torch": lambda x: (2 * x, x + 2)},
        dims={"N": 8},
        kind="elementwise",
    )
    assert attributed(two).reading.output == "out1"  # type: ignore[union-attr]
    assert attributed(two, output="out0").reading.output == "out0"  # type: ignore[union-attr]
    assert "the operator's outputs are `out0`, `out1`" in (attributed(two, output="y").refusal or "")


def test_operands_of_a_product_take_part_by_their_rows() -> None:
    def product(a: torch.Tensor, b: torch.Tensor) -> torch.Tensor:
        large = a.abs().amax(1, keepdim=True) > 2.5
        return (a @ b) * torch.where(large, 1.01, 1.0)

    matmul = Operator(
        "matmul",
        product,
        {"a": tensor("M K"), "b": tensor("K N")},
        {"torch": torch.matmul},
        dims={"M": 60, "K": 20, "N": 30},
        kind="matmul",
    )
    reading = attributed(matmul).reading
    assert reading is not None
    assert reading.splits[0].feature == "largest |.| of a"
    assert reading.splits[0].balanced_accuracy > 0.99
    assert [t.alignment for t in reading.tensors[:2]] == [Alignment.LEADING, Alignment.TRAILING]


@pytest.mark.parametrize(
    ("function", "status"),
    [(lambda x: x[99], Status.RAISED), (lambda x: "text", Status.RAN)],
    ids=["raises", "returns no tensor"],
)
def test_what_cannot_be_read_is_told_as_run_tells_it(function: object, status: Status) -> None:
    answer = attributed(unary(function), "[0]", N=8)
    assert (answer.reading, answer.refusal, answer.observation.status) == (None, None, status)


def test_integers_are_read_too() -> None:
    counting = unary(lambda x: (2 * x).to(torch.int64) + (x > 1), lambda x: (2 * x).to(torch.int64), kind="exact")
    reading = attributed(counting, N=64).reading
    assert reading is not None
    assert (reading.splits[0].feature, reading.splits[0].balanced_accuracy) == ("x", 1.0)


def test_the_contract_of_the_user_decides_what_is_bad() -> None:
    reading = attributed(unary(clipped, contract=Contract(rtol=0.1)), N=400).reading
    assert reading is not None
    assert reading.inside.bad == 0

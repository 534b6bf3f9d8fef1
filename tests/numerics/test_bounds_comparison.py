"""One output against its references: votes, confidence, and what cannot be compared."""

from __future__ import annotations

import math
from dataclasses import replace

import pytest
import torch
from bounds_notation import arithmetic, drawn, wide

from opsdebug_ci.model.contract import Contract
from opsdebug_ci.model.observation import OutputReading
from opsdebug_ci.model.vocabulary import Confidence, Kind, ReferenceKind, Zone
from opsdebug_ci.numerics.compared import ComparedOutput
from opsdebug_ci.numerics.comparison import compare
from opsdebug_ci.numerics.spread import Spread

TORCH, NAIVE, PRECISE = ReferenceKind.TORCH, ReferenceKind.NAIVE, ReferenceKind.PRECISE
TRUTH = wide(1.0, 2.0, -3.0, 4.0)
WRONG = wide(1.0, 2.0, -3.0, 5.0)


def output(actual: torch.Tensor, **references: torch.Tensor) -> ComparedOutput:
    return ComparedOutput(
        name="out0",
        kind=Kind.REDUCTION,
        actual=actual,
        references={REFERENCES[which]: values for which, values in references.items()},
        derived_precise=False,
        spread=None,
        arithmetic=arithmetic(),
        contract=Contract(),
        index_source=None,
        index_axis=None,
    )


def zone(reading: OutputReading) -> Zone:
    assert reading.accuracy is not None
    return reading.accuracy.zone


REFERENCES = {"torch": TORCH, "naive": NAIVE, "precise": PRECISE}
RIGHT, FAULTY = TRUTH.float(), WRONG.float()


@pytest.mark.parametrize(
    ("torch_says", "naive_says", "precise_says", "confidence", "used"),
    [
        (TRUTH, TRUTH, TRUTH, Confidence.HIGH, PRECISE),
        (WRONG, TRUTH, TRUTH, Confidence.MEDIUM, PRECISE),
        (TRUTH, WRONG, TRUTH, Confidence.MEDIUM, PRECISE),
        (WRONG, None, TRUTH, Confidence.LOW, PRECISE),
        (WRONG, WRONG, TRUTH, Confidence.LOW, PRECISE),
        (TRUTH, None, TRUTH, Confidence.HIGH, PRECISE),
        (TRUTH, TRUTH, None, Confidence.HIGH, NAIVE),
        (WRONG, TRUTH, None, Confidence.LOW, NAIVE),
        (TRUTH, None, None, Confidence.MEDIUM, TORCH),
        (None, None, TRUTH, Confidence.MEDIUM, PRECISE),
    ],
)
def test_references_vote(
    torch_says: torch.Tensor | None,
    naive_says: torch.Tensor | None,
    precise_says: torch.Tensor | None,
    confidence: Confidence,
    used: ReferenceKind,
) -> None:
    said = {
        "torch": None if torch_says is None else torch_says.float(),
        "naive": naive_says,
        "precise": precise_says,
    }
    reading = compare(output(RIGHT, **{which: values for which, values in said.items() if values is not None}))
    assert (reading.confidence, reading.used) == (confidence, used)
    assert zone(reading) is Zone.GREEN
    assert len(reading.votes) == sum(values is not None for values in said.values()) - 1


def test_agreement_of_one_formula_with_itself_is_worth_less() -> None:
    shared = replace(output(RIGHT, torch=RIGHT, precise=TRUTH), derived_precise=True)
    assert compare(shared).confidence is Confidence.MEDIUM
    loops = replace(output(RIGHT, torch=RIGHT, precise=TRUTH, naive=TRUTH), derived_precise=True)
    assert compare(loops).confidence is Confidence.HIGH


@pytest.mark.parametrize(
    ("torch_says", "naive_says", "rejected", "disputed", "sides"),
    [(RIGHT, TRUTH, 1, 0, [0, 0]), (FAULTY, TRUTH, 0, 1, [1, 0]), (FAULTY, WRONG, 0, 1, [1, 1])],
)
def test_an_element_another_reference_accepts_is_disputed(
    torch_says: torch.Tensor, naive_says: torch.Tensor, rejected: int, disputed: int, sides: list[int]
) -> None:
    reading = compare(output(FAULTY, torch=torch_says, naive=naive_says, precise=TRUTH))
    assert zone(reading) is Zone.RED
    assert (reading.rejected, reading.disputed) == (rejected, disputed)
    assert [vote.sides_with_operator for vote in reading.votes] == sides
    assert [vote.elements for vote in reading.votes] == sides


def test_a_float64_reference_may_differ_by_a_quarter_of_the_tolerance() -> None:
    tolerance = 2.0**-24 * 4.0
    for share, elements in ((0.2, 0), (0.3, 1)):
        other = TRUTH + wide(0.0, 0.0, 0.0, share * tolerance)
        (vote,) = compare(output(RIGHT, naive=other, precise=TRUTH)).votes
        assert vote.elements == elements
        assert vote.disagreement == pytest.approx(4 * share, rel=1e-6)


def test_the_framework_may_differ_as_any_correct_operator() -> None:
    neighbour = torch.nextafter(RIGHT, torch.zeros(4))
    (vote,) = compare(output(RIGHT, torch=neighbour, precise=TRUTH)).votes
    assert vote.elements == 0


def test_a_framework_result_that_overflowed_with_its_format_does_not_dissent() -> None:
    truth = wide(70000.0, -70000.0, 1.0)
    actual = truth.half()
    assert torch.isinf(actual[0])
    reading = compare(output(actual, torch=truth.half(), precise=truth))
    assert zone(reading) is Zone.GREEN
    assert [vote.elements for vote in reading.votes] == [0]
    assert reading.confidence is Confidence.HIGH


@pytest.mark.parametrize(("atol", "expected"), [(0.5, Zone.RED), (1.5, Zone.GREEN)])
def test_the_user_s_tolerance_decides(atol: float, expected: Zone) -> None:
    reading = compare(replace(output(FAULTY, precise=TRUTH), contract=Contract(atol=atol)))
    assert zone(reading) is expected
    assert reading.accuracy is not None and "overridden" in reading.accuracy.bound


@pytest.mark.parametrize("shape", [(2, 2), (4, 1), (3,), (0,), ()])
def test_another_shape_leaves_nothing_to_compare(shape: tuple[int, ...]) -> None:
    reading = compare(output(torch.ones(shape), torch=RIGHT, precise=TRUTH))
    assert reading.accuracy is None
    assert reading.actual.shape == shape and reading.expected.shape == (4,)
    assert (reading.rejected, reading.disputed, reading.votes) == (0, 0, ())


def test_another_dtype_is_compared_by_its_values_and_shows_in_the_facts() -> None:
    reading = compare(output(TRUTH.half(), torch=RIGHT, precise=TRUTH))
    assert zone(reading) is Zone.GREEN
    assert (reading.actual.dtype, reading.expected.dtype) == ("float16", "float32")


@pytest.mark.parametrize(("actual", "expected"), [([1, 2, -3, 4], Zone.GREEN), ([1, 2, -3, 5], Zone.RED)])
def test_integers_where_floats_are_wanted(actual: list[int], expected: Zone) -> None:
    reading = compare(output(torch.tensor(actual), torch=RIGHT, precise=TRUTH))
    assert zone(reading) is expected
    assert (reading.actual.dtype, reading.expected.dtype) == ("int64", "float32")


def test_floats_where_integers_are_wanted() -> None:
    wanted = torch.tensor([1, 2, 3])
    exact = replace(output(torch.tensor([1.0, 2.0, 3.5]), torch=wanted), kind=Kind.EXACT)
    reading = compare(exact)
    assert zone(reading) is Zone.RED
    assert reading.rejected == 1
    assert (reading.actual.dtype, reading.expected.dtype) == ("float32", "int64")


@pytest.mark.parametrize("kind", [Kind.REDUCTION, Kind.EXACT, Kind.QUANTIZE])
def test_an_empty_output_compares_nothing(kind: Kind) -> None:
    reading = compare(replace(output(torch.empty(0, 3), torch=torch.empty(0, 3)), kind=kind))
    assert reading.accuracy is not None
    assert reading.accuracy.compared == 0
    assert reading.accuracy.worst is None
    assert (reading.rejected, zone(reading)) == (0, Zone.GREEN)


def test_flushing_is_forgiven_where_the_contract_allows_it() -> None:
    truth, zero = wide(1e-40, 1.0), torch.tensor([0.0, 1.0])
    assert zone(compare(output(zero, precise=truth))) is Zone.RED
    declared = replace(output(zero, precise=truth), contract=Contract(allow=("ftz",)))
    assert zone(compare(declared)) is Zone.GREEN


def test_an_underflow_to_nearest_is_no_sign_of_flushing() -> None:
    """1e-46 rounds to zero in float32 anyway, so the other element's flush stays a fault."""
    truth = wide(1e-46, 1e-40)
    reading = compare(output(torch.zeros(2), torch=torch.tensor([0.0, 1e-40]), precise=truth))
    assert zone(reading) is Zone.RED and reading.rejected == 1


def test_classes_are_told_apart_in_the_reading() -> None:
    actual = torch.tensor([1.0, math.inf, -3.0, math.nan])
    reading = compare(output(actual, precise=TRUTH))
    assert reading.accuracy is not None
    cells = {(cell.expected, cell.actual, cell.count, cell.first_index) for cell in reading.accuracy.class_mismatches}
    assert cells == {("normal", "+inf", 1, (1,)), ("normal", "nan", 1, (3,))}
    assert reading.accuracy.over_worst_case == 2
    assert reading.accuracy.worst is not None and reading.accuracy.worst.index == (1,)


@pytest.mark.parametrize("dtype", [torch.float8_e4m3fn, torch.float8_e5m2])
def test_eight_bit_floats_are_compared(dtype: torch.dtype) -> None:
    truth = drawn("normal", 64).double()
    right = truth.to(dtype)
    assert zone(compare(output(right, precise=truth))) is Zone.GREEN
    broken = right.clone()
    broken[3] = torch.tensor(math.nan).to(dtype)
    reading = compare(output(broken, precise=truth))
    assert zone(reading) is Zone.RED and reading.rejected == 1


def indices(actual: list[int], axis: int | None = 1) -> OutputReading:
    source = torch.tensor([[1.0, 5.0, 5.0, 0.0], [2.0, 2.0, 0.0, 1.0]])
    wanted = torch.tensor([1, 0])
    return compare(
        replace(
            output(torch.tensor(actual), torch=wanted, naive=wanted.clone()),
            kind=Kind.INDEX,
            index_source=source,
            index_axis=axis,
        )
    )


@pytest.mark.parametrize("axis", [1, -1, None])
def test_indices_may_break_ties_their_own_way(axis: int | None) -> None:
    for actual, expected in (([1, 0], Zone.GREEN), ([2, 1], Zone.GREEN), ([3, 0], Zone.RED), ([1, 9], Zone.RED)):
        assert zone(indices(actual, axis)) is expected


def test_one_index_into_a_matrix_counts_its_elements() -> None:
    source = torch.tensor([[1.0, 5.0], [5.0, 0.0]])
    for actual, expected in ((1, Zone.GREEN), (2, Zone.GREEN), (3, Zone.RED)):
        flat = replace(
            output(torch.tensor(actual), torch=torch.tensor(1)), kind=Kind.INDEX, index_source=source, index_axis=None
        )
        assert zone(compare(flat)) is expected


def test_an_axis_that_does_not_fit_leaves_plain_integers() -> None:
    misfit = replace(
        output(torch.zeros(2, 2, 2, dtype=torch.int64), torch=torch.zeros(2, 2, 2, dtype=torch.int64)),
        kind=Kind.INDEX,
        index_source=torch.ones(3),
        index_axis=0,
    )
    assert zone(compare(misfit)) is Zone.GREEN


def test_the_worst_element_is_the_one_furthest_beyond_its_own_tolerance() -> None:
    truth = wide(1.0, 1000.0)
    spread = Spread(deviation=wide(1e-3, 1.0), worst=wide(1e-2, 10.0), operand=None)
    actual = torch.tensor([1.1, 1001.0])
    reading = compare(replace(output(actual, precise=truth), spread=spread))
    assert reading.accuracy is not None and reading.accuracy.worst is not None
    worst = reading.accuracy.worst
    assert worst.index == (0,)
    assert worst.tolerance == pytest.approx(6e-3, rel=1e-3)
    assert worst.worst_case == pytest.approx(12e-3, rel=1e-3)
    assert worst.ratio == pytest.approx(0.1 / 6e-3, rel=1e-3)
    assert (reading.accuracy.over_tolerance, reading.accuracy.over_worst_case) == (1, 1)


def references_apart(used: float, torch_off: float, naive_off: float) -> OutputReading:
    """An output that is the truth, with references moved off it in units of one float32 rounding."""
    truth = drawn("uniform", 400, dtype=torch.float64) + 1.0
    spread = Spread(deviation=truth * 2.0**-24, worst=truth * 2.0**-22, operand=None)
    references = {
        PRECISE: truth * (1 + used * 2.0**-24),
        NAIVE: truth * (1 + naive_off * 2.0**-24),
        TORCH: (truth * (1 + torch_off * 2.0**-24)).float(),
    }
    return compare(replace(output(truth.float(), torch=truth), references=references, spread=spread))


@pytest.mark.parametrize(
    ("naive_off", "confidence"), [(0.0, Confidence.HIGH), (0.1, Confidence.HIGH), (0.6, Confidence.MEDIUM)]
)
def test_confidence_is_how_closely_the_wide_references_agree(naive_off: float, confidence: Confidence) -> None:
    """The tolerance is 7 to 8 roundings, a quarter of it about 1.75: 0.1 and 0.6 of that leave 0.94 and 0.66."""
    assert references_apart(0.0, 0.0, naive_off).confidence is confidence


def test_references_that_agree_only_loosely_give_no_verdict() -> None:
    reading = references_apart(0.0, 0.0, 1.3)
    assert not any(vote.elements for vote in reading.votes)
    assert reading.confidence is Confidence.LOW


@pytest.mark.parametrize(
    ("used", "torch_off", "naive_off", "allies"),
    [
        (0.0, 1000.0, 0.0, {TORCH: ()}),
        (0.0, 0.0, 1000.0, {NAIVE: ()}),
        (1000.0, 0.0, 0.0, {TORCH: (NAIVE,), NAIVE: (TORCH,)}),
        (0.0, 1000.0, -1000.0, {TORCH: (), NAIVE: ()}),
    ],
    ids=["torch odd", "naive odd", "precise odd", "all differ"],
)
def test_votes_say_who_agrees_with_whom(used, torch_off, naive_off, allies) -> None:
    reading = references_apart(used, torch_off, naive_off)
    assert {vote.reference: vote.allies for vote in reading.votes if vote.elements} == allies

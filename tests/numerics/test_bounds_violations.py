"""Elements beyond a bound: classes at the edge of the formats, integers, codes and indices."""

from __future__ import annotations

import itertools
import math
from fractions import Fraction

import pytest
import torch
from bounds_notation import wide

from opsdebug_ci.model.dtype import FLOAT_FORMATS
from opsdebug_ci.model.vocabulary import Kind
from opsdebug_ci.numerics.blocks import BLOCK
from opsdebug_ci.numerics.bounds import Bound
from opsdebug_ci.numerics.violations import (
    Violations,
    _judged,
    _of_block,
    float_violations,
    index_violations,
    infer_index_axis,
    integer_violations,
    overflow_threshold,
    strict_codes,
)

INF, NAN = math.inf, math.nan


def bound(expected: torch.Tensor, *, tolerance: float = 0.0, worst: float = 0.0, exact: bool = False) -> Bound:
    size = torch.nan_to_num(expected.abs(), nan=0.0, posinf=0.0)
    return Bound(
        rounding=torch.zeros_like(size),
        tolerance=torch.full_like(size, tolerance),
        worst_case=torch.full_like(size, worst),
        exact=exact,
        text="",
    )


def judge(got: float, expected: float, name: str = "float32", **terms: float) -> str:
    """Zone of one element, with its class."""
    expected_tensor = wide(expected)
    found = float_violations(wide(got), expected_tensor, bound(expected_tensor, **terms), FLOAT_FORMATS[name])
    if bool(found.classes):
        assert bool(found.red) and bool(found.over)
        return "class"
    return "red" if bool(found.red) else "amber" if bool(found.over) else "green"


@pytest.mark.parametrize(
    ("got", "expected", "zone"),
    [
        (NAN, NAN, "green"),
        (NAN, 1.0, "class"),
        (NAN, INF, "class"),
        (1.0, NAN, "class"),
        (INF, NAN, "class"),
        (INF, INF, "green"),
        (-INF, INF, "class"),
        (3e38, INF, "class"),
        (INF, 1.0, "class"),
        (INF, -3.5e38, "class"),
        (-INF, -3.5e38, "green"),
        (0.0, -0.0, "green"),
        (1.0, 1.0, "green"),
        (1.5, 1.0, "green"),
        (1.75, 1.0, "amber"),
        (2.0, 1.0, "amber"),
        (2.25, 1.0, "red"),
    ],
)
def test_classes_come_before_distances(got: float, expected: float, zone: str) -> None:
    assert judge(got, expected, tolerance=0.5, worst=1.0) == zone


@pytest.mark.parametrize("name", ["float32", "float16", "bfloat16", "float8_e5m2", "float8_e4m3fn"])
def test_the_overflow_threshold_is_the_largest_value_and_half_an_ulp(name: str) -> None:
    form = FLOAT_FORMATS[name]
    exponent = math.floor(math.log2(Fraction(form.max_finite)))
    half_ulp = Fraction(2) ** (exponent - form.precision + 1) / 2
    assert Fraction(overflow_threshold(form)) == Fraction(form.max_finite) + half_ulp


def test_float64_has_no_threshold_that_float64_can_hold() -> None:
    assert overflow_threshold(FLOAT_FORMATS["float64"]) == INF


@pytest.mark.parametrize("name", ["float32", "float16", "bfloat16", "float8_e5m2"])
@pytest.mark.parametrize("sign", [1.0, -1.0])
def test_half_an_ulp_around_the_largest_value_decides_between_it_and_infinity(name: str, sign: float) -> None:
    largest, threshold = FLOAT_FORMATS[name].max_finite, overflow_threshold(FLOAT_FORMATS[name])
    below, above = math.nextafter(threshold, 0.0), math.nextafter(threshold, INF)
    gap = threshold - largest
    assert judge(sign * largest, sign * below, name, tolerance=gap) != "class"
    assert judge(sign * INF, sign * below, name) == "class"
    for beyond in (threshold, above, 2 * largest):
        assert judge(sign * INF, sign * beyond, name) == "green"
        assert judge(sign * largest, sign * beyond, name) == "class"
        assert judge(-sign * INF, sign * beyond, name) == "class"
    # Within the worst case of the threshold either is right.
    for near in (below, threshold, above):
        assert judge(sign * INF, sign * near, name, tolerance=gap, worst=gap) == "green"
        assert judge(sign * largest, sign * near, name, tolerance=gap, worst=gap) == "green"


@pytest.mark.parametrize("got", [1.7976931348623157e308, INF])
def test_a_copied_float64_extreme_is_itself_only(got: float) -> None:
    assert judge(got, got, "float64", exact=True) == "green"
    other = INF if math.isfinite(got) else 1.7976931348623157e308
    assert judge(other, got, "float64", exact=True) == "class"


@pytest.mark.parametrize(
    ("got", "expected", "zone"),
    [
        (448.0, 448.0, "green"),
        (448.0, 463.0, "green"),
        (448.0, 1000.0, "green"),
        (-448.0, -1000.0, "green"),
        (NAN, 1000.0, "green"),
        (NAN, 440.0, "class"),
        (416.0, 1000.0, "class"),
        (-448.0, 1000.0, "class"),
        (448.0, INF, "green"),
        (NAN, INF, "green"),
        (-448.0, INF, "class"),
        (416.0, INF, "class"),
        (448.0, NAN, "class"),
    ],
)
def test_a_format_without_infinities_saturates(got: float, expected: float, zone: str) -> None:
    assert judge(got, expected, "float8_e4m3fn", tolerance=1.0, worst=1.0) == zone


@pytest.mark.parametrize(("got", "expected"), [(-0.0, 0.0), (0.0, -0.0)])
def test_exact_outputs_keep_the_sign_of_zero(got: float, expected: float) -> None:
    assert judge(got, expected, exact=True) == "class"
    assert judge(got, got, exact=True) == "green"
    assert judge(got, expected) == "green"


def test_a_tolerance_that_is_not_a_number_accepts_nothing() -> None:
    assert judge(1.0, 1.0, tolerance=NAN, worst=NAN) == "red"


@pytest.mark.parametrize(
    ("actual", "tolerance", "worst"),
    [
        ((1.25, 2.0, NAN, 3.0), 0.5, 3),
        ((1.25, 2.25, NAN, 4.25), 0.5, 0),
        ((1.0, 2.0, NAN, 4.0), 0.5, 0),
        ((9.0, 2.0, 1.0, INF), 0.5, 2),
        ((1.0, 2.5, NAN, 4.0), 0.0, 1),
        ((1.0, 2.5, 0.0, 4.5), NAN, 1),
    ],
)
def test_the_worst_element_has_the_largest_error_in_tolerances(
    actual: tuple[float, ...], tolerance: float, worst: int
) -> None:
    expected = wide(1.0, 2.0, NAN, 4.0)
    terms = bound(expected, tolerance=tolerance, worst=1.0)
    assert float_violations(wide(*actual), expected, terms, FLOAT_FORMATS["float32"]).worst == worst


def test_of_no_elements_none_is_the_worst() -> None:
    empty = torch.empty(0, 3, dtype=torch.float64)
    found = float_violations(empty, empty, bound(empty), FLOAT_FORMATS["float32"])
    assert (found.worst, found.over.shape, found.red.shape) == (None, (0, 3), (0, 3))


@pytest.mark.parametrize("place", [BLOCK - 1, BLOCK, BLOCK + 2])
@pytest.mark.parametrize(
    ("value", "zone"),
    [(1.5, ""), (1.75, "over"), (2.5, "over red"), (NAN, "over red classes"), (INF, "over red classes")],
)
def test_one_element_is_judged_wherever_it_stands(place: int, value: float, zone: str) -> None:
    expected = torch.ones(1, BLOCK + 3, dtype=torch.float64)
    actual = expected.to(torch.float32)
    actual[0, place] = value
    found = float_violations(actual, expected, bound(expected, tolerance=0.5, worst=1.0), FLOAT_FORMATS["float32"])
    alone = torch.zeros_like(expected, dtype=torch.bool)
    alone[0, place] = True
    for name, mask in (("over", found.over), ("red", found.red), ("classes", found.classes)):
        assert torch.equal(mask, alone if name in zone.split() else ~alone & alone), name
    assert found.worst == place


@pytest.mark.parametrize("value", [1.75, NAN])
def test_elements_of_a_transposed_pair_are_judged_where_they_stand(value: float) -> None:
    """Of two that are equally bad, the first in C order is not the first in memory."""
    expected = torch.ones(BLOCK, 3, dtype=torch.float64).t()
    actual = expected.float()
    actual[0, 5] = actual[2, 1] = value
    terms = bound(expected, tolerance=0.5, worst=1.0)
    found = float_violations(actual, expected, terms, FLOAT_FORMATS["float32"])
    assert (actual.stride(), terms.tolerance.stride()) == ((1, 3), (1, 3))
    assert found.over.nonzero().tolist() == [[0, 5], [2, 1]]
    assert found.worst == 5


@pytest.mark.parametrize(("tolerance", "worst"), [(NAN, 1.0), (1.0, NAN), (-1.0, 1.0), (1.0, -1.0)])
def test_equal_numbers_still_need_tolerances_that_accept_them(tolerance: float, worst: float) -> None:
    expected = wide(1.0, 2.0)
    terms = bound(expected, tolerance=tolerance, worst=worst)
    found = float_violations(expected.clone(), expected, terms, FLOAT_FORMATS["float32"])
    assert found.over.tolist() == [tolerance != 1.0] * 2
    assert found.red.tolist() == [worst != 1.0] * 2


@pytest.mark.parametrize("exact", [False, True])
@pytest.mark.parametrize("name", ["float32", "float8_e4m3fn"])
def test_every_element_is_judged_as_if_it_were_alone(name: str, exact: bool) -> None:
    """Whatever shares its block, and wherever the block is cut."""
    values = (0.0, -0.0, 1.0, -1.25, 1.5, 448.0, 500.0, 1e39, INF, -INF, NAN)
    terms = (0.0, 0.3, 0.5, -1.0, INF, NAN)
    rows = list(itertools.product(values, values, terms, terms))
    got, expected, tolerance, worst = (wide(*column) for column in zip(*rows, strict=True))
    given = Bound(rounding=tolerance, tolerance=tolerance, worst_case=worst, exact=exact, text="")
    output = FLOAT_FORMATS[name]
    found = float_violations(got, expected, given, output)
    alone = [
        float_violations(
            got[k : k + 1], expected[k : k + 1], _of_block(given, tolerance[k : k + 1], worst[k : k + 1]), output
        )
        for k in range(0, len(rows), 7)
    ]
    judged = _judged(got, expected, given, output)
    for which, definition in zip(("over", "red", "classes"), judged, strict=False):
        assert torch.equal(getattr(found, which), definition), which
        assert [bool(getattr(one, which)) for one in alone] == definition[::7].tolist(), which


def test_a_green_output_of_an_exact_bound_keeps_the_sign_of_zero() -> None:
    expected = wide(0.0, 1.0)
    terms = bound(expected, tolerance=1.0, worst=1.0, exact=True)
    for actual, wrong in ((wide(0.0, 1.0), False), (wide(-0.0, 1.0), True), (wide(-0.0, 1.5), True)):
        assert float_violations(actual, expected, terms, FLOAT_FORMATS["float32"]).over.tolist() == [wrong, False]


@pytest.mark.parametrize("value", [2**53 + 1, 2**62 + 1, -(2**63) + 1])
def test_integers_are_compared_as_integers(value: int) -> None:
    """float64 would call these neighbours equal."""
    assert float(value) == float(value - 1)
    got, wanted = torch.tensor([value, value]), torch.tensor([value, value - 1])
    assert integer_violations(got, wanted, Kind.EXACT).red.tolist() == [False, True]


def test_booleans_are_integers() -> None:
    found = integer_violations(torch.tensor([True, False]), torch.tensor([True, True]), Kind.EXACT)
    assert found.red.tolist() == [False, True]


def codes(off_by_one: int, off_by_two: int, count: int = 1000) -> Violations:
    wanted = torch.zeros(count, dtype=torch.int8)
    got = wanted.clone()
    got[:off_by_one] = 1
    got[off_by_one : off_by_one + off_by_two] = -2
    return integer_violations(got, wanted, Kind.QUANTIZE)


@pytest.mark.parametrize(
    ("ones", "twos", "over", "red"), [(0, 0, 0, 0), (10, 0, 10, 0), (11, 0, 11, 11), (3, 1, 4, 1), (0, 20, 20, 20)]
)
def test_one_percent_of_the_codes_may_lie_one_off(ones: int, twos: int, over: int, red: int) -> None:
    found = codes(ones, twos)
    assert (int(found.over.sum()), int(found.red.sum())) == (over, red)


def test_codes_at_opposite_ends_are_not_neighbours() -> None:
    """Their difference wraps around in 64 bits."""
    extremes = torch.iinfo(torch.int64)
    got, wanted = torch.zeros(1000, dtype=torch.int64), torch.zeros(1000, dtype=torch.int64)
    got[0], wanted[0] = extremes.max, extremes.min
    assert int(integer_violations(got, wanted, Kind.QUANTIZE).red.sum()) == 1


def test_strictness_about_codes_looks_at_the_share() -> None:
    over = torch.zeros(200, dtype=torch.bool)
    over[:2] = True
    found = Violations(over=over, red=~over & over, classes=~over & over, worst=0)
    assert int(strict_codes(found).red.sum()) == 0
    over[2] = True
    assert int(strict_codes(found).red.sum()) == 3


SOURCE = torch.tensor([[5.0, 7.0, 7.0, 1.0], [NAN, 2.0, NAN, 3.0]])


@pytest.mark.parametrize(
    ("got", "wanted", "bad"),
    [
        ([[1, 2], [0, 2]], [[1, 2], [0, 2]], [0, 0, 0, 0]),
        ([[2, 1], [2, 0]], [[1, 2], [0, 2]], [0, 0, 0, 0]),
        ([[1, 0], [0, 2]], [[1, 2], [0, 2]], [0, 1, 0, 0]),
        ([[1, 1], [0, 2]], [[1, 2], [0, 2]], [0, 1, 0, 0]),
        ([[1, 4], [0, 2]], [[1, 2], [0, 2]], [0, 1, 0, 0]),
        ([[1, -1], [0, 2]], [[1, 2], [0, 2]], [0, 1, 0, 0]),
        ([[1, 2], [0, 3]], [[1, 2], [0, 2]], [0, 0, 0, 1]),
        ([[1, 1], [0, 0]], [[1, 1], [0, 0]], [0, 0, 0, 0]),
        ([[-1, 2], [-1, 2]], [[-1, 2], [0, 2]], [0, 0, 1, 0]),
    ],
    ids=["same", "ties swapped", "not a tie", "one twice", "beyond", "before", "not NaN", "twice wanted", "none"],
)
def test_indices_are_compared_by_what_they_point_at(
    got: list[list[int]], wanted: list[list[int]], bad: list[int]
) -> None:
    found = index_violations(torch.tensor(got), torch.tensor(wanted), SOURCE, 1)
    assert found.red.int().flatten().tolist() == bad
    assert torch.equal(found.over, found.red)


def test_an_index_without_its_axis_is_compared_too() -> None:
    assert index_violations(torch.tensor([2, 2]), torch.tensor([1, 0]), SOURCE, 1).red.tolist() == [False, False]
    assert index_violations(torch.tensor([3, 1]), torch.tensor([1, 0]), SOURCE, 1).red.tolist() == [True, True]
    assert index_violations(torch.tensor([0, 1, 0, 0]), torch.tensor([0, 1, 0, 1]), SOURCE, 0).red.tolist() == [
        False,
        False,
        False,
        True,
    ]


@pytest.mark.parametrize(("got", "bad"), [(1, False), (2, False), (3, True), (8, True)])
def test_one_index_counts_the_elements(got: int, bad: bool) -> None:
    source = torch.tensor([[5.0, 7.0], [7.0, 1.0]])
    assert bool(index_violations(torch.tensor(got), torch.tensor(1), source, 0).red) is bad


def test_indices_into_integers_and_nothing() -> None:
    source = torch.tensor([3, 3, 4])
    assert index_violations(torch.tensor([1]), torch.tensor([0]), source, 0).red.tolist() == [False]
    nothing = torch.empty(2, 0)
    found = index_violations(torch.zeros(2, 0).long(), torch.zeros(2, 0).long(), nothing, 1)
    assert found.red.shape == (2, 0)
    assert index_violations(torch.tensor([0, 0]), torch.tensor([-1, -1]), nothing, 1).red.tolist() == [True, True]


@pytest.mark.parametrize(
    ("indices", "source", "axis"),
    [
        ((2, 3), (2, 9), 1),
        ((4, 9), (2, 9), 0),
        ((2,), (2, 9), 1),
        ((9,), (2, 9), 0),
        ((5,), (5, 5), None),
        ((2, 9), (2, 9), None),
        ((1, 1), (2, 9), None),
        ((2, 3, 4), (2, 9), None),
        ((), (2, 9), 0),
        ((), (7,), 0),
    ],
)
def test_the_axis_is_inferred_where_only_one_fits(
    indices: tuple[int, ...], source: tuple[int, ...], axis: int | None
) -> None:
    assert infer_index_axis(torch.zeros(indices, dtype=torch.int64), torch.zeros(source)) == axis


@pytest.mark.parametrize("off", [1.0, 1.25, 1.75, NAN])
@pytest.mark.parametrize(("tolerance", "worst"), [(NAN, 1.0), (0.5, NAN), (-1.0, 1.0), (0.5, -1.0)])
def test_blocks_after_one_that_was_off_still_need_tolerances_that_accept_them(
    off: float, tolerance: float, worst: float
) -> None:
    expected = torch.ones(6 * BLOCK, dtype=torch.float64)
    actual = expected.float()
    actual[1] = off
    terms = bound(expected, tolerance=0.5, worst=1.0)
    terms.tolerance[-1], terms.worst_case[-1] = tolerance, worst
    found = float_violations(actual, expected, terms, FLOAT_FORMATS["float32"])
    alone = found.over.nonzero().flatten().tolist(), found.red.nonzero().flatten().tolist()
    last = 6 * BLOCK - 1
    over = [1] * (not off < 1.5) + [last] * (not tolerance >= 0)
    red = [1] * math.isnan(off) + [last] * (not worst >= 0)
    assert alone == (over, red)


def test_of_equally_bad_elements_in_two_blocks_the_first_counts() -> None:
    expected = torch.ones(6 * BLOCK, dtype=torch.float64)
    actual = expected.float()
    actual[[BLOCK + 7, 3 * BLOCK, 5 * BLOCK + 1]] = 1.25
    for _ in range(5):
        found = float_violations(actual, expected, bound(expected, tolerance=0.5, worst=1.0), FLOAT_FORMATS["float32"])
        assert (bool(found.over.any()), found.worst) == (False, BLOCK + 7)


@pytest.mark.parametrize(("second", "over"), [(1.375, []), (1.625, [4 * BLOCK])])
@pytest.mark.parametrize("first", [1.25, NAN])
def test_a_block_a_little_worse_than_one_before_is_judged(first: float, second: float, over: list[int]) -> None:
    expected = torch.ones(6 * BLOCK, dtype=torch.float64)
    actual = expected.float()
    actual[0], actual[4 * BLOCK] = first, second
    found = float_violations(actual, expected, bound(expected, tolerance=0.5, worst=1.0), FLOAT_FORMATS["float32"])
    assert found.over.nonzero().flatten().tolist() == [0] * math.isnan(first) + over
    assert found.worst == (0 if math.isnan(first) else 4 * BLOCK)

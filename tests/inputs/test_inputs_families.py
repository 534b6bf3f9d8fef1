"""Every family, in every dtype and at awkward shapes, holds what it is documented to hold."""

from __future__ import annotations

import math
from collections.abc import Callable
from itertools import pairwise

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from opsdebug_ci.inputs import FAMILIES, stream_for, torch_dtype
from opsdebug_ci.inputs.aimed_families import BRANCH_POINTS
from opsdebug_ci.inputs.magnitude import GROWTH, large_exponent
from opsdebug_ci.inputs.placement import edge_columns
from opsdebug_ci.inputs.recipe import Recipe
from opsdebug_ci.model.dtype import DTYPE_NAMES, FLOAT_FORMATS, INTEGER_FORMATS, compute_format
from opsdebug_ci.model.families import FAMILY_TRAITS
from opsdebug_ci.model.vocabulary import Family, Kind, ValueDomain

SHAPES = [(), (0,), (1,), (7,), (33,), (2, 3, 5), (0, 4), (4, 0), (64, 16)]
BIG = (64, 128)


def make(
    family: Family,
    shape: tuple[int, ...],
    dtype: str,
    seed: int = 0,
    kind: Kind = Kind.EXACT,
    domain: ValueDomain = ValueDomain.ANY,
) -> torch.Tensor:
    stream = stream_for(seed, operator="op", argument="x", family=str(family))
    return FAMILIES[family](shape, dtype, stream, kind, domain)


def bits(values: torch.Tensor) -> torch.Tensor:
    return values.view({1: torch.uint8, 2: torch.int16, 4: torch.int32, 8: torch.int64}[values.element_size()])


def wide(values: torch.Tensor) -> torch.Tensor:
    return values.to(torch.float64)


def test_registry_covers_the_vocabulary() -> None:
    assert set(FAMILIES) == set(FAMILY_TRAITS) == set(Family) - {Family.OWN, Family.OWN_EMPTY}


@pytest.mark.parametrize("shape", SHAPES, ids=str)
@pytest.mark.parametrize("dtype", DTYPE_NAMES)
@pytest.mark.parametrize("family", list(FAMILIES), ids=str)
def test_shape_dtype_layout_and_repetition(family: Family, dtype: str, shape: tuple[int, ...]) -> None:
    values = make(family, shape, dtype)
    again = make(family, shape, dtype)
    assert (tuple(values.shape), values.dtype, values.device.type) == (shape, torch_dtype(dtype), "cpu")
    assert values.is_contiguous()
    assert values.storage_offset() == 0
    assert values.stride() == torch.empty(shape).stride()
    assert torch.equal(bits(values), bits(again))


@pytest.mark.parametrize("dtype", tuple(FLOAT_FORMATS))
@pytest.mark.parametrize("family", [f for f, traits in FAMILY_TRAITS.items() if not traits.non_finite], ids=str)
def test_finite_families_are_finite(family: Family, dtype: str) -> None:
    for kind in Kind:
        assert torch.isfinite(wide(make(family, BIG, dtype, kind=kind))).all()


SEEDLESS = {
    # The magnitude of a bool is always 1, the lowest bit of an odd number too, and its edges are its only true values.
    (Family.SUBNORMAL, "bool"),
    (Family.SUBNORMAL, "uint8"),
    (Family.HALVES, "bool"),
    (Family.EDGES, "bool"),
}


@pytest.mark.parametrize("dtype", DTYPE_NAMES)
@pytest.mark.parametrize("family", sorted(set(FAMILIES) - {Family.CONSTANT, Family.INDEX_CODED}), ids=str)
def test_the_seed_matters(family: Family, dtype: str) -> None:
    made = {tuple(bits(make(family, BIG, dtype, seed)).reshape(-1).tolist()) for seed in range(3)}
    assert len(made) == (1 if (family, dtype) in SEEDLESS else 3)


FLOAT_PROPERTIES: dict[Family, Callable[[torch.Tensor, str], bool]] = {
    Family.NORMAL: lambda x, d: abs(float(x.mean())) < 0.06 and abs(float(x.var()) - 1) < 0.08,
    Family.UNIFORM: lambda x, d: float(x.min()) >= 0 and float(x.max()) <= 1 and abs(float(x.mean()) - 0.5) < 0.03,
    Family.SHIFTED: lambda x, d: float(x.min()) >= 26 and float(x.max()) <= 34 and abs(float(x.mean()) - 30) < 0.3,
    Family.HEAVY: lambda x, d: float(x.abs().max()) > 15 * float(x.abs().median()) and float(x.min()) < 0,
    Family.CONSTANT: lambda x, d: (
        len(x.unique()) == 1 and abs(float(x[0, 0]) - 0.1) <= 0.1 * 2.0 ** -FLOAT_FORMATS[d].precision
    ),
    Family.CANCELLING: lambda x, d: bool((x[..., ::2] == -x[..., 1::2]).all()) and float(x.std()) > 0.5,
    Family.SMALL: lambda x, d: 0 < float(x.abs().max()) <= 3.5 * max(2.0**-10, 2 * FLOAT_FORMATS[d].min_normal),
    Family.SUBNORMAL: lambda x, d: (
        bool(((x.abs() > 0) & (x.abs() < FLOAT_FORMATS[d].min_normal)).all()) and int((x < 0).sum()) == x.numel() // 2
    ),
    Family.INTEGER: lambda x, d: (
        bool((x == x.round()).all()) and float(x.abs().max()) == min(32, 2 ** FLOAT_FORMATS[d].precision)
    ),
    Family.INDEX_CODED: lambda x, d: (
        x.reshape(-1).tolist() == [i % 2 ** FLOAT_FORMATS[d].precision for i in range(x.numel())]
    ),
    Family.TIES: lambda x, d: sorted(x.unique().tolist()) == [-2.5, -1.5, -0.5, 0.0, 0.5, 1.0, 1.5, 2.5],
    Family.SIGNED_ZEROS: lambda x, d: (
        bool((x == 0).logical_and(torch.signbit(x)).sum() >= x.numel() // 6)
        and bool((x == 0).logical_and(~torch.signbit(x)).sum() >= x.numel() // 4)
        and float(x.abs().max()) > 2
    ),
    Family.NEAR_CONSTANT: lambda x, d: (
        abs(float(x.mean()) - 1) < 0.02 and 0.5 * nearness(d) < float(x.std()) < 1.2 * nearness(d)
    ),
    Family.EDGES: lambda x, d: bool((x.abs().sort(-1).values[..., -2:] > 10).sum(-1).eq(1).all()),
    Family.LEVELS: lambda x, d: (
        [round(float(row.mean()) / 12) for row in x[:8]] == [0, -10, 10, -1] * 2
        and bool((x.amax(-1).reshape(-1, 4) <= torch.tensor([4.0, -112.0, 128.0, -8.0])).all())
    ),
}


def nearness(dtype: str) -> float:
    """A thousandth, or two units in the last place at 1."""
    return max(2.0**-10, 2.0 ** (2 - FLOAT_FORMATS[dtype].precision))


@pytest.mark.parametrize("dtype", tuple(FLOAT_FORMATS))
@pytest.mark.parametrize("family", list(FLOAT_PROPERTIES), ids=str)
def test_float_families(family: Family, dtype: str) -> None:
    assert FLOAT_PROPERTIES[family](wide(make(family, BIG, dtype)), dtype)


@pytest.mark.parametrize("shape", [(7,), (33,), (2, 3, 5), (64, 16)], ids=str)
@pytest.mark.parametrize("dtype", tuple(FLOAT_FORMATS))
def test_cancelling_rows_sum_to_zero_step_by_step(dtype: str, shape: tuple[int, ...]) -> None:
    partial = wide(make(Family.CANCELLING, shape, dtype)).cumsum(-1)
    assert not partial[..., 1::2].any()
    assert not partial[..., -1].any()


@pytest.mark.parametrize("dtype", ["float32", "float16", "bfloat16", "float8_e4m3fn", "float8_e5m2"])
def test_integer_products_are_exact_in_float32_in_any_order(dtype: str) -> None:
    left, right = (wide(make(Family.INTEGER, (4096,), dtype, seed)) for seed in (1, 2))
    assert float((left.abs() * right.abs()).sum()) < 2**24
    narrow = (left.float() * right.float()).cumsum(0)
    assert torch.equal(narrow.double(), (left * right).cumsum(0))


@pytest.mark.parametrize("dtype", tuple(FLOAT_FORMATS))
@pytest.mark.parametrize("seed", range(3))
def test_specials_hold_one_of_each_and_stay_sparse(dtype: str, seed: int) -> None:
    form = FLOAT_FORMATS[dtype]
    values = wide(make(Family.SPECIALS, (5, 16), dtype, seed))
    top = math.inf if form.has_infinity else form.max_finite
    assert int(values.isnan().sum()) == int((values == top).sum()) == int((values == -top).sum()) == 1
    zeros = values[values == 0]
    assert {False, True} <= set(torch.signbit(zeros).tolist())
    ordinary = wide(make(Family.SPECIALS, (1 << 14,), dtype, seed))
    assert int(ordinary.isnan().sum()) == 4


@pytest.mark.parametrize("count", [1, 7, 33, 80, 4096])
def test_specials_are_at_most_one_in_sixteen(count: int) -> None:
    values = make(Family.SPECIALS, (count,), "float32", 3)
    changed = int((~values.isfinite() | (values == 0)).sum())
    assert changed == min(20, max(1, count // 16))


def test_specials_move_with_the_seed() -> None:
    places = {tuple(make(Family.SPECIALS, (80,), "float32", seed).isnan().nonzero()[0].tolist()) for seed in range(8)}
    assert len(places) > 4


@pytest.mark.parametrize("dtype", tuple(FLOAT_FORMATS))
def test_special_rows_are_whole_and_few(dtype: str) -> None:
    form = FLOAT_FORMATS[dtype]
    top = math.inf if form.has_infinity else form.max_finite
    values = wide(make(Family.SPECIAL_ROWS, (16, 8), dtype))
    found = [
        sum(bool(row.isnan().all()) for row in values),
        *(sum(bool((row == special).all()) for row in values) for special in (-top, top, 0.0)),
    ]
    assert found == [1, 1, 1, 1]
    ordinary = [row for row in values if not (row.isnan() | (row.abs() == top) | (row == 0)).all()]
    assert len(ordinary) == 12
    assert all(bool((row.abs() < 4).all()) for row in ordinary)


@pytest.mark.parametrize("dtype", tuple(FLOAT_FORMATS))
def test_a_quarter_of_the_rows_is_zero_but_never_the_only_one(dtype: str) -> None:
    rows = wide(make(Family.SIGNED_ZEROS, (16, 32), dtype))
    assert int((rows == 0).all(-1).sum()) == 4
    assert not bool((wide(make(Family.SIGNED_ZEROS, (1, 32), dtype)) == 0).all())


def test_the_only_row_of_masked_scores_leaves_one_finite() -> None:
    assert make(Family.MASKED, (9,), "float32").isfinite().tolist() == [False] * 8 + [True]


def test_the_only_row_is_special_for_some_seeds_only() -> None:
    counts = [int((~make(Family.SPECIAL_ROWS, (9,), "float32", seed).isfinite()).sum()) for seed in range(40)]
    assert {0, 9} == set(counts)


def test_three_bit_midpoints_round_half_to_even() -> None:
    values = make(Family.TIES, BIG, "float32")
    assert {float(v) for v in values.unique().round()} == {-2.0, 0.0, 1.0, 2.0}


@pytest.mark.parametrize("kind", list(Kind), ids=str)
@pytest.mark.parametrize("dtype", tuple(FLOAT_FORMATS))
def test_large_stays_finite_inside(dtype: str, kind: Kind) -> None:
    values = wide(make(Family.LARGE, BIG, dtype, kind=kind))
    top, limit = float(values.abs().max()), compute_format(dtype).max_finite
    growth = GROWTH[kind]
    terms = 2.0**20 if growth.inside_sum else 1.0
    product = 1.0
    for _ in range(growth.inside_power):
        product *= top
        assert product * terms <= limit / 4
    assert top <= FLOAT_FORMATS[dtype].max_finite / 4
    assert {-1.0, 1.0} == set(values.sign().unique().tolist())
    assert float(values.abs().min()) >= top / 2.2


@pytest.mark.parametrize(
    ("dtype", "kind", "shape", "exponent"),
    [
        ("float32", Kind.EXACT, (8, 8), 124),
        ("float32", Kind.ELEMENTWISE, (8, 8), 41),
        ("float16", Kind.ELEMENTWISE, (8, 8), 6),
        ("bfloat16", Kind.TRANSCENDENTAL, (8, 8), 41),
        ("float64", Kind.TRANSCENDENTAL, (8, 8), 340),
        ("float32", Kind.MATMUL, (128, 128), 52),
        ("float16", Kind.MATMUL, (128, 128), 4),
        ("float16", Kind.REDUCTION, (128, 128), 5),
        ("float16", Kind.ATTENTION, (128, 64), 12),
        ("float32", Kind.SOFTMAX, (128, 64), 52),
        ("float64", Kind.NORM, (128, 64), 500),
        ("float16", Kind.NORM, (128, 128), 12),
        ("float8_e4m3fn", Kind.MATMUL, (4096, 4096), 0),
    ],
)
def test_large_magnitudes(dtype: str, kind: Kind, shape: tuple[int, ...], exponent: int) -> None:
    stream = stream_for(0, operator="op", argument="x", family="large")
    assert large_exponent(Recipe(shape=shape, dtype=dtype, stream=stream, kind=kind)) == exponent


@pytest.mark.parametrize("dtype", ["float16", "bfloat16", "float32"])
def test_large_results_fit_the_dtype(dtype: str) -> None:
    form = torch_dtype(dtype)
    left = make(Family.LARGE, (128, 128), dtype, 1, Kind.MATMUL)
    right = make(Family.LARGE, (128, 128), dtype, 2, Kind.MATMUL)
    assert (left.float() @ right.float()).to(form).isfinite().all()
    x = make(Family.LARGE, (64, 128), dtype, 3, Kind.REDUCTION)
    assert x.float().sum().to(form).isfinite()
    assert (x.float() ** 2).sum().isfinite()
    row = make(Family.LARGE, (64, 128), dtype, 4, Kind.NORM).float()
    assert torch.nn.functional.layer_norm(row, (128,), row[0]).to(form).isfinite().all()
    q, k, v = (make(Family.LARGE, (16, 64), dtype, seed, Kind.ATTENTION).float() for seed in (5, 6, 7))
    assert (torch.softmax(q @ k.T / 8, -1) @ v).to(form).isfinite().all()
    a, b = (make(Family.LARGE, (64,), dtype, seed, Kind.TRANSCENDENTAL).float() for seed in (8, 9))
    assert (torch.nn.functional.silu(a) * b).to(form).isfinite().all()
    assert torch.nn.functional.gelu(a, approximate="tanh").to(form).isfinite().all()


INTEGER_VALUES: dict[Family, Callable[[int, int], tuple[int, int]]] = {
    Family.NORMAL: lambda low, high: (max(low, -56), 56),
    Family.UNIFORM: lambda low, high: (0, 99),
    Family.SHIFTED: lambda low, high: (2 if high > 1 else 0, 58),
    Family.HEAVY: lambda low, high: (max(low, -125), 125),
    Family.CONSTANT: lambda low, high: (1, 1),
    Family.LARGE: lambda low, high: (low, high),
    Family.SMALL: lambda low, high: (max(low, -1), 1),
    Family.SUBNORMAL: lambda low, high: (max(low, -1), 1),
    Family.INTEGER: lambda low, high: (max(low, -32), 32),
    Family.TIES: lambda low, high: (max(low, -2), 2),
    Family.SIGNED_ZEROS: lambda low, high: (max(low, -56), 56),
}


@pytest.mark.parametrize("dtype", tuple(INTEGER_FORMATS))
@pytest.mark.parametrize("family", list(INTEGER_VALUES), ids=str)
def test_integer_families_keep_their_range(family: Family, dtype: str) -> None:
    form = INTEGER_FORMATS[dtype]
    values = make(family, BIG, dtype).to(torch.int64)
    low, high = INTEGER_VALUES[family](form.minimum, form.maximum)
    assert low <= int(values.min()) and int(values.max()) <= min(high, form.maximum)
    assert len(values.unique()) > 1 or family in {Family.CONSTANT, Family.SUBNORMAL}


@pytest.mark.parametrize("dtype", tuple(INTEGER_FORMATS))
def test_integer_limits_are_reached(dtype: str) -> None:
    form = INTEGER_FORMATS[dtype]
    for family in (Family.LARGE, Family.SPECIALS, Family.SPECIAL_ROWS):
        values = make(family, BIG, dtype).to(torch.int64)
        assert (int(values.min()), int(values.max())) == (form.minimum, form.maximum)
    rows = make(Family.SPECIAL_ROWS, (16, 8), dtype).to(torch.int64)
    assert all(any(bool((row == limit).all()) for row in rows) for limit in (form.minimum, form.maximum, 0))


@pytest.mark.parametrize("dtype", tuple(INTEGER_FORMATS))
def test_integer_pairs_cancel_modulo_the_dtype(dtype: str) -> None:
    values = make(Family.CANCELLING, (16, 33), dtype).to(torch.int64)
    modulus = 2 if dtype == "bool" else 2 ** INTEGER_FORMATS[dtype].bits
    sums = (values[:, 0:32:2] + values[:, 1:33:2]).reshape(-1).tolist()
    assert {int(total) % modulus for total in sums} == {0}
    assert int(values[:, :32].count_nonzero()) > 200


@pytest.mark.parametrize(("dtype", "period"), [("bool", 2), ("int8", 128), ("uint8", 256), ("int64", 10**9)])
def test_integer_index_codes(dtype: str, period: int) -> None:
    assert make(Family.INDEX_CODED, (700,), dtype).to(torch.int64).tolist() == [i % period for i in range(700)]


def test_half_of_the_integers_are_zero() -> None:
    values = make(Family.SIGNED_ZEROS, (1000,), "int32")
    assert 500 <= int((values == 0).sum()) < 600


@settings(max_examples=60, deadline=None)
@given(data=st.data())
def test_any_shape_of_any_family(data: st.DataObject) -> None:
    family = data.draw(st.sampled_from(list(FAMILIES)), label="family")
    dtype = data.draw(st.sampled_from(DTYPE_NAMES), label="dtype")
    shape = tuple(data.draw(st.lists(st.integers(0, 6), max_size=4), label="shape"))
    seed = data.draw(st.integers(-(2**40), 2**40), label="seed")
    kind = data.draw(st.sampled_from(list(Kind)), label="kind")
    values = make(family, shape, dtype, seed, kind)
    assert tuple(values.shape) == shape
    assert values.is_contiguous()


def test_float64_uniform_has_more_bits_than_float32() -> None:
    values = make(Family.UNIFORM, (64,), "float64")
    assert not torch.equal(values.float().double(), values)
    ordered = sorted(values.tolist())
    assert all(low < high for low, high in pairwise(ordered))


@pytest.mark.parametrize("dtype", ["float64", "float32", "float16", "bfloat16"])
def test_thresholds_lie_on_and_on_both_sides_of_every_branch_point(dtype: str) -> None:
    form = FLOAT_FORMATS[dtype]
    values = wide(make(Family.THRESHOLDS, BIG, dtype)).abs()
    step = 2.0 ** (1 - form.precision)
    for point in BRANCH_POINTS:
        near = values[(values - point).abs() <= point * max(1.01 * step, 2.0**-6)]
        on = wide(torch.tensor(point).to(torch_dtype(dtype)))
        assert float(near.min()) < float(on) < float(near.max())
        assert bool((near == on).any())


@pytest.mark.parametrize("dtype", ["float64", "float32", "float16", "bfloat16"])
def test_no_threshold_lets_a_textbook_formula_leave_float32(dtype: str) -> None:
    widest = wide(make(Family.THRESHOLDS, (64, 1024), dtype)).abs().max().float()
    assert widest.exp().isfinite()
    assert float((-widest).exp()) >= 2.0**-126


@pytest.mark.parametrize("domain", [ValueDomain.POSITIVE, ValueDomain.NONZERO])
@pytest.mark.parametrize("dtype", ["float32", "float16", "bfloat16", "float8_e4m3fn"])
def test_halves_divided_by_the_divisor_of_their_row_are_midpoints(dtype: str, domain: ValueDomain) -> None:
    values = wide(make(Family.HALVES, (7, 130), dtype, kind=Kind.QUANTIZE))
    per_row = wide(make(Family.HALVES, (7, 1), dtype, domain=domain))
    single = wide(make(Family.HALVES, (), dtype))
    assert bool(((values / per_row).frac().abs() == 0.5).all())
    assert bool(((values / single)[::3].frac().abs() == 0.5).all())
    assert torch.equal(values / per_row, values * (1 / per_row))
    assert float(values.abs().max()) > (6 if dtype == "float8_e4m3fn" else 120)
    assert float(wide(make(Family.HALVES, BIG, dtype)).abs().max()) < 81


@pytest.mark.parametrize(
    ("width", "columns"),
    [(0, ()), (1, (0,)), (3, (2, 0)), (8, (7, 0)), (17, (16, 0, 7, 8, 15)), (33, (32, 0, 7, 8, 15, 16, 31))],
)
def test_edges_are_the_ends_of_rows_and_blocks(width: int, columns: tuple[int, ...]) -> None:
    assert tuple(column for column in edge_columns(width) if 0 <= column < width) == columns
    if width:
        rows = make(Family.EDGES, (len(columns), width), "float32")
        assert rows.argmax(-1).tolist() == list(columns)
        assert (-make(Family.EDGES, (2 * len(columns), width), "float32")).argmax(-1)[len(columns) :].tolist() == list(
            columns
        )


@pytest.mark.parametrize("dtype", tuple(INTEGER_FORMATS))
def test_the_largest_whole_number_of_a_row_is_at_an_edge_too(dtype: str) -> None:
    rows = make(Family.EDGES, (5, 17), dtype).to(torch.int64)
    assert rows.argmax(-1).tolist() == [16, 0, 7, 8, 15]
    assert bool((rows.sort(-1).values[:, -2] < rows.amax(-1)).all())


@pytest.mark.parametrize("dtype", tuple(FLOAT_FORMATS))
@pytest.mark.parametrize("width", [1, 2, 9, 64])
def test_masked_rows_hide_halves_and_all_but_one(dtype: str, width: int) -> None:
    form = FLOAT_FORMATS[dtype]
    rows = wide(make(Family.MASKED, (8, width), dtype))
    hidden = rows == (-math.inf if form.has_infinity else -form.max_finite)
    assert hidden.sum(-1).tolist() == [width // 2, width - 1, width // 2, width - 1] * 2
    assert rows.isnan().sum(-1).tolist() == [0, 0, 0, 1] * 2
    assert not hidden[1, -1]
    assert not hidden[0, width // 2 :].any()
    assert not hidden[2, : (width + 1) // 2].any()


def test_the_only_row_of_levels_is_all_negative() -> None:
    assert bool((make(Family.LEVELS, (9,), "float32") < -100).all())


@pytest.mark.parametrize("dtype", ["int8", "uint8", "int16", "int32", "int64"])
def test_whole_thresholds_reach_every_power_of_two_and_its_neighbours(dtype: str) -> None:
    form = INTEGER_FORMATS[dtype]
    values = set(make(Family.THRESHOLDS, (64, 256), dtype).to(torch.int64).abs().reshape(-1).tolist())
    bits_held = form.maximum.bit_length() - (form.minimum < 0)
    assert {2**e + beside for e in range(2, bits_held) for beside in (-1, 0, 1)} <= values


@pytest.mark.parametrize("dtype", tuple(INTEGER_FORMATS))
def test_whole_halves_are_odd(dtype: str) -> None:
    assert bool((make(Family.HALVES, BIG, dtype).to(torch.int64) % 2 == 1).all())

from __future__ import annotations

import math

import pytest
from plan_notation import described

from opsdebug_ci.model.dims import BLOCK_SIZES, TAIL_SIZES
from opsdebug_ci.plan.sizes import FULL_SIZES, SMOKE_SIZES, SizePlan, dims_variants, is_hollow

SMALL = SizePlan(inner=(0, 5, 9), dealt=(), outer=(3,), powers=False, joint=(2,), elements=64, grow=False)


def written(text: str, plan: SizePlan = SMALL, **options: object) -> list[str]:
    variants = dims_variants(described(text, **options), plan)  # type: ignore[arg-type]
    return [" ".join(f"{name}{size}" for name, size in variant.items()) for variant in variants]


def test_own_sizes_first_then_one_dim_at_a_time_then_all_together() -> None:
    assert written("f(x: M N)", M=4, N=8) == ["M4 N8", "M3 N8", "M4 N0", "M4 N5", "M4 N9", "M2 N2"]


def test_other_dims_are_halved_until_the_tensor_fits() -> None:
    assert written("f(x: M N)", M=8, N=8) == ["M8 N8", "M3 N8", "M8 N0", "M8 N5", "M4 N9", "M2 N2"]


def test_a_variant_that_cannot_fit_is_left_out() -> None:
    assert written("f(x: M N)", M=100, N=8, fixed=("M",)) == ["M100 N8", "M100 N0"]


def test_own_sizes_are_kept_however_large() -> None:
    assert written("f(x: M N)", M=100, N=100)[0] == "M100 N100"


def test_a_dim_that_is_innermost_somewhere_gets_the_long_list() -> None:
    assert written("f(x: M K, y: K)", M=2, K=2) == ["M2 K2", "M3 K2", "M2 K0", "M2 K5", "M2 K9"]


def test_a_dim_in_no_shape_is_a_parameter_and_stays() -> None:
    assert written("f(x: N)", N=4, heads=2) == ["N4 heads2", "N0 heads2", "N5 heads2", "N9 heads2"]


def test_fixed_dims_stay() -> None:
    assert written("f(x: M N)", M=4, N=8, fixed=("N",)) == ["M4 N8", "M3 N8"]


def test_own_inputs_keep_the_declared_dims() -> None:
    assert written("f()", own_inputs=True, M=4, N=8) == ["M4 N8"]


def test_sums_and_products_count_with_their_value() -> None:
    assert written("f(x: 4*N)", N=2) == ["N2", "N0", "N5", "N9"]
    assert written("f(x: 8*N)", N=2) == ["N2", "N0", "N5"]
    assert written("f(x: 60+N)", N=2) == ["N2", "N0"]


def test_the_powers_of_two_beside_each_own_size_are_tried() -> None:
    plan = SizePlan(inner=(), dealt=(), outer=(), powers=True, joint=(), elements=2**12, grow=False)
    assert written("f(x: M N)", plan, M=16, N=60) == ["M16 N60", "M8 N60", "M32 N60", "M16 N32", "M16 N64"]
    assert written("f(x: M N)", plan, M=1, N=0) == ["M1 N0", "M2 N0", "M1 N1"]
    assert {64, 128, 256} <= {dims["E"] for dims in dims_variants(described("f(x: T E)", E=128), SMOKE_SIZES)}


def test_growing_doubles_every_dim_within_the_limits() -> None:
    plan = SizePlan(inner=(), dealt=(), outer=(), powers=False, joint=(), elements=2**12, grow=True)
    assert written("f(x: M N)", plan, M=4, N=8) == ["M4 N8", "M32 N64"]
    assert written("f(x: M N)", plan, M=0, N=0) == ["M0 N0"]


@pytest.mark.parametrize("plan", [SMOKE_SIZES, FULL_SIZES])
@pytest.mark.parametrize("text", ["f(x: B S H)", "f(x: M K, y: K N)", "f(x: B C H W, w: O C 3 3)", "f(x: N)"])
def test_variants_keep_every_tensor_within_the_limit(plan: SizePlan, text: str) -> None:
    shapes = [part.split(":")[1].split() for part in text[2:-1].split(",")]
    variants = dims_variants(described(text), plan)
    for dims in variants[1:]:
        for shape in shapes:
            assert math.prod(dims[word] if word in dims else int(word) for word in shape) <= plan.elements
    assert len({tuple(v.items()) for v in variants}) == len(variants)


def test_full_tries_every_size_worth_trying_on_every_dim() -> None:
    variants = dims_variants(described("f(x: B S H)"), FULL_SIZES)
    for name in "BSH":
        assert {0, *TAIL_SIZES, *BLOCK_SIZES} <= {dims[name] for dims in variants}
    assert max(math.prod(dims.values()) for dims in variants) > 2**19


def test_smoke_tries_both_neighbours_of_every_width_on_the_innermost_dim() -> None:
    tried = {dims["H"] for dims in dims_variants(described("f(x: B S H)"), SMOKE_SIZES)}
    assert {0, *(width + beside for width in (8, 16, 32, 64, 128) for beside in (-1, 0, 1)), 131, 259} <= tried


def test_several_innermost_dims_share_the_sizes_that_are_dealt_out() -> None:
    plan = SizePlan(inner=(5,), dealt=(6, 7, 9), outer=(3,), powers=False, joint=(), elements=2**9, grow=False)
    assert written("f(x: M K, y: K N)", plan, M=2, K=4, N=4) == [
        "M2 K4 N4",
        "M3 K4 N4",
        "M2 K5 N4",
        "M2 K6 N4",
        "M2 K9 N4",
        "M2 K4 N5",
        "M2 K4 N7",
    ]


@pytest.mark.parametrize("text", ["f(x: M K, y: K N)", "f(x: H F, y: F G, z: G H)"])
def test_each_of_a_few_innermost_dims_meets_sizes_below_on_and_above_a_width(text: str) -> None:
    variants = dims_variants(described(text), SMOKE_SIZES)
    for name in ("K", "N") if "K" in text else ("F", "G", "H"):
        tried = {dims[name] for dims in variants}
        for beside in (-1, 0, 1):
            assert tried & {width + beside for width in (8, 16, 32, 64, 128)}
    assert len(variants) <= 44


@pytest.mark.parametrize(
    ("text", "dims", "hollow"),
    [
        ("f(x: M N)", {"M": 0, "N": 4}, True),
        ("f(x: M N)", {"M": 1, "N": 4}, False),
        ("f(x: N, c: N+1)", {"N": 0}, True),
        ("f(c: N+1)", {"N": 0}, False),
        ("f(s:)", {}, False),
        ("f()", {}, False),
    ],
)
def test_hollow_means_a_tensor_without_elements(text: str, dims: dict[str, int], hollow: bool) -> None:
    assert is_hollow(described(text), dims) is hollow

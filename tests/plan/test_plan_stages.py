from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from itertools import combinations, product

import pytest
from plan_notation import described

from opsdebug_ci.errors import InternalError, UsageError
from opsdebug_ci.model import Case, Family, Kind, Layout, OperatorDescription, ReferenceKind, Stage, ValueDomain
from opsdebug_ci.plan.axes import Axes
from opsdebug_ci.plan.choices import families_of, layouts_of, mismatch
from opsdebug_ci.plan.stages import STAGE_PLANS, cases, pair_coverage

CHECKS = tuple(ReferenceKind)
UNLIMITED = 10**6
GELU = described("gelu(x: B S H, r: B S H)", dtypes=("float32", "bfloat16"))
SHORT = described("short(x: N)", dtypes=("float32", "int32"), N=6)


def planned(
    description: OperatorDescription, stage: Stage = Stage.SMOKE, axes: Axes | None = None, **options: int
) -> tuple[Case, ...]:
    return cases(description, stage, axes or Axes(), CHECKS, ("cpu",), **options)


def values_of(case: Case) -> tuple[tuple[str, object], ...]:
    dims = tuple(case.dims.items())
    return (
        ("dtype", case.dtype),
        ("dims", dims),
        ("layout", case.layout),
        ("family", case.inputs),
        ("seed", case.seed),
    )


def missing_pairs(found: Sequence[Case]) -> set[object]:
    """Pairs of values that occur in `found` but not together, by brute force over what occurs; rules re-stated here."""
    occurring = {name: {dict(values_of(case))[name] for case in found} for name, _ in values_of(found[0])}
    together = {pair for case in found for pair in combinations(values_of(case), 2)}
    wanted = {
        ((one, left), (two, right))
        for one, two in combinations(occurring, 2)
        for left, right in product(occurring[one], occurring[two])
    }
    return {pair for pair in wanted - together if not is_pointless(dict(pair))}


def is_pointless(pair: dict[str, object]) -> bool:
    sizes = [size for _, size in pair["dims"]] if "dims" in pair else []  # type: ignore[attr-defined]
    float_only = {Family.SPECIALS, Family.SPECIAL_ROWS, Family.SUBNORMAL, Family.SIGNED_ZEROS, Family.MASKED}
    return (0 in sizes and "dtype" not in pair) or (pair.get("dtype") == "int32" and pair.get("family") in float_only)


@pytest.mark.parametrize("description", [GELU, SHORT], ids=lambda description: description.name)
def test_without_a_budget_every_admissible_pair_is_tried(description: OperatorDescription) -> None:
    found = planned(description, budget=UNLIMITED)
    assert missing_pairs(found) == set()
    assert all(
        entry.covered == entry.possible for entry in pair_coverage(description, Stage.SMOKE, Axes(), budget=UNLIMITED)
    )


def test_the_checker_notices_a_lost_pair() -> None:
    found = planned(SHORT, budget=UNLIMITED)
    planted = [case for case in found if (case.dtype, case.inputs) != ("int32", Family.TIES)]
    assert (("dtype", "int32"), ("family", Family.TIES)) in missing_pairs(planted)


@pytest.mark.parametrize("stage", [Stage.SMOKE, Stage.FULL])
@pytest.mark.parametrize("description", [GELU, SHORT], ids=lambda description: description.name)
def test_a_plan_keeps_its_budget_and_still_shows_every_value(description: OperatorDescription, stage: Stage) -> None:
    found, complete = planned(description, stage), planned(description, stage, budget=UNLIMITED)
    assert len(found) == min(STAGE_PLANS[stage].budget, len(complete))
    assert len({case.id for case in found}) == len(found)
    assert {value for case in found for value in values_of(case)} == {v for case in complete for v in values_of(case)}


def test_the_pairs_that_matter_most_survive_the_smoke_budget() -> None:
    numbers = {entry.axes: (entry.covered, entry.possible) for entry in pair_coverage(GELU, Stage.SMOKE, Axes())}
    assert numbers["dtype", "family"] == (42, 42)
    assert numbers["dtype", "layout"] == (14, 14)
    assert numbers["dims", "family"][0] < numbers["dims", "family"][1]


@pytest.mark.parametrize("stage", [Stage.SMOKE, Stage.FULL, Stage.RUN])
def test_the_everyday_case_of_every_dtype_comes_first(stage: Stage) -> None:
    assert [case.name for case in planned(GELU, stage)[:2]] == [
        "gelu[B=1,S=128,H=128 float32 contiguous normal seed=0 cpu]",
        "gelu[B=1,S=128,H=128 bfloat16 contiguous normal seed=0 cpu]",
    ]


NORM = replace(described("norm(x: B S H)", dtypes=("float32", "float16", "bfloat16")), kind=Kind.NORM)


def test_families_that_show_a_kinds_defects_meet_every_dtype_at_the_operators_own_sizes() -> None:
    telling = ["shifted", "constant", "large", "small", "signed_zeros", "near_constant", "edges"]
    found = planned(NORM)
    assert [(case.dtype, str(case.inputs)) for case in found[11:32]] == list(product(NORM.dtypes, telling))
    assert {(tuple(case.dims.items()), case.layout) for case in (*found[:3], *found[11:32])} == {
        (tuple(NORM.dims.items()), Layout.CONTIGUOUS)
    }
    assert {case.seed for case in found[11:32]} == {0, 1, 2}


def test_everyday_values_at_sizes_near_the_declared_ones_come_before_telling_families() -> None:
    near = planned(NORM)[3:11]
    assert {case.inputs for case in near} == {Family.NORMAL}
    assert {case.dtype for case in near} == set(NORM.dtypes)
    assert {case.layout for case in near} == {case.layout for case in planned(NORM)}
    assert [dict(case.dims) for case in near[:4]] == [
        {"B": 1, "S": 128, "H": 129},
        {"B": 2, "S": 128, "H": 128},
        {"B": 1, "S": 64, "H": 128},
        {"B": 33, "S": 32, "H": 32},
    ], "of each set of dims that vary the nearest, and none that is many times as much work"


@pytest.mark.parametrize(
    ("axes", "count"),
    [
        (Axes(seeds=(0,), families=(Family.NORMAL,)), 3),
        (Axes(seeds=(0,)), 24),
        (Axes(families=(Family.LARGE,)), 3),
        (Axes(families=(Family.NORMAL,), seeds=tuple(range(20))), 60),
        (Axes(dims={"S": 17}), 29),
        (Axes(dims={"S": 17}, seeds=(5,), families=(Family.LARGE, Family.TIES)), 6),
        (Axes(seeds=(0,), families=(Family.NORMAL,), layouts=(Layout.CONTIGUOUS, Layout.STRIDED)), 6),
        (Axes(dtypes=("float32",)), 72),
        (Axes(layouts=(Layout.PADDED,)), 72),
    ],
    ids=str,
)
def test_a_person_who_fixes_values_gets_their_part_of_the_plan(axes: Axes, count: int) -> None:
    found = planned(NORM, Stage.RUN, axes)
    assert len(found) == count
    assert {case.seed for case in found} >= set(axes.seeds)
    assert {case.inputs for case in found} >= set(axes.families)
    assert {case.layout for case in found} >= set(axes.layouts)


def test_the_kinds_of_all_outputs_decide_which_families_are_telling() -> None:
    chosen = replace(NORM, kind=Kind.TRANSCENDENTAL, other_kinds=(Kind.INDEX,))
    assert {Family.TIES, Family.MASKED, Family.NEAR_CONSTANT} <= {case.inputs for case in planned(chosen)[:27]}
    assert Family.MASKED not in {case.inputs for case in planned(replace(chosen, other_kinds=()))}


def test_an_operator_of_lengths_that_a_function_makes_meets_them_on_borders() -> None:
    plain = replace(described("f(x: B H)"), kind=Kind.TRANSCENDENTAL)
    lengths = replace(described("f(n: B int64)", values=None).tensors[0])
    assert Family.EDGES not in {case.inputs for case in planned(plain)}
    for tensors in ((*plain.tensors, lengths), (lengths,)):
        found = planned(replace(plain, tensors=tensors))
        assert (plain.dims, Family.EDGES) in [(case.dims, case.inputs) for case in found[:14]]


def test_powers_of_two_beside_the_own_sizes_meet_everyday_values() -> None:
    everyday = [c.dims for c in planned(NORM) if (c.layout, c.inputs, c.seed) == (Layout.CONTIGUOUS, Family.NORMAL, 0)]
    for name, size in (("S", 64), ("H", 256)):
        assert {**NORM.dims, name: size} in everyday


def test_telling_families_leave_most_of_the_budget_to_sizes_and_layouts() -> None:
    many = described("f(x: B S H)", dtypes=("float64", "float32", "float16", "bfloat16", "float8_e5m2"))
    everyday = (tuple(many.dims.items()), Layout.CONTIGUOUS)
    found = [(tuple(case.dims.items()), case.layout) == everyday for case in planned(many)]
    assert all((*found[:5], *found[13:36]))
    assert sum(found) < 32
    assert len(planned(many, budget=1)) == 5


def test_families_aimed_at_other_kinds_are_run_when_asked_for() -> None:
    assert Family.HALVES not in {case.inputs for case in planned(NORM)}
    assert {case.inputs for case in planned(NORM, Stage.RUN, Axes(families=(Family.HALVES,)))} == {Family.HALVES}


def test_an_operator_whose_own_sizes_are_empty_has_no_telling_cases() -> None:
    hollow = replace(NORM, dims={**NORM.dims, "S": 0})
    assert {case.inputs for case in planned(hollow) if 0 in case.dims.values()} == {Family.NORMAL}


def test_smoke_has_three_seeds_and_full_has_five() -> None:
    assert {case.seed for case in planned(GELU)} == {0, 1, 2}
    assert {case.seed for case in planned(GELU, Stage.FULL)} == {0, 1, 2, 3, 4}


def test_run_without_axes_is_the_smoke_plan() -> None:
    assert planned(GELU, Stage.RUN) == planned(GELU, Stage.SMOKE)


def test_the_same_description_gives_the_same_plan() -> None:
    assert planned(GELU) == planned(replace(GELU))


def test_empty_tensors_are_tried_once_per_dtype_with_everyday_values() -> None:
    empty = [case for case in planned(SHORT, budget=UNLIMITED) if case.dims["N"] == 0]
    assert sorted((case.dtype, case.layout, case.inputs, case.seed) for case in empty) == [
        ("float32", Layout.CONTIGUOUS, Family.NORMAL, 0),
        ("int32", Layout.CONTIGUOUS, Family.NORMAL, 0),
    ]


def test_fixed_axes_have_only_their_values() -> None:
    axes = Axes(
        dims={"S": 17},
        dtypes=("bfloat16",),
        seeds=(7, 8),
        families=(Family.TIES, Family.LARGE),
        layouts=(Layout.STRIDED,),
    )
    assert Counter(case.name for case in planned(GELU, Stage.RUN, axes)) == Counter(
        f"gelu[B=1,S=17,H=128 bfloat16 strided {family} seed={seed} cpu]"
        for family in ("ties", "large")
        for seed in (7, 8)
    )


def test_one_fixed_axis_leaves_the_others_to_the_plan() -> None:
    found = planned(GELU, Stage.RUN, Axes(dtypes=("float32",)))
    assert {case.dtype for case in found} == {"float32"}
    assert {case.layout for case in found} == {case.layout for case in planned(GELU)}


def test_an_everyday_case_can_be_asked_for_again_by_its_values() -> None:
    for case in planned(GELU):
        axes = Axes(
            dims=case.dims, dtypes=(case.dtype,), seeds=(case.seed,), families=(case.inputs,), layouts=(case.layout,)
        )
        assert [found.id for found in planned(GELU, Stage.RUN, axes)] == [case.id]


@pytest.mark.parametrize(
    ("axes", "message"),
    [
        (Axes(dims={"K": 1, "S": 2}), "`--dims` has `K`, but its dims are B, S, H"),
        (Axes(dtypes=("float16",)), "`--dtype` has `float16`, but its dtypes are float32, bfloat16"),
        (
            Axes(layouts=(Layout.OWN,)),
            "`--layout` has `own`, but its layouts are contiguous, transposed, strided, offset, padded, "
            "expanded, mixed",
        ),
    ],
)
def test_a_value_the_operator_lacks_is_told_with_those_it_has(axes: Axes, message: str) -> None:
    assert mismatch(GELU, axes) == message
    with pytest.raises(UsageError) as caught:
        planned(GELU, Stage.RUN, axes)
    assert str(caught.value) == (
        f"operator `gelu`: {message}\n  next: leave that option out, or pick from what the operator has"
    )


def test_a_family_outside_the_contract_is_told() -> None:
    strict = described("f(x: N)", nan="ignore")
    assert (mismatch(strict, Axes(families=(Family.SPECIALS,))) or "").startswith(
        "`--inputs` has `specials`, but its families are normal, uniform"
    )
    assert mismatch(GELU, Axes(families=(Family.SPECIALS,))) is None


def test_own_inputs_are_run_as_declared_with_every_seed_and_dtype() -> None:
    own = described("own()", own_inputs=True, dtypes=("float32", "float16"), T=9, fixed=("T",))
    assert [case.name for case in planned(own)] == [
        f"own[T=9 {dtype} own own seed={seed} cpu]" for seed in (0, 1, 2) for dtype in ("float32", "float16")
    ]
    assert len(planned(own, Stage.FULL)) == 10
    assert planned(own, Stage.RUN, Axes(dims={"T": 4}, seeds=(3,)))[0].name == "own[T=4 float32 own own seed=3 cpu]"
    assert mismatch(own, Axes(layouts=(Layout.STRIDED,))) == "`--layout` has `strided`, but its layouts are own"


def test_lists_of_tensors_are_run_with_their_last_one_emptied_too() -> None:
    own = described("own()", own_inputs=True, lists=True, T=9, fixed=("T",))
    assert [(case.inputs, case.seed) for case in planned(own)] == [
        (family, seed) for seed in (0, 1, 2) for family in (Family.OWN, Family.OWN_EMPTY)
    ]
    assert len(planned(own, Stage.RUN, Axes(families=(Family.OWN_EMPTY,), seeds=(4,)))) == 1


def test_every_supported_device_runs_the_same_cases() -> None:
    both = described("f(x: N)", devices=("cpu", "cuda"))
    found = cases(both, Stage.SMOKE, Axes(), CHECKS, ("cuda:1", "cpu", "xpu"))
    per_device = {device: [replace(c, device="") for c in found if c.device == device] for device in ("cuda:1", "cpu")}
    assert per_device["cpu"] == per_device["cuda:1"]
    assert len(found) == 2 * len(per_device["cpu"])
    assert cases(both, Stage.SMOKE, Axes(), CHECKS, ("xpu",)) == ()


def test_the_references_to_consult_are_passed_on() -> None:
    found = cases(GELU, Stage.SMOKE, Axes(), (ReferenceKind.NAIVE,), ("cpu",))
    assert {case.checks for case in found} == {(ReferenceKind.NAIVE,)}


def test_replay_has_no_plan() -> None:
    with pytest.raises(InternalError, match="stage `replay` has no cases to plan"):
        planned(GELU, Stage.REPLAY)


@pytest.mark.parametrize(
    ("text", "layouts", "expected"),
    [
        ("f(x: M N, y: M N)", tuple(Layout)[:7], "contiguous transposed strided offset padded expanded mixed"),
        ("f(x: M N)", tuple(Layout)[:7], "contiguous transposed strided offset padded expanded"),
        ("f(x: N)", tuple(Layout)[:7], "contiguous strided offset padded expanded"),
        ("f(x: N, y: N)", (Layout.CONTIGUOUS, Layout.MIXED), "contiguous mixed"),
        ("f(x: N)", (Layout.TRANSPOSED,), "contiguous"),
        ("f(x: M N)", (Layout.TRANSPOSED,), "transposed"),
    ],
)
def test_layouts_are_those_some_argument_accepts_and_notices(
    text: str, layouts: tuple[Layout, ...], expected: str
) -> None:
    assert " ".join(map(str, layouts_of(described(text, layouts=layouts)))) == expected


@pytest.mark.parametrize(
    ("description", "dtype", "present", "absent"),
    [
        (described("f(x: N)"), "float32", "normal specials signed_zeros subnormal", "own"),
        (
            described("f(x: N)"),
            "int64",
            "normal large ties index_coded",
            "specials special_rows subnormal signed_zeros",
        ),
        (described("f(x: N, w: N float32)"), "int64", "normal specials", "own"),
        (described("f(x: N)", nan="ignore"), "float32", "normal signed_zeros", "specials special_rows"),
        (described("f(x: N)", values=ValueDomain.POSITIVE), "float32", "normal large", "specials signed_zeros"),
        (described("f(x: N)", values=None), "float32", "normal", "uniform ties specials"),
    ],
)
def test_families_follow_the_declared_domain(
    description: OperatorDescription, dtype: str, present: str, absent: str
) -> None:
    found = {str(family) for family in families_of(description, dtype)}
    assert set(present.split()) <= found
    assert not set(absent.split()) & found

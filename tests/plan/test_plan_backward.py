"""Gradients get a share of every stage, with every form of incoming gradient, and only where they are declared."""

from __future__ import annotations

from dataclasses import replace

import pytest
from plan_notation import described

from opsdebug_ci.model import Case, Direction, Family, Kind, Layout, ReferenceKind, Stage
from opsdebug_ci.plan.axes import Axes
from opsdebug_ci.plan.stages import cases

PLAIN = described("gelu(x: B S H, r: B S H)", dtypes=("float32", "bfloat16", "int32", "float8_e5m2"))
GELU = replace(PLAIN, backward=True)


def backward(description, stage: Stage = Stage.RUN, **axes: object) -> list[Case]:
    found = cases(description, stage, Axes(**axes), tuple(ReferenceKind), ("cpu", "cuda"))
    return [case for case in found if case.direction is not Direction.FORWARD]


@pytest.mark.parametrize("stage", [Stage.SMOKE, Stage.RUN])
def test_a_fifth_as_many_as_there_are_others(stage: Stage) -> None:
    found = backward(GELU, stage)
    assert len(found) == 14
    assert [(case.dtype, case.inputs, case.layout, case.seed, case.direction) for case in found[:2]] == [
        (dtype, Family.NORMAL, Layout.CONTIGUOUS, 0, Direction.BACKWARD) for dtype in ("float32", "bfloat16")
    ]
    assert len({case.id for case in found}) == len(found)


@pytest.mark.parametrize("stage", [Stage.SMOKE, Stage.RUN, Stage.FULL])
def test_every_form_and_every_extreme_meets_the_operators_own_sizes(stage: Stage) -> None:
    own = [case for case in backward(GELU, stage) if case.dims == GELU.dims and case.layout is Layout.CONTIGUOUS]
    assert {case.direction for case in own} == {*Direction} - {Direction.FORWARD}
    assert {case.inputs for case in own} >= {Family.SIGNED_ZEROS, Family.TIES, Family.LARGE, Family.SMALL}


def test_what_is_zero_or_large_meets_plain_values() -> None:
    odd = [case for case in backward(GELU, Stage.FULL) if str(case.direction) in ("backward_zero", "backward_large")]
    assert odd and {case.inputs for case in odd} <= {Family.NORMAL, Family.UNIFORM}


def test_every_dim_is_tried_one_smaller_and_some_at_the_sizes_of_the_others() -> None:
    norm = replace(described("norm(x: N D, w: D)", N=1024, D=32), backward=True)
    sizes = [(case.dims["N"], case.dims["D"]) for case in backward(norm, Stage.SMOKE)]
    assert {(1023, 32), (1024, 31)} < {*sizes}
    assert len({*sizes}) > 6


def test_full_has_more_of_everything() -> None:
    found = backward(GELU, Stage.FULL)
    assert len(found) == 96
    assert len({case.layout for case in found}) > 3
    assert len({tuple(case.dims.values()) for case in found}) > 40
    assert all(0 not in case.dims.values() for case in found)


def test_fixed_sizes_stay_as_they_are() -> None:
    fixed = replace(described("gelu(x: S H)", fixed=("H",), S=64, H=32), backward=True)
    assert {case.dims["H"] for case in backward(fixed, Stage.FULL)} == {32}


@pytest.mark.parametrize("stage", [Stage.SMOKE, Stage.RUN, Stage.FULL])
def test_nothing_is_verified_that_is_not_declared(stage: Stage) -> None:
    assert backward(PLAIN, stage) == []


def test_what_chooses_among_values_is_asked_where_ties_are_rare() -> None:
    assert {case.dtype for case in backward(replace(GELU, kind=Kind.EXACT))} == {"float32"}


def test_fixed_axes_hold_for_gradients_too() -> None:
    found = backward(GELU, dims={"H": 9}, dtypes=("float32",), seeds=(7,), layouts=(Layout.PADDED,))
    assert {(case.dims["H"], case.dtype, case.seed, case.layout) for case in found} == {(9, "float32", 7, "padded")}
    assert {case.inputs for case in backward(GELU, families=(Family.TIES,))} == {Family.TIES}
    assert backward(GELU, families=(Family.SPECIALS,)) == []


def test_the_axes_of_a_case_bring_it_back() -> None:
    for case in backward(GELU, Stage.FULL):
        axes = {"dims": case.dims, "dtypes": (case.dtype,), "seeds": (case.seed,)}
        assert case in backward(GELU, **axes, families=(case.inputs,), layouts=(case.layout,))


def test_the_other_cases_come_first_and_stay_the_same() -> None:
    plain = cases(PLAIN, Stage.RUN, Axes(), tuple(ReferenceKind), ("cpu",))
    assert cases(GELU, Stage.RUN, Axes(), tuple(ReferenceKind), ("cpu",))[: len(plain)] == plain

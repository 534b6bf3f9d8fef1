"""Gradients are verified on a few plain cases, and only where they are declared."""

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
    return [case for case in found if case.direction is Direction.BACKWARD]


def test_a_run_has_two_per_dtype_that_has_gradients() -> None:
    assert [(case.dtype, str(case.inputs), case.layout, case.seed) for case in backward(GELU)] == [
        (dtype, family, Layout.CONTIGUOUS, 0) for dtype in ("float32", "bfloat16") for family in ("normal", "uniform")
    ]
    assert {tuple(case.dims.items()) for case in backward(GELU)} == {tuple(GELU.dims.items())}


def test_full_adds_a_size_a_layout_and_a_seed() -> None:
    found = backward(GELU, Stage.FULL)
    assert len(found) == 2 * 2 * 2 * 2 * 2
    assert {case.layout for case in found} == {Layout.CONTIGUOUS, Layout.TRANSPOSED}
    assert all(0 not in case.dims.values() for case in found)
    assert len({case.id for case in found}) == len(found)


@pytest.mark.parametrize("stage", [Stage.SMOKE, Stage.RUN, Stage.FULL])
def test_nothing_is_verified_that_is_not_declared(stage: Stage) -> None:
    assert backward(PLAIN, stage) == []


def test_smoke_leaves_gradients_to_the_night() -> None:
    assert backward(GELU, Stage.SMOKE) == []


def test_what_chooses_among_values_is_asked_where_ties_are_rare() -> None:
    assert {case.dtype for case in backward(replace(GELU, kind=Kind.EXACT))} == {"float32"}


def test_fixed_axes_hold_for_gradients_too() -> None:
    (only,) = backward(GELU, dims={"H": 9}, dtypes=("float32",), seeds=(7,), families=(Family.UNIFORM,))
    assert (only.dims["H"], only.dtype, only.seed, only.inputs) == (9, "float32", 7, Family.UNIFORM)
    assert backward(GELU, families=(Family.TIES,)) == []


def test_the_other_cases_come_first_and_stay_the_same() -> None:
    plain = cases(PLAIN, Stage.RUN, Axes(), tuple(ReferenceKind), ("cpu",))
    assert cases(GELU, Stage.RUN, Axes(), tuple(ReferenceKind), ("cpu",))[: len(plain)] == plain

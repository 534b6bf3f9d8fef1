"""Which cases are profiled, and around which sizes cliffs are looked for."""

from __future__ import annotations

from dataclasses import replace

import pytest
from plan_notation import described

from opsdebug_ci.errors import UsageError
from opsdebug_ci.model.vocabulary import Family, Layout
from opsdebug_ci.plan import Axes
from opsdebug_ci.plan.profile_cases import SEARCH_ELEMENTS, profile_cases


def planned(description, **axes):
    return profile_cases(description, Axes(**axes), "cpu")


def sizes(groups):
    return [(group.dim, [case.dims[group.dim] for case in group.cases]) for group in groups]


def test_its_own_sizes_and_the_same_ones_grown_are_shown():
    found = planned(described("f(x: B H)", B=2, H=64))
    assert [case.dims for case in found.entries] == [{"B": 2, "H": 64}, {"B": 128, "H": 4096}]
    assert {(case.layout, case.inputs, case.dtype) for case in found.entries} == {
        (Layout.CONTIGUOUS, Family.NORMAL, "float32")
    }
    assert found.base is found.entries[1]
    assert found.around.dims == {"B": 64, "H": 2048}


def test_a_large_operator_is_not_grown():
    assert len(planned(described("f(x: N)", N=2**20)).entries) == 1


def test_single_dims_double_up_to_what_stays_small():
    found = planned(described("f(x: B H)", B=2, H=64))
    assert sizes(found.sweeps) == [
        ("H", [2**13, 2**14, 2**15, 2**16, 2**17]),
        ("B", [2**8, 2**9, 2**10, 2**11, 2**12]),
    ]
    assert all(case.dims["B"] * case.dims["H"] <= SEARCH_ELEMENTS for sweep in found.sweeps for case in sweep.cases)
    assert not found.downward


def test_neighbours_lie_around_the_shown_sizes():
    found = planned(described("f(x: B H)", B=2, H=60))
    assert sizes(found.neighbours) == [
        ("H", [1919, 1920, 1921]),
        ("H", [1023, 1024]),
        ("B", [63, 64, 65]),
    ]


def test_a_callable_is_never_asked_for_more_than_it_declares():
    description = described("f(x: A)", own_inputs=True)
    found = planned(replace(description, tensors=(), dims={"size": 6000}, fixed_dims=("size",)))
    every = [*found.entries, *(case for group in (*found.sweeps, *found.neighbours) for case in group.cases)]
    assert max(case.dims["size"] for case in every) == 6000
    assert sizes(found.sweeps) == [("size", [375, 750, 1500, 3000, 6000])]
    assert sizes(found.neighbours) == [("size", [5998, 5999, 6000]), ("size", [4095, 4096])]
    assert (found.layouts, found.families, found.own_values, found.downward) == ((), (), True, True)


def test_given_dims_are_the_largest():
    found = planned(described("f(x: B H)"), dims={"B": 4, "H": 100})
    assert [case.dims for case in found.entries] == [{"B": 4, "H": 100}]
    assert max(case.dims["H"] for sweep in found.sweeps for case in sweep.cases) == 100


def test_other_layouts_and_values_are_tried_unless_they_are_given():
    found = planned(described("f(x: B H)"))
    assert [case.layout for case in found.layouts] == [Layout.TRANSPOSED, Layout.STRIDED, Layout.PADDED]
    assert [case.inputs for case in found.families] == [Family.SUBNORMAL, Family.SPECIALS, Family.SIGNED_ZEROS]
    given = planned(described("f(x: B H)"), layouts=(Layout.STRIDED,), families=(Family.SUBNORMAL,))
    assert (given.layouts, given.families) == ((), ())
    assert {(case.layout, case.inputs) for case in given.entries} == {(Layout.STRIDED, Family.SUBNORMAL)}


def test_every_given_dtype_is_shown():
    found = planned(described("f(x: N)", dtypes=("float32", "float16")), dtypes=("float32", "float16"))
    assert [case.dtype for case in found.entries] == ["float32"] * 2 + ["float16"] * 2


def test_dims_that_must_keep_their_size_do():
    found = planned(described("f(x: B H)", fixed=("H",), B=2, H=64))
    assert {case.dims["H"] for case in found.entries} == {64}
    assert [sweep.dim for sweep in found.sweeps] == ["B"]


def test_an_empty_operator_is_shown_as_it_is():
    found = planned(described("f(x: N)", N=0))
    assert [case.dims for case in found.entries] == [{"N": 0}]
    assert (found.sweeps, found.neighbours) == ((), ())


def test_an_axis_it_does_not_have_is_refused():
    with pytest.raises(UsageError, match="its dims are N"):
        planned(described("f(x: N)"), dims={"K": 3})

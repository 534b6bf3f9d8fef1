"""Every message crosses the pipe unchanged, read by the standard library and by msgspec alike."""

from __future__ import annotations

import dataclasses
import types
import typing
from collections.abc import Mapping
from enum import Enum
from typing import Any, Union

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from opsdebug_ci.errors import WorkerError
from opsdebug_ci.model import (
    Calibration,
    Case,
    Catalogue,
    Contract,
    Durations,
    Family,
    Layout,
    Machine,
    Observation,
    RunDocument,
    Status,
    WorstElement,
)
from opsdebug_ci.model.bundle import BundleManifest, InputValue, ValueKind
from opsdebug_ci.model.message import (
    Breadcrumb,
    Calibrate,
    Describe,
    Identify,
    KeepInputs,
    KeptInputs,
    PageCase,
    PagesKept,
    RunCase,
)
from opsdebug_ci.model.wire import decode, encode, from_json, to_json

MESSAGES = (
    Describe,
    RunCase,
    KeepInputs,
    PageCase,
    Calibrate,
    Identify,
    Breadcrumb,
    Catalogue,
    Observation,
    KeptInputs,
    PagesKept,
    Calibration,
    Machine,
    BundleManifest,
)

INTEGERS = st.integers(min_value=-(2**63), max_value=2**63 - 1)
NUMBERS = st.floats(allow_nan=False, allow_infinity=False)
LEAVES = {str: st.text(max_size=8), int: INTEGERS, float: NUMBERS, bool: st.booleans(), type(None): st.none()}
AMOUNTS = st.none() | st.floats(min_value=0, max_value=1e300)
CONTRACTS = st.builds(
    Contract,
    accumulate=st.sampled_from(["float32", "float64", "float16"]),
    nan=st.sampled_from(["propagate", "ignore"]),
    deterministic=st.booleans(),
    mutates=st.lists(st.text(max_size=3), max_size=2).map(tuple),
    out=st.none() | st.text(max_size=3) | st.integers(-3, 3),
    index=st.none() | st.tuples(st.text(max_size=3) | st.integers(-3, 3), st.integers(-3, 3)),
    allow=st.lists(st.sampled_from(["ftz", "tf32", "low_precision_p"]), max_size=2).map(tuple),
    atol=AMOUNTS,
    rtol=AMOUNTS,
)
INPUT_VALUES = st.recursive(
    st.builds(InputValue, kind=st.sampled_from(ValueKind), text=st.text(max_size=3), tensor=st.none() | INTEGERS),
    lambda inner: st.builds(
        InputValue, kind=st.just(ValueKind.DICT), items=st.lists(inner, max_size=2).map(tuple), keys=st.just(())
    ),
    max_leaves=4,
)


def values_of(hint: Any) -> st.SearchStrategy[Any]:  # noqa: PLR0911 - one per kind of annotation
    """Values of a field annotated `hint`."""
    if hint is Contract:
        return CONTRACTS
    if hint is InputValue:
        return INPUT_VALUES
    if hint in LEAVES:
        return LEAVES[hint]
    if dataclasses.is_dataclass(hint):
        return built(hint)
    if isinstance(hint, type) and issubclass(hint, Enum):
        return st.sampled_from(list(hint))
    origin, items = typing.get_origin(hint), typing.get_args(hint)
    if origin in (Union, types.UnionType):
        return st.one_of([values_of(item) for item in items])
    if origin is tuple and items[-1] is Ellipsis:
        return st.lists(values_of(items[0]), max_size=2).map(tuple)
    if origin is tuple:
        return st.tuples(*map(values_of, items))
    assert issubclass(origin, Mapping), hint
    return st.dictionaries(LEAVES[str], values_of(items[1]), max_size=3)


def built(cls: type) -> st.SearchStrategy[Any]:
    hints = typing.get_type_hints(cls)
    return st.builds(cls, **{field.name: values_of(hints[field.name]) for field in dataclasses.fields(cls)})


@pytest.mark.parametrize("message", MESSAGES, ids=lambda cls: cls.__name__)
def test_a_message_is_read_back_by_both_sides(message: type) -> None:
    @settings(max_examples=40, deadline=None)
    @given(built(message))
    def crosses(value: Any) -> None:
        line = encode(value)
        assert "\n" not in line
        assert decode(line, *MESSAGES) == value
        assert msgspec.json.decode(line, type=message) == value

    crosses()


def test_a_run_document_is_read_back_by_msgspec() -> None:
    @settings(max_examples=10, deadline=None)
    @given(built(RunDocument))
    def crosses(document: RunDocument) -> None:
        assert msgspec.json.decode(msgspec.json.encode(document), type=RunDocument) == document
        assert from_json(to_json(document), RunDocument) == document

    crosses()


def test_a_line_is_this_and_nothing_else() -> None:
    case = Case(operator="add", dims={"N": 3}, dtype="int8", layout=Layout.OFFSET, inputs=Family.TIES, seed=1)
    assert encode(RunCase(case=case)) == (
        '{"type":"RunCase","case":{"operator":"add","dims":{"N":3},"dtype":"int8","layout":"offset","inputs":"ties",'
        '"seed":1,"device":"cpu","direction":"forward","checks":["torch","naive","precise"]},"repeats":1,"hunt_s":30.0,'
        '"inputs":null,"profile":"quick","explaining":true,"causes":true}'
    )


@pytest.mark.parametrize("number", [float("nan"), float("inf"), float("-inf")])
def test_a_number_that_is_not_finite_crosses_as_none(number: float) -> None:
    element = WorstElement(
        index=(0,), actual=number, expected=1.0, tolerance=0.5, rounding=None, internal=None, worst_case=None
    )
    read = from_json(to_json(element), WorstElement)
    assert read == dataclasses.replace(element, actual=None)


def test_a_whole_number_in_a_float_field_is_a_float_again() -> None:
    element = from_json({**to_json(blank_element()), "actual": 3}, WorstElement)
    assert isinstance(element.actual, float)


def blank_element() -> WorstElement:
    return WorstElement(
        index=(), actual=None, expected=None, tolerance=None, rounding=None, internal=None, worst_case=None
    )


def test_a_message_of_another_type_is_refused() -> None:
    with pytest.raises(WorkerError) as refusal:
        decode(encode(Identify()), RunCase, Describe)
    assert str(refusal.value) == "message of type `Identify`; wanted one of ['RunCase', 'Describe']"


def test_a_value_without_wire_form_is_refused() -> None:
    with pytest.raises(TypeError, match="`set` has no wire form"):
        to_json({"a": {1}})


def test_fields_are_sent_and_properties_are_not() -> None:
    durations = Durations(total_ns=10, function_ns=3, reference_ns=4)
    assert to_json(durations) == {"total_ns": 10, "function_ns": 3, "reference_ns": 4}
    assert durations.overhead_ns == 3
    assert to_json(Observation(case_id="x", status=Status.RAN))["status"] == "ran"

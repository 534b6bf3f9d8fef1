"""Regions as typed: read, written, laid over a shape, refused."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from opsdebug_ci.errors import UsageError
from opsdebug_ci.model.region import WHOLE_AXIS, Span, admits, parse_region, region_size, region_text, resolve


def spans(*pairs: tuple[int, int]) -> tuple[Span, ...]:
    return tuple(Span(first=first, last=last) for first, last in pairs)


@pytest.mark.parametrize(
    ("text", "wanted"),
    [
        ("[16, 70, 100..110]", spans((16, 16), (70, 70), (100, 110))),
        ("16,70,100..110", spans((16, 16), (70, 70), (100, 110))),
        ("[*]", (WHOLE_AXIS,)),
        (" [ -1 , -3 .. -2 ] ", spans((-1, -1), (-3, -2))),
        ("[]", ()),
        ("", ()),
    ],
)
def test_what_can_be_typed(text: str, wanted: tuple[Span, ...]) -> None:
    assert parse_region(text) == wanted


@pytest.mark.parametrize("entry", ["a", "1:3", "1..", "..3", "1.5", "1..2..3", "", "[1"])
def test_an_entry_that_is_none_of_these_is_named(entry: str) -> None:
    with pytest.raises(UsageError, match=r"`--range` has .*wanted an index `i`, a stretch `a\.\.b`"):
        parse_region(f"[0, {entry}]")


def test_negative_indices_count_from_the_end() -> None:
    assert resolve(parse_region("[-1, *, -3..-2]"), (4, 5, 6), "it") == spans((3, 3), (0, 4), (3, 4))


@pytest.mark.parametrize(
    ("text", "shape", "said"),
    [
        ("[1, 2]", (4, 5, 6), r"has 2 entries; wanted one for each of the 3 axes of out0, which has shape \[4, 5, 6\]"),
        ("[4]", (4,), r"has `4` for axis 0 of out0, which has shape \[4\]; wanted indices from 0 to 3"),
        ("[-5]", (4,), r"has `-5` for axis 0"),
        ("[3..2]", (4,), r"the smaller one first"),
        ("[*, 0]", (0, 4), r"there are no elements"),
    ],
)
def test_what_does_not_fit_is_refused_with_the_shape(text: str, shape: tuple[int, ...], said: str) -> None:
    with pytest.raises(UsageError, match=said):
        resolve(parse_region(text), shape, "out0")
    assert not admits(parse_region(text), shape)


def test_a_scalar_has_one_region() -> None:
    assert resolve(parse_region("[]"), (), "it") == ()
    assert region_size(()) == 1


@given(st.lists(st.tuples(st.integers(0, 50), st.integers(0, 50)), max_size=4))
def test_what_is_written_is_read_back(pairs: list[tuple[int, int]]) -> None:
    region = spans(*((min(pair), max(pair)) for pair in pairs))
    assert parse_region(region_text(region)) == region
    assert resolve(region, tuple(span.last + 1 for span in region), "it") == region

from __future__ import annotations

import pytest

from opsdebug_ci.errors import UsageError
from opsdebug_ci.model import Family, Layout
from opsdebug_ci.plan.axes import Axes, parse_axes


def test_nothing_given_fixes_nothing() -> None:
    assert parse_axes() == Axes()


def test_every_option_is_read() -> None:
    assert parse_axes(
        dims=" B=1, S=0", dtype="float32,bfloat16", seed="0,1,1", inputs="normal,specials", layout="transposed"
    ) == Axes(
        dims={"B": 1, "S": 0},
        dtypes=("float32", "bfloat16"),
        seeds=(0, 1),
        families=(Family.NORMAL, Family.SPECIALS),
        layouts=(Layout.TRANSPOSED,),
    )


ALL_DTYPES = "float64, float32, float16, bfloat16, float8_e4m3fn, float8_e5m2, int8, int16, int32, int64, uint8, bool"
ALL_LAYOUTS = "contiguous, transposed, strided, offset, padded, expanded, mixed, own"


@pytest.mark.parametrize(
    ("option", "text", "message"),
    [
        (
            "dims",
            "B",
            "`--dims` has `B`; wanted NAME=SIZE with a whole number >= 0\n  next: write e.g. --dims B=1,S=128",
        ),
        (
            "dims",
            "B=-1",
            "`--dims` has `B=-1`; wanted NAME=SIZE with a whole number >= 0\n  next: write e.g. --dims B=1,S=128",
        ),
        (
            "dims",
            "B=1.5",
            "`--dims` has `B=1.5`; wanted NAME=SIZE with a whole number >= 0\n  next: write e.g. --dims B=1,S=128",
        ),
        (
            "dims",
            "=3",
            "`--dims` has `=3`; wanted NAME=SIZE with a whole number >= 0\n  next: write e.g. --dims B=1,S=128",
        ),
        ("dims", "B=1,B=2", "`--dims` has `B` twice; wanted each dim once\n  next: keep one `B=`"),
        ("dims", " , ", "`--dims` is empty; wanted at least one value\n  next: write e.g. --dims B=1,S=128"),
        ("dtype", "float31", f"`--dtype` has `float31`; did you mean `float32`?\n  next: pick from {ALL_DTYPES}"),
        ("dtype", "half", f"`--dtype` has `half`; wanted one of {ALL_DTYPES}\n  next: pick from {ALL_DTYPES}"),
        ("seed", "x", "`--seed` has `x`; wanted whole numbers from 0 to 2**63 - 1\n  next: write e.g. --seed 0,1,2"),
        (
            "seed",
            "9223372036854775808",
            "`--seed` has `9223372036854775808`; wanted whole numbers from 0 to 2**63 - 1\n"
            "  next: write e.g. --seed 0,1,2",
        ),
        ("seed", "", "`--seed` is empty; wanted at least one value\n  next: write e.g. --seed 0,1,2"),
        (
            "layout",
            "transpose",
            f"`--layout` has `transpose`; did you mean `transposed`?\n  next: pick from {ALL_LAYOUTS}",
        ),
    ],
)
def test_a_mistake_says_what_was_got_wanted_and_next(option: str, text: str, message: str) -> None:
    with pytest.raises(UsageError) as caught:
        parse_axes(**{option: text})
    assert str(caught.value) == message


def test_an_unknown_family_lists_them_all() -> None:
    with pytest.raises(UsageError) as caught:
        parse_axes(inputs="gaussian")
    assert all(str(family) in str(caught.value) for family in Family)


def test_a_number_of_absurd_length_is_refused_not_converted() -> None:
    with pytest.raises(UsageError, match="wanted NAME=SIZE"):
        parse_axes(dims="B=" + "9" * 5000)

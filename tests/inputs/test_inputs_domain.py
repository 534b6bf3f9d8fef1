"""Restricting values to a domain: every value ends inside it, those already inside stay, families keep their sense."""

from __future__ import annotations

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from opsdebug_ci.inputs import FAMILIES, restrict, stream_for, torch_dtype
from opsdebug_ci.model.dtype import DTYPE_NAMES, FLOAT_FORMATS
from opsdebug_ci.model.vocabulary import Family, Kind, ValueDomain

RESTRICTING = [domain for domain in ValueDomain if domain is not ValueDomain.ANY]


def admits(domain: ValueDomain, values: torch.Tensor) -> torch.Tensor:
    """Elementwise membership, in float64; a negative zero is not a magnitude."""
    wide = values.to(torch.float64)
    signed = torch.signbit(wide)
    return {
        ValueDomain.ANY: torch.ones_like(signed),
        ValueDomain.FINITE: wide.isfinite(),
        ValueDomain.NONZERO: wide.isfinite() & (wide != 0),
        ValueDomain.NONNEGATIVE: wide.isfinite() & ~signed,
        ValueDomain.POSITIVE: wide.isfinite() & (wide > 0),
    }[domain]


def make(family: Family, dtype: str, shape: tuple[int, ...] = (32, 16)) -> torch.Tensor:
    return FAMILIES[family](
        shape, dtype, stream_for(5, operator="op", argument="x", family=str(family)), Kind.ELEMENTWISE
    )


@settings(max_examples=150, deadline=None)
@given(data=st.data())
def test_every_value_ends_inside(data: st.DataObject) -> None:
    dtype = data.draw(st.sampled_from(DTYPE_NAMES), label="dtype")
    family = data.draw(st.sampled_from(list(FAMILIES)), label="family")
    domain = data.draw(st.sampled_from(RESTRICTING), label="domain")
    shape = tuple(data.draw(st.lists(st.integers(0, 5), max_size=3), label="shape"))
    raw = make(family, dtype, shape)
    restricted = restrict(raw, domain)
    assert (restricted.shape, restricted.dtype, restricted.is_contiguous()) == (raw.shape, raw.dtype, True)
    assert admits(domain, restricted).all()
    inside = admits(domain, raw)
    assert torch.equal(restricted[inside].to(torch.float64), raw.to(torch.float64)[inside])
    assert torch.equal(restrict(restricted, domain).to(torch.float64), restricted.to(torch.float64))


@settings(max_examples=100, deadline=None)
@given(data=st.data())
def test_any_bit_pattern_ends_inside(data: st.DataObject) -> None:
    dtype = torch_dtype(
        data.draw(st.sampled_from(["float16", "bfloat16", "float8_e4m3fn", "float8_e5m2"]), label="dtype")
    )
    codes = data.draw(st.lists(st.integers(-128, 127), min_size=1, max_size=9), label="codes")
    holder = torch.tensor([code * 257 for code in codes]).to(torch.int16 if dtype.itemsize == 2 else torch.int8)
    domain = data.draw(st.sampled_from(RESTRICTING), label="domain")
    assert admits(domain, restrict(holder.view(dtype), domain)).all()


def test_any_returns_the_tensor_itself_and_others_never_write_to_it() -> None:
    raw = torch.tensor([float("nan"), -1.0, 0.0])
    assert restrict(raw, ValueDomain.ANY) is raw
    for domain in RESTRICTING:
        restrict(raw, domain)
    assert raw.isnan()[0]
    assert raw[1:].tolist() == [-1.0, 0.0]


def test_replacements() -> None:
    raw = torch.tensor([float("nan"), float("inf"), float("-inf"), 0.0, -0.0, -0.25, 3.0])
    assert restrict(raw, ValueDomain.FINITE).tolist() == [1.0, 1.0, -1.0, 0.0, -0.0, -0.25, 3.0]
    assert restrict(raw, ValueDomain.NONZERO).tolist() == [1.0, 1.0, -1.0, 0.25, -0.25, -0.25, 3.0]
    assert restrict(raw, ValueDomain.NONNEGATIVE).tolist() == [1.0, 1.0, 1.0, 0.0, 0.0, 0.25, 3.0]
    assert restrict(raw, ValueDomain.POSITIVE).tolist() == [1.0, 1.0, 1.0, 0.25, 0.25, 0.25, 3.0]
    assert restrict(torch.zeros(2), ValueDomain.POSITIVE).tolist() == [1.0, 1.0]
    assert restrict(torch.tensor([-128, 0, 5], dtype=torch.int8), ValueDomain.NONNEGATIVE).tolist() == [127, 0, 5]
    assert restrict(torch.tensor([False, True]), ValueDomain.NONZERO).tolist() == [True, True]
    low = torch.tensor([-(2**63), 0], dtype=torch.int64)
    assert restrict(low, ValueDomain.POSITIVE).tolist() == [2**63 - 1, 2**63 - 1]


@pytest.mark.parametrize("domain", [ValueDomain.NONZERO, ValueDomain.POSITIVE], ids=str)
@pytest.mark.parametrize("dtype", tuple(FLOAT_FORMATS))
def test_families_keep_their_character(dtype: str, domain: ValueDomain) -> None:
    form = FLOAT_FORMATS[dtype]
    made = {family: restrict(make(family, dtype), domain).to(torch.float64) for family in FAMILIES}
    assert (made[Family.SUBNORMAL].abs() < form.min_normal).all()
    assert (made[Family.INTEGER] == made[Family.INTEGER].round()).all()
    assert (made[Family.INDEX_CODED] == made[Family.INDEX_CODED].round()).all()
    assert set(made[Family.TIES].abs().unique().tolist()) == {0.5, 1.0, 1.5, 2.5}
    assert float(made[Family.SMALL].abs().max()) <= 3.5 * max(2.0**-10, 2 * form.min_normal)
    assert torch.equal(made[Family.LARGE].abs(), make(Family.LARGE, dtype).to(torch.float64).abs())

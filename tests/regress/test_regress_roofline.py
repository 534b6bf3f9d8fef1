"""Floors by hand: the examples everybody checks first, and what is left open."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st
from profile_notation import peaks, traffic

from opsdebug_ci.model.profile_document import BoundBy, CachedBandwidth
from opsdebug_ci.regress.roofline import cached_bandwidth, floor_of, roof_of

MB = 1_000_000


def test_10_mb_in_and_5_mb_out_with_a_gigaflop_is_memory_bound():
    work = traffic(10 * MB, 5 * MB, flops=1e9)
    floor = floor_of(work, roof_of(peaks(100e9, float32=20e12), "float32", work.bytes))
    assert (floor.bound, floor.ns) == (BoundBy.MEMORY, 150_000)
    assert (floor.memory_ns, floor.compute_ns) == (150_000, 50_000)
    assert floor.intensity == pytest.approx(1e9 / 15e6)


def test_a_megabyte_read_and_one_written_take_20_us():
    work = traffic(MB, MB)
    floor = floor_of(work, roof_of(peaks(100e9), "float32", work.bytes))
    assert (floor.ns, floor.bound, floor.compute_ns, floor.intensity) == (20_000, BoundBy.MEMORY, None, None)


def test_many_flops_are_compute_bound():
    work = traffic(MB, flops=1e12)
    assert floor_of(work, roof_of(peaks(100e9, float32=20e12), "float32", work.bytes)).bound is BoundBy.COMPUTE


def test_stated_bytes_win():
    work = traffic(MB, MB, stated=10 * MB)
    assert floor_of(work, roof_of(peaks(100e9), "float32", work.bytes)).ns == 100_000


@pytest.mark.parametrize(
    ("work", "known"),
    [
        (traffic(0), peaks(100e9, float32=1e12)),
        (traffic(MB), peaks(None, float32=1e12)),
        (traffic(0, flops=1e9), peaks(None, float16=1e12)),
    ],
    ids=["nothing moves", "no bandwidth", "another dtype's peak"],
)
def test_there_is_no_floor_where_nothing_is_known(work, known):
    assert floor_of(work, roof_of(known, "float32", work.bytes)) is None


CACHES = (
    CachedBandwidth(working_set_bytes=2**19, bandwidth_bytes_per_s=80e9),
    CachedBandwidth(working_set_bytes=2**23, bandwidth_bytes_per_s=40e9),
)


@pytest.mark.parametrize(
    ("moved", "bandwidth"), [(1000, 80e9), (2**19, 80e9), (2**21, 60e9), (2**23, 40e9), (2**23 + 1, None), (0, None)]
)
def test_bandwidth_follows_the_working_set(moved, bandwidth):
    assert cached_bandwidth(CACHES, moved) == (bandwidth if bandwidth is None else pytest.approx(bandwidth))


def test_what_fits_in_a_cache_is_held_against_it():
    known = replace(peaks(10e9), cached=CACHES)
    assert roof_of(known, "float32", 1000).cached
    assert roof_of(known, "float32", 2**24).bandwidth_bytes_per_s == 10e9


def test_a_cache_slower_than_the_stated_memory_is_not_used():
    known = replace(peaks(100e9), cached=CACHES)
    assert not roof_of(known, "float32", 1000).cached


@given(
    moved=st.integers(1, 10**12), flops=st.floats(1, 1e15), bandwidth=st.floats(1e6, 1e13), peak=st.floats(1e6, 1e16)
)
def test_the_floor_is_the_longer_of_the_two(moved, flops, bandwidth, peak):
    floor = floor_of(traffic(moved, flops=flops), roof_of(peaks(bandwidth, float32=peak), "float32", moved))
    assert floor.ns == pytest.approx(1e9 * max(moved / bandwidth, flops / peak))
    assert (floor.bound is BoundBy.COMPUTE) == (floor.compute_ns > floor.memory_ns)

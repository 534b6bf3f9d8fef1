"""Cliffs of layout, size, values and calls by given times: planted ones, clean twins, right operators that are slow."""

from __future__ import annotations

from dataclasses import replace

import pytest
from profile_notation import AGAIN, answer, at, watch

from opsdebug_ci.model.profile import CaseProfile
from opsdebug_ci.model.vocabulary import Cause
from opsdebug_ci.regress.call_cliffs import fixed_cost, host_reads, slower_every_call
from opsdebug_ci.regress.cliffs import layout_cliff, size_cliff, value_cliff
from opsdebug_ci.regress.profiled import times, us

MS = 1e6


def strided(given: float, copied: float, copying: float, reference: float | None, **other):
    return at({"size": 6000}, given, reference, copied=watch(copied), copying_ns=copying, **other)


def test_a_call_per_column_of_a_strided_operand_is_named():
    finding = layout_cliff(strided(68 * MS, 50e3, 15e3, 170e3, torch_calls=6004, reference_calls=3), AGAIN)
    assert (finding.cause, finding.confidence) == (Cause.PERF_CLIFF, 0.95)
    assert finding.statement == (
        "68 ms on these strides, 65 us with its arguments made contiguous first (1,000x); the torch reference takes "
        "170 us; one or more for each of 6,000 along size: 6,004 framework calls against 3"
    )


@pytest.mark.parametrize(
    "given",
    [
        strided(1 * MS, 0.8 * MS, 0.2 * MS, 0.9 * MS),
        strided(1 * MS, 0.1 * MS, 0.2 * MS, 0.1 * MS),
        strided(1 * MS, 0.1 * MS, 0.1 * MS, 0.6 * MS),
        strided(90e3, 5e3, 5e3, 5e3),
        strided(7 * MS, 0.5 * MS, 0.5 * MS, None),
        at({"size": 6000}, 68 * MS, 170e3),
    ],
    ids=[
        "copies first itself",
        "walks the view, 3 times slower",
        "the reference is as slow on it",
        "a few framework calls more",
        "no reference to compare with, 7 times slower",
        "contiguous already",
    ],
)
def test_a_right_operator_on_strides_is_left_alone(given):
    assert layout_cliff(given, AGAIN) is None


def sizes(*pairs: tuple[float, float], first: int = 1023, **other):
    return [at({"N": first + i}, own, theirs, **other) for i, (own, theirs) in enumerate(pairs)]


def test_an_odd_size_is_named():
    finding = size_cliff(sizes((7 * MS, 17e3), (18e3, 18e3), (7 * MS, 17e3)), "N", AGAIN)
    assert "at N=1024 (390x); the torch reference takes 17 us" in finding.statement
    assert finding.evidence["fast_size"] == 1024


@pytest.mark.parametrize(
    "points",
    [
        sizes((18e3, 18e3), (18e3, 18e3)),
        sizes((3 * MS, 1 * MS), (1 * MS, 1 * MS)),
        sizes((80 * MS, 70 * MS), (8 * MS, 7 * MS)),
        sizes((60e3, 5e3), (10e3, 5e3)),
        sizes((5 * MS, 0.5 * MS), (1 * MS, 0.5 * MS), handled_bytes=50_000_000),
        sizes((7 * MS, 17e3)),
    ],
    ids=[
        "no difference",
        "a padded copy",
        "the reference jumps too",
        "tens of microseconds",
        "an allocator's fresh pages, 5 times slower",
        "one size alone",
    ],
)
def test_a_right_operator_at_neighbouring_sizes_is_left_alone(points):
    assert size_cliff(points, "N", AGAIN) is None


def test_another_path_of_the_code_at_a_size_is_named_whatever_it_handles():
    slow, fast = sizes((5 * MS, 0.5 * MS), (1 * MS, 0.5 * MS), handled_bytes=50_000_000)
    slow = replace(slow, profile=replace(slow.profile, torch_calls=400))
    fast = replace(fast, profile=replace(fast.profile, torch_calls=4))
    assert "400 framework calls against 4" in size_cliff([slow, fast], "N", AGAIN).statement


def values(given: tuple[float, float, int | None], tame: tuple[float, float, int | None]):
    pair = [at({"N": 65536}, own, theirs, torch_calls=calls) for own, theirs, calls in (given, tame)]
    return value_cliff(pair[0], pair[1], "subnormal values", AGAIN)


def test_another_path_for_some_values_is_named():
    finding = values((1.2 * MS, 9e3, 128), (130e3, 9e3, 7))
    assert finding.statement == (
        "1.2 ms on subnormal values, 130 us on everyday ones (9.2x); the torch reference takes 9 us; 128 framework "
        "calls against 7"
    )


def test_a_loss_that_no_processor_explains_is_named_without_counted_calls():
    assert values((200 * MS, 9e3, None), (130e3, 9e3, None)) is not None


@pytest.mark.parametrize(
    ("given", "tame"),
    [
        ((8 * MS, 9e3, 4), (130e3, 9e3, 4)),
        ((8 * MS, 4 * MS, 4), (130e3, 9e3, 4)),
        ((1 * MS, 100e3, 128), (0.9 * MS, 10e3, 7)),
        ((80e3, 9e3, 128), (10e3, 9e3, 7)),
    ],
    ids=["a processor's assists", "the reference is slow on them too", "hardly slower", "tens of microseconds"],
)
def test_a_right_operator_on_odd_values_is_left_alone(given, tame):
    assert values(given, tame) is None


def fixed(small: float, large: float, reference: float = 3e3, calls: int | None = 2, grown: int = 16):
    points = [at({"N": 256 * scale}, ns, reference, torch_calls=calls) for scale, ns in ((grown, large), (1, small))]
    return fixed_cost(points, AGAIN)


def test_milliseconds_whatever_the_size_are_named():
    finding = fixed(2.1 * MS, 2.1 * MS)
    assert finding.statement == (
        "every call takes about 2.1 ms whatever its size (N=256 to N=4096), the torch reference 3 us on the smallest: "
        "something is built, compiled or waited for each time"
    )


@pytest.mark.parametrize(
    "finding",
    [
        fixed(0.9 * MS, 0.9 * MS),
        fixed(2 * MS, 4 * MS),
        fixed(2 * MS, 2 * MS, reference=1 * MS),
        fixed(2 * MS, 2 * MS, calls=2000),
        fixed(2 * MS, 2 * MS, calls=None),
        fixed(2 * MS, 2 * MS, grown=2),
    ],
    ids=["below a millisecond", "grows", "reference alike", "a loop of calls", "calls not counted", "hardly swept"],
)
def test_other_costs_of_a_call_are_left_alone(finding):
    assert finding is None


def test_elements_read_one_by_one_are_named_and_a_loop_without_is_left_alone():
    item = at({"N": 4096}, 2.8 * MS, 3e3, host_reads=4096, reference_host_reads=0)
    assert "the host reads 4,096 single elements" in host_reads(item, AGAIN).statement
    for right in (
        at({"N": 4096}, 25 * MS, 4e3, host_reads=0, reference_host_reads=0, torch_calls=20_000),
        at({"N": 4096}, 2.8 * MS, 3e3, host_reads=20, reference_host_reads=0),
        at({"N": 4096}, 2.8 * MS, 2 * MS, host_reads=4096, reference_host_reads=4096),
        at({"N": 4096}, 2.8 * MS, 3e3),
        at({"N": 300}, 90e3, 3e3, host_reads=300, reference_host_reads=0),
    ):
        assert host_reads(right, AGAIN) is None


def slowing(first: float, last: float, trend: float | None, reference_trend: float | None = None):
    samples = tuple(first + (last - first) * i / 11 for i in range(12))
    operator = watch(first, samples_ns=samples, slowdown_per_call=trend)
    reference = watch(3e3, slowdown_per_call=reference_trend)
    profile = replace(answer(None), operator=operator, reference=reference)
    return slower_every_call(replace(at({"N": 8}, first), profile=profile), AGAIN)


def test_calls_that_slow_down_are_named_and_clocks_that_sink_are_not():
    assert "0.10% slower than the one before" in slowing(1e5, 2e5, 0.001).statement
    assert slowing(1e5, 1.1e5, 0.001) is None
    assert slowing(1e5, 2e5, None) is None
    assert slowing(1e5, 2e5, 0.001, reference_trend=0.001) is None


def test_what_was_not_timed_is_left_alone():
    untimed = replace(at({"N": 8}, 1.0), profile=CaseProfile(case_id="a", operator=None))
    assert layout_cliff(untimed, AGAIN) is None
    assert size_cliff([untimed, untimed], "N", AGAIN) is None
    assert value_cliff(untimed, untimed, "x", AGAIN) is None
    assert fixed_cost([untimed, untimed], AGAIN) is None
    assert host_reads(untimed, AGAIN) is None
    assert slower_every_call(untimed, AGAIN) is None


@pytest.mark.parametrize(
    ("ns", "text"), [(0.4, "0.0004 us"), (1234, "1.2 us"), (999_400, "1,000 us"), (5.67e6, "5.7 ms"), (2e9, "2 s")]
)
def test_times_have_two_digits(ns, text):
    assert us(ns) == text


def test_ratios_have_two_digits():
    assert [times(ratio) for ratio in (4.25, 9.96, 387.0, 1033.0)] == ["4.2x", "10x", "390x", "1,000x"]

"""What to do next, by given numbers: each rule where it must speak, and beside it where it must not."""

from __future__ import annotations

from dataclasses import replace

import pytest
from profile_notation import answer, parts, peaks, traffic, watch

from opsdebug_ci.model.profile_document import CachedBandwidth
from opsdebug_ci.regress.advice import INTERPRETED, is_asleep, judge_profile

MB = 1_000_000
GB100 = peaks(100e9, float32=20e12)


def judged(ns, moved=None, known=GB100, **other):
    work = other.pop("traffic", traffic(moved or 0))
    return judge_profile(answer(ns, traffic=work, **other), "float32", known)


def test_a_transpose_at_800_us_against_100_is_an_access_pattern():
    found = judged(800_000, traffic=traffic(5 * MB, 5 * MB))
    assert (found.floor.ns, found.utilisation) == (100_000, 0.125)
    assert found.advice.startswith("access pattern: ")
    assert found.explanation is None


def test_180_of_300_us_in_launching_is_launch_bound():
    found = judged(300_000, MB, parts=parts(180_000, 100_000, 20_000))
    assert found.launch_share == 0.6
    assert found.advice == "launch-bound, batch or fuse"


def test_the_time_of_an_interpreter_is_no_ground_for_advice():
    assert judged(800_000, traffic=traffic(5 * MB, 5 * MB), interpreted=True).advice == INTERPRETED


def test_half_of_it_is_the_border():
    assert judged(300, 10, parts=parts(150, 150)).advice == "launch-bound, batch or fuse"
    assert "launch-bound" not in judged(300, 10, parts=parts(149, 151)).advice


@pytest.mark.parametrize(
    ("utilisation", "words"),
    [
        (0.29, "access pattern"),
        (0.31, "alignment or bank conflicts"),
        (0.59, "alignment or bank conflicts"),
        (0.61, "memory-bound, little left"),
        (1.0, "memory-bound, little left"),
    ],
)
def test_bandwidth_utilisation(utilisation, words):
    assert judged(100_000 / utilisation, 10 * MB).advice.startswith(words)


@pytest.mark.parametrize(
    ("utilisation", "words"), [(0.2, "far below the peak"), (0.5, "tile sizes"), (0.9, "compute-bound, little left")]
)
def test_the_same_of_a_compute_bound_one(utilisation, words):
    found = judged(50_000 / utilisation, traffic=traffic(1000, flops=1e9))
    assert found.advice.startswith(words)


def test_utilisation_rests_on_execution_alone():
    found = judged(400_000, 10 * MB, parts=parts(100_000, 200_000, 100_000))
    assert found.utilisation == 0.5
    assert found.bandwidth_bytes_per_s == pytest.approx(50e9)


def test_data_in_a_cache_are_held_against_the_cache():
    cached = replace(peaks(10e9), cached=(CachedBandwidth(working_set_bytes=2 * MB, bandwidth_bytes_per_s=100e9),))
    found = judged(20_000, MB, known=cached)
    assert found.utilisation == 0.5
    assert "stay in a cache" in found.explanation


@pytest.mark.parametrize(
    ("work", "words"),
    [
        (traffic(10 * MB, stated=20 * MB), "the stated bytes are too many"),
        (traffic(10 * MB), "its output is a view"),
        (traffic(10 * MB, 10 * MB), "a cache larger than those measured"),
        (traffic(10, 10, flops=1e12), "the stated flops are too many"),
    ],
)
def test_more_than_everything_is_explained(work, words):
    found = judged(1000, traffic=work)
    assert found.utilisation > 1
    assert words in found.explanation
    assert "nothing to gain" in found.advice


def test_five_per_cent_more_than_everything_is_noise():
    assert judged(100_000 / 1.04, 10 * MB).explanation is None


def test_one_that_sleeps_is_told_and_one_on_a_busy_machine_is_not():
    asleep, busy = watch(4e6, cpu_share=0.02), watch(4e6, cpu_share=0.4)
    assert is_asleep(asleep, watch(1000, cpu_share=0.9)) and is_asleep(asleep, None)
    assert not is_asleep(busy, watch(1000, cpu_share=0.5))
    assert not is_asleep(busy, None)
    assert not is_asleep(watch(4e6, cpu_share=0.49), watch(1000, cpu_share=1.0))
    assert not is_asleep(watch(4e6, cpu_share=None), None)
    assert judged(4e6, MB, operator=asleep).advice.startswith("sleeps: the processor works 2% of the time")


def test_calls_that_slow_down_are_told():
    slower = watch(1e5, slowdown_per_call=0.004)
    assert "every call is 0.40% slower" in judged(1e5, MB, operator=slower).advice


def test_an_expensive_first_call_is_told_and_a_usual_one_is_not():
    assert "the first call takes 2 s" in judged(1e5, MB, operator=watch(1e5, first_call_ns=2e9)).advice
    assert "first call" not in judged(1e5, MB, operator=watch(1e5, first_call_ns=1e6)).advice
    assert "first call" not in judged(1e8, MB, operator=watch(1e8, first_call_ns=9e8)).advice


def test_the_reference_is_told_where_it_is_faster():
    assert "the torch reference takes 10 us" in judged(1e5, MB, reference=1e4).advice
    assert "reference" not in judged(1e5, MB, reference=9e4).advice


def test_many_framework_calls_are_launching():
    known = replace(GB100, launch_ns=300.0)
    assert "20,004 framework calls" in judged(25e6, MB, known=known, torch_calls=20_004).advice
    assert "framework calls" not in judged(25e6, MB, known=known, torch_calls=40).advice
    assert "framework calls" not in judged(2e4, MB, known=known, torch_calls=12).advice


def test_the_timer_is_told_where_it_shows():
    assert "may be the timer" in judged(100, MB, operator=watch(100, timer_ns=40.0)).advice


def test_nothing_moves_and_nothing_is_known():
    assert judged(1000, traffic=traffic(0)).advice.startswith("no floor")
    assert judged(1000, MB, known=peaks(None)).utilisation is None


def test_what_could_not_be_timed_says_why():
    found = judge_profile(answer(None, reason="the operator raised ValueError: no"), "float32", GB100)
    assert (found.advice, found.floor) == ("the operator raised ValueError: no", None)

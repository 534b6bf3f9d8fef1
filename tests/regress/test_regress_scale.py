"""Noise and what it hides, against simulation."""

from __future__ import annotations

import math

import numpy as np
import pytest

from opsdebug_ci.regress.ranks import shift
from opsdebug_ci.regress.scale import STEADIEST, detectable, scatter, standard_error


@pytest.mark.parametrize("size", [4, 5, 8, 16])
def test_scatter_is_right_on_average(size: int) -> None:
    random = np.random.default_rng(size)
    found = np.mean([scatter(random.normal(0, 2.0, size)) for _ in range(3000)])
    assert found == pytest.approx(2.0, rel=0.05)


def test_one_odd_launch_of_four_does_not_count_as_noise() -> None:
    quiet = np.array([1.000, 1.010, 0.995, 1.004])
    assert scatter(np.array([1.000, 1.010, 0.995, 1.9])) < 3 * scatter(quiet)


def test_agreement_by_chance_is_not_believed() -> None:
    assert scatter(np.array([1.0, 1.0, 1.0, 1.0])) == STEADIEST


def test_one_value_says_nothing_about_noise() -> None:
    assert scatter(np.array([1.0])) == math.inf
    assert detectable(standard_error(np.array([1.0]), np.array([1.0, 1.1]))) == math.inf


def test_the_standard_error_is_that_of_the_estimate() -> None:
    random = np.random.default_rng(1)
    pairs = [(random.normal(0, 0.02, 8), random.normal(0, 0.02, 8)) for _ in range(2000)]
    spread = np.std([shift(base, head).estimate for base, head in pairs])
    assert np.mean([standard_error(base, head) for base, head in pairs]) == pytest.approx(spread, rel=0.08)


def test_a_slowdown_of_the_detectable_size_shows_nineteen_times_of_twenty() -> None:
    random = np.random.default_rng(2)
    error = 0.02 * math.sqrt(2 / 8) / math.sqrt(3 / math.pi)
    size = math.log1p(detectable(error))
    alarm = 2.326 * error  # what chance shows once in a hundred times
    found = [shift(random.normal(0, 0.02, 8), random.normal(size, 0.02, 8)).estimate > alarm for _ in range(2000)]
    assert np.mean(found) == pytest.approx(0.95, abs=0.02)

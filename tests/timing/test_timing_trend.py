"""Growth from call to call: certain, worth a word, and never noise."""

from __future__ import annotations

import itertools
import math
import random

import pytest

from opsdebug_ci.timing.trend import CHANCE, growth_per_sample, rising_chance


@pytest.mark.parametrize("size", [2, 3, 5])
def test_the_chance_is_the_share_of_all_orders(size: int) -> None:
    orders = list(itertools.permutations(range(size)))

    def score(order: tuple[int, ...]) -> int:
        return sum(1 if a < b else -1 for a, b in itertools.combinations(order, 2))

    for order in orders:
        share = sum(score(other) >= score(order) for other in orders) / math.factorial(size)
        assert rising_chance(order) == pytest.approx(share, rel=1e-12)


def test_ties_are_no_growth() -> None:
    assert rising_chance([1.0] * 24) > 0.5
    assert growth_per_sample([1.0] * 24) is None


def test_a_step_every_sample_is_told() -> None:
    samples = [100.0 + 10 * n for n in range(24)]
    assert growth_per_sample(samples) == pytest.approx(10 / 215, rel=1e-12)  # the median sample is 215


def test_growth_too_small_to_matter_is_not() -> None:
    samples = [100.0 + 0.5 * n for n in range(24)]
    assert rising_chance(samples) < CHANCE
    assert growth_per_sample(samples) is None


@pytest.mark.parametrize("size", [0, 1, 3, 9])
def test_few_samples_are_never_certain(size: int) -> None:
    assert growth_per_sample([2.0**n for n in range(size)]) is None


def test_a_machine_that_becomes_slow_half_way_is_not_growth() -> None:
    generator = random.Random(0)
    samples = [(100 if n < 12 else 200) * generator.uniform(1, 1.1) for n in range(24)]
    assert growth_per_sample(samples) is None


def test_noise_is_not_growth() -> None:
    generator = random.Random(1)
    series = ([generator.lognormvariate(0, 0.5) for _ in range(24)] for _ in range(2000))
    assert [samples for samples in series if growth_per_sample(samples) is not None] == []

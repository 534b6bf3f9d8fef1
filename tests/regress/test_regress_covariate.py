"""A fitted, shrunk covariate against plain division."""

from __future__ import annotations

import numpy as np
import pytest

from opsdebug_ci.model.profile_document import BoundBy
from opsdebug_ci.regress.covariate import best_fit, fit


def normal(seed: int, runs: int = 40) -> np.ndarray:
    return np.random.default_rng(seed).standard_normal(runs)


def test_a_probe_that_has_nothing_to_do_with_a_series_is_left_out_where_division_would_harm() -> None:
    values, probe = 0.01 * normal(1), 0.05 * normal(2)
    assert np.std(values - probe) > 3 * np.std(values)
    assert fit("memcpy", values, probe) is None


def test_a_series_that_follows_a_probe_by_a_third_is_helped_where_division_would_harm() -> None:
    probe = 0.09 * normal(3)
    values = 0.3 * probe + 0.01 * normal(4)
    found = fit("memcpy", values, probe)
    assert found is not None
    assert found.slope == pytest.approx(0.3, abs=0.05)
    assert found.share == pytest.approx(np.corrcoef(values, probe)[0, 1] ** 2, abs=0.03)
    assert np.std(values - probe) > 2 * np.std(values)
    assert np.std(found.adjusted(values, probe)) < 0.5 * np.std(values)


def test_fresh_runs_are_helped_as_well() -> None:
    probe, later = 0.05 * normal(5), 0.05 * normal(6, 400)
    found = fit("gemm", 0.5 * probe + 0.01 * normal(7), probe)
    assert found is not None
    values = 0.5 * later + 0.01 * normal(8, 400)
    assert np.std(found.adjusted(values, later)) == pytest.approx(0.01, rel=0.2)


@pytest.mark.parametrize("sign", [-1.0, 3.0])
def test_a_slope_that_cannot_be_is_not_used(sign: float) -> None:
    probe = 0.05 * normal(9)
    found = fit("memcpy", sign * probe, probe)
    # At three times the probe, dividing by it once explains 5/9 of the variance.
    assert found is None if sign < 0 else found is not None and found.slope == 1.0


def test_nineteen_runs_say_nothing() -> None:
    probe = normal(10, 19)
    assert fit("memcpy", probe, probe) is None
    assert fit("memcpy", normal(10, 20), normal(10, 20)) is not None


def test_one_night_bad_for_both_makes_no_slope() -> None:
    values, probe = 0.01 * normal(11), 0.01 * normal(12)
    values[7] += 0.5
    probe[7] += 0.5
    assert np.corrcoef(values, probe)[0, 1] > 0.9
    assert fit("memcpy", values, probe) is None


@pytest.mark.parametrize(
    ("bound", "expected"), [(BoundBy.MEMORY, "triad"), (BoundBy.COMPUTE, "gemm"), (BoundBy.LAUNCH, None)]
)
def test_the_probe_is_of_the_same_kind_as_the_series(bound: BoundBy, expected: str | None) -> None:
    values = 0.02 * normal(13)
    probes = {"gemm": values, "triad": values + 0.001 * normal(14), "memcpy": values + 0.01 * normal(15)}
    found = best_fit(bound, values, probes)
    assert (None if found is None else found.probe) == expected


def test_a_probe_that_never_moves_explains_nothing() -> None:
    assert fit("launch", normal(16), np.zeros(40)) is None

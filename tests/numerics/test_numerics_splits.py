"""The best cut of one feature: planted rules are found, chance is called chance, counts are those of a slow loop."""

from __future__ import annotations

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from opsdebug_ci.model.attribution import Relation
from opsdebug_ci.numerics.splits import find_splits, shortest_between, value_features


def normal(*shape: int, seed: int = 0) -> torch.Tensor:
    return torch.randn(*shape, generator=torch.Generator().manual_seed(seed))


def index(axis: int, shape: tuple[int, ...]) -> torch.Tensor:
    return torch.arange(shape[axis]).reshape([-1 if a == axis else 1 for a in range(len(shape))]).expand(shape)


SHAPE = (6, 40, 50)
X, Y = normal(*SHAPE), normal(*SHAPE, seed=1)

PLANTED = {
    "|x| > 2": X.abs() > 2.0,
    "x > 1.5": X > 1.5,
    "x < -1": X < -1.0,
    "|y| < 0.5": Y.abs() < 0.5,
    "index on axis 2 > 44": index(2, SHAPE) > 44,
    "index on axis 1 < 3": index(1, SHAPE) < 3,
    "index on axis 1 = 17": index(1, SHAPE) == 17,
    "index on axis 2 mod 4 = 3": index(2, SHAPE) % 4 == 3,
    "index on axis 2 mod 32 = 5": index(2, SHAPE) % 32 == 5,
    "flat index mod 7 = 2": torch.arange(X.numel()).reshape(SHAPE) % 7 == 2,
}


def splits(bad: torch.Tensor, **options: object):
    return find_splits(bad, [*value_features("x", X), *value_features("y", Y)], **options)


@pytest.mark.parametrize("rule", PLANTED)
def test_a_planted_rule_is_found_exactly(rule: str) -> None:
    best = splits(PLANTED[rule])[0]
    assert (best.statement, best.accuracy, best.balanced_accuracy) == (rule, 1.0, 1.0)


def test_bad_elements_at_random_have_no_good_split() -> None:
    assert splits(normal(*SHAPE, seed=2) > 1.0)[0].balanced_accuracy < 0.6


@pytest.mark.parametrize("bad", [torch.zeros(SHAPE, dtype=torch.bool), torch.ones(SHAPE, dtype=torch.bool)])
def test_where_all_are_alike_there_is_nothing_to_split(bad: torch.Tensor) -> None:
    assert splits(bad) == ()


def test_a_scalar_has_nothing_to_split() -> None:
    assert find_splits(torch.tensor(True), value_features("x", torch.tensor(1.0))) == ()


def test_values_that_are_not_finite_are_never_on_the_bad_side() -> None:
    x = torch.tensor([1.0, 2.0, 3.0, 4.0, float("inf"), float("nan")])
    best = find_splits(x == 4.0, value_features("x", x))[0]
    assert (best.feature, best.relation, best.reach, best.balanced_accuracy) == ("x", Relation.ABOVE, 3.0, 1.0)


def test_the_bad_side_is_counted_in_the_region() -> None:
    region = torch.zeros(SHAPE, dtype=torch.bool)
    region[0, 0] = True
    best = splits(PLANTED["|x| > 2"] & (X < 2.5), region=region)[0]
    there = (X.abs() > best.threshold)[0, 0]
    assert best.region_bad == int((there & (X[0, 0] < 2.5)).sum())
    assert best.region_bad + best.region_good == int(there.sum())


def test_noise_in_the_labels_lowers_the_accuracy_and_keeps_the_threshold_near() -> None:
    flipped = torch.rand(SHAPE, generator=torch.Generator().manual_seed(3)) < 0.02
    best = splits(PLANTED["|x| > 2"] ^ flipped)[0]
    assert best.feature == "|x|"
    assert 1.9 < best.threshold < 2.1
    assert 0.6 < best.balanced_accuracy < 0.99


def test_a_broadcast_feature_is_laid_over_the_rows() -> None:
    row = torch.arange(50.0)
    best = find_splits((row > 30).expand(SHAPE), value_features("weight", row))[0]
    assert best.statement in ("weight > 30.5", "weight > 30", "weight > 31")
    assert best.balanced_accuracy == 1.0


@given(st.lists(st.tuples(st.integers(-3, 3), st.booleans()), min_size=2, max_size=9))
def test_no_cut_of_a_value_is_better_than_the_one_found(pairs: list[tuple[int, bool]]) -> None:
    x = torch.tensor([float(value) for value, _ in pairs])
    bad = torch.tensor([wrong for _, wrong in pairs])
    found = find_splits(bad, value_features("x", x))
    if not found:
        assert bad.all() or not bad.any()
        return
    assert found[0].balanced_accuracy >= slow_best(x.tolist(), bad.tolist()) - 2e-3


def slow_best(values: list[float], bad: list[bool]) -> float:
    best = 0.0
    for cut in sorted(set(values)):
        for called in ([v > cut for v in values], [v < cut for v in values]):
            hits = sum(c and b for c, b in zip(called, bad, strict=True)) / sum(bad)
            spared = sum(not c and not b for c, b in zip(called, bad, strict=True)) / (len(bad) - sum(bad))
            best = max(best, (hits + spared) / 2)
    return best


@pytest.mark.parametrize(
    ("low", "high", "wanted"), [(2.9996, 3.0003, 3.0), (87.9, 88.4, 88.0), (-1.0002, -0.9999, -1.0), (0.0, 0.25, 0.1)]
)
def test_a_threshold_is_what_a_person_would_have_written(low: float, high: float, wanted: float) -> None:
    assert shortest_between(low, high) == wanted


def test_between_neighbours_there_is_none() -> None:
    assert shortest_between(1.0, 1.0000000000000002) is None

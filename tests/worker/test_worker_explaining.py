"""Causes of an operator: found on one failing case, tested on the others, told of all they explain."""

from __future__ import annotations

from dataclasses import replace

import pytest
import torch
from worker_notation import case_of, unary

from opsdebug_ci import Operator
from opsdebug_ci.model import Cause, Family
from opsdebug_ci.model.case import Case
from opsdebug_ci.model.message import CauseFound, ExplainCases
from opsdebug_ci.worker import explaining
from opsdebug_ci.worker.explaining import explain_cases


def explained(operator: Operator, failing: list[Case], passing: list[Case] | None = None) -> dict[str, CauseFound]:
    request = ExplainCases(case=failing[0], failing=tuple(failing), passing=tuple(passing or ()))
    return {each.case_id: each for each in explain_cases(operator, request, lambda breadcrumb: None).found}


def cases(operator: Operator, *sizes: int, **fields: object) -> list[Case]:
    return [case_of(operator, N=size, seed=seed, **fields) for seed, size in enumerate(sizes)]


def spread(x: torch.Tensor) -> torch.Tensor:
    return (x - x.mean()) / (x.var(correction=0) + 1e-5).sqrt()


SAMPLE = unary(lambda x: (x - x.mean()) / (x.var() + 1e-5).sqrt(), spread, kind="norm")
"""Divides by n - 1."""


def test_one_hypothesis_is_told_of_every_case_it_explains_each_in_its_own_numbers() -> None:
    found = explained(SAMPLE, cases(SAMPLE, 30, 50, 70))
    first = [each.clues[0] for each in found.values()]
    assert len(first) == 3
    assert {clue.cause for clue in first} == {Cause.WRONG_DEFAULT}
    assert len({clue.evidence["hypothesis"] for clue in first}) == 1
    assert {(clue.evidence["explains"], clue.evidence["of_failing"]) for clue in first} == {(3, 3)}
    assert [clue.statement.partition(",")[0][-2:] for clue in first] == ["29", "49", "69"]


def test_what_holds_in_several_cases_may_hold_under_a_condition() -> None:
    def odd_sizes(x: torch.Tensor) -> torch.Tensor:
        return SAMPLE.function(x) if x.numel() % 2 else spread(x)

    operator = unary(odd_sizes, spread, kind="norm")
    found = explained(operator, cases(operator, 31, 51), cases(operator, 30, 50, 70))
    for each in found.values():
        assert (each.clues[0].cause, each.clues[0].confidence) == (Cause.WRONG_DEFAULT, 0.975)
        assert (each.clues[0].evidence["invisible_in"], each.clues[0].evidence["of_passing"]) == (0, 3)


def test_what_would_have_shown_in_cases_that_pass_is_doubted_where_one_fails() -> None:
    def one_size(x: torch.Tensor) -> torch.Tensor:
        return SAMPLE.function(x) if x.numel() == 31 else spread(x)

    operator = unary(one_size, spread, kind="norm")
    told = explained(operator, cases(operator, 31), cases(operator, 30, 50, 70))[cases(operator, 31)[0].id]
    assert told.clues[0].cause is not Cause.WRONG_DEFAULT


def test_two_faults_are_two_causes() -> None:
    def two(x: torch.Tensor) -> torch.Tensor:
        return 2.5 * x if x.numel() < 40 else -2 * x

    operator = unary(two)
    found = explained(operator, cases(operator, 30, 31, 32, 50, 51, 52))
    keys = [each.clues[0].evidence["hypothesis"] for each in found.values() if each.clues]
    assert len(keys) == 6
    assert len(set(keys)) == 2


def test_what_nothing_explains_has_no_clue_that_is_sure() -> None:
    def scrambled(x: torch.Tensor) -> torch.Tensor:
        generator = torch.Generator().manual_seed(int(1e4 * float(x.sum().abs())))
        return torch.randn(x.shape, generator=generator)

    operator = unary(scrambled)
    found = explained(operator, cases(operator, 40, 41, 42))
    assert all(clue.confidence < 0.75 for each in found.values() for clue in each.clues)


def test_a_case_that_passes_when_it_is_run_again_is_left_unexplained() -> None:
    operator = unary(lambda x: 2 * x)
    assert explained(operator, cases(operator, 30)) == {}


def test_what_explains_the_tested_cases_is_said_of_the_others(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(explaining, "TESTED", 2)
    found = explained(SAMPLE, cases(SAMPLE, 30, 31, 32, 33))
    assert len({each.clues[0].evidence["hypothesis"] for each in found.values()}) == 1
    assert len(found) == 4


def test_the_same_is_found_whatever_the_order_of_the_cases() -> None:
    every = [*cases(SAMPLE, 30, 50, 70), *(replace(case, inputs=Family.SHIFTED) for case in cases(SAMPLE, 40, 60))]
    assert explained(SAMPLE, every) == explained(SAMPLE, every[::-1])

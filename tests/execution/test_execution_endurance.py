"""An operator that keeps hanging or crashing does not use up the run; what is not run says so."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Iterable
from pathlib import Path

import pytest
from execution_notation import MakePool, make_case

from opsdebug_ci.execution.endurance import DEATHS_IN_A_ROW, TIMEOUTS, Endurance
from opsdebug_ci.model import Case, Observation, Status

TIMED_OUT_BEFORE = "not run: 3 cases of this operator timed out before"
DIED_BEFORE = "not run: 8 cases of this operator in a row crashed or ran out of memory before"

LETTERS = {
    ".": Status.RAN,
    "!": Status.RAISED,
    "s": Status.SKIPPED,
    "i": Status.INPUTS_BROKEN,
    "r": Status.REFERENCE_BROKEN,
    "w": Status.WORKER_BROKEN,
    "c": Status.CRASHED,
    "m": Status.OUT_OF_MEMORY,
    "t": Status.TIMED_OUT,
}


def answered(endings: str, operator: str = "one", endurance: Endurance | None = None) -> tuple[int, str | None]:
    """Cases that were run before the first that was not, and why it was not."""
    endurance = endurance or Endurance()
    ran: list[Case] = []
    for seed, letter in enumerate(endings):
        case = make_case(operator, seed)

        def run(case: Case = case, letter: str = letter) -> Observation:
            ran.append(case)
            return Observation(case_id=case.id, status=LETTERS[letter], reason="own")

        seen = endurance.answer(case, run)
        assert seen.case_id == case.id
        if case not in ran:
            assert seen.status is Status.SKIPPED
            return len(ran), seen.reason
        assert (seen.status, seen.reason) == (LETTERS[letter], "own")
    return len(ran), None


@pytest.mark.parametrize(
    ("endings", "expected"),
    [
        ("ttt.", (3, TIMED_OUT_BEFORE)),
        ("t...t..c!.t.", (11, TIMED_OUT_BEFORE)),
        ("cccccccc.", (8, DIED_BEFORE)),
        ("cmcmcmcm.", (8, DIED_BEFORE)),
        ("ccccscccstc.", (11, DIED_BEFORE)),  # neither a case outside the domain nor a timeout is a sign of life
        ("ccccccc.ccccccc!cccccccicccccccrccccccc.", (40, None)),
        ("tt" + "." * 50, (52, None)),
        ("iiiiiiiiiirrrrrrrrrrwwwwwwwwww!!!!!!!!!!ssssssssss", (50, None)),
    ],
)
def test_what_an_operator_is_borne(endings: str, expected: tuple[int, str | None]) -> None:
    assert answered(endings) == expected


def test_the_reasons_state_the_limits() -> None:
    assert f" {TIMEOUTS} cases" in TIMED_OUT_BEFORE and f" {DEATHS_IN_A_ROW} cases" in DIED_BEFORE


@pytest.mark.parametrize(
    ("earlier", "endings", "expected"),
    [
        ("ttt", ".", (0, TIMED_OUT_BEFORE)),
        ("tt", ".t.", (2, TIMED_OUT_BEFORE)),
        ("ccccc", "ccc.", (3, DIED_BEFORE)),
        ("ccccccc.", "ccccccc.", (8, None)),
        ("", "ttt.", (3, TIMED_OUT_BEFORE)),
    ],
)
def test_an_interrupted_run_counts_on(earlier: str, endings: str, expected: tuple[int, str | None]) -> None:
    cases = [make_case("one", 100 + seed) for seed in range(len(earlier))]
    ended = [
        (case, Observation(case_id=case.id, status=LETTERS[letter]))
        for case, letter in zip(cases, earlier, strict=True)
    ]
    assert answered(endings, endurance=Endurance(ended)) == expected


def test_operators_are_counted_apart() -> None:
    endurance = Endurance()
    assert answered("tttt", "one", endurance) == (3, TIMED_OUT_BEFORE)
    assert answered("tt..", "two", endurance) == (4, None)
    assert answered("...", "one", endurance) == (0, TIMED_OUT_BEFORE)


def test_a_case_that_was_running_keeps_its_own_ending_and_the_reason_stays() -> None:
    endurance = Endurance()
    case = make_case("one", 99)

    def run() -> Observation:
        assert answered("tttt", "one", endurance) == (3, TIMED_OUT_BEFORE)
        return Observation(case_id=case.id, status=Status.TIMED_OUT)

    assert endurance.answer(case, run).status is Status.TIMED_OUT
    assert answered(".", "one", endurance) == (0, TIMED_OUT_BEFORE)


def tally(answers: Iterable[tuple[Case, Observation]]) -> Counter[tuple[str, str, str | None]]:
    """Cases by operator, status, and reason where they were skipped."""
    return Counter(
        (case.operator, str(seen.status), seen.reason if seen.status is Status.SKIPPED else None)
        for case, seen in answers
    )


def thirty(operator: str) -> list[Case]:
    return [make_case(operator, seed) for seed in range(30)]


def test_a_hanging_operator_costs_three_timeouts_and_the_others_run(make_pool: MakePool, tmp_path: Path) -> None:
    pool = make_pool(timeout_s=1.0)
    pool.describe(["ops"], tmp_path)
    start = time.monotonic()
    assert tally(pool.run(thirty("spin") + thirty("add"))) == {
        ("spin", "timed_out", None): 3,
        ("spin", "skipped", TIMED_OUT_BEFORE): 27,
        ("add", "ran", None): 30,
    }
    assert 3.0 <= time.monotonic() - start < 25.0  # 30 s and more if every one were run


def test_two_workers_finish_what_they_have_begun(make_pool: MakePool, tmp_path: Path) -> None:
    pool = make_pool(timeout_s=1.5, workers=2)
    pool.describe(["ops"], tmp_path)
    seen = tally(pool.run(thirty("spin")))
    timed_out = seen["spin", "timed_out", None]
    assert timed_out in (3, 4)  # the fourth ran beside the third
    assert seen["spin", "skipped", TIMED_OUT_BEFORE] == 30 - timed_out


@pytest.mark.parametrize(("operator", "status"), [("segfault", "crashed"), ("memory_error", "out_of_memory")])
def test_a_dying_operator_costs_eight_workers_and_the_others_run(
    make_pool: MakePool, tmp_path: Path, operator: str, status: str
) -> None:
    pool = make_pool()
    pool.describe(["ops"], tmp_path)
    assert tally(pool.run(thirty(operator) + thirty("add"))) == {
        (operator, status, None): 8,
        (operator, "skipped", DIED_BEFORE): 22,
        ("add", "ran", None): 30,
    }


def test_three_hanging_cases_are_three_timeouts_and_the_next_run_asks_again(
    make_pool: MakePool, tmp_path: Path
) -> None:
    pool = make_pool(timeout_s=1.5, workers=3)
    pool.describe(["ops"], tmp_path)
    cases = [make_case("spin", seed) for seed in range(3)]
    for _ in range(2):
        assert tally(pool.run(cases)) == {("spin", "timed_out", None): 3}

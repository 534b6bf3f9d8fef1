"""A group speaks in the words of the case that says most, shows the smallest, and is recognised by no words."""

from __future__ import annotations

from collections.abc import Sequence

from failures_notation import judged, output, ran

from opsdebug_ci.failures import fingerprint, group
from opsdebug_ci.model import Cause, Clue, Judgement

DIVISOR = "the divisor is n-1 = {less}, not n = {n}"
RATIO = DIVISOR + " (outputs off by a ratio of 0.9980 = sqrt({less}/{n}))"


def divided(n: int, words: str = DIVISOR, confidence: float = 0.97, seed: int = 0) -> Judgement:
    """A case of that size with wrong values, and what is said of it."""
    said = Clue(
        rule="altered_reference",
        cause=Cause.WRONG_CONSTANT_EPS,
        confidence=confidence,
        output="out0",
        statement=words.format(n=n, less=n - 1),
        evidence={},
    )
    return judged(ran(output(rejected=5), clues=(said,)), dims=f"B=1,S={n}", seed=seed)


def told(judgements: Sequence[Judgement]) -> str:
    (found,) = group(judgements)
    return found.statement.removeprefix("`out0`: ")


def test_the_largest_of_equally_sure_cases_speaks_and_the_smallest_is_the_first() -> None:
    cases = [divided(250), divided(2), divided(16)]
    (found,) = group(cases)
    assert found.statement == "`out0`: the divisor is n-1 = 249, not n = 250"
    assert found.cases == tuple(case.case.id for case in (cases[1], cases[2], cases[0]))


def test_of_equally_large_ones_the_one_that_says_most_speaks() -> None:
    assert "sqrt(249/250)" in told([divided(250), divided(250, RATIO, seed=1), divided(2)])


def test_a_larger_case_that_is_less_sure_does_not_speak() -> None:
    assert "n = 250" in told([divided(1000, "100 % are not the rounded truth", confidence=0.5), divided(250)])


def test_a_larger_case_with_other_words_than_most_does_not_speak() -> None:
    assert "n = 250" in told([divided(1000, "eps is {n}"), divided(250), divided(2), divided(3)])


def test_the_case_that_speaks_is_listed_however_many_are_smaller() -> None:
    cases = [divided(n) for n in range(2, 20)]
    (found,) = group(cases)
    assert (len(found.cases), found.cases[0], found.cases[-1]) == (10, cases[0].case.id, cases[-1].case.id)


def test_words_are_no_part_of_a_fingerprint() -> None:
    plain, ratio = divided(250), divided(250, RATIO)
    assert fingerprint(plain) == fingerprint(ratio) == fingerprint(divided(2)) is not None
    assert group([plain])[0].fingerprint == group([ratio])[0].fingerprint

"""The noise of sums: how many bits they carry; silent on errors that have a shape."""

from __future__ import annotations

import pytest
from numbers_notation import examined, failing, normal, said
from numbers_planted import PLANTED, Planted, planted_for

from opsdebug_ci.numerics.patterns.accumulator import accumulator


@pytest.mark.parametrize("planted", planted_for("accumulator"), ids=str)
def test_names_the_planted_cause(planted: Planted) -> None:
    assert said(accumulator, planted.failure)[0] == planted.cause


@pytest.mark.parametrize(("name", "least", "most"), [("fp16 accumulator", 10, 13), ("split K in bf16", 8, 15)])
def test_says_how_many_bits_are_left(name: str, least: float, most: float) -> None:
    planted_for("accumulator")
    clue = next(iter(accumulator(PLANTED[name].failure)))
    assert least <= float(clue.evidence["bits"] or 0) <= most
    assert clue.evidence["promised_bits"] == 24


def test_the_promised_accumulator_gives_no_failure() -> None:
    a, b = normal(32, 512).half(), normal(512, 32, seed=1).half()
    assert examined(lambda a, b: (a.float() @ b.float()).half(), lambda a, b: a @ b, kind="matmul", a=a, b=b) is None


def test_silent_where_one_term_is_missing_from_a_product() -> None:
    dropped = failing(
        lambda a, b: a[:, :-1] @ b[:-1],
        lambda a, b: a @ b,
        kind="matmul",
        a=normal(48, 4096),
        b=normal(4096, 48, seed=1),
    )
    assert said(accumulator, dropped) == []


def test_silent_where_every_error_points_one_way() -> None:
    biased = failing(
        lambda a, b: (a @ b) * 1.0001, lambda a, b: a @ b, kind="matmul", a=normal(48, 64), b=normal(64, 48, seed=1)
    )
    assert said(accumulator, biased) == []


def test_silent_where_only_a_few_elements_are_wrong() -> None:
    def few(a, b):
        output = a @ b
        output[::8, ::8] *= 1.001
        return output

    failure = failing(few, lambda a, b: a @ b, kind="matmul", a=normal(48, 64), b=normal(64, 48, seed=1))
    assert said(accumulator, failure) == []

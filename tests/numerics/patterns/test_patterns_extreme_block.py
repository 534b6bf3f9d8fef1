"""Extremes over some of the elements."""

from __future__ import annotations

from patterns_notation import causes, failing, normal, only

from opsdebug_ci.model.vocabulary import Cause
from opsdebug_ci.numerics.patterns import extreme_block

X = normal(64, 100)


def test_the_end_is_told() -> None:
    clue = only(extreme_block, failing(X[:, :64].amax(1), X.amax(1), x=X))
    assert clue.cause is Cause.TAIL_MASK
    assert clue.statement == "the output is the maximum of `x` along axis 1 without the last 36 of 100"
    clue = only(extreme_block, failing(X[:, 10:].amin(1), X.amin(1), x=X))
    assert "the minimum of `x` along axis 1 without the first" in clue.statement


def test_other_errors_leave_it_silent() -> None:
    assert causes(extreme_block, failing(X.amax(1) + 1, X.amax(1), x=X)) == []
    assert causes(extreme_block, failing(X[:, ::2].amax(1), X.amax(1), x=X)) == []
    assert causes(extreme_block, failing(X[:, :64].sum(1), X.sum(1), x=X)) == []

"""Errors of a rounding of 1 everywhere, and the same relative to the values."""

from __future__ import annotations

import torch
from patterns_notation import failing, normal

from opsdebug_ci.model.vocabulary import Cause
from opsdebug_ci.numerics.patterns import absolutely_right

X = normal(24, 24)


def test_an_error_at_the_size_of_one_is_named() -> None:
    found = list(absolutely_right(failing((1 + torch.tanh(X)) - 1, torch.tanh(X.double()), x=X)))
    assert [clue.cause for clue in found] == [Cause.APPROXIMATION]
    assert "good absolutely, not relatively" in found[0].statement


def test_a_relative_error_is_not() -> None:
    assert not list(absolutely_right(failing(torch.tanh(X) * 1.001, torch.tanh(X.double()), x=X)))

"""Other uses of an argument, as a term and as a factor."""

from __future__ import annotations

import pytest
import torch
from patterns_notation import causes, failing, normal

from opsdebug_ci.model.vocabulary import Cause
from opsdebug_ci.numerics.patterns import argument_use


def short(values: torch.Tensor) -> torch.Tensor:
    """Multiples of 2**-10, whose sums are exact: else one that cancels is further off than a few of its own roundings,
    and the last bits of `randn`, which differ between machines, decide of how many elements."""
    return (values * 1024).round() / 1024


X = short(normal(24, 24))
B = short(normal(24, seed=1))
G = short(normal(24, seed=2).abs() + 0.5)
FULL = short(normal(24, 24, seed=3))
ZERO_FIRST = torch.cat([torch.zeros(1), G[1:]])


@pytest.mark.parametrize(
    ("wrong", "right", "cause", "words"),
    [
        (X + FULL[0], X + FULL, Cause.BROADCASTING, "a term, enters with its first entry along its axis 0"),
        (X + FULL[:, :1], X + FULL, Cause.BROADCASTING, "a term, enters with its first entry along its axis 1"),
        (X + B[:, None], X + B, Cause.BROADCASTING, "a term, runs along axis 0 of the output instead of axis 1"),
        (X * G[0], X * G[:, None], Cause.BROADCASTING, "a factor, enters with its first entry"),
        (X * 0.0, X * ZERO_FIRST[:, None], Cause.BROADCASTING, "a factor, enters with its first entry"),
        (X * G, X * G[:, None], Cause.BROADCASTING, "a factor, runs along axis 1 of the output instead of axis 0"),
        (X + B.roll(-1), X + B, Cause.STRIDE_VIEW, "the next entry"),
        (X * G.flip(0), X * G, Cause.LAYOUT_PERMUTATION, "reversed"),
        (X + FULL.T, X + FULL, Cause.LAYOUT_PERMUTATION, "transposed"),
        (X, X + B, Cause.WRONG_DEFAULT, "a term, is left out"),
        (X - B, X + B, Cause.SIGN_FLIP, "the other sign"),
        (X + 2 * B, X + B, Cause.WRONG_DEFAULT, "enters twice"),
        (X + 0.25 * B, X + B, Cause.WRONG_CONSTANT_EPS, "the error is -0.75 times it"),
        (X, X * G, Cause.WRONG_SCALE, "a factor, is left out"),
        (X * G * G, X * G, Cause.WRONG_SCALE, "a factor, enters once more"),
        (X / G, X * G, Cause.WRONG_SCALE, "divides instead of multiplying"),
        (X * G, X / G, Cause.WRONG_SCALE, "multiplies instead of dividing"),
    ],
)
def test_another_use_is_named(wrong: torch.Tensor, right: torch.Tensor, cause: Cause, words: str) -> None:
    given = {name: value for name, value in (("b", B), ("full", FULL), ("g", G)) if _in(right, value)}
    if bool((right[0] == 0).all()):
        given = {"g": ZERO_FIRST}
    found = list(argument_use(failing(wrong, right, **given)))
    assert found[0].cause is cause
    assert words in found[0].statement


def _in(right: torch.Tensor, value: torch.Tensor) -> bool:
    """Whether `right` is made of X and `value`."""
    sides = (value, value[:, None]) if value.ndim == 1 else (value,)
    made = [made for side in sides for made in (X + side, X * side, X / side)]
    return any(torch.equal(right, each) for each in made)


@pytest.mark.parametrize(
    "wrong",
    [X + B + normal(24, 24, seed=5), (X + B) * 1.5, torch.zeros(24, 24), X + B + 1],
    ids=["noise", "factor", "zeros", "constant"],
)
def test_other_errors_leave_it_silent(wrong: torch.Tensor) -> None:
    assert causes(argument_use, failing(wrong, X + B, x=X, b=B, g=G)) == []


def test_an_argument_that_does_not_vary_tells_nothing() -> None:
    assert causes(argument_use, failing(X, X * 2, g=torch.full((24,), 2.0))) == []

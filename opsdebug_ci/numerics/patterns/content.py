"""What the bad elements hold: zeros, one number, an argument's element unchanged, a negative of the reference.

Decides a half sentence that rules of place add to theirs. Deliberately names no cause by itself.
"""

from __future__ import annotations

import torch

from opsdebug_ci.numerics.failure import Failure

NEARLY_ALL = 0.99
"""Share of the bad elements that must hold it."""

MOST_READ = 65_536
"""Bad elements looked at: the first ones."""


def content(failure: Failure) -> str:
    """`all of them hold 0`, `they hold the argument `x` unchanged`; empty when nothing of the kind is true.

    Args:
        failure: any; NaN and infinities are held like any other value, a NaN equals a NaN.
    """
    got = failure.actual[failure.bad][:MOST_READ]
    if bool(torch.isnan(got).all()) if got.is_floating_point() else False:
        return "all of them hold NaN"
    if _nearly_all(got == got[0]):
        return f"all of them hold {got[0].item():.9g}"
    unchanged = passed_through(failure)
    return f"they hold the argument `{unchanged}` unchanged" if unchanged else ""


def all_zero(failure: Failure) -> bool:
    """Nearly all bad elements are 0 where the reference is not."""
    bad = failure.bad
    return _nearly_all(failure.actual[bad] == 0) and _nearly_all(failure.expected[bad] != 0)


def passed_through(failure: Failure) -> str | None:
    """The argument of the output's shape whose elements the bad elements are."""
    bad = failure.bad
    got = failure.actual[bad][:MOST_READ].double()
    for name, argument in failure.tensors.items():
        if argument.shape == bad.shape and argument.dtype != torch.bool and not argument.is_complex():
            there = argument.to(bad.device)[bad][:MOST_READ].double()
            if _nearly_all(there == got) and bool((there != there[0]).any()):
                return name
    return None


def _nearly_all(held: torch.Tensor) -> bool:
    return int(torch.count_nonzero(held)) >= NEARLY_ALL * held.numel()

"""Bad elements that are the reference plus one number.

Decides the number. Deliberately leaves terms that vary with an argument to `argument_use`.
"""

from __future__ import annotations

from collections.abc import Iterator

import torch

from opsdebug_ci.model.clue import Clue
from opsdebug_ci.model.finding import EvidenceValue
from opsdebug_ci.model.vocabulary import Cause
from opsdebug_ci.numerics.failure import Failure
from opsdebug_ci.numerics.patterns.fit import bad_elements, varied

MOST_LEFT = 1e-2
"""Largest share of the error's energy that may stay."""


def offset(failure: Failure) -> Iterator[Clue]:
    """Fires when actual - expected is one number, to the tolerance, on nearly all bad elements, and most are bad.

    Silent where the reference hardly varies (then it is a factor as well) and where fewer than nine tenths are bad
    (integers that are off by one here and there were rounded otherwise). Rivals: `wraparound`, `argument_use`.
    """
    count, total = int(torch.count_nonzero(failure.bad)), failure.bad.numel()
    seen = bad_elements(failure)
    if seen is None or count < 0.9 * total or not varied(seen.expected):
        return
    shift = float(seen.error.median())
    if shift == 0 or not seen.fits(seen.expected + shift, left=MOST_LEFT):
        return
    statement = f"the {count:,} bad elements are the reference plus {shift:.6g}, whatever its value"
    evidence: dict[str, EvidenceValue] = {"offset": shift, "bad": count, "of": total}
    yield failure.clue("offset", Cause.WRONG_CONSTANT_EPS, 0.78, statement, evidence)

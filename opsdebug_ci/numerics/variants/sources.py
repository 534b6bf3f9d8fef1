"""An operand that is another value of the formula: the result of an earlier step, or what a step was made of.

Decides which values may be confused: of one shape and dtype, and not equal.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from functools import partial

import torch

from opsdebug_ci.model.vocabulary import Cause
from opsdebug_ci.numerics.variants.call import Alternative, Call, alternative

MOST = 24
"""Values that are tried in the place of an operand, the latest ones."""


def sources(call: Call) -> Iterator[Alternative]:
    """Each operand replaced by each value there is before this step: a value before its update, or after it."""
    if not isinstance(call.result, torch.Tensor) or call.function._schema.is_mutable:
        return
    known = dict(_values(call))
    for name, value in call.values.items():
        if not isinstance(value, torch.Tensor) or not value.is_floating_point() or value.numel() < 2:
            continue
        mine = known[id(value)][0]
        alike = [
            (what, other)
            for key, (what, other) in known.items()
            if key != id(value) and other.shape == value.shape and other.dtype == value.dtype
        ]
        for what, other in alike[-MOST:]:
            if not torch.equal(other, value):
                phrase = f"`{call.name}` is made of {what}, not of {mine}"
                yield alternative(
                    phrase,
                    Cause.WRONG_DEFAULT,
                    partial(lambda name, other: call.again(**{name: other}), name, other),
                    weight=0.2,
                )


def _values(call: Call) -> Iterator[tuple[int, tuple[str, torch.Tensor]]]:
    """Id -> what it is and the value, of every tensor the steps before this one took or made, the latest last; results
    are counted backwards, so that a loop has the same names in every round."""
    steps = list(call.makers.values())
    met: set[int] = set()
    for step in (*steps, call):
        for value in step.values.values():
            if isinstance(value, torch.Tensor) and id(value) not in met and call.maker(value) is None:
                met.add(id(value))
                yield id(value), (_named(value, call.arguments), value)
    later = Counter(step.name for step in steps)
    for step in steps:
        later[step.name] -= 1
        if isinstance(step.result, torch.Tensor):
            which = f"last `{step.name}`" + (f" but {later[step.name]}" if later[step.name] else "")
            yield id(step.result), (f"the result of the {which}", step.result)


def _named(value: torch.Tensor, arguments: Mapping[str, torch.Tensor]) -> str:
    """The argument that holds the same, if one does."""
    wide = value.double()
    same = (name for name, held in arguments.items() if held.shape == value.shape and torch.equal(held.double(), wide))
    name = next(same, "")
    return f"`{name}`" if name else "a constant"

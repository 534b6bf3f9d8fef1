"""An operand that is another value of the formula: the result of an earlier step, or what a step was made of.

Decides which values may be confused: of one shape and dtype, and not equal.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from functools import partial
from itertools import islice
from typing import Any

import torch

from opsdebug_ci.model.vocabulary import Cause
from opsdebug_ci.numerics.variants.call import Alternative, Call, spelled

MOST = 24
"""Values that are tried in the place of an operand, the latest ones."""

LATEST = 128
"""Steps before this one whose results those are."""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class _Value:
    """What a step may be made of."""

    tensor: torch.Tensor
    """It."""

    maker: Call | None = None
    """The step that made it; None: it was there before."""

    later: int = 0
    """Steps of that name after it: counted backwards, it has the same name in every round of a loop."""

    def name(self, call: Call, mine: _Value) -> str:
        """The same at every size, and in every round of a loop, also of one that a gradient goes back through."""
        if self.maker is None:
            return _argument(self.tensor, call)
        if mine.maker is not None and mine.maker.name == self.maker.name:
            return f"the `{self.maker.name}` {mine.later - self.later:+d} from that"
        return f"the result of the last `{self.maker.name}`" + (f" but {self.later}" if self.later else "")

    def words(self, call: Call) -> str:
        """What a person calls it: an argument, or a step and what that was made of."""
        return _argument(self.tensor, call) if self.maker is None else _spelled(self.maker)


COPIES = frozenset({"clone", "to", "_to_copy", "contiguous", "detach", "alias"})
"""Steps that hand on what they are given."""


def sources(call: Call) -> Iterator[Alternative]:
    """Each operand replaced by each value there is before this step: a value before its update, or after it."""
    if not isinstance(call.result, torch.Tensor) or call.function._schema.is_mutable:
        return
    known = {id(value.tensor): value for value in _values(call)}
    for name, tensor in call.values.items():
        if not isinstance(tensor, torch.Tensor) or not tensor.is_floating_point() or not tensor.numel():
            continue
        mine = known.get(id(tensor))
        if mine is None:
            continue  # the call hands on what it was given
        alike = [other for other in known.values() if _may_stand_for(other.tensor, tensor)]
        for other in alike[-MOST:]:
            if not torch.equal(other.tensor, tensor):
                yield Alternative(
                    name=f"`{call.name}` is made of {other.name(call, mine)}, not of {mine.name(call, other)}",
                    cause=Cause.WRONG_DEFAULT,
                    statement=f"`{call.name}` is made of {other.words(call)}, not of {mine.words(call)}",
                    result=partial(lambda name, other: call.again(**{name: other}), name, other.tensor),
                    weight=0.45,
                )


def _may_stand_for(other: torch.Tensor, tensor: torch.Tensor) -> bool:
    return other is not tensor and other.shape == tensor.shape and other.dtype == tensor.dtype


def _values(call: Call) -> Iterator[_Value]:
    """Every tensor the steps before this one made or took, in this order."""
    latest = reversed(list(islice(reversed(call.makers.values()), LATEST)))
    steps = [step for step in latest if step.result is not call.result]
    later = Counter(step.name for step in steps)
    for step in steps:
        later[step.name] -= 1
        if isinstance(step.result, torch.Tensor):
            yield _Value(tensor=step.result, maker=step, later=later[step.name])
    for step in (*steps, call):
        values = step.values.values()
        yield from (_Value(tensor=v) for v in values if isinstance(v, torch.Tensor) and call.maker(v) is None)


def _argument(value: torch.Tensor, call: Call) -> str:
    """The argument that holds the same, if one does."""
    wide = value.double()
    held = call.arguments.items()
    name = next((name for name, own in held if own.shape == value.shape and torch.equal(own.double(), wide)), "")
    return f"`{name}`" if name else "a constant"


def _spelled(step: Call) -> str:
    """`mul(momentum, 0.9)`; of what was made in turn, which step made it. Of a copy, what was copied."""
    if step.name in COPIES:
        copied, maker = _original(step.values["self"], step)
        return _argument(copied, step) if maker is None else _spelled(maker)
    parts = []
    for given in step.values.values():
        value, maker = _original(given, step)
        if maker is not None:
            parts.append(f"{maker.name}(...)")
        elif isinstance(value, torch.Tensor):
            parts.append(_argument(value, step).strip("`"))
        elif isinstance(value, float):
            parts.append(spelled(value))
    return f"`{step.name}({', '.join(parts)})`"


def _original(value: Any, step: Call) -> tuple[Any, Call | None]:
    """What was copied, and which step made that."""
    maker = step.maker(value)
    while maker is not None and maker.name in COPIES:
        value = maker.values["self"]
        maker = maker.maker(value)
    return value, maker

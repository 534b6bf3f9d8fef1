"""Arguments that the operator's own code may still hold: what an input callable returned, or plain values with tensors.

Decides when a case works on copies of them. The references' inputs then lie where no global of the operator's leads,
and a write through such a global shows.
"""

from __future__ import annotations

from collections.abc import Mapping

import torch

from opsdebug_ci.guard import Snapshot, clone_values
from opsdebug_ci.model.argument import ScalarArgument, TensorArgument
from opsdebug_ci.model.observation import MemoryReading
from opsdebug_ci.model.vocabulary import ValueDomain
from opsdebug_ci.operators import Arguments, Operator, written_names

_IMMUTABLE = (bool, int, float, complex, str, bytes, type(None), torch.dtype, torch.device)


class Borrowed:
    """The arguments of a case as they were made, and those it works on."""

    def __init__(self, operator: Operator, made: Arguments) -> None:
        self.arguments = made
        """What the case works on: copies where the operator's code may hold the originals."""
        self._snapshot: Snapshot | None = None
        if _may_be_held(operator):
            self.arguments = Arguments(names=made.names, values=clone_values(made.values), by_keyword=made.by_keyword)
            written = frozenset(written_names(operator.contract, made))
            self._snapshot = Snapshot(made.names, made.values, written)

    def changes(self) -> tuple[MemoryReading, ...]:
        """Undeclared writes to the originals."""
        return () if self._snapshot is None else self._snapshot.changes()


def _may_be_held(operator: Operator) -> bool:
    if not isinstance(operator.inputs, Mapping):
        return True
    return not all(_is_ours(item) for item in operator.inputs.values())


def _is_ours(item: object) -> bool:
    """Whether nobody but us holds what the declaration makes of `item`."""
    if isinstance(item, TensorArgument):
        return isinstance(item.values, ValueDomain)
    return isinstance(item, (ScalarArgument, *_IMMUTABLE))

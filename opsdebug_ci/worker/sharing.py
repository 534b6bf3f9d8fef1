"""Outputs in an argument's memory, held against what the torch reference does.

Decides what is worth a word: sharing that the reference does not do. A view is right where the framework returns one.
Silent where that cannot be asked, and about gradients, which the framework hands on as they are.
"""

from __future__ import annotations

from collections.abc import Sequence

import torch

from opsdebug_ci.guard import clone_values, shared_memory
from opsdebug_ci.model.case import Case
from opsdebug_ci.model.memory import AliasReading
from opsdebug_ci.model.vocabulary import Direction, ReferenceKind
from opsdebug_ci.operators import Arguments, Operator, positional_outputs, written_leaves
from opsdebug_ci.worker.isolation import isolated


def unlike_reference(
    found: Sequence[AliasReading], operator: Operator, arguments: Arguments, case: Case, outputs: Sequence[str]
) -> tuple[AliasReading, ...]:
    """Those of `found` which the torch reference, run once more on copies, does not share as well.

    Args:
        found: what the operator shares.
        operator: with its references.
        arguments: pristine.
        case: what was run.
        outputs: names of the operator's outputs, in order.
    """
    reference = operator.references.get(ReferenceKind.TORCH)
    if not found or reference is None or case.direction is not Direction.FORWARD:
        return ()
    copies = Arguments(names=arguments.names, values=clone_values(arguments.values), by_keyword=arguments.by_keyword)
    try:
        with isolated(case.seed), torch.no_grad():
            returned = positional_outputs(copies.call(reference))
    except BaseException:  # noqa: BLE001 - user code: that it raises is told where its answer is asked for; exits too
        return ()
    written = frozenset(written_leaves(operator.contract, arguments))
    expected = shared_memory(copies.items(), dict(zip(outputs, returned, strict=False)), written)
    known = {(reading.output, reading.other) for reading in expected}
    return tuple(reading for reading in found if (reading.output, reading.other) not in known)

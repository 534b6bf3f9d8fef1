"""What outputs there are, against what is declared of them and what the references have.

Decides mismatches of number, name and axis. Deliberately leaves shapes and dtypes to the comparison.
"""

from __future__ import annotations

import re

import torch

from opsdebug_ci.operators import Arguments, Operator
from opsdebug_ci.worker.launch_reading import LaunchReading
from opsdebug_ci.worker.references import ReferenceAnswers


def misdeclared(operator: Operator, arguments: Arguments, outputs: tuple[str, ...]) -> str | None:
    """What the declaration says of outputs that do not exist; only a launch can tell."""
    roots = [re.split(r"[\[.]", output)[0] for output in outputs]
    known = {*outputs, *roots, *(f"out{position}" for position in range(len(outputs)))}
    strangers = set(operator.kinds) - known if isinstance(operator.kinds, dict) else set()
    if strangers:
        return f"`kind` names {', '.join(map(repr, sorted(strangers)))}; the outputs are {', '.join(outputs)}"
    index = operator.contract.index
    source = None if index is None else arguments[index[0]]
    if index is not None and isinstance(source, torch.Tensor) and not -source.ndim <= index[1] < source.ndim:
        return f"`Contract.index` names axis {index[1]} of `{index[0]}`, which has {source.ndim} axes"
    return None


def structure_mismatch(launch: LaunchReading, answers: ReferenceAnswers) -> str | None:
    """How operator and references differ in the number of outputs; None when they do not."""
    got = len(launch.outputs)
    for which, outputs in answers.outputs.items():
        if len(outputs) != got:
            named = f" ({', '.join(launch.outputs)})" if got else ""
            return f"the operator has {_counted(got)}{named}, reference `{which}` {len(outputs)}"
    return None


def _counted(outputs: int) -> str:
    return f"{outputs or 'no'} output{'' if outputs == 1 else 's'}"

"""What differs between the machine a failure was seen on and this one.

Decides which facts may matter to a result. Deliberately not the amount of memory, nor limits and settings that decide
only times, nor the key, which is made of them all.
"""

from __future__ import annotations

from collections.abc import Mapping

from opsdebug_ci.model.machine import Machine
from opsdebug_ci.model.replay import Difference

ABSENT = "none"
"""Stands for what is not there."""

LATER = ("cuda", "cudnn", "hip", "drivers", "instruction set")
"""Facts that bundles of older programs do not tell: not known of one machine is no difference."""


def differences(recorded: Machine, here: Machine) -> tuple[Difference, ...]:
    """Facts that are not the same, the likeliest to matter first."""
    before, now = _facts(recorded), _facts(here)
    untold = {fact for fact in LATER if not (before.get(fact) and now.get(fact))}
    return tuple(
        Difference(fact=fact, recorded=before.get(fact, ABSENT), here=now.get(fact, ABSENT))
        for fact in dict.fromkeys((*before, *now))
        if fact not in untold and before.get(fact, ABSENT) != now.get(fact, ABSENT)
    )


def _facts(machine: Machine) -> Mapping[str, str]:
    return {
        "torch": machine.torch,
        **dict(sorted(machine.versions.items())),
        "devices": ", ".join(machine.devices) or ABSENT,
        "drivers": ", ".join(machine.drivers),
        "threads": str(machine.threads),
        "cpu": machine.cpu,
        "instruction set": machine.instruction_set,
        "cores": str(machine.cores),
        "system": machine.system,
        "python": machine.python,
    }

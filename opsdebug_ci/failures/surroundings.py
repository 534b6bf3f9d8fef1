"""What differs between the machine a failure was seen on and this one.

Decides which facts may matter to a result. Deliberately not the amount of memory, nor the key, which is made of the
rest.
"""

from __future__ import annotations

from collections.abc import Mapping

from opsdebug_ci.model.machine import Machine
from opsdebug_ci.model.replay import Difference

ABSENT = "none"
"""Stands for what is not there."""


def differences(recorded: Machine, here: Machine) -> tuple[Difference, ...]:
    """Facts that are not the same, the likeliest to matter first."""
    before, now = _facts(recorded), _facts(here)
    return tuple(
        Difference(fact=fact, recorded=before.get(fact, ABSENT), here=now.get(fact, ABSENT))
        for fact in dict.fromkeys((*before, *now))
        if before.get(fact, ABSENT) != now.get(fact, ABSENT)
    )


def _facts(machine: Machine) -> Mapping[str, str]:
    return {
        "torch": machine.torch,
        **dict(sorted(machine.versions.items())),
        "devices": ", ".join(machine.devices) or ABSENT,
        "threads": str(machine.threads),
        "cpu": machine.cpu,
        "cores": str(machine.cores),
        "system": machine.system,
        "python": machine.python,
    }

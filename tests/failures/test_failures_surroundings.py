"""What is said to differ between two machines."""

from __future__ import annotations

from dataclasses import replace

from opsdebug_ci.failures.surroundings import differences
from opsdebug_ci.model.machine import Machine
from opsdebug_ci.model.replay import Difference

HERE = Machine(
    key="a",
    system="Linux x86_64",
    cpu="some cpu",
    cores=2,
    memory_bytes=8,
    devices=(),
    python="3.11.7",
    torch="2.13.0",
    versions={"numpy": "2.3.0", "triton": "3.9.0"},
    threads=1,
)


def test_the_same_machine_differs_in_nothing() -> None:
    assert differences(HERE, HERE) == ()


def test_memory_and_the_key_do_not_matter() -> None:
    assert differences(replace(HERE, key="b", memory_bytes=16), HERE) == ()


def test_what_differs_is_told_with_both_values() -> None:
    there = replace(HERE, torch="2.9.0", threads=8, devices=("H100",), versions={"numpy": "1.26.4", "driver": "570"})
    assert differences(there, HERE) == tuple(
        Difference(fact=fact, recorded=recorded, here=here)
        for fact, recorded, here in (
            ("torch", "2.9.0", "2.13.0"),
            ("driver", "570", "none"),
            ("numpy", "1.26.4", "2.3.0"),
            ("devices", "H100", "none"),
            ("threads", "8", "1"),
            ("triton", "none", "3.9.0"),
        )
    )

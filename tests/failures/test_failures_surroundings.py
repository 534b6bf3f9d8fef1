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


def test_what_an_older_bundle_does_not_tell_is_no_difference() -> None:
    versions = {**HERE.versions, "cuda": "12.6"}
    now = replace(HERE, instruction_set="AVX512", drivers=("nvidia 570.86.15",), versions=versions)
    assert differences(HERE, now) == ()
    there = replace(now, instruction_set="AVX2", drivers=("nvidia 535.104.05",))
    assert differences(there, now) == (
        Difference(fact="drivers", recorded="nvidia 535.104.05", here="nvidia 570.86.15"),
        Difference(fact="instruction set", recorded="AVX2", here="AVX512"),
    )


def test_what_decides_only_times_does_not_matter() -> None:
    there = replace(HERE, container_cores=1.5, clock_policy="powersave", physical_cores=1, kernel="6.8")
    assert differences(there, HERE) == ()

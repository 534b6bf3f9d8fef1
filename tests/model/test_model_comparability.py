"""The key of a machine: what changes it, what does not, and why two keys differ, in words."""

from __future__ import annotations

from dataclasses import fields, replace

import pytest

from opsdebug_ci.model.comparability import FACTS, KEY_FACTS, OLDER, differences, key_version, machine_key
from opsdebug_ci.model.machine import Machine

BLANK = Machine(
    key="",
    system="Linux x86_64",
    cpu="a CPU",
    cores=2,
    memory_bytes=25_276_514_304,
    devices=("a GPU",),
    python="3.11.7",
    torch="2.13.0",
    versions={"numpy": "2.4.6", "mpmath": "1.3.0", "cuda": "12.6", "cudnn": "90100"},
    threads=2,
    cpu_revision="family 25 model 17 stepping 1",
    instruction_set="AVX512",
    physical_cores=2,
    numa_nodes=1,
    container_cores=1.5,
    container_memory_bytes=8 << 30,
    clock_policy="intel_pstate powersave, turbo",
    drivers=("nvidia 570.86.15",),
    device_settings=("clocks default, power 700 W, ECC",),
    kernel="6.8.0-1",
)
HERE = replace(BLANK, key=machine_key(BLANK))

DECIDING = (
    ({"system": "Linux aarch64"}, "system Linux aarch64 there, Linux x86_64 here"),
    ({"cpu": "other"}, "CPU other there, a CPU here"),
    (
        {"cpu_revision": "family 25 model 1 stepping 1"},
        "CPU revision family 25 model 1 stepping 1 there, family 25 model 17 stepping 1 here",
    ),
    ({"instruction_set": ""}, "instruction set not told there, AVX512 here"),
    ({"cores": 4}, "4 cores there, 2 here"),
    ({"physical_cores": 1}, "1 physical core there, 2 here"),
    ({"numa_nodes": None}, "memory nodes not told there, 1 here"),
    ({"container_cores": None}, "CPU quota none there, 1.50 cores here"),
    ({"container_cores": 2.0}, "CPU quota 2.00 cores there, 1.50 cores here"),
    ({"container_memory_bytes": None}, "memory limit none there, 8192 MiB or more here"),
    ({"container_memory_bytes": (8 << 30) - 1}, "memory limit 4096 MiB or more there, 8192 MiB or more here"),
    ({"clock_policy": ""}, "clock policy not told there, intel_pstate powersave, turbo here"),
    ({"devices": ()}, "devices none there, a GPU here"),
    ({"devices": ("a GPU", "a GPU")}, "devices a GPU, a GPU there, a GPU here"),
    ({"drivers": ("nvidia 535.104.05",)}, "drivers nvidia 535.104.05 there, nvidia 570.86.15 here"),
    ({"device_settings": ()}, "device settings not told there, clocks default, power 700 W, ECC here"),
    ({"torch": "2.12.0"}, "torch 2.12.0 there, 2.13.0 here"),
    ({"versions": {**BLANK.versions, "cuda": "13.0"}}, "cuda 13.0 there, 12.6 here"),
    ({"versions": {**BLANK.versions, "cudnn": "91000"}}, "cudnn 91000 there, 90100 here"),
    ({"versions": {**BLANK.versions, "hip": "6.2"}}, "hip 6.2 there, not installed here"),
    ({"versions": {**BLANK.versions, "triton": "3.9.0"}}, "triton 3.9.0 there, not installed here"),
    ({"versions": {**BLANK.versions, "numpy": "2.1.0"}}, "numpy 2.1.0 there, 2.4.6 here"),
    ({"python": "3.12.7"}, "Python 3.12 there, 3.11 here"),
    ({"threads": 1}, "1 thread there, 2 here"),
)

JITTERING = (
    {"memory_bytes": 25_276_510_208},
    {"python": "3.11.9"},
    {"kernel": "6.8.0-2"},
    {"versions": {**BLANK.versions, "mpmath": "1.4.0"}},
    {"versions": {**BLANK.versions, "another": "1"}},
    {"versions": dict(reversed(BLANK.versions.items()))},
    {"container_memory_bytes": (8 << 30) + 4096},
    {"container_cores": 1.5000001},
    {"key": "anything"},
)


def keyed(**facts: object) -> Machine:
    machine = replace(BLANK, **facts)
    return replace(machine, key=machine_key(machine))


@pytest.mark.parametrize(("facts", "words"), DECIDING, ids=lambda case: str(case)[:60])
def test_a_fact_that_decides_changes_the_key_and_is_told(facts: dict[str, object], words: str) -> None:
    there = keyed(**facts)
    assert there.key != HERE.key
    assert differences(there, HERE) == (words,)


@pytest.mark.parametrize("facts", JITTERING, ids=lambda case: str(case)[:60])
def test_a_fact_that_jitters_does_not(facts: dict[str, object]) -> None:
    assert machine_key(replace(BLANK, **facts)) == HERE.key


def test_the_tables_above_leave_no_field_out() -> None:
    changed = {name for facts in (*(facts for facts, _ in DECIDING), *JITTERING) for name in facts}
    assert changed == {field.name for field in fields(Machine)}
    named = {fact.name for fact in KEY_FACTS}
    told = {fact.name for facts, _ in DECIDING for fact in FACTS if fact.text(keyed(**facts)) != fact.text(HERE)}
    assert named <= told
    assert {fact.name for fact in FACTS} - named == {"memory", "Python patch", "kernel", "mpmath"}


def test_a_key_says_its_version_and_stays_what_it_is() -> None:
    assert HERE.key == "2-7f22fe38a5e6"
    assert [key_version(key) for key in (HERE.key, "0123456789abcdef", "m1", "", "7-0123456789ab", "2-short")] == [
        2,
        1,
        1,
        1,
        7,
        1,
    ]


def test_an_older_key_is_compared_in_what_it_knew() -> None:
    there = Machine(
        key="0123456789abcdef",
        system=HERE.system,
        cpu=HERE.cpu,
        cores=4,
        memory_bytes=1,
        devices=HERE.devices,
        python="3.11.2",
        torch="2.12.0",
        versions={"numpy": "2.4.6", "mpmath": "1.2.0"},
        threads=2,
    )
    assert differences(there, HERE) == ("4 cores there, 2 here", "torch 2.12.0 there, 2.13.0 here", OLDER)
    assert differences(HERE, there)[-1] == "recorded by a newer opsdebug-ci: its key says more"
    assert differences(there, there) == ()


def test_older_keys_that_differ_in_what_does_not_count_are_told_apart_all_the_same() -> None:
    one, other = (replace(BLANK, key=key, memory_bytes=size) for key, size in (("aa", 1), ("bb", 2)))
    assert differences(one, other) == ("key aa there, bb here",)

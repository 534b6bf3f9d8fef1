"""Which runs' times may be compared: those of one machine key, and where keys differ, in which facts.

A key is made of facts that decide times and stay while the machine does. Decided for each in FACTS, with the reason:
a fact that is missing costs a comparison in the night it changes, one that jitters costs the whole history, for every
start would be a new machine. Deliberately scales nothing from one machine to another.

History of KEY_VERSION:
    1  every fact that was known then, memory to the byte: 16 digits without a version before them
    2  the facts of FACTS, by name and in order
"""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Callable
from dataclasses import dataclass

from opsdebug_ci.model.machine import Machine

KEY_VERSION = 2
"""Version of the keys that this program makes."""

KEY_DIGITS = 12
"""Hexadecimal digits of a hash: of 10,000 machines two share a key with a chance of 2e-7 (n**2 / 2 / 16**12)."""

KEY_PATTERN = rf"^([0-9]+)-[0-9a-f]{{{KEY_DIGITS}}}$"
"""A key with its version."""

OLDER = "recorded by an older opsdebug-ci: its key says less"
"""Why a run with a key of an older version is not compared."""

NEWER = "recorded by a newer opsdebug-ci: its key says more"
"""The same of a newer one."""

MEBIBYTE = 1 << 20


@dataclass(frozen=True, slots=True, kw_only=True)
class Fact:
    """One fact of a machine, and what it has to do with its key."""

    name: str
    """Its name in sentences and in the key."""

    text: Callable[[Machine], str]
    """As it enters the key; empty: there is none, or it is not told."""

    in_key: bool
    """It decides whether two runs may be compared."""

    why: str
    """Why it does, or why not."""

    since: int = KEY_VERSION
    """First version of the key whose programs recorded it."""

    absent: str = "not told"
    """Said for an empty text."""

    unit: str = ""
    """What a number counts, in the plural, said instead of the name; empty: the name is said."""


def _told(number: int | None) -> str:
    return "" if number is None else str(number)


def _minor(version: str) -> str:
    """`3.11` of `3.11.7`."""
    return ".".join(version.split(".")[:2])


def _quota(cores: float | None) -> str:
    """A quota in cores, to a hundredth: finer differences are rounding of period and quota."""
    return "" if cores is None else f"{cores:.2f} cores"


def _at_least(size: int | None) -> str:
    """A limit of memory rounded down to a power of two: those that people set stay as they are, while those a platform
    derives from what its host has left jitter below the same power."""
    return "" if not size else f"{(1 << (size.bit_length() - 1)) // MEBIBYTE} MiB or more"


def _version(name: str, why: str, *, in_key: bool = True, since: int = KEY_VERSION) -> Fact:
    return Fact(
        name=name, text=lambda m: m.versions.get(name, ""), in_key=in_key, why=why, since=since, absent="not installed"
    )


FACTS: tuple[Fact, ...] = (
    Fact(
        name="system",
        text=lambda m: m.system,
        in_key=True,
        since=1,
        why="another scheduler, allocator and compiler",
    ),
    Fact(name="CPU", text=lambda m: m.cpu, in_key=True, since=1, why="what runs the operator"),
    Fact(
        name="CPU revision",
        text=lambda m: m.cpu_revision,
        in_key=True,
        why="clouds sell several generations under one name; a stepping can be a generation of its own",
    ),
    Fact(
        name="instruction set",
        text=lambda m: m.instruction_set,
        in_key=True,
        why="torch chooses its kernels by it, and a hypervisor or a setting may hide what the CPU has",
    ),
    Fact(
        name="cores",
        text=lambda m: str(m.cores),
        in_key=True,
        since=1,
        unit="cores",
        why="those the process may use, not those that are there",
    ),
    Fact(
        name="physical cores",
        text=lambda m: _told(m.physical_cores),
        in_key=True,
        unit="physical cores",
        why="two hardware threads of one core share its arithmetic units and caches",
    ),
    Fact(
        name="memory nodes",
        text=lambda m: _told(m.numa_nodes),
        in_key=True,
        unit="memory nodes",
        why="on several, part of the memory is far away; how much depends on where pages happen to lie",
    ),
    Fact(
        name="CPU quota",
        text=lambda m: _quota(m.container_cores),
        in_key=True,
        absent="none",
        why="a container is stopped for the rest of each period once it has used its share",
    ),
    Fact(
        name="memory limit",
        text=lambda m: _at_least(m.container_memory_bytes),
        in_key=True,
        absent="none",
        why="near it the kernel reclaims pages meanwhile; only its power of two, for a platform may derive it from "
        "what its host has left, which jitters",
    ),
    Fact(
        name="clock policy",
        text=lambda m: m.clock_policy,
        in_key=True,
        why="governor and turbo decide how fast the clock runs, and how soon",
    ),
    Fact(
        name="devices",
        text=lambda m: ", ".join(m.devices),
        in_key=True,
        since=1,
        absent="none",
        why="what runs the operator",
    ),
    Fact(
        name="drivers",
        text=lambda m: ", ".join(m.drivers),
        in_key=True,
        absent="none",
        why="they compile kernels and launch them",
    ),
    Fact(
        name="device settings",
        text=lambda m: ", ".join(m.device_settings),
        in_key=True,
        why="clocks that were set, a power limit and ECC",
    ),
    Fact(name="torch", text=lambda m: m.torch, in_key=True, since=1, why="its kernels, and what it does at each call"),
    _version("cuda", "the toolkit torch was built with"),
    _version("cudnn", "brings kernels of its own"),
    _version("hip", "the toolkit torch was built with"),
    _version("triton", "compiles kernels", since=1),
    _version("numpy", "operators may be written in it", since=1),
    Fact(
        name="Python",
        text=lambda m: _minor(m.python),
        in_key=True,
        since=1,
        why="its interpreter is in every launch; only 3.x, for patches repair and do not rebuild it",
    ),
    Fact(
        name="threads",
        text=lambda m: str(m.threads),
        in_key=True,
        since=1,
        unit="threads",
        why="they share the work of one operator",
    ),
    Fact(
        name="memory",
        text=lambda m: f"{m.memory_bytes} bytes",
        in_key=False,
        since=1,
        why="differs between hosts of one pool by what firmware and hypervisor keep; what fits is not faster with more",
    ),
    Fact(
        name="Python patch",
        text=lambda m: m.python,
        in_key=False,
        since=1,
        why="images renew it every other month; see Python",
    ),
    Fact(
        name="kernel",
        text=lambda m: m.kernel,
        in_key=False,
        why="hosted machines renew it week by week; operators seldom enter it",
    ),
    _version("mpmath", "only references use it, outside the clock", in_key=False, since=1),
)
"""Every fact of a machine, in the order in which those of the key enter it."""

KEY_FACTS: tuple[Fact, ...] = tuple(fact for fact in FACTS if fact.in_key)
"""Those that make the key."""


def machine_key(machine: Machine) -> str:
    """`2-` and a hash of the facts that decide; `machine.key` itself is not looked at."""
    facts = [[fact.name, fact.text(machine)] for fact in KEY_FACTS]
    digits = hashlib.sha256(json.dumps(facts).encode()).hexdigest()
    return f"{KEY_VERSION}-{digits[:KEY_DIGITS]}"


def key_version(key: str) -> int:
    """Version of a key; 1 for the ones that do not say."""
    told = re.match(KEY_PATTERN, key)
    return int(told.group(1)) if told else 1


def differences(there: Machine, here: Machine) -> tuple[str, ...]:
    """Why times of the two may not be compared, fact by fact; empty where they may.

    Args:
        there: machine of another run.
        here: machine of the run that is looked at.

    Returns:
        e.g. `torch 2.12.0 there, 2.13.0 here`. Of a key of another version only what both recorded, and that it is one.
    """
    if there.key == here.key:
        return ()
    before, now = key_version(there.key), key_version(here.key)
    told = [
        said(fact, old, new)
        for fact in KEY_FACTS
        if fact.since <= min(before, now) and (old := fact.text(there)) != (new := fact.text(here))
    ]
    told += [] if before == now else [OLDER if before < now else NEWER]
    return tuple(told) or (f"key {there.key} there, {here.key} here",)


def said(fact: Fact, there: str, here: str) -> str:
    """One difference in words."""
    return f"{_named(fact, there)} there, {here or fact.absent} here"


def described(machine: Machine) -> tuple[str, ...]:
    """The facts that make its key, in words, e.g. `torch 2.13.0` and `2 cores`; without those that are not told."""
    return tuple(_named(fact, text) for fact in KEY_FACTS if (text := fact.text(machine)))


def _named(fact: Fact, text: str) -> str:
    unit = fact.unit.removesuffix("s") if text == "1" else fact.unit
    return f"{text} {unit}" if text and unit else f"{fact.name} {text or fact.absent}"

"""The processors this process may run on, as the system describes them.

Decides what tells two kinds of processor apart, and what is known of cores, memory nodes and clocks. Empty or None
where the system does not tell, never a guess. What the clocks do at a moment is no fact of a machine: see `timing`.
"""

from __future__ import annotations

import os
import platform
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path

ROOT = Path("/")
"""Where `proc` and `sys` are."""

CPUS = "sys/devices/system/cpu"

REVISIONS = (
    (("cpu family", "family"), ("model", "model"), ("stepping", "stepping")),
    (
        ("CPU implementer", "implementer"),
        ("CPU part", "part"),
        ("CPU variant", "variant"),
        ("CPU revision", "revision"),
    ),
)
"""Entries of /proc/cpuinfo that say which processor it is, and how they are called here: of x86, and of Arm."""

RANGE = re.compile(r"(\d+)(?:-(\d+))?")
"""Part of a list of processors, e.g. `0-3,8`: Linux, Documentation/admin-guide/cputopology.rst."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Processor:
    """What is known of the processors."""

    model: str
    """Name."""

    revision: str
    """Which one behind that name; empty: not told."""

    physical_cores: int | None
    """Cores behind those that may be used. None: not told."""

    numa_nodes: int | None
    """Memory nodes of those cores. None: not told."""

    clock_policy: str
    """Driver, governor and turbo; empty: not told."""


def allowed_cpus() -> frozenset[int]:
    """Numbers of the processors this process may run on; all of them where the system has no such limit."""
    if hasattr(os, "sched_getaffinity"):
        return frozenset(os.sched_getaffinity(0))
    return frozenset(range(os.cpu_count() or 1))


def describe_processor(cpus: frozenset[int], root: Path = ROOT) -> Processor:
    """The processors with these numbers; at least one. Never raises.

    Args:
        cpus: those the process may run on.
        root: where `proc` and `sys` are.
    """
    entries = _first_entries(_text(root / "proc/cpuinfo"))
    return Processor(
        model=entries.get("model name") or platform.processor() or platform.machine(),
        revision=_revision(entries),
        physical_cores=_physical_cores(cpus, root),
        numa_nodes=_numa_nodes(cpus, root),
        clock_policy=_clock_policy(min(cpus), root),
    )


def cpu_list(text: str) -> frozenset[int]:
    """`0-3,8` as numbers; parts that are none are passed over."""
    parts = (RANGE.fullmatch(part.strip()) for part in text.split(","))
    return frozenset(
        number
        for part in parts
        if part
        for number in range(int(part.group(1)), int(part.group(2) or part.group(1)) + 1)
    )


def _first_entries(text: str) -> Mapping[str, str]:
    """Entries of the first processor in /proc/cpuinfo."""
    lines = (line.partition(":") for line in text.split("\n\n", 1)[0].splitlines())
    return {name.strip(): value.strip() for name, _, value in lines}


def _revision(entries: Mapping[str, str]) -> str:
    for names in REVISIONS:
        told = [f"{name} {entries[entry]}" for entry, name in names if entries.get(entry)]
        if len(told) == len(names):
            return " ".join(told)
    return ""


def _physical_cores(cpus: Iterable[int], root: Path) -> int | None:
    """How many different sets of threads that share a core."""
    texts = [_text(root / CPUS / f"cpu{cpu}/topology/thread_siblings_list") for cpu in cpus]
    return len({cpu_list(text) for text in texts}) if all(texts) else None


def _numa_nodes(cpus: frozenset[int], root: Path) -> int | None:
    lists = (root / "sys/devices/system/node").glob("node[0-9]*/cpulist")
    return sum(bool(cpu_list(_text(path)) & cpus) for path in lists) or None


def _clock_policy(cpu: int, root: Path) -> str:
    """`DRIVER GOVERNOR, turbo`: Linux, Documentation/admin-guide/pm/cpufreq.rst and intel_pstate.rst."""
    scaling = root / CPUS / f"cpu{cpu}/cpufreq"
    names = [_text(scaling / "scaling_driver"), _text(scaling / "scaling_governor")]
    return ", ".join(part for part in (" ".join(name for name in names if name), _turbo(root)) if part)


def _turbo(root: Path) -> str:
    """Whether the clock may run faster than nominal."""
    told = {
        ("0", ""): "no turbo",
        ("1", ""): "turbo",
        ("", "0"): "turbo",
        ("", "1"): "no turbo",
    }
    return told.get((_text(root / CPUS / "cpufreq/boost"), _text(root / CPUS / "intel_pstate/no_turbo")), "")


def _text(path: Path) -> str:
    """Contents of a file without blanks around them; empty where it cannot be read."""
    try:
        return path.read_text(encoding="utf-8", errors="replace").strip()
    except OSError:
        return ""

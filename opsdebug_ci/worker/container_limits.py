"""What the control groups of this process allow it: processor time and memory.

Decides how their files are read, for both versions of control groups; the tightest group on the way to the root counts.
Changes nothing. Sources: cgroups(7); Linux, Documentation/admin-guide/cgroup-v2.rst (`cpu.max`, `memory.max`),
cgroup-v1/memory.rst (`memory.limit_in_bytes`) and scheduler/sched-bwc.rst (`cpu.cfs_quota_us`, `cpu.cfs_period_us`).
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from typing import TypeVar

Limit = TypeVar("Limit", int, float)

ROOT = Path("/")
"""Where `proc` and `sys` are."""

MOUNTED_AT = Path("sys/fs/cgroup")
"""Below the root: the only hierarchy of version 2, or a directory per controller of version 1."""

NO_LIMIT = 1 << 62
"""Bytes from which a limit is none: version 1 writes the largest multiple of a page that fits into 63 bits."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ContainerLimits:
    """What a process may use; None: as much as there is."""

    cores: float | None = None
    """Processor time per time, in cores: 1.5 is three seconds of processors in two."""

    memory_bytes: int | None = None
    """Memory."""


def container_limits(root: Path = ROOT) -> ContainerLimits:
    """The limits of this process. What cannot be read limits nothing; never raises.

    Args:
        root: where `proc` and `sys` are.
    """
    groups = tuple(_groups(root))
    return ContainerLimits(
        cores=_least(
            quota for group in groups for quota in (unified_quota(_text(group / "cpu.max")), _quota_v1(group))
        ),
        memory_bytes=_least(
            memory_limit(_text(group / name)) for group in groups for name in ("memory.max", "memory.limit_in_bytes")
        ),
    )


def unified_quota(text: str) -> float | None:
    """`cpu.max` of version 2, `MAX PERIOD` in us, in cores; `max`: None."""
    words = text.split()
    return legacy_quota(words[0], words[1]) if len(words) == 2 else None


def legacy_quota(quota: str, period: str) -> float | None:
    """`cpu.cfs_quota_us` and `cpu.cfs_period_us` of version 1, in cores; a negative quota: None."""
    if not quota.strip().isdecimal() or not period.strip().isdecimal() or int(period) == 0:
        return None
    return int(quota) / int(period)


def memory_limit(text: str) -> int | None:
    """`memory.max` or `memory.limit_in_bytes`; `max`, or all that 63 bits can say: None."""
    word = text.strip()
    return int(word) if word.isdecimal() and int(word) < NO_LIMIT else None


def memberships(text: str) -> tuple[tuple[str, PurePosixPath], ...]:
    """Lines `ID:CONTROLLERS:PATH` of /proc/PID/cgroup as controllers and path; no controllers: version 2."""
    lines = [line.split(":", 2) for line in text.splitlines()]
    return tuple((line[1], PurePosixPath(line[2])) for line in lines if len(line) == 3)


def _groups(root: Path) -> Iterator[Path]:
    """Directories of this process's groups, with those above them.

    A container may see its own group as the root of what is mounted while its path is the host's: paths that are not
    there are passed over, and the mounted root is always among them.
    """
    for controllers, path in memberships(_text(root / "proc/self/cgroup")):
        # NOTE: `..` leads out of the container's view, to groups that are not mounted in it.
        inside = PurePosixPath() if ".." in path.parts or not path.is_absolute() else path.relative_to("/")
        for controller in controllers.split(","):  # each has a directory or a link of its own
            yield from (root / MOUNTED_AT / controller / part for part in (inside, *inside.parents))


def _quota_v1(group: Path) -> float | None:
    return legacy_quota(_text(group / "cpu.cfs_quota_us"), _text(group / "cpu.cfs_period_us"))


def _least(limits: Iterable[Limit | None]) -> Limit | None:
    return min((limit for limit in limits if limit is not None), default=None)


def _text(path: Path) -> str:
    """Contents of a file; empty where it cannot be read."""
    try:
        return path.read_text(encoding="utf-8", errors="replace")
    except OSError:
        return ""

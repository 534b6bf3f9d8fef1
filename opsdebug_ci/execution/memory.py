"""How much memory a worker holds, and whether the kernel killed for lack of it.

Resident memory is watched from outside rather than limited from inside: RLIMIT_AS and RLIMIT_DATA count address space,
of which torch and CUDA reserve tens of gigabytes that they never touch, so a limit that leaves them alone stops no
operator. Watching misses what a worker takes and returns between two looks, and lets it overshoot by what it can
touch in one interval. Processes that an operator spawns are not counted.
"""

from __future__ import annotations

import os
from pathlib import Path

PROC = Path("/proc")
CGROUP_ROOT = Path("/sys/fs/cgroup")
_COUNTERS = ("memory.events", "memory.oom_control")
"""cgroup v2 and v1: both hold a line `oom_kill N`."""


def can_watch() -> bool:
    """Whether this system tells the resident memory of a process."""
    return (PROC / "self/statm").exists()


def resident_bytes(pid: int) -> int:
    """Resident memory of `pid`, in bytes; 0 when the process is gone or the system does not say.

    proc_pid_statm(5): the second field, in pages.
    """
    try:
        fields = (PROC / str(pid) / "statm").read_text().split()
    except OSError:
        return 0
    return int(fields[1]) * os.sysconf("SC_PAGE_SIZE") if len(fields) > 1 else 0


def oom_kills() -> int:
    """How often the kernel has killed in this process's control group for lack of memory; 0 when it does not say."""
    return sum(_counter(path) for path in _counter_files())


def _counter_files() -> list[Path]:
    try:
        lines = (PROC / "self/cgroup").read_text().splitlines()
    except OSError:
        return []
    files = []
    for line in lines:  # cgroups(7): hierarchy:controllers:path, v2 has no controllers
        _, controllers, path = line.split(":", 2)
        if controllers in ("", "memory"):
            files += [CGROUP_ROOT / controllers / path.lstrip("/") / counter for counter in _COUNTERS]
    return files


def _counter(path: Path) -> int:
    try:
        lines = path.read_text().splitlines()
    except OSError:
        return 0
    return sum(int(line.split()[1]) for line in lines if line.startswith("oom_kill "))

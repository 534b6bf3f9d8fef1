"""The state of a device's clocks while something was measured.

Decides what can be known of frequency, throttling and stolen time without privileges. What the system does not tell is
None, never a guess: a frequency that never moves is a label, not a reading.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import final

import torch

from opsdebug_ci.model.timing import Clocks
from opsdebug_ci.timing.nvml import nvml_clocks

FEWEST_TICKS = 10
"""Ticks of the kernel, all processors together, below which a share of them would be a tenth or more of luck."""

HEAD_BYTES = 8192
"""Read of a file: the first processor's entry, and no more, of files that grow with the machine."""


@dataclass(frozen=True, slots=True, kw_only=True)
class _Ticks:
    """Where processors spent their time since boot, in ticks, and this process, in ns."""

    total: int
    """All of it."""

    busy: int
    """Not idle, not waiting for a disk, not stolen."""

    stolen: int
    """The hypervisor ran somebody else."""

    processors: int
    """How many there are."""

    own_ns: int
    """Processor time of this process."""


@final
class ClockWatch:
    """Watches from its making until `read`. Never raises; costs a few file reads.

    Args:
        device: whose clocks.
        root: where `proc` and `sys` are.
        own_ns: processor time of this process.
    """

    def __init__(
        self, device: torch.device, root: Path = Path("/"), own_ns: Callable[[], int] = time.process_time_ns
    ) -> None:
        self._device = device
        self._root = root
        self._own_ns = own_ns
        self._ticks = self._read_ticks()
        self._label_hz = self._label()
        self._throttles = self._throttle_count()

    def read(self) -> Clocks:
        """What happened to the clocks since. Load counts processors kept busy by others, so at most all of them."""
        stolen, load = self._shares()
        if self._device.type == "cuda":
            return nvml_clocks(self._device, Clocks(stolen=stolen, load=load))
        if self._device.type != "cpu":
            return Clocks(stolen=stolen, load=load)
        scaling = self._core() / "cpufreq"
        nominal_hz = _kilohertz(scaling / "base_frequency") or _kilohertz(scaling / "cpuinfo_max_freq")
        return Clocks(
            frequency_hz=_kilohertz(scaling / "scaling_cur_freq") or self._moved_label(),
            nominal_hz=nominal_hz,
            throttled=self._throttled(),
            policy=_text(scaling / "scaling_governor") or None,
            stolen=stolen,
            load=load,
        )

    def _shares(self) -> tuple[float | None, float | None]:
        """Stolen share of the time, and processors kept busy by others."""
        before, after = self._ticks, self._read_ticks()
        if before is None or after is None or after.total - before.total < FEWEST_TICKS:
            return None, None
        total = after.total - before.total
        passed_s = total / after.processors / os.sysconf("SC_CLK_TCK")
        own = (after.own_ns - before.own_ns) / 1e9 / passed_s
        busy = (after.busy - before.busy) / total * after.processors
        return (after.stolen - before.stolen) / total, max(0.0, busy - own)

    def _read_ticks(self) -> _Ticks | None:
        """The lines of /proc/stat: user nice system idle iowait irq softirq steal (proc(5)); guests count as user."""
        lines = [line.split() for line in _text(self._root / "proc/stat", whole=True).splitlines()]
        cores = [line for line in lines if line and line[0].startswith("cpu")]
        if not cores or len(cores[0]) < 9 or not all(word.isdigit() for word in cores[0][1:9]):
            return None
        user, nice, system, idle, waiting, irq, soft, stolen = map(int, cores[0][1:9])
        busy = user + nice + system + irq + soft
        return _Ticks(
            total=busy + idle + waiting + stolen,
            busy=busy,
            stolen=stolen,
            processors=max(1, len(cores) - 1),
            own_ns=self._own_ns(),
        )

    def _core(self) -> Path:
        """Directory of the processor this process ran on last: field 39 of /proc/self/stat, behind the name."""
        fields = _text(self._root / "proc/self/stat").rpartition(")")[2].split()
        number = fields[36] if len(fields) > 36 and fields[36].isdigit() else "0"
        return self._root / f"sys/devices/system/cpu/cpu{number}"

    def _label(self) -> float | None:
        """`cpu MHz` of the first processor in /proc/cpuinfo."""
        for line in _text(self._root / "proc/cpuinfo").splitlines():
            name, _, value = line.partition(":")
            if name.strip() == "cpu MHz":
                return _number(value.strip(), 1e6)
        return None

    def _moved_label(self) -> float | None:
        """The same, where it changed since; a virtual machine shows one number for ever."""
        now = self._label()
        return now if now != self._label_hz else None

    def _throttle_count(self) -> float | None:
        """Times the core was slowed for heat, as Intel's processors tell."""
        return _number(_text(self._root / "sys/devices/system/cpu/cpu0/thermal_throttle/package_throttle_count"), 1.0)

    def _throttled(self) -> bool | None:
        count = self._throttle_count()
        return None if count is None or self._throttles is None else count > self._throttles


def _kilohertz(path: Path) -> float | None:
    return _number(_text(path), 1e3)


def _number(text: str, unit: float) -> float | None:
    """`text` times `unit`; None: it is no positive number, or none at all."""
    try:
        return float(text) * unit
    except ValueError:
        return None


def _text(path: Path, *, whole: bool = False) -> str:
    """Contents of a small file, or the head of a large one; empty where it cannot be read."""
    try:
        with path.open("rb") as file:
            return file.read(-1 if whole else HEAD_BYTES).decode("utf-8", errors="replace").strip()
    except OSError:
        return ""

"""The state of clocks, read from files and a binding that stand for a machine's."""

from __future__ import annotations

import os
from dataclasses import replace
from pathlib import Path

import pytest
import torch

from opsdebug_ci.model.timing import Clocks
from opsdebug_ci.timing.clock_state import ClockWatch
from opsdebug_ci.timing.nvml import SM_CLOCK, read

CPU = torch.device("cpu")
TICK_NS = 1_000_000_000 // os.sysconf("SC_CLK_TCK")
CORE = "sys/devices/system/cpu/cpu1"


def machine(root: Path, files: dict[str, str]) -> Path:
    for name, text in files.items():
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_text(text)
    return root


def ticks(user: int, idle: int, stolen: int) -> dict[str, str]:
    """/proc/stat of two processors."""
    return {"proc/stat": f"cpu {user} 0 0 {idle} 0 0 0 {stolen} 0 0\ncpu0 1 2 3\ncpu1 1 2 3\nintr 5\n"}


SCALING = {
    "proc/self/stat": "7 (a (strange) name) S " + " ".join(["0"] * 35) + " 1 0 0",
    f"{CORE}/cpufreq/scaling_cur_freq": "3100000\n",
    f"{CORE}/cpufreq/base_frequency": "2600000\n",
    f"{CORE}/cpufreq/cpuinfo_max_freq": "3500000\n",
    f"{CORE}/cpufreq/scaling_governor": "performance\n",
}


def test_a_machine_that_tells_nothing(tmp_path: Path) -> None:
    assert ClockWatch(CPU, tmp_path).read() == Clocks()


def test_frequency_of_the_core_this_process_runs_on(tmp_path: Path) -> None:
    found = ClockWatch(CPU, machine(tmp_path, SCALING)).read()
    assert found == Clocks(frequency_hz=3.1e9, nominal_hz=2.6e9, policy="performance")


def test_a_stated_maximum_where_there_is_no_base(tmp_path: Path) -> None:
    files = {name: text for name, text in SCALING.items() if "base" not in name}
    assert ClockWatch(CPU, machine(tmp_path, files)).read().nominal_hz == 3.5e9


@pytest.mark.parametrize(("later", "frequency_hz"), [("2400.000", None), ("2800.500", 2.8005e9)])
def test_a_label_counts_only_where_it_moves(tmp_path: Path, later: str, frequency_hz: float | None) -> None:
    watch = ClockWatch(CPU, machine(tmp_path, {"proc/cpuinfo": "model name : x\ncpu MHz\t\t: 2400.000\n"}))
    machine(tmp_path, {"proc/cpuinfo": f"model name : x\ncpu MHz\t\t: {later}\n"})
    assert watch.read().frequency_hz == frequency_hz


@pytest.mark.parametrize(("later", "throttled"), [("5", False), ("6", True)])
def test_heat_slowed_the_core_while_watched(tmp_path: Path, later: str, throttled: bool) -> None:
    place = "sys/devices/system/cpu/cpu0/thermal_throttle/package_throttle_count"
    watch = ClockWatch(CPU, machine(tmp_path, {place: "5\n"}))
    machine(tmp_path, {place: later})
    assert watch.read().throttled is throttled


def test_load_leaves_out_what_this_process_used(tmp_path: Path) -> None:
    own = iter([0, 60 * TICK_NS])
    watch = ClockWatch(CPU, machine(tmp_path, ticks(1000, 1000, 0)), lambda: next(own))
    machine(tmp_path, ticks(1000 + 150, 1000 + 40, 10))
    # 200 ticks of two processors are 100 of time: 150 busy are 1.5 processors, 60 of ours 0.6.
    found = watch.read()
    assert (found.load, found.stolen) == (pytest.approx(0.9), 0.05)


def test_a_moment_too_short_has_no_share(tmp_path: Path) -> None:
    watch = ClockWatch(CPU, machine(tmp_path, ticks(1000, 1000, 0)))
    machine(tmp_path, ticks(1004, 1004, 1))
    assert watch.read() == Clocks()


@pytest.mark.parametrize("text", ["", "cpu\n", "cpu a b c d e f g h\n", "\0\xff"])
def test_a_broken_file_is_not_told_rather_than_raised(tmp_path: Path, text: str) -> None:
    files = dict.fromkeys(("proc/stat", "proc/cpuinfo", "proc/self/stat"), text)
    assert ClockWatch(CPU, machine(tmp_path, files)).read() == Clocks()


def test_an_accelerator_without_a_binding_is_not_known(tmp_path: Path) -> None:
    own = iter([0, 0])
    watch = ClockWatch(torch.device("xpu"), machine(tmp_path, {**ticks(0, 0, 0), **SCALING}), lambda: next(own))
    machine(tmp_path, ticks(100, 100, 0))
    assert watch.read() == Clocks(stolen=0.0, load=1.0)


class Binding:
    """Answers as NVML's binding does."""

    def __init__(self, reasons: int) -> None:
        self._reasons = reasons

    def nvmlDeviceGetCurrentClocksThrottleReasons(self, handle: str) -> int:
        return {"a handle": self._reasons}[handle]

    def nvmlDeviceGetClockInfo(self, handle: str, which: int) -> int:
        return {("a handle", SM_CLOCK): 1755}[handle, which]

    def nvmlDeviceGetMaxClockInfo(self, handle: str, which: int) -> int:
        return {("a handle", SM_CLOCK): 1980}[handle, which]


@pytest.mark.parametrize(
    ("reasons", "throttled", "policy"),
    [(0x0, False, None), (0x1, False, None), (0x2, False, "application clocks"), (0x4, True, None), (0x40, True, None)],
)
def test_reasons_for_a_low_clock(reasons: int, throttled: bool, policy: str | None) -> None:
    known = Clocks(stolen=0.25)
    found = read(Binding(reasons), "a handle", known)
    assert found == replace(known, frequency_hz=1.755e9, nominal_hz=1.98e9, throttled=throttled, policy=policy)

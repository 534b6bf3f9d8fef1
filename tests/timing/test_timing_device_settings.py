"""Settings of NVIDIA devices, from bindings that know all or some of them, and the driver's version."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace

import pytest

from opsdebug_ci.timing.device_settings import nvidia_driver, read_settings


class NVMLError(Exception):
    """What the binding raises."""


def unknown(*_: object) -> int:
    raise NVMLError("Not Supported")


def binding(**answers: object) -> SimpleNamespace:
    """A binding whose device is set as it came, but for `answers`."""
    facts = {
        "NVMLError": NVMLError,
        "nvmlDeviceGetApplicationsClock": lambda _, kind: {1: 1980, 2: 2619}[kind],
        "nvmlDeviceGetDefaultApplicationsClock": lambda _, kind: {1: 1980, 2: 2619}[kind],
        "nvmlDeviceGetPowerManagementLimit": lambda _: 700_000,
        "nvmlDeviceGetEccMode": lambda _: [1, 0],
    }
    return SimpleNamespace(**{**facts, **answers})


@pytest.mark.parametrize(
    ("answers", "told"),
    [
        ({}, "clocks default, power 700 W, ECC"),
        (
            {"nvmlDeviceGetApplicationsClock": lambda _, kind: {1: 1410, 2: 2619}[kind]},
            "clocks 1410/2619 MHz, power 700 W, ECC",
        ),
        ({"nvmlDeviceGetPowerManagementLimit": lambda _: 350_000}, "clocks default, power 350 W, ECC"),
        ({"nvmlDeviceGetEccMode": lambda _: [0, 1]}, "clocks default, power 700 W, no ECC"),
        ({"nvmlDeviceGetApplicationsClock": unknown, "nvmlDeviceGetEccMode": unknown}, "power 700 W"),
    ],
)
def test_settings(answers: dict[str, object], told: str) -> None:
    assert read_settings(binding(**answers), object()) == told


def test_an_old_binding_tells_what_it_knows() -> None:
    old = binding()
    del old.nvmlDeviceGetEccMode
    assert read_settings(old, object()) == "clocks default, power 700 W"


@pytest.mark.parametrize(
    ("text", "version"),
    [
        ("NVRM version: NVIDIA UNIX x86_64 Kernel Module  535.104.05  Sat Aug 19 01:15:15 UTC 2023\n", "535.104.05"),
        (
            "NVRM version: NVIDIA UNIX Open Kernel Module for x86_64  570.86.15  Release Build  (dvs-builder@U16)\n",
            "570.86.15",
        ),
        ("something else\n", ""),
    ],
)
def test_the_driver_by_the_kernel(tmp_path: Path, text: str, version: str) -> None:
    place = tmp_path / "proc/driver/nvidia"
    place.mkdir(parents=True)
    (place / "version").write_text(text)
    assert nvidia_driver(tmp_path) == version


def test_no_driver(tmp_path: Path) -> None:
    assert nvidia_driver(tmp_path) == ""

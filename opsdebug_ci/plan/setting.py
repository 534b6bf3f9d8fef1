"""One reader per configuration key: TOML value in, typed value out, every mistake told.

Decides what each key accepts. Deliberately knows no files and no defaults: `configuration` has both.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from enum import Enum
from typing import TypeVar

import msgspec

from opsdebug_ci.model.dtype import DTYPE_NAMES, FLOAT_FORMATS
from opsdebug_ci.model.vocabulary import Empty, Gate, Stage, Word
from opsdebug_ci.plan.problem import suggestion
from opsdebug_ci.plan.quantity import DURATION_EXPECTED, MEMORY_EXPECTED, memory_bytes, seconds


class Performance(Word):
    """When speed is compared with the baseline."""

    OFF = "off"
    NIGHTLY = "nightly"
    PR = "pr"


@dataclass(frozen=True, slots=True, kw_only=True)
class Scoped:
    """A number with exceptions by name."""

    default: float | None
    """Where no exception applies; None: decided by whoever asks."""

    by_name: Mapping[str, float] = field(default_factory=dict)
    """Exceptions: by operator, dtype or stage, as the key says."""

    def of(self, name: str) -> float | None:
        """The exception made for `name`, else the default."""
        return self.by_name.get(name, self.default)


@dataclass(frozen=True, slots=True, kw_only=True)
class Peaks:
    """What the device can do at best; absent entries come from the table of devices, or are measured."""

    bandwidth_bytes_per_s: float | None = None
    """Memory bandwidth."""

    flops_per_s: Mapping[str, float] = field(default_factory=dict)
    """Floating-point operations per second, by dtype."""


Complain = Callable[[str, str, str], None]
"""`(key, found, expected)`: records one problem."""

Choice = TypeVar("Choice", bound=Word)

_DEVICE = re.compile(r"[a-z][a-z0-9_]*(:\d+)?")
_REMOTE_STORE = re.compile(r"(branch:|s3://|gs://)\S+")


def shown(value: object) -> str:
    """`value` as TOML would spell it, for messages."""
    plain = value.value if isinstance(value, Enum) else value
    if isinstance(plain, float):
        return repr(plain)
    try:
        return msgspec.json.encode(plain).decode()
    except TypeError:
        return str(plain)


def read_text(key: str, value: object, complain: Complain) -> str | None:
    """A text with something in it."""
    if isinstance(value, str) and value.strip():
        return value.strip()
    complain(key, f"is {shown(value)}", "wanted a text")
    return None


def read_names(key: str, value: object, complain: Complain) -> tuple[str, ...]:
    """One text or a list of them, without repeats."""
    items = [value] if isinstance(value, str) else value
    if not isinstance(items, (list, tuple)) or not items:
        complain(key, f"is {shown(value)}", "wanted a list of texts, at least one")
        return ()
    names = [item.strip() for item in items if isinstance(item, str) and item.strip()]
    for item in items:
        if not isinstance(item, str) or not item.strip():
            complain(key, f"has {shown(item)}", "wanted texts only")
    return tuple(dict.fromkeys(names))


def read_devices(key: str, value: object, complain: Complain) -> tuple[str, ...]:
    """Device names such as `cpu` or `cuda:1`."""
    names = read_names(key, value, complain)
    for name in names:
        if not _DEVICE.fullmatch(name):
            complain(key, f"has {shown(name)}", "wanted device names: cpu, cuda, xpu, npu, mps, or e.g. cuda:1")
    return names


def read_store(key: str, value: object, complain: Complain) -> str | None:
    """A directory, `branch:NAME`, `s3://...` or `gs://...`."""
    text = read_text(key, value, complain)
    if text and not _REMOTE_STORE.fullmatch(text) and ("://" in text or text.startswith("branch:")):
        complain(key, f"is {shown(text)}", "wanted a directory, branch:NAME, s3://BUCKET/PREFIX or gs://BUCKET/PREFIX")
    return text


def read_choice(choices: type[Choice]) -> Callable[[str, object, Complain], Choice | None]:
    """A reader of one word out of a closed set."""
    known = {str(member): member for member in choices}

    def read(key: str, value: object, complain: Complain) -> Choice | None:
        chosen = known.get(value) if isinstance(value, str) else None
        if chosen is None:
            complain(key, f"is {shown(value)}", f"wanted one of {', '.join(known)}")
        return chosen

    return read


def read_positive(key: str, value: object, complain: Complain) -> float | None:
    """A finite number above 0."""
    if isinstance(value, (int, float)) and not isinstance(value, bool) and math.isfinite(value) and value > 0:
        return float(value)
    complain(key, f"is {shown(value)}", "wanted a number above 0")
    return None


def read_seconds(key: str, value: object, complain: Complain) -> float | None:
    """A duration."""
    amount = seconds(value)
    if amount is None:
        complain(key, f"is {shown(value)}", f"wanted {DURATION_EXPECTED}")
    return amount


def read_bytes(key: str, value: object, complain: Complain) -> int | None:
    """An amount of memory."""
    amount = memory_bytes(value)
    if amount is None:
        complain(key, f"is {shown(value)}", f"wanted {MEMORY_EXPECTED}")
    return amount


def read_scoped(
    default: float | None,
    read: Callable[[str, object, Complain], float | None] = read_positive,
    names: tuple[str, ...] | None = None,
) -> Callable[[str, object, Complain], Scoped]:
    """A reader of a number, or of a table of numbers by name with `default` for the rest; None allows any name."""

    def read_table(key: str, value: object, complain: Complain) -> Scoped:
        if not isinstance(value, dict):
            return Scoped(default=read(key, value, complain))
        known = None if names is None else ("default", *names)
        numbers = {name: read(f"{key}.{name}", item, complain) for name, item in value.items()}
        for name in numbers:
            if known is not None and name not in known:
                complain(f"{key}.{name}", "is not a key", suggestion(name, known))
        given = {name: number for name, number in numbers.items() if number is not None}
        return Scoped(default=given.pop("default", default), by_name=given)

    return read_table


def read_peaks(key: str, value: object, complain: Complain) -> Peaks:
    """A table with `bandwidth` in bytes per second and flops per second by dtype."""
    if not isinstance(value, dict):
        complain(key, f"is {shown(value)}", "wanted a table, e.g. {bandwidth = 3.3e12, float32 = 6.7e13}")
        return Peaks()
    numbers = {name: read_positive(f"{key}.{name}", item, complain) for name, item in value.items()}
    for name in numbers:
        if name not in ("bandwidth", *DTYPE_NAMES):
            complain(f"{key}.{name}", "is not a key", suggestion(name, ("bandwidth", *DTYPE_NAMES)))
    given = {name: number for name, number in numbers.items() if number is not None}
    return Peaks(bandwidth_bytes_per_s=given.pop("bandwidth", None), flops_per_s=given)


def read_switch(key: str, value: object, complain: Complain) -> bool:
    """`true` or `false`."""
    if not isinstance(value, bool):
        complain(key, f"is {shown(value)}", "wanted true or false")
    return value is True


def read_empty(key: str, value: object, complain: Complain) -> Mapping[str, str]:
    """`skip` or `fail`, or a table of these by file, module or operator with `default` for the rest."""
    choose = read_choice(Empty)
    if not isinstance(value, dict):
        return {"default": str(choose(key, value, complain))}
    return {name: str(choose(f"{key}.{name}", item, complain)) for name, item in value.items()}


@dataclass(frozen=True, slots=True, kw_only=True)
class Setting:
    """One key of the configuration."""

    key: str
    """As written by the person."""

    field: str
    """Field of `Configuration` it fills."""

    read: Callable[[str, object, Complain], object]
    """Its reader."""


DEFAULT_THRESHOLD = 0.10
"""Slowdown that needs a person, as a share of the baseline."""

DEFAULT_HEALTH_LIMIT = 1e30
"""Magnitude that counts as unhealthy."""

STAGES = (str(Stage.SMOKE), str(Stage.FULL), str(Stage.REPLAY))
"""Stages a budget can be set for."""

PERFORMANCE_BUDGET = "performance"
"""Name of the budget for comparing speed on a pull request."""

SETTINGS: tuple[Setting, ...] = (
    Setting(key="operators", field="operators", read=read_names),
    Setting(key="python", field="python", read=read_text),
    Setting(key="devices", field="devices", read=read_devices),
    Setting(key="build", field="build", read=read_text),
    Setting(key="threshold", field="threshold", read=read_scoped(DEFAULT_THRESHOLD)),
    Setting(key="performance", field="performance", read=read_choice(Performance)),
    Setting(key="gate", field="gate", read=read_choice(Gate)),
    Setting(key="empty", field="empty", read=read_empty),
    Setting(key="peaks", field="peaks", read=read_peaks),
    Setting(key="store", field="store", read=read_store),
    Setting(
        key="health_limit",
        field="health_limit",
        read=read_scoped(DEFAULT_HEALTH_LIMIT, names=tuple(FLOAT_FORMATS)),
    ),
    Setting(key="timeout", field="timeout_s", read=read_seconds),
    Setting(key="memory", field="memory_bytes", read=read_bytes),
    Setting(key="budget", field="budget_s", read=read_scoped(None, read_seconds, (*STAGES, PERFORMANCE_BUDGET))),
    Setting(key="bundle.values", field="bundle_values", read=read_switch),
)
"""Every key, in the order of the documentation. A new key is one line here and one field in `Configuration`."""

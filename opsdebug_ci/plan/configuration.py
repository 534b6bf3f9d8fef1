"""`Configuration`: what the person wants, from the nearest file and the command line over it.

Decides defaults, precedence and the hash. Deliberately opens nothing it names: discovery looks for the operators,
`execution` for the interpreter, `store` for the store.
"""

from __future__ import annotations

import dataclasses
import hashlib
import re
import sys
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import msgspec

from opsdebug_ci.errors import ConfigurationError
from opsdebug_ci.model.vocabulary import Empty, Gate
from opsdebug_ci.plan.problem import Problem, configuration_error, suggestion
from opsdebug_ci.plan.setting import DEFAULT_HEALTH_LIMIT, DEFAULT_THRESHOLD, SETTINGS, Peaks, Performance, Scoped
from opsdebug_ci.plan.source import EXAMPLE, OWN_FILE, SHARED_FILE, SHARED_TABLE, Source, find_source, read_source

DEFAULT_STORE = "baselines/"
"""Store directory, relative to the root."""

COMMAND_LINE = "command line"
"""Where an override comes from, in messages."""

_LISTS = ("operators", "devices")
_LITERALS = ("threshold", "peaks", "health_limit", "bundle.values")


@dataclass(frozen=True, slots=True, kw_only=True)
class Configuration:
    """The effective configuration."""

    root: Path
    """Directory of the file it came from, absolute; relative paths in it start here."""

    file: Path | None = None
    """The file, or None when everything came from defaults and the command line."""

    operators: tuple[str, ...] = ()
    """Files or modules to search."""

    python: str | None = None
    """The worker's interpreter as written; None: the current one."""

    devices: tuple[str, ...] = ()
    """Devices to run on; empty: what is there."""

    build: str | None = None
    """Command run in each work tree before an A/B."""

    threshold: Scoped = field(default_factory=lambda: Scoped(default=DEFAULT_THRESHOLD))
    """Slowdown that needs a person, as a share of the baseline; exceptions by operator."""

    performance: Performance = Performance.NIGHTLY
    """When speed is compared."""

    gate: Gate = Gate.NEW
    """Which failures fail a run."""

    empty: Mapping[str, str] = field(default_factory=lambda: {"default": str(Empty.SKIP)})
    """Whether raising on an empty input is skipped or fails, by file, module or operator; `default` for the rest."""

    peaks: Peaks = field(default_factory=Peaks)
    """What the device can do at best."""

    store: str = DEFAULT_STORE
    """The baseline store as written."""

    health_limit: Scoped = field(default_factory=lambda: Scoped(default=DEFAULT_HEALTH_LIMIT))
    """Magnitude that counts as unhealthy; exceptions by dtype."""

    timeout_s: float = 60.0
    """Longest a case may take, in seconds."""

    memory_bytes: int | None = None
    """Most memory a worker may use, in bytes; None: no limit."""

    budget_s: Scoped = field(default_factory=lambda: Scoped(default=None))
    """Longest a run may take, in seconds; exceptions by stage; None: the stage decides."""

    bundle_values: bool = True
    """False keeps private input values out of bundles."""

    @property
    def interpreter(self) -> str:
        """The worker's interpreter: a path relative to the root made absolute, a bare name left to the search path."""
        if self.python is None:
            return sys.executable
        return str(self.root / Path(self.python).expanduser()) if "/" in self.python else self.python

    @property
    def store_directory(self) -> Path | None:
        """The store's directory, absolute; None for a branch or object storage."""
        remote = "://" in self.store or self.store.startswith("branch:")
        return None if remote else self.root / Path(self.store).expanduser()

    @property
    def config_hash(self) -> str:
        """sha256 over canonical JSON of every field except where the file lies: equal on every machine."""
        fields = {f.name: getattr(self, f.name) for f in dataclasses.fields(self) if f.name not in ("root", "file")}
        return hashlib.sha256(msgspec.json.encode(fields, order="sorted")).hexdigest()


def load_configuration(
    start: Path,
    *,
    explicit: Path | None = None,
    overrides: Mapping[str, object] | None = None,
    operators_required: bool = True,
) -> Configuration:
    """Read the configuration.

    Args:
        start: directory the search goes upwards from; relative names in messages start here too.
        explicit: the file given with `--config`, which is then the only one looked at.
        overrides: values from the command line by key, each replacing the file's value of that key whole; None is
            "not given", texts are read as TOML values where the key needs one, relative paths start at the root.
        operators_required: whether a configuration without operators is an error.

    Raises:
        ConfigurationError: with every problem at once.
    """
    source = find_source(start) if explicit is None else read_source(explicit, start)
    problems: list[Problem] = []
    fields: dict[str, Any] = {
        **_fields({} if source is None else _flat(source.table), source, problems),
        **_fields(_command_line(overrides or {}), None, problems),
    }
    if problems:
        raise configuration_error(problems)
    if operators_required and "operators" not in fields:
        raise _no_operators(source, start)
    if source is None:
        return Configuration(root=start.resolve(), **fields)
    return Configuration(root=source.path.parent, file=source.path, **fields)


def _fields(values: Mapping[str, object], source: Source | None, problems: list[Problem]) -> dict[str, object]:
    settings = {setting.key: setting for setting in SETTINGS}

    def complain(key: str, found: str, expected: str) -> None:
        where = COMMAND_LINE if source is None else source.where(key)
        problems.append(Problem(where=where, key=key, found=found, expected=expected))

    for key in values:
        if key not in settings:
            complain(key, "is not a key", suggestion(key, settings))
    return {
        settings[key].field: settings[key].read(key, value, complain)
        for key, value in values.items()
        if key in settings
    }


def _no_operators(source: Source | None, start: Path) -> ConfigurationError:
    if source is not None:
        return ConfigurationError(f"{source.shown}: `operators` is missing; wanted files or modules", next_step=EXAMPLE)
    return ConfigurationError(
        f"no configuration: neither {OWN_FILE} nor a {SHARED_FILE} with [{SHARED_TABLE}] in {start} or above",
        next_step=EXAMPLE,
    )


def _command_line(overrides: Mapping[str, object]) -> dict[str, object]:
    given = {key: value for key, value in overrides.items() if value is not None}
    return {key: _typed(key, value) if isinstance(value, str) else value for key, value in given.items()}


def _typed(key: str, text: str) -> object:
    """A text from the command line as the TOML value it stands for."""
    if key in _LISTS:
        return [item for item in re.split(r"[\s,]+", text) if item]
    if key not in _LITERALS:
        return text
    try:
        return msgspec.toml.decode(f"value = {text}")["value"]
    except msgspec.DecodeError:
        return text


def _flat(table: Mapping[str, object]) -> dict[str, object]:
    """`{"bundle": {"values": x}}` as `{"bundle.values": x}`; every other table belongs to its key."""
    bundle = table.get("bundle")
    if not isinstance(bundle, dict):
        return dict(table)
    rest = {key: value for key, value in table.items() if key != "bundle"}
    return {**rest, **{f"bundle.{key}": value for key, value in bundle.items()}}

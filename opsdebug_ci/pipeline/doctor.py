"""`opsdebug doctor`: what is here, what is missing, what to do about it.

Decides the list of checks and their order. Every check is made even when an earlier one failed.
"""

from __future__ import annotations

import shutil
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

from opsdebug_ci.errors import OpsdebugError
from opsdebug_ci.execution import check_interpreter
from opsdebug_ci.model.comparability import described
from opsdebug_ci.pipeline.records import configured_store
from opsdebug_ci.pipeline.workbench import available_devices, workbench, worker_pool
from opsdebug_ci.pipeline.world import World
from opsdebug_ci.plan import Configuration, load_configuration, read_revision


@dataclass(frozen=True, slots=True, kw_only=True)
class Check:
    """One thing looked at."""

    subject: str
    """What was looked at."""

    found: str
    """What is there."""

    ok: bool
    """Whether it will do."""

    required: bool
    """Whether runs need it."""

    next_step: str = ""
    """What to do when it will not."""


def examine(world: World, config: Path | None) -> tuple[Check, ...]:
    """Look at configuration, interpreter, machine, operators, devices, store, git and compiler."""
    configuration, first = _configuration(world, config)
    if configuration is None:
        return (first, *_tools(world.directory))
    return (first, *_of_configuration(configuration, world), *_tools(configuration.root))


def _configuration(world: World, config: Path | None) -> tuple[Configuration | None, Check]:
    try:
        found = load_configuration(world.directory, explicit=config)
    except OpsdebugError as error:
        return None, _failed("configuration", error)
    return found, _passed("configuration", f"{found.file}: operators in {', '.join(found.operators)}")


def _of_configuration(configuration: Configuration, world: World) -> Iterator[Check]:
    checks: tuple[tuple[str, Callable[[], str]], ...] = (
        ("interpreter", lambda: _interpreter(configuration, world)),
        ("machine", lambda: _machine(configuration, world)),
        ("operators", lambda: _operators(configuration, world)),
        ("store", lambda: _store(configuration, world)),
    )
    for subject, look in checks:
        yield _looked(subject, look)


def _looked(subject: str, look: Callable[[], str]) -> Check:
    try:
        return _passed(subject, look())
    except OpsdebugError as error:
        return _failed(subject, error)


def _interpreter(configuration: Configuration, world: World) -> str:
    found = check_interpreter(configuration.interpreter, world.environ)
    without = "" if found.mpmath else "; no mpmath, so references may not use it"
    return f"{found.path}: Python {found.version}, torch {found.torch or 'of your own build'}{without}"


def _machine(configuration: Configuration, world: World) -> str:
    with worker_pool(configuration, world) as pool:
        machine = pool.identify()
    return f"{machine.key}: {', '.join(described(machine))}"


def _operators(configuration: Configuration, world: World) -> str:
    with workbench(configuration, world) as bench:
        devices = ", ".join(available_devices(configuration, bench.machine))
        count = len(bench.catalogue.operators)
        return f"{count} operator{'' if count == 1 else 's'}; devices: {devices}; {bench.machine.cores} cores"


def _store(configuration: Configuration, world: World) -> str:
    store = configured_store(configuration, world.environ)
    store.check_writable()
    return f"{store.location}: {'a store' if store.exists() else 'will be made by the first `opsdebug ci`'}"


def _tools(root: Path) -> Iterator[Check]:
    commit = read_revision(root).commit
    yield Check(
        subject="git",
        found=f"commit {commit[:12]}" if commit else "not a git repository, or without commits",
        ok=bool(commit),
        required=False,
        next_step="" if commit else "`git init` and commit: without history every failure is new",
    )
    compiler = next((path for name in ("cc", "gcc", "clang") if (path := shutil.which(name))), None)
    yield Check(
        subject="C compiler",
        found=compiler or "none",
        ok=compiler is not None,
        required=False,
        next_step="" if compiler else "install one to run the built-in operators written in C",
    )


def _passed(subject: str, found: str) -> Check:
    return Check(subject=subject, found=found, ok=True, required=True)


def _failed(subject: str, error: OpsdebugError) -> Check:
    return Check(subject=subject, found=error.message, ok=False, required=True, next_step=error.next_step)

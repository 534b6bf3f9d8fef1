"""A pool of workers in the configured interpreter, with the configured operators found in it."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace

from opsdebug_ci.errors import DiscoveryError, EnvironmentLimitError
from opsdebug_ci.execution import Limits, WorkerPool, check_interpreter
from opsdebug_ci.model import Catalogue, Machine, OperatorDescription
from opsdebug_ci.pipeline.world import World
from opsdebug_ci.plan import Configuration


@dataclass(frozen=True, slots=True, kw_only=True)
class Workbench:
    """What a run works with."""

    pool: WorkerPool
    """Workers, ready for cases."""

    catalogue: Catalogue
    """Operators found; without faults."""

    machine: Machine
    """Where the workers run."""

    devices: tuple[str, ...]
    """Devices to run on."""


@contextmanager
def workbench(
    configuration: Configuration, world: World, *, workers: int | None = None, threads: int | None = None
) -> Iterator[Workbench]:
    """Start workers and find the operators; see `WorkerPool` for how many workers and threads.

    Raises:
        EnvironmentLimitError: the interpreter cannot run workers, or a configured device is not there.
        DiscoveryError: any module or declaration is at fault; the message lists every fault.
    """
    with worker_pool(configuration, world, workers=workers, threads=threads) as pool:
        catalogue = pool.describe(configuration.operators, configuration.root)
        if catalogue.faults:
            raise discovery_error(catalogue)
        catalogue = replace(
            catalogue, operators=tuple(_configured(each, configuration) for each in catalogue.operators)
        )
        machine = pool.identify()
        yield Workbench(
            pool=pool, catalogue=catalogue, machine=machine, devices=available_devices(configuration, machine)
        )


def _configured(operator: OperatorDescription, configuration: Configuration) -> OperatorDescription:
    """`operator` with a contract in which nothing is left to the configuration."""
    names = (operator.name, operator.module, "default")
    empty = next((configuration.empty[name] for name in names if name in configuration.empty), None)
    return replace(operator, contract=replace(operator.contract, empty=operator.contract.empty or empty))


@contextmanager
def worker_pool(
    configuration: Configuration, world: World, *, workers: int | None = None, threads: int | None = None
) -> Iterator[WorkerPool]:
    """Workers in the configured interpreter, with the configured limits."""
    interpreter = check_interpreter(configuration.interpreter, world.environ)
    limits = Limits(timeout_s=configuration.timeout_s, memory_bytes=configuration.memory_bytes)
    with WorkerPool(
        interpreter.path,
        workers=workers,
        limits=limits,
        directory=configuration.root,
        environment=world.environ,
        threads=threads,
    ) as pool:
        yield pool


def discovery_error(catalogue: Catalogue) -> DiscoveryError:
    """Every fault in one error."""
    faults = [
        f"{fault.where}: found {fault.found}; expected {fault.expected}\n    next: {fault.next_step}"
        for fault in catalogue.faults
    ]
    count = "1 problem" if len(faults) == 1 else f"{len(faults)} problems"
    return DiscoveryError(f"{count} with the configured operators:\n  " + "\n  ".join(faults))


def available_devices(configuration: Configuration, machine: Machine) -> tuple[str, ...]:
    """The configured devices, or the CPU and what accelerator there is."""
    present = ("cpu", "cuda") if machine.devices else ("cpu",)
    missing = [
        device for device in configuration.devices if device.partition(":")[0] == "cuda" and "cuda" not in present
    ]
    if missing:
        raise EnvironmentLimitError(
            f"`devices` has {', '.join(missing)}, but torch {machine.torch} sees no such device here",
            next_step="run `opsdebug doctor`, or remove it from `devices`",
        )
    return configuration.devices or present

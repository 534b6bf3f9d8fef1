"""A temporary `opsdebug_ci` with a fake worker, and pools of it."""

from __future__ import annotations

import os
import shutil
import sys
import time
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import Executor, ThreadPoolExecutor
from pathlib import Path

import pytest

from opsdebug_ci.execution import Limits, WorkerPool
from opsdebug_ci.execution.launch import PACKAGE
from opsdebug_ci.model import Case, Family, Layout, Observation

MakePool = Callable[..., WorkerPool]


def make_case(operator: str, seed: int = 0) -> Case:
    return Case(
        operator=operator, dims={"N": 4}, dtype="float32", layout=Layout.CONTIGUOUS, inputs=Family.NORMAL, seed=seed
    )


def observe(pool: WorkerPool, *operators: str) -> dict[str, Observation]:
    """Run one case per operator."""
    return {case.operator: seen for case, seen in pool.run([make_case(name) for name in operators])}


def processes_of(mark: str | Path) -> list[int]:
    """Processes whose command line has `mark`, and zombies that this process has not reaped."""
    found = []
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit() and int(entry.name) != os.getpid():
            try:
                command = (entry / "cmdline").read_bytes()
                state, parent = (entry / "stat").read_text().rpartition(")")[2].split()[:2]
            except OSError:  # gone meanwhile
                continue
            if str(mark).encode() in command or (state == "Z" and int(parent) == os.getpid()):
                found.append(int(entry.name))
    return found


def await_none(mark: str | Path, timeout_s: float = 30.0) -> list[int]:
    """What is left of the processes of `mark` after a while; killing is not instantaneous."""
    deadline = time.monotonic() + timeout_s
    while processes_of(mark) and time.monotonic() < deadline:
        time.sleep(0.02)
    return processes_of(mark)


def write_package(directory: Path) -> Path:
    """An `opsdebug_ci` that has the shared values of the real one and the fake worker."""
    package = directory / "opsdebug_ci"
    (package / "worker").mkdir(parents=True)
    (package / "__init__.py").write_text("")
    (package / "worker/__init__.py").write_text("")
    shutil.copy(Path(__file__).with_name("fake_worker.py"), package / "worker/process.py")
    (package / "model").symlink_to(PACKAGE / "model")
    (package / "errors.py").symlink_to(PACKAGE / "errors.py")
    return package


@pytest.fixture
def package(tmp_path: Path) -> Path:
    return write_package(tmp_path / "installed")


@pytest.fixture
def make_pool(package: Path, tmp_path: Path) -> Iterator[MakePool]:
    """Makes pools and proves at the end that nothing of theirs is left."""
    pools: list[WorkerPool] = []

    def make(
        *,
        timeout_s: float = 20.0,
        memory_bytes: int | None = None,
        workers: int = 1,
        environment: Mapping[str, str] | None = None,
        directory: Path | None = None,
        engine: Callable[[int], Executor] = ThreadPoolExecutor,
    ) -> WorkerPool:
        pool = WorkerPool(
            sys.executable,
            workers=workers,
            limits=Limits(timeout_s=timeout_s, memory_bytes=memory_bytes, start_timeout_s=20.0),
            directory=directory,
            environment=environment,
            package=package,
            engine=engine,
        )
        pools.append(pool)
        return pool

    yield make
    for pool in pools:
        pool.close()
    assert await_none(tmp_path) == []


@pytest.fixture(scope="module")
def pool(tmp_path_factory: pytest.TempPathFactory) -> Iterator[WorkerPool]:
    """One worker for the tests of a module that need nothing special, operators described."""
    directory = tmp_path_factory.mktemp("shared")
    package = write_package(directory)
    with WorkerPool(sys.executable, workers=1, limits=Limits(timeout_s=20), package=package) as made:
        made.describe(["ops"], directory)
        yield made
    assert await_none(directory) == []

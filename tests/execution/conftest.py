"""A temporary `opsdebug_ci` with a fake worker, and pools of it."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import Executor, ThreadPoolExecutor
from pathlib import Path

import pytest
from execution_notation import MakePool, await_none, write_package

from opsdebug_ci.execution import Limits, WorkerPool


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

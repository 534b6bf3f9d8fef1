"""Cases of the fake worker, what pools answer for them, and which processes are left."""

from __future__ import annotations

import os
import shutil
import time
from collections.abc import Callable
from pathlib import Path

from opsdebug_ci.execution import WorkerPool
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

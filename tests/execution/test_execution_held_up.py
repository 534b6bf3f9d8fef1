"""A machine that stops for a while, under the driver or under a worker, changes no verdict and hides no place."""

from __future__ import annotations

import contextlib
import os
import select
import signal
import sys
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest
from execution_notation import make_case

from opsdebug_ci.execution.death import Death, Ending
from opsdebug_ci.execution.launch import Launcher, WorkerProcess
from opsdebug_ci.execution.worker_client import TRACEBACK_S, WorkerClient
from opsdebug_ci.model import Machine, Observation
from opsdebug_ci.model.message import Identify, RunCase

PATIENCE_S = 60.0


@pytest.fixture
def worker(package: Path, tmp_path: Path) -> Iterator[WorkerProcess]:
    launcher = Launcher(sys.executable, {"OMP_NUM_THREADS": "1"}, directory=tmp_path, package=package)
    yield launcher.start()
    launcher.close()


class HeldDriver:
    """The clock of a driver that is held up after it has sent a request, until there is something to read."""

    def __init__(self, worker: WorkerProcess) -> None:
        self.reads = -1
        """Since `hold`; -1: it is not held up."""

        self.answers = select.poll()
        self.answers.register(worker.reply_fd, select.POLLIN)

    def hold(self) -> None:
        """From the next request on, whose deadline is the first thing that is read off it."""
        self.reads = 0

    def __call__(self) -> float:
        if self.reads < 0:
            return 0.0
        self.reads += 1
        return 1e6 if self.reads > 1 and self.is_over() else 0.0

    def is_over(self) -> bool:
        return bool(self.answers.poll(200))  # in vain before the request is sent


class HeldWorker(HeldDriver):
    """The same, where the worker too stops then, for longer than one look at what it printed."""

    def __init__(self, worker: WorkerProcess) -> None:
        super().__init__(worker)
        self.pid = worker.process.pid

    def is_over(self) -> bool:
        if not super().is_over() and self.reads < 50:
            return False
        os.kill(self.pid, signal.SIGSTOP)
        threading.Timer(2 * TRACEBACK_S, self.go_on).start()
        return True

    def go_on(self) -> None:
        with contextlib.suppress(ProcessLookupError):
            os.kill(self.pid, signal.SIGCONT)


def test_an_answer_that_came_in_time_counts_though_the_driver_looks_late(worker: WorkerProcess) -> None:
    clock = HeldDriver(worker)
    client = WorkerClient(worker, clock=clock)
    assert client.await_ready(PATIENCE_S) is None
    clock.hold()
    assert isinstance(client.ask(Identify(), Machine, 1.0), Machine)
    assert client.alive


def test_where_a_worker_hangs_is_told_though_it_prints_late(worker: WorkerProcess) -> None:
    clock = HeldWorker(worker)
    client = WorkerClient(worker, clock=clock)
    assert client.await_ready(PATIENCE_S) is None
    clock.hold()
    death = client.ask(RunCase(case=make_case("spin"), repeats=1, hunt_s=1.0), Observation, 1.0)
    assert isinstance(death, Death)
    assert death.ending is Ending.TIMEOUT
    assert death.breadcrumb is not None
    assert death.frames, death.log_tail

"""The worker's loop over real pipes, in a process of its own."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
import torch
from worker_notation import case_of, unary

from opsdebug_ci.execution.wire_reader import read_reply
from opsdebug_ci.model import Calibration, Case, Catalogue, Machine, Observation, Phase, Status
from opsdebug_ci.model.comparability import machine_key
from opsdebug_ci.model.message import Breadcrumb, Calibrate, Describe, Identify, Reply, RunCase
from opsdebug_ci.model.wire import encode

OPERATORS = """
import os, sys
import torch
from opsdebug_ci import operator, tensor

print("imported with noise")

@operator(kind="elementwise", x=tensor("N"), dims={"N": 6})
def unary(x):
    print('{"type":"Observation"}', flush=True)
    os.write(1, b"more noise\\n")
    sys.stderr.write("and more\\n")
    return x + x

@unary.reference("torch")
def _(x):
    return 2 * x

class Uncopied(torch.Tensor):
    def clone(self, **_):
        raise RuntimeError("copy refused")

@operator(kind="elementwise", x=tensor("N"), dims={"N": 6})
def formless(x):
    return (2 * x).as_subclass(Uncopied)

@formless.reference("torch")
def _(x):
    return 2 * x
"""

SCRIPT = "import sys; from opsdebug_ci.worker.process import serve; serve(*map(int, sys.argv[1:]))"


class Worker:
    """A worker with its two pipes and its trail."""

    def __init__(self, root: Path) -> None:
        self.root = root
        request_read, self._requests = os.pipe()
        self._replies, reply_write = os.pipe()
        self._trail = root / "trail"
        trail_fd = os.open(self._trail, os.O_CREAT | os.O_APPEND | os.O_WRONLY)
        self.process = subprocess.Popen(
            [sys.executable, "-c", SCRIPT, *map(str, (request_read, reply_write, trail_fd))],
            pass_fds=(request_read, reply_write, trail_fd),
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
        )
        os.close(request_read)
        os.close(reply_write)
        os.close(trail_fd)
        self._lines = open(self._replies, "rb")  # noqa: SIM115 - closed with the worker

    def ask(self, request: object) -> tuple[list[Breadcrumb], Reply]:
        os.write(self._requests, (encode(request) + "\n").encode())
        reply = read_reply(self._lines.readline())
        crumbs = [read_reply(line) for line in self._trail.read_bytes().splitlines()]
        os.truncate(self._trail, 0)
        return [crumb for crumb in crumbs if isinstance(crumb, Breadcrumb)], reply

    def close(self) -> tuple[int, str]:
        """End its requests; exit status and what it printed."""
        os.close(self._requests)
        printed, _ = self.process.communicate(timeout=60)
        self._lines.close()
        return self.process.returncode, printed.decode()


@pytest.fixture(scope="module")
def worker(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Worker]:
    root = tmp_path_factory.mktemp("served")
    (root / "served_ops.py").write_text(OPERATORS)
    served = Worker(root)
    _, catalogue = served.ask(Describe(modules=("served_ops.py",), root=str(root)))
    assert isinstance(catalogue, Catalogue)
    yield served
    status, printed = served.close()
    assert status == 0
    assert printed.startswith("imported with noise\n")


def case(operator: str) -> Case:
    declared = unary(lambda x: x)
    declared.name = operator
    return case_of(declared)


def test_describe_finds_operators_and_faults(worker: Worker) -> None:
    crumbs, catalogue = worker.ask(Describe(modules=("served_ops.py", "absent.py"), root=str(worker.root)))
    assert [crumb.phase for crumb in crumbs] == [Phase.DISCOVER]
    assert isinstance(catalogue, Catalogue)
    assert [found.name for found in catalogue.operators] == ["unary", "formless"]
    assert [fault.where for fault in catalogue.faults] == ["absent.py"]


def test_a_case_is_run_whatever_the_operator_prints(worker: Worker) -> None:
    crumbs, observation = worker.ask(RunCase(case=case("unary"), repeats=2))
    assert isinstance(observation, Observation)
    assert (observation.status, observation.case_id) == (Status.RAN, case("unary").id)
    assert [output.rejected for output in observation.outputs] == [0]
    assert [crumb.phase for crumb in crumbs] == [
        Phase.INPUTS,
        Phase.FUNCTION,
        Phase.REFERENCE,
        Phase.REFERENCE,
        Phase.COMPARE,
        Phase.REFERENCE,
        Phase.FUNCTION,
    ]


def test_an_operator_that_was_not_described_is_an_error(worker: Worker) -> None:
    crumbs, observation = worker.ask(RunCase(case=case("nobody")))
    assert isinstance(observation, Observation)
    assert (crumbs, observation.status) == ([], Status.WORKER_BROKEN)
    assert observation.reason == "operator `nobody` was not described in this process"


def test_a_fault_of_ours_is_told_as_such_and_the_worker_lives_on(worker: Worker) -> None:
    _, observation = worker.ask(RunCase(case=case("formless")))
    assert isinstance(observation, Observation)
    assert observation.status is Status.WORKER_BROKEN
    assert (observation.reason or "").startswith("internal error: RuntimeError: ")
    assert observation.exception is not None
    assert observation.exception.type == "RuntimeError"
    _, next_one = worker.ask(RunCase(case=case("unary")))
    assert isinstance(next_one, Observation)
    assert next_one.status is Status.RAN


def test_a_device_that_does_not_exist_has_no_probes(worker: Worker) -> None:
    for device in ("xpu:7", "abacus"):
        assert worker.ask(Calibrate(device=device)) == ([], Calibration(device=device, probes=()))


def test_a_machine_says_which_one_it_is(worker: Worker) -> None:
    _, machine = worker.ask(Identify())
    assert isinstance(machine, Machine)
    assert machine.key == machine_key(machine)
    assert machine.instruction_set == torch.backends.cpu.get_cpu_capability()
    assert machine.cores == len(os.sched_getaffinity(0))
    assert machine.python == ".".join(map(str, sys.version_info[:3]))
    assert machine.memory_bytes == os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    assert {"numpy", "mpmath"} <= set(machine.versions)
    assert worker.ask(Identify())[1] == machine


def test_the_worker_ends_with_its_requests(tmp_path: Path) -> None:
    assert Worker(tmp_path).close() == (0, "")

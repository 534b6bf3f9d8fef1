"""The real worker in this interpreter, with operators that end their process."""

from __future__ import annotations

import sys
from dataclasses import replace
from pathlib import Path

import pytest
from execution_notation import await_none, make_case

from opsdebug_ci.execution import Limits, WorkerPool
from opsdebug_ci.model import Family, Phase, Status

OPERATORS = """
import ctypes
import os
import sys

import torch

from opsdebug_ci import operator, tensor


@operator(kind="elementwise", x=tensor("N"))
def twice(x):
    print("noise")
    return x + x


@twice.reference("torch")
def _(x):
    return 2 * x


@operator(kind="elementwise", x=tensor("N"))
def deadly(x):
    ctypes.string_at(0)


@deadly.reference("torch")
def _(x):
    return 2 * x


@operator(kind="elementwise", x=tensor("N"))
def leaves(x):
    sys.exit(f"pid {os.getpid()}")


@operator(kind="elementwise", x=tensor("N"))
def interrupts(x):
    raise KeyboardInterrupt(f"pid {os.getpid()}")


@operator(kind="elementwise", x=tensor("N"))
def fails(x):
    raise RuntimeError(f"pid {os.getpid()}")


@operator(kind="elementwise", x=tensor("N"))
def unreferenced(x):
    return x + x


for own in (leaves, interrupts, fails):

    @own.reference("torch")
    def _(x):
        return 2 * x


@unreferenced.reference("torch")
def _(x):
    sys.exit(f"pid {os.getpid()}")
"""


NAMES = ["twice", "deadly", "leaves", "interrupts", "fails", "unreferenced"]


def test_a_crash_of_one_real_operator_leaves_the_other_alone(tmp_path: Path) -> None:
    (tmp_path / "ops.py").write_text(OPERATORS)
    with WorkerPool(sys.executable, workers=1, limits=Limits(timeout_s=60), directory=tmp_path) as pool:
        catalogue = pool.describe(["ops.py"], tmp_path)
        assert (catalogue.faults, [found.name for found in catalogue.operators]) == ((), NAMES)
        cases = [make_case("twice"), make_case("deadly"), make_case("twice", seed=1)]
        seen = {(case.operator, case.seed): observation for case, observation in pool.run(cases)}
    death = seen["deadly", 0]
    assert death.status is Status.CRASHED
    assert death.process is not None
    assert (death.process.signal, death.process.phase) == ("SIGSEGV", Phase.FUNCTION)
    assert "deadly" in death.process.log_tail
    for seed in (0, 1):
        assert seen["twice", seed].status is Status.RAN
        assert [output.rejected for output in seen["twice", seed].outputs] == [0]
    assert await_none(str(tmp_path)) == []


def test_an_operator_or_reference_that_exits_ends_its_case_and_not_the_worker(tmp_path: Path) -> None:
    (tmp_path / "ops.py").write_text(OPERATORS)
    with WorkerPool(sys.executable, workers=1, limits=Limits(timeout_s=60), directory=tmp_path) as pool:
        pool.describe(["ops.py"], tmp_path)
        cases = [make_case(name) for name in ("fails", "leaves", "interrupts", "unreferenced", "twice")]
        seen = {case.operator: observation for case, observation in pool.run(cases)}
    pid = (seen["fails"].reason or "").removeprefix("RuntimeError: ")
    assert pid.startswith("pid ")
    raised = [(seen[name].status, seen[name].reason) for name in ("leaves", "interrupts")]
    assert raised == [(Status.RAISED, f"SystemExit: {pid}"), (Status.RAISED, f"KeyboardInterrupt: {pid}")]
    assert [fact.type for fact in (seen["leaves"].exception, seen["interrupts"].exception) if fact is not None] == [
        "SystemExit",
        "KeyboardInterrupt",
    ]
    exited = seen["unreferenced"]
    assert exited.status is Status.REFERENCE_BROKEN
    assert (exited.reason or "").startswith(f"reference `torch`: SystemExit: {pid} (at ")
    assert exited.references[0].fault
    assert seen["twice"].status is Status.RAN
    assert await_none(str(tmp_path)) == []


WRONG = """
import ctypes
import os
import time

import torch

from opsdebug_ci import operator, tensor

KNOWN = {}


def guarded(name, end):
    def function(x):
        known = KNOWN.setdefault(name, x.clone())
        if x.shape != known.shape or not torch.equal(x, known):
            end()
        return 2 * x + 0.1

    function.__name__ = name
    found = operator(kind="elementwise", x=tensor("N"))(function)
    found.reference("torch")(lambda x: 2 * x)
    return found


crashes = guarded("crashes", lambda: ctypes.string_at(0))
exits = guarded("exits", lambda: os._exit(7))
hangs = guarded("hangs", lambda: time.sleep(600))
"""


@pytest.mark.slow
def test_what_ends_the_worker_while_causes_are_sought_leaves_the_failure_told(tmp_path: Path) -> None:
    (tmp_path / "ops.py").write_text(WRONG)
    with WorkerPool(sys.executable, workers=1, limits=Limits(timeout_s=12), directory=tmp_path) as pool:
        catalogue = pool.describe(["ops.py"], tmp_path)
        assert (catalogue.faults, len(catalogue.operators)) == ((), 3)
        cases = [replace(make_case(found.name), inputs=Family.UNIFORM) for found in catalogue.operators]
        seen = {case.operator: observation for case, observation in pool.run(cases)}
    assert {name: (found.status, found.outputs[0].rejected > 0) for name, found in seen.items()} == dict.fromkeys(
        ("crashes", "exits", "hangs"), (Status.RAN, True)
    )
    assert await_none(str(tmp_path)) == []


HUNGRY = """
import time

import torch

from opsdebug_ci import operator, tensor

KNOWN = []


@operator(kind="elementwise", x=tensor("N"))
def twice(x):
    KNOWN.append(x.clone()) if not KNOWN else None
    if (x / KNOWN[0] - 1).abs().max() > 0.1:
        held = torch.ones(100_000_000)
        time.sleep(5)
    return x + x


@twice.reference("torch")
def _(x):
    return 2 * x
"""


def test_memory_for_what_lies_beyond_values_costs_no_verdict(tmp_path: Path) -> None:
    (tmp_path / "ops.py").write_text(HUNGRY)
    limits = Limits(timeout_s=60, memory_bytes=250_000_000)
    with WorkerPool(sys.executable, workers=1, limits=limits, directory=tmp_path) as pool:
        pool.describe(["ops.py"], tmp_path)
        [(_, seen)] = list(pool.run([make_case("twice")]))
    assert (seen.status, [output.rejected for output in seen.outputs], seen.properties) == (Status.RAN, [0], ())
    assert await_none(str(tmp_path)) == []

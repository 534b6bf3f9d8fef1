"""The real worker in this interpreter, with operators that end their process."""

from __future__ import annotations

import sys
from pathlib import Path

from conftest import await_none, make_case

from opsdebug_ci.execution import Limits, WorkerPool
from opsdebug_ci.model import Phase, Status

OPERATORS = """
import ctypes

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
"""


def test_a_crash_of_one_real_operator_leaves_the_other_alone(tmp_path: Path) -> None:
    (tmp_path / "ops.py").write_text(OPERATORS)
    with WorkerPool(sys.executable, workers=1, limits=Limits(timeout_s=60), directory=tmp_path) as pool:
        catalogue = pool.describe(["ops.py"], tmp_path)
        assert (catalogue.faults, [found.name for found in catalogue.operators]) == ((), ["twice", "deadly"])
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

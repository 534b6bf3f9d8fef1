"""Describing: a module that kills its process is a fault in the catalogue, the others still count."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest
from execution_notation import MakePool, observe, write_package

from opsdebug_ci.errors import EnvironmentLimitError, WorkerError
from opsdebug_ci.execution import Limits, WorkerPool
from opsdebug_ci.model import Status


def test_operators_and_faults_come_back_as_values(make_pool: MakePool, tmp_path: Path) -> None:
    catalogue = make_pool().describe(["a", "empty", "b"], tmp_path)
    assert [operator.name for operator in catalogue.operators] == ["a", "b"]
    assert [(fault.where, fault.found) for fault in catalogue.faults] == [("empty", "nothing")]


def test_the_guilty_module_is_found_and_the_others_run(make_pool: MakePool, tmp_path: Path) -> None:
    pool = make_pool(workers=2)
    catalogue = pool.describe(["a", "segfault", "b", "leave", "empty"], tmp_path)
    assert [operator.name for operator in catalogue.operators] == ["a", "b"]
    assert [fault.where for fault in catalogue.faults] == ["segfault", "leave", "empty"]
    crash, exit_ = catalogue.faults[:2]
    assert crash.found.startswith(
        "the worker was killed by SIGSEGV, while importing the operators' modules (segfault); it said `"
    )
    assert exit_.found == (
        "the worker was ended by an exit with status 3, while importing the operators' modules (leave)"
    )
    assert exit_.next_step == f"run it alone: `{sys.executable} -X faulthandler -c 'import leave'`"
    seen = observe(pool, "loaded", "segfault")
    assert seen["loaded"].reason == "a,b,empty"
    assert seen["segfault"].status is Status.CRASHED


def test_a_single_deadly_module_leaves_an_empty_catalogue(make_pool: MakePool, tmp_path: Path) -> None:
    catalogue = make_pool().describe(["segfault"], tmp_path)
    assert catalogue.operators == ()
    assert [fault.where for fault in catalogue.faults] == ["segfault"]


def test_modules_that_only_die_together_are_one_fault(make_pool: MakePool, tmp_path: Path) -> None:
    (tmp_path / "flag").write_text("")
    catalogue = make_pool().describe(["once:x", "a"], tmp_path)
    assert [fault.where for fault in catalogue.faults] == ["once:x"]
    assert [operator.name for operator in catalogue.operators] == ["a"]


def test_describing_again_starts_from_a_clean_process(make_pool: MakePool, tmp_path: Path) -> None:
    pool = make_pool()
    pool.describe(["a"], tmp_path)
    assert [operator.name for operator in pool.describe(["b"], tmp_path).operators] == ["b"]
    assert observe(pool, "loaded")["loaded"].reason == "b"


def test_restarts_that_never_serve_are_given_up(make_pool: MakePool, tmp_path: Path) -> None:
    pool = make_pool()
    assert [operator.name for operator in pool.describe(["once:x"], tmp_path).operators] == ["once:x"]
    seen = observe(pool, "segfault", "add", "mul", "sub")
    assert seen["segfault"].status is Status.CRASHED
    assert {seen[name].status for name in ("add", "mul", "sub")} == {Status.WORKER_BROKEN}
    assert seen["sub"].reason == (
        "3 workers in a row did not start; the last: the worker was ended by an exit with status 3, "
        "while importing the operators' modules (once:x)"
    )


@pytest.mark.parametrize("loop", ["raise SystemExit(9)", "import nothing_of_this_name", "def serve(a): pass"])
def test_a_worker_that_cannot_start_is_an_error_not_a_loop(tmp_path: Path, loop: str) -> None:
    package = write_package(tmp_path)
    (package / "worker/process.py").write_text(loop)
    with (
        WorkerPool(sys.executable, workers=1, limits=Limits(start_timeout_s=20), package=package) as pool,
        pytest.raises(WorkerError, match=r"did not start|ended by an exit with status 1, before it began"),
    ):
        pool.identify()


def test_a_worker_that_hangs_at_the_start_is_given_up(tmp_path: Path) -> None:
    package = write_package(tmp_path)
    (package / "worker/process.py").write_text("import time\ntime.sleep(300)")
    with (
        WorkerPool(sys.executable, workers=1, limits=Limits(start_timeout_s=0.3), package=package) as pool,
        pytest.raises(WorkerError, match=r"3 workers in a row did not start; the last: .* after 0.3 s"),
    ):
        pool.describe(["a"], tmp_path)


def test_an_interpreter_that_cannot_be_executed_is_an_environment_limit(tmp_path: Path) -> None:
    with (
        WorkerPool(str(tmp_path / "python"), workers=1) as pool,
        pytest.raises(EnvironmentLimitError, match=r"`.*/python` could not be started in .*No such file"),
    ):
        pool.identify()

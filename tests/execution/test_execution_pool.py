"""Whatever a case does to its worker, it is answered once and the others go on. Real processes, pipes and signals."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from concurrent.futures import Executor, ThreadPoolExecutor
from pathlib import Path

import pytest
from execution_notation import MakePool, await_none, make_case, observe, processes_of

from opsdebug_ci.errors import EnvironmentLimitError, InternalError, WorkerError
from opsdebug_ci.execution import WorkerPool
from opsdebug_ci.execution.turns import take_turns
from opsdebug_ci.model import Phase, Status
from opsdebug_ci.model.vocabulary import Profile


def test_a_quiet_case_is_answered_by_the_worker_that_described(pool: WorkerPool) -> None:
    seen = observe(pool, "pid", "add")
    assert {o.status for o in seen.values()} == {Status.RAN}
    assert seen["add"].reason == f"repeats=1 profile=quick pid={seen['pid'].reason}"
    assert seen["add"].process is None


def test_repeats_and_profile_reach_the_worker(pool: WorkerPool) -> None:
    [(_, seen)] = pool.run([make_case("add")], repeats=7, profile=Profile.DEEP)
    assert seen.reason is not None and seen.reason.startswith("repeats=7 profile=deep ")


@pytest.mark.parametrize(
    ("operator", "status", "signal_name", "exit_code", "phase", "reason"),
    [
        ("segfault", "crashed", "SIGSEGV", None, "function", "killed by SIGSEGV, while running the operator."),
        ("leave", "crashed", None, 3, "function", "ended by an exit with status 3, while running the operator."),
        ("probe:segfault", "crashed", "SIGSEGV", None, "probe", "killed by SIGSEGV, while probing the operator."),
        ("compare:segfault", "crashed", "SIGSEGV", None, "compare", "killed by SIGSEGV, while comparing the outputs."),
        ("inputs:segfault", "inputs_broken", "SIGSEGV", None, "inputs", "killed by SIGSEGV, while making the inputs."),
        (
            "inputs:leave",
            "inputs_broken",
            None,
            3,
            "inputs",
            "ended by an exit with status 3, while making the inputs.",
        ),
        (
            "reference:segfault",
            "reference_broken",
            "SIGSEGV",
            None,
            "reference",
            "killed by SIGSEGV, while running a reference (torch).",
        ),
        ("memory_error", "out_of_memory", None, 1, "function", "out of memory, while running the operator."),
    ],
)
def test_death_is_placed_and_the_next_case_runs(
    pool: WorkerPool,
    operator: str,
    status: str,
    signal_name: str | None,
    exit_code: int | None,
    phase: str,
    reason: str,
) -> None:
    seen = observe(pool, operator, "loaded")
    death = seen[operator]
    assert death.process is not None
    assert (death.status, death.reason) == (Status(status), f"the worker was {reason}")
    assert (death.process.signal, death.process.exit_code) == (signal_name, exit_code)
    assert death.process.phase is Phase(phase)
    assert seen["loaded"].status is Status.RAN
    assert seen["loaded"].reason == "ops"  # the fresh worker was given the operators before the case


@pytest.mark.parametrize(("operator", "phase"), [("half_a_crumb", Phase.FUNCTION), ("torn_trail", Phase.DISCOVER)])
def test_a_death_is_placed_by_the_last_whole_breadcrumb(operator: str, phase: Phase, pool: WorkerPool) -> None:
    death = observe(pool, operator)[operator]
    assert death.process is not None
    assert death.process.phase is phase


def test_a_segfault_leaves_its_traceback_in_the_log(pool: WorkerPool) -> None:
    process = observe(pool, "segfault")["segfault"].process
    assert process is not None and "Segmentation fault" in process.log_tail and "in segfault" in process.log_tail


@pytest.mark.parametrize("operator", ["spin", "spin_with_lock"])
def test_a_hang_is_stopped_in_time_and_says_where(make_pool: MakePool, tmp_path: Path, operator: str) -> None:
    pool = make_pool(timeout_s=1.0)
    pool.describe(["ops"], tmp_path)
    start = time.monotonic()
    seen = observe(pool, operator, "add")
    assert 1.0 <= time.monotonic() - start < 10.0
    death = seen[operator]
    assert death.status is Status.TIMED_OUT
    assert death.reason == "the worker was stopped after 1 s without an answer, while running the operator."
    assert death.process is not None
    assert death.process.signal == "SIGKILL" and f"in {operator}" in death.process.log_tail
    assert seen["add"].status is Status.RAN


def test_a_hang_outside_the_operator_is_not_its_fault(make_pool: MakePool, tmp_path: Path) -> None:
    phases = {
        "inputs:spin": Status.INPUTS_BROKEN,
        "reference:spin": Status.REFERENCE_BROKEN,
        "compare:spin": Status.WORKER_BROKEN,
        "probe:spin": Status.TIMED_OUT,
    }
    pool = make_pool(timeout_s=1.5, workers=len(phases))
    pool.describe(["ops"], tmp_path)
    assert {name: seen.status for name, seen in observe(pool, *phases).items()} == phases


def test_a_hog_is_stopped_at_the_limit_and_a_modest_case_is_not(make_pool: MakePool, tmp_path: Path) -> None:
    pool = make_pool(memory_bytes=100_000_000)
    pool.describe(["ops"], tmp_path)
    seen = observe(pool, "hog", "large", "nap")
    assert seen["hog"].status is Status.OUT_OF_MEMORY
    assert seen["hog"].reason is not None and "MB of at most 100 MB, while running the operator" in seen["hog"].reason
    assert seen["hog"].process is not None and seen["hog"].process.signal == "SIGKILL"
    assert seen["large"].status is Status.RAN and seen["nap"].status is Status.RAN


def test_five_megabytes_in_one_line_arrive_whole(pool: WorkerPool) -> None:
    assert observe(pool, "large")["large"].reason == "y" * 5_000_000


def test_noise_on_the_standard_streams_disturbs_nothing(pool: WorkerPool, capfd: pytest.CaptureFixture[str]) -> None:
    assert observe(pool, "shout")["shout"].status is Status.RAN
    assert capfd.readouterr() == ("", "")


def test_the_log_tail_is_of_this_case_only_and_short(pool: WorkerPool) -> None:
    seen = observe(pool, "shout", "leave", "shout_and_leave")
    quiet, loud = seen["leave"].process, seen["shout_and_leave"].process
    assert quiet is not None and quiet.log_tail == ""
    assert loud is not None and loud.log_tail == "x" * 1994 + "bye..\n"


@pytest.mark.parametrize(
    ("operator", "said"),
    [
        ("malformed", "the worker sent a malformed line of 9 bytes, `{not json`"),
        ("wrong_type", "the worker sent a malformed line of 18 bytes"),
        ("unknown", "the worker sent a `Sandwich`; wanted one of Breadcrumb, Catalogue"),
        ("bad_field", "Expected `str`, got `int` - at `$.case_id`"),
        ("other_case", "the worker answered for case 0000; wanted "),
        ("close_pipe", "it closed the pipe it answers on"),
        ("loop_exception", "ended by an exit with status 1, before it began"),
    ],
)
def test_a_broken_protocol_is_the_workers_fault(pool: WorkerPool, operator: str, said: str) -> None:
    seen = observe(pool, operator, "add")
    assert seen[operator].status is Status.WORKER_BROKEN
    assert seen[operator].reason is not None and said in seen[operator].reason
    assert seen["add"].status is Status.RAN


def test_a_death_after_the_answer_does_not_hurt_the_next_case(make_pool: MakePool, tmp_path: Path) -> None:
    pool = make_pool()
    pool.describe(["ops"], tmp_path)
    cases = [make_case("die_later", seed) for seed in range(5)]
    assert [seen.status for _, seen in pool.run(cases)] == [Status.RAN] * 5


def test_forty_cases_on_two_workers_with_six_deaths_are_each_answered_once(make_pool: MakePool, tmp_path: Path) -> None:
    deadly = {3: "segfault", 9: "leave", 10: "reference:segfault", 21: "malformed", 22: "spin", 39: "inputs:leave"}
    cases = [make_case(deadly.get(seed, f"quiet{seed % 3}"), seed) for seed in range(40)]
    pool = make_pool(workers=2, timeout_s=2.0)
    pool.describe(["ops"], tmp_path)
    answers = list(pool.run(cases))
    assert sorted(case.seed for case, _ in answers) == list(range(40))
    assert all(seen.case_id == case.id for case, seen in answers)
    assert {case.seed: str(seen.status) for case, seen in answers if seen.status is not Status.RAN} == {
        3: "crashed",
        9: "crashed",
        10: "reference_broken",
        21: "worker_broken",
        22: "timed_out",
        39: "inputs_broken",
    }


def test_a_dead_workers_children_die_with_it(make_pool: MakePool, tmp_path: Path) -> None:
    pool = make_pool()
    pool.describe(["ops"], tmp_path)
    assert observe(pool, "spawn_sleeper")["spawn_sleeper"].status is Status.CRASHED
    assert await_none(f"sleeper of {tmp_path}") == []  # at once, not when the next worker starts
    seen = observe(pool, "hold_reply_pipe", "add")
    assert seen["hold_reply_pipe"].status is Status.CRASHED  # though its child keeps the pipe open
    pool.close()
    assert await_none(tmp_path) == []


def test_workers_start_only_as_cases_need_them(make_pool: MakePool, tmp_path: Path) -> None:
    pool = make_pool(workers=3)
    assert processes_of(tmp_path) == []
    pool.describe(["ops"], tmp_path)
    assert len(processes_of(tmp_path)) == 1
    assert len({seen.reason for _, seen in pool.run([make_case("nap", s) for s in range(2)])}) == 2
    assert len(processes_of(tmp_path)) == 2


def test_any_executor_drives_the_pool(make_pool: MakePool, tmp_path: Path) -> None:
    asked = []

    def engine(count: int) -> Executor:
        asked.append(count)
        return ThreadPoolExecutor(count, thread_name_prefix="other")

    pool = make_pool(workers=2, engine=engine)
    pool.describe(["ops"], tmp_path)
    assert observe(pool, "add")["add"].status is Status.RAN and asked == [2]


def test_leaving_early_takes_back_the_rest(make_pool: MakePool, tmp_path: Path) -> None:
    pool = make_pool()
    pool.describe(["ops"], tmp_path)
    running = pool.run([make_case("nap", seed) for seed in range(100)])
    assert next(running)[1].status is Status.RAN
    running.close()
    start = time.monotonic()
    pool.close()
    assert time.monotonic() - start < 10.0


def test_run_before_describe_is_our_own_mistake(make_pool: MakePool) -> None:
    with pytest.raises(InternalError, match="before `describe`"):
        next(make_pool().run([make_case("add")]))


def test_identify_and_calibrate_answer_and_share_the_cores(make_pool: MakePool) -> None:
    cores = len(os.sched_getaffinity(0))
    pool = make_pool(environment={"PATH": os.environ["PATH"]})
    assert pool.identify().threads == cores
    assert pool.calibrate("cpu").device == "cpu"
    with pytest.raises(WorkerError, match="killed by SIGSEGV, before it began"):
        pool.calibrate("broken")
    assert pool.identify().versions == {"numpy": "1"}


def test_a_memory_limit_needs_a_system_that_tells(make_pool: MakePool, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("opsdebug_ci.execution.memory.PROC", Path("/nowhere"))
    with pytest.raises(EnvironmentLimitError, match="`memory` is set"):
        make_pool(memory_bytes=1)


def test_operators_take_turns_in_their_own_order() -> None:
    cases = [make_case(name, seed) for name, seed in (("a", 0), ("a", 1), ("a", 2), ("b", 3), ("c", 4), ("c", 5))]
    assert [case.seed for case in take_turns(cases)] == [0, 3, 4, 1, 5, 2]


DRIVER = """
import signal
import sys
from pathlib import Path
signal.signal(signal.SIGINT, signal.default_int_handler)  # which a job in the background of a shell inherits ignored
sys.path.insert(0, {tests!r})
from execution_notation import make_case
from opsdebug_ci.execution import Limits, WorkerPool

with WorkerPool(sys.executable, workers=2, limits=Limits(timeout_s=60), package=Path({package!r})) as pool:
    pool.describe(["ops"], Path("/"))
    cases = [make_case("add"), make_case("spin"), make_case("spin_with_lock"), make_case("spin", 1)]
    for case, seen in pool.run(cases):
        print(case.operator, flush=True)
"""


@pytest.mark.parametrize("sent", [signal.SIGINT, signal.SIGTERM, signal.SIGKILL])
def test_a_stopped_driver_leaves_no_process(package: Path, tmp_path: Path, sent: signal.Signals) -> None:
    temporary = tmp_path / "temporary"
    temporary.mkdir()
    code = DRIVER.format(tests=str(Path(__file__).parent), package=str(package))
    with subprocess.Popen(
        [sys.executable, "-c", code],
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        env={**os.environ, "TMPDIR": str(temporary)},
        start_new_session=True,
    ) as driver:
        assert driver.stdout is not None and driver.stdout.readline() == b"add\n"
        while len(processes_of(package)) < 3:  # the driver and both workers, now hanging
            time.sleep(0.02)
        time.sleep(0.3)
        driver.send_signal(sent)
        assert driver.wait(timeout=60) != 0
    assert await_none(package) == []
    if sent is signal.SIGINT:
        assert list(temporary.iterdir()) == []

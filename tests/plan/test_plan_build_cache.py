"""Builds by real commands; what they did is read from the files they wrote."""

from __future__ import annotations

import itertools
import os
import sys
import threading
import time
from dataclasses import replace
from pathlib import Path

import pytest

from opsdebug_ci.errors import EnvironmentLimitError
from opsdebug_ci.plan.build_cache import LAST_LINES, BuildOrder, build

ENVIRONMENT = {"PATH": os.environ["PATH"], "CUDA_HOME": "/cuda", "GITHUB_TOKEN": "secret"}


@pytest.fixture
def due(tmp_path: Path) -> BuildOrder:
    root = tmp_path / "tree"
    root.mkdir()
    return BuildOrder(
        command="echo built >> log",
        arm="base",
        root=root,
        place=tmp_path / "place",
        python=sys.executable,
        once=True,
    )


def run(due: BuildOrder) -> float | None:
    """Build, by a clock that advances by 2.5 s each time it is read."""
    return build(due, ENVIRONMENT, said.append, itertools.count(0.0, 2.5).__next__)


said: list[str] = []


def times(due: BuildOrder) -> int:
    return (due.root / "log").read_text().count("built")


def test_a_tree_is_built_once_and_the_work_tree_every_time(due: BuildOrder) -> None:
    assert [run(due), run(due)] == [2.5, None]
    assert times(due) == 1
    assert said[-1] == "building base: echo built >> log"
    assert [run(replace(due, once=False)), run(replace(due, once=False))] == [2.5, 2.5]
    assert times(due) == 3


def test_another_command_builds_again(due: BuildOrder) -> None:
    run(due)
    assert run(replace(due, command="echo built again >> log")) == 2.5
    assert times(due) == 2


def test_a_failure_is_not_taken_for_built(due: BuildOrder) -> None:
    failing = replace(due, command="echo built >> log; exit 3")
    for _ in range(2):
        with pytest.raises(EnvironmentLimitError):
            run(failing)
    assert times(due) == 2


def test_a_failure_after_a_success_is_not_taken_for_built(due: BuildOrder) -> None:
    flaky = replace(due, command="echo built >> log; test ! -e broken", once=False)
    run(flaky)
    (due.root / "broken").touch()
    with pytest.raises(EnvironmentLimitError):
        run(flaky)
    (due.root / "broken").unlink()
    assert run(replace(flaky, once=True)) == 2.5


def test_many_at_once_build_once(due: BuildOrder) -> None:
    slow = replace(due, command="sleep 0.1; echo built >> log")
    threads = [threading.Thread(target=run, args=(slow,)) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert times(due) == 1


def test_a_build_sees_its_interpreter_its_site_and_no_secrets(due: BuildOrder) -> None:
    command = 'env > seen; command -v "$(basename "$PYTHON_NAME")" > which; echo x > "$OPSDEBUG_SITE/module.py"'
    environment = {**ENVIRONMENT, "PYTHON_NAME": sys.executable}
    build(replace(due, command=command), environment, said.append)
    seen = dict(line.split("=", 1) for line in (due.root / "seen").read_text().splitlines() if "=" in line)
    assert (seen["CUDA_HOME"], "GITHUB_TOKEN" in seen) == ("/cuda", False)
    assert (due.root / "which").read_text().strip() == sys.executable
    assert (due.site / "module.py").read_text() == "x\n"


def test_a_failing_base_says_that_another_base_helps(due: BuildOrder) -> None:
    with pytest.raises(EnvironmentLimitError) as caught:
        run(replace(due, command="seq 100; echo no compiler >&2; exit 3"))
    lines = "\n".join(str(number) for number in range(100 - LAST_LINES + 2, 101))
    assert caught.value.message == (
        f"`build` of `base`, an earlier commit: `seq 100; echo no compiler >&2; exit 3` in {due.root} ended with exit "
        f"status 3; wanted exit status 0; its last lines:\n{lines}\nno compiler"
    )
    assert caught.value.next_step == (
        "nothing can be compared with a commit that does not build here: choose another base, or make `build` fit "
        f"both; everything it printed: {due.log}"
    )
    assert due.log.read_text().startswith("1\n2\n")


def test_a_failing_head_says_that_the_change_is_at_fault(due: BuildOrder) -> None:
    with pytest.raises(EnvironmentLimitError) as caught:
        run(replace(due, arm="head", command="exit 1"))
    assert caught.value.message.startswith("`build` of the code under test: `exit 1` in ")
    assert caught.value.message.endswith("ended with exit status 1; wanted exit status 0; it printed nothing")
    assert caught.value.next_step.startswith("correct `build` in the configuration, or the code that it builds")


def test_a_build_that_does_not_end_is_ended_with_all_it_started(due: BuildOrder) -> None:
    with pytest.raises(EnvironmentLimitError, match=r"had not ended after 3 s"):
        run(replace(due, command="(sleep 300; echo alive > alive) & echo $! > child; wait", timeout_s=3.0))
    child = int((due.root / "child").read_text())
    until_s = time.monotonic() + 60.0
    while is_there(child):  # being killed takes a turn on a core
        assert time.monotonic() < until_s
        time.sleep(0.02)


def is_there(pid: int) -> bool:
    """Whether a process runs; one that only waits to be reaped does not."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except (FileNotFoundError, ProcessLookupError):
        return False


def test_a_build_killed_by_a_signal_is_told(due: BuildOrder) -> None:
    with pytest.raises(EnvironmentLimitError, match="was killed by signal 9"):
        run(replace(due, command="kill -9 $$"))


def test_a_directory_that_is_gone_is_told(due: BuildOrder) -> None:
    with pytest.raises(EnvironmentLimitError, match="could not be started"):
        run(replace(due, root=due.root / "gone"))

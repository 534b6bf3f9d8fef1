"""What is read about memory, against a planted /proc and a planted control group."""

from __future__ import annotations

import mmap
import os
from pathlib import Path

import pytest
from execution_notation import MakePool, observe

from opsdebug_ci.execution import memory
from opsdebug_ci.model import Status


def plant(root: Path, monkeypatch: pytest.MonkeyPatch, groups: str, counters: dict[str, str]) -> None:
    """A machine whose processes live in `groups` and whose counter files hold what `counters` says."""
    (root / "proc/self").mkdir(parents=True)
    (root / "proc/self/cgroup").write_text(groups)
    for path, text in counters.items():
        (root / "cgroup" / path).parent.mkdir(parents=True)
        (root / "cgroup" / path).write_text(text)
    monkeypatch.setattr(memory, "PROC", root / "proc")
    monkeypatch.setattr(memory, "CGROUP_ROOT", root / "cgroup")


def test_resident_memory_grows_with_what_is_touched() -> None:
    before = memory.resident_bytes(os.getpid())
    with mmap.mmap(-1, 64 << 20) as block:
        mapped = memory.resident_bytes(os.getpid())
        block.write(b"x" * (64 << 20))
        touched = memory.resident_bytes(os.getpid())
    assert mapped - before < 8 << 20  # address space alone does not count
    assert touched - before >= 60 << 20


def test_a_process_that_is_gone_holds_nothing() -> None:
    assert memory.resident_bytes(2**22 + 1) == 0  # beyond the largest process id (proc(5), pid_max)


@pytest.mark.parametrize(
    ("groups", "counters", "kills"),
    [
        ("0::/job\n", {"job/memory.events": "low 0\noom 4\noom_kill 3\noom_group_kill 9\n"}, 3),
        ("0::/\n", {"memory.events": "oom_kill 1\n"}, 1),
        ("9:cpu:/a\n4:memory:/b\n", {"memory/b/memory.oom_control": "oom_kill_disable 0\noom_kill 2\n"}, 2),
        ("9:cpu:/a\n", {"cpu/a/memory.events": "oom_kill 5\n"}, 0),
        ("0::/job\n", {}, 0),
        ("", {}, 0),
    ],
)
def test_kills_are_counted_in_the_groups_of_this_process(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, groups: str, counters: dict[str, str], kills: int
) -> None:
    plant(tmp_path, monkeypatch, groups, counters)
    assert memory.oom_kills() == kills


def test_a_kill_by_the_kernel_is_out_of_memory_and_another_sigkill_is_a_crash(
    make_pool: MakePool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    plant(tmp_path, monkeypatch, "0::/job\n", {"job/memory.events": "oom 1\noom_kill 1\n"})
    counter = str(tmp_path / "cgroup/job/memory.events")
    pool = make_pool(environment={"PATH": os.environ["PATH"], "FAKE_COUNTER": counter})
    pool.describe(["ops"], tmp_path)
    seen = observe(pool, "kill_itself", "fall_to_the_kernel", "inputs:kill_itself")
    assert {name: str(observation.status) for name, observation in seen.items()} == {
        "kill_itself": "crashed",
        "fall_to_the_kernel": "out_of_memory",
        "inputs:kill_itself": "inputs_broken",
    }
    killed = seen["fall_to_the_kernel"]
    assert killed.status is Status.OUT_OF_MEMORY
    assert killed.reason == "the worker was out of memory, while running the operator."
    assert killed.process is not None and killed.process.signal == "SIGKILL"

"""Three planted defects in one operator, through real workers: NaN, a write out of bounds, a crash."""

from __future__ import annotations

import os
import sys
from datetime import datetime, timezone
from pathlib import Path

import pytest
from failures_notation import Silent

from opsdebug_ci.failures import fingerprints, group
from opsdebug_ci.judge import judge
from opsdebug_ci.model import Case, Family, Layout
from opsdebug_ci.pipeline.workbench import workbench
from opsdebug_ci.pipeline.world import World
from opsdebug_ci.plan import load_configuration

pytestmark = pytest.mark.slow

SOURCE = """
import ctypes
import os
import signal

import torch

from opsdebug_ci import operator, tensor


def overrun(x):
    ctypes.memset(x.data_ptr() + x.numel() * x.element_size(), 7, x.element_size())


def divide(x):
    return (x - x) / (x - x)


def fault():
    os.kill(os.getpid(), signal.SIGSEGV)


@operator(
    kind="elementwise",
    x=tensor("B S", layouts="contiguous"),
    dims={"B": 1, "S": 16},
    dtypes=("float32", "float16"),
)
def doubled(x):
    if x.shape[-1] > 128:
        fault()
    if x.shape[-1] % 16:
        overrun(x)
    return divide(x) if x.shape[0] == 3 else x + x


@doubled.reference("torch")
def _(x):
    return x + x
"""

SIZES = {
    "nan": ((3, 16), (3, 32), (3, 64), (3, 48)),
    "write": ((1, 5), (2, 17), (1, 33), (2, 100), (1, 9), (2, 71)),
    "crash": ((1, 144), (2, 160)),
    "pass": ((1, 16), (2, 32), (1, 48), (2, 64), (1, 80), (2, 96), (1, 112), (2, 128)),
}
"""Sizes of `B` and `S` by what happens at them."""


def cases() -> dict[str, list[Case]]:
    return {
        what: [
            Case(
                operator="doubled",
                dims={"B": rows, "S": size},
                dtype=("float32", "float16")[number % 2],
                layout=Layout.CONTIGUOUS,
                inputs=Family.NORMAL,
                seed=number,
            )
            for number, (rows, size) in enumerate(sizes)
        ]
        for what, sizes in SIZES.items()
    }


@pytest.fixture
def one_worker() -> object:
    """One core, so one worker: importing torch takes longer than running the cases."""
    if sys.platform != "linux":
        yield
        return
    before = os.sched_getaffinity(0)
    os.sched_setaffinity(0, {max(before)})
    yield
    os.sched_setaffinity(0, before)


@pytest.mark.usefixtures("one_worker")
def test_three_planted_defects_are_three_pure_groups(tmp_path: Path) -> None:
    (tmp_path / "ops.py").write_text(SOURCE)
    (tmp_path / "opsdebug.toml").write_text('operators = ["ops.py"]\n')
    world = World(
        directory=tmp_path,
        environ={"PATH": os.environ["PATH"], "HOME": str(tmp_path)},
        now=lambda: datetime.now(timezone.utc),
        entropy=os.urandom,
        monotonic_ns=lambda: 0,
        progress=Silent(),
    )
    truth = cases()
    with workbench(load_configuration(tmp_path), world) as bench:
        contracts = {operator.name: operator.contract for operator in bench.catalogue.operators}
        wanted = [case for mine in truth.values() for case in mine]
        judgements = [judge(case, seen, contracts[case.operator]) for case, seen in bench.pool.run(wanted, 1)]
    groups, membership = group(judgements), fingerprints(judgements)
    assert [(found.count, str(found.cause)) for found in groups] == [
        (6, "oob_write"),
        (4, "nan_inf_handling"),
        (2, "crash_segfault"),
    ], [found.identity for found in groups]
    owners = {what: {membership.get(case.id) for case in mine} for what, mine in truth.items()}
    assert owners == {
        "nan": {groups[1].fingerprint},
        "write": {groups[0].fingerprint},
        "crash": {groups[2].fingerprint},
        "pass": {None},
    }
    assert groups[2].identity is not None
    assert groups[2].identity.frames == ("fault ops.py", "doubled ops.py")
    assert groups[0].separators == ("S % 16 != 0 (6 of 6 failing, 0 of 8 passing)",)

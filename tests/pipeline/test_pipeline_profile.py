"""Profiles in a real worker: what is found, and what happens to operators that do not run."""

from __future__ import annotations

from pathlib import Path

import pytest

from opsdebug_ci.cli.options import world as real_world
from opsdebug_ci.errors import UsageError
from opsdebug_ci.model.vocabulary import Cause
from opsdebug_ci.pipeline.profile import Deadline, ProfileSelection, profile
from opsdebug_ci.plan import Axes, load_configuration

BANK = Path(__file__).parents[3] / "shared" / "casebank" / "cases.py"

PEAKS = "peaks = {bandwidth = 1e10, float32 = 1e11}\n"
"""Nothing has to be measured first."""

MODULE = """
import os

import torch

from opsdebug_ci import Cost, Unsupported, operator, tensor


@operator(kind="elementwise", x=tensor("N"), dims={"N": 64})
def twice(x):
    return x + x


@twice.reference("torch")
def _(x):
    return 2 * x


@twice.cost
def _(dims, dtype):
    return Cost(flops=dims["N"])


@operator(kind="elementwise", x=tensor("N"), dims={"N": 64})
def raises(x):
    raise ValueError("no kernel")


@operator(kind="elementwise", x=tensor("N"), dims={"N": 64})
def leaves(x):
    os._exit(7)


@operator(kind="elementwise", x=tensor("N"), dims={"N": 64})
def refuses(x):
    raise Unsupported("not on Mondays")


@operator(kind="elementwise", x=tensor("N"), dims={"N": 0})
def empty(x):
    return x


for other in (raises, leaves, refuses, empty):
    other.reference("torch")(lambda x: 2 * x)
"""

BANK_MODULE = """
import importlib.util
import sys

from opsdebug_ci import Operator

spec = importlib.util.spec_from_file_location("bank", {bank!r})
bank = importlib.util.module_from_spec(spec)
sys.modules["bank"] = bank
spec.loader.exec_module(bank)
case = bank.BY_ID["perf02"]


def made(name, function):
    draw = lambda seed, dims, dtype: case.make_inputs(seed, dims["size"])
    return Operator(name, function, draw, {{"torch": case.correct}}, dims={{"size": case.size}})


OPERATORS = [made("wrong", case.faulty), made("right", case.correct)]
"""


def profiled(directory: Path, source: str, *patterns: str, budget_s: float | None = 1.0, **axes):
    (directory / "operators.py").write_text(source)
    (directory / "opsdebug.toml").write_text('operators = ["operators.py"]\n' + PEAKS)
    selection = ProfileSelection(patterns=patterns, axes=Axes(**axes), budget_s=budget_s)
    return profile(selection, load_configuration(directory), real_world(quiet=True))


def test_an_operator_is_measured_and_everything_adds_up(tmp_path):
    found = profiled(tmp_path, MODULE, "twice", dims={"N": 64})
    (entry,) = found.entries
    assert (found.exit_code, found.peaks[0].source) == (0, "configuration")
    assert (entry.traffic.bytes, entry.traffic.flops) == (512, 64)
    assert entry.floor.ns == pytest.approx(512 / 1e10 * 1e9)
    assert entry.measured.best_ns > 0
    assert entry.reference.best_ns > 0
    assert 0 <= entry.launch_share <= 1
    assert entry.parts.total_ns > 0
    assert entry.findings == ()
    assert entry.advice


def test_what_does_not_run_says_why_and_the_others_go_on(tmp_path):
    found = profiled(tmp_path, MODULE, "raises", "leaves", "refuses", "empty", budget_s=600.0)
    reasons = {entry.case.operator: entry.reason for entry in found.entries}
    assert "no kernel" in reasons["raises"]
    assert "status 7" in reasons["leaves"] or "exit" in reasons["leaves"]
    assert reasons["refuses"] == "not on Mondays"
    empty = next(entry for entry in found.entries if entry.case.operator == "empty")
    assert (empty.floor, empty.utilisation, empty.reason) == (None, None, None)
    assert found.exit_code == 0


@pytest.mark.parametrize(("operator", "code"), [("raises", 1), ("refuses", 4)])
def test_the_exit_code_tells_dead_operators_from_unsupported_cases(tmp_path, operator, code):
    assert profiled(tmp_path, MODULE, operator).exit_code == code


def test_a_value_that_a_named_operator_lacks_is_refused(tmp_path):
    with pytest.raises(UsageError, match="its dims are N"):
        profiled(tmp_path, MODULE, "twice", dims={"K": 1})


@pytest.mark.skipif(not BANK.exists(), reason="the case bank lies beside the repository, and not here")
def test_the_bank_s_call_per_column_is_a_cliff_and_its_right_twin_is_none(tmp_path):
    source = BANK_MODULE.format(bank=str(BANK))
    found = profiled(tmp_path, source, "wrong", budget_s=1.5)
    (wrong,) = found.entries
    assert [finding.cause for finding in wrong.findings[:1]] == [Cause.PERF_CLIFF]
    assert "one or more for each of 6,000 along size: " in wrong.findings[0].statement
    assert found.next[0].startswith("opsdebug profile wrong ")
    (right,) = profiled(tmp_path, source, "right", budget_s=1.5).entries
    assert right.measured is not None
    assert right.findings == ()


class _Tick:
    """A world whose clock stands where it is put."""

    def __init__(self) -> None:
        self.ns = 0

    def monotonic_ns(self) -> int:
        return self.ns


def test_time_is_up_for_one_operator_or_for_all():
    clock = _Tick()
    deadline = Deadline(clock, 10.0)
    one = deadline.of_operator()
    clock.ns = int(5.9e9)
    assert not one()
    clock.ns = int(6.1e9)
    assert one() and not deadline.passed()
    clock.ns = int(10e9)
    assert deadline.passed()
    clock.ns = 0
    assert not Deadline(clock, None).passed()

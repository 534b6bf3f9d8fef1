"""Failures of real operators, through a real worker."""

from __future__ import annotations

import sys
import time
from dataclasses import replace

import pytest

from opsdebug_ci.execution import Limits, WorkerPool
from opsdebug_ci.failures import same_cause
from opsdebug_ci.failures.shrinking import Budget
from opsdebug_ci.judge import judge
from opsdebug_ci.model import Case, Family, Layout, Observation, Verdict
from opsdebug_ci.model.bundle import StoredInputs
from opsdebug_ci.model.message import KeepInputs, KeptInputs, RunCase
from opsdebug_ci.pipeline.shrink import shrink_case, space_of
from opsdebug_ci.pipeline.workbench import Workbench

OPERATORS = '''
import torch
from opsdebug_ci import operator, tensor


def double(x):
    return x + x


@operator(kind="elementwise", x=tensor("M N"), dims={"M": 4, "N": 300}, dtypes=("float32", "float16"))
def tail(x):
    """The last block of 32 columns is left out where it is not full; long columns are transposed by mistake."""
    y = x + x
    if x.shape[0] > 64:
        raise ValueError("too many rows")
    whole = x.shape[1] // 32 * 32
    y[:, whole:] = 0
    return y


@operator(kind="elementwise", x=tensor("N"), dims={"N": 64})
def afraid(x):
    """Negates everything when one element is large."""
    return torch.where((x > 3).any(), -(x + x), x + x)


for each in (tail, afraid):
    each.reference("torch")(double)
'''


@pytest.fixture(scope="module")
def bench(tmp_path_factory):
    root = tmp_path_factory.mktemp("operators")
    (root / "ops.py").write_text(OPERATORS)
    with WorkerPool(sys.executable, workers=1, limits=Limits(timeout_s=60), directory=root) as pool:
        catalogue = pool.describe(["ops.py"], root)
        assert not catalogue.faults
        yield Workbench(pool=pool, catalogue=catalogue, machine=pool.identify(), devices=("cpu",))


def description(bench, name):
    return next(each for each in bench.catalogue.operators if each.name == name)


def failure(bench, name, inputs: StoredInputs | None = None, family="normal", dtype="float32", layout="padded", **dims):
    case = Case(operator=name, dims=dims, dtype=dtype, layout=Layout(layout), inputs=Family(family), seed=3)
    observation = bench.pool.about(RunCase(case=case, inputs=inputs, explaining=False), Observation)
    found = judge(case, observation, description(bench, name).contract)
    assert found.verdict is Verdict.FAIL
    return found


def shrink(bench, found, **settings):
    budget = settings.pop("budget", Budget(trials=80, seconds=600))
    about = description(bench, found.case.operator)
    return shrink_case(found, bench, about, budget=budget, clock=time.monotonic, **settings)


def test_a_tail_is_shrunk_to_its_border(bench, tmp_path):
    found = failure(bench, "tail", dtype="float16", M=5, N=45)
    shrunk = shrink(bench, found, directory=tmp_path)
    smallest = shrunk.judgement
    assert (smallest.case.dims, smallest.case.layout, smallest.case.dtype) == (
        {"M": 1, "N": 1},
        Layout.CONTIGUOUS,
        "float32",
    )
    assert shrunk.boundary == "fails up to N=31, passes at N=32"
    assert shrunk.nearest_passing.dims == {"M": 1, "N": 32}
    assert (shrunk.rate.failed, shrunk.verified, shrunk.minimised_from) == (shrunk.rate.tries, True, found.case.id)
    assert shrunk.values == "1 element decides: x[0, 0]"
    again = failure(bench, "tail", inputs=shrunk.inputs, layout="contiguous", M=1, N=1)
    assert same_cause(smallest, again)


def test_another_failure_is_told_and_not_followed(bench):
    found = failure(bench, "tail", M=65, N=64, layout="contiguous")
    assert found.findings[0].cause == "exception"
    shrunk = shrink(bench, found)
    assert shrunk.judgement.case.dims == {"M": 65, "N": 1}  # what it raises on an empty input is no failure
    assert shrunk.boundary == "fails at M=65 N=1, passes at M=64 N=64"
    assert {other.observation.exception for other in shrunk.others} == {None}
    assert all(other.verdict is Verdict.FAIL for other in shrunk.others) and shrunk.others


def test_kept_inputs_that_no_seed_makes_are_reduced_where_they_are(bench, tmp_path):
    # Six numbers of which one is large, kept from a case of `levels`; under another family the case passes.
    made = Case(
        operator="afraid",
        dims={"N": 6},
        dtype="float32",
        layout=Layout.CONTIGUOUS,
        inputs=Family.INDEX_CODED,
        seed=0,
    )
    kept = bench.pool.about(KeepInputs(case=made, directory=str(tmp_path), most_bytes=1 << 16), KeptInputs)
    stored = StoredInputs(table=kept.table, directory=str(tmp_path))
    found = failure(bench, "afraid", inputs=stored, family="uniform", layout="contiguous", N=6)
    shrunk = shrink(bench, found, inputs=stored, directory=tmp_path)
    assert shrunk.judgement.case == found.case
    assert shrunk.inputs.table.digest != kept.table.digest
    assert shrunk.values.startswith("1 element decides: x[")


def test_no_time_is_no_shrinking(bench):
    found = failure(bench, "tail", M=3, N=45)
    shrunk = shrink(bench, found, budget=Budget(seconds=0))
    assert (shrunk.judgement, shrunk.minimised_from, shrunk.trials) == (found, None, 0)
    assert shrunk.notes == ("nothing was shrunk: there was no time to run it again",)


def test_what_may_be_varied_follows_from_the_declaration(bench):
    about = description(bench, "tail")
    space = space_of(about)
    assert (space.elements({"M": 3, "N": 5}), space.growing, space.dtypes) == (15, True, ("float32", "float16"))
    assert not space_of(replace(about, own_inputs=True)).growing

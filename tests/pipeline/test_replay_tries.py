"""Which bundles are not tried, when tries end, and the exit code that outcomes add up to. Starts no worker."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest
from pipeline_notation import Project

from opsdebug_ci.errors import UsageError
from opsdebug_ci.execution import WorkerPool
from opsdebug_ci.model import Catalogue, Family, Kind, Layout, Machine, Observation, OperatorDescription, Stage, Status
from opsdebug_ci.model.bundle import BUNDLE_SCHEMA, CAPTURED_NOTE, BundleManifest, InputTable, InputValue, ValueKind
from opsdebug_ci.model.case import Case
from opsdebug_ci.model.contract import Contract
from opsdebug_ci.model.description import TensorDescription, Unavailable
from opsdebug_ci.model.observation import ExceptionFacts, ProcessFacts
from opsdebug_ci.model.replay import ReplayOutcome, TryCounts
from opsdebug_ci.model.run import CiContext, Revision
from opsdebug_ci.model.vocabulary import Phase, ValueDomain, Verdict
from opsdebug_ci.pipeline.replay_outcome import exit_code
from opsdebug_ci.pipeline.replay_places import Entry, Found
from opsdebug_ci.pipeline.replay_stage import Memory, replay_all
from opsdebug_ci.pipeline.replay_tries import Attempt, obstacle
from opsdebug_ci.pipeline.selection import Selection
from opsdebug_ci.pipeline.workbench import Workbench

CASE = Case(operator="gelu", dims={"N": 4}, dtype="float32", layout=Layout.CONTIGUOUS, inputs=Family.NORMAL, seed=0)

GELU = OperatorDescription(
    name="gelu",
    kind=Kind.ELEMENTWISE,
    dtypes=("float32",),
    dims={"N": 8},
    fixed_dims=(),
    tensors=(TensorDescription(name="x", shape="N", dtype=None, layouts=(), values=ValueDomain.ANY),),
    own_inputs=False,
    references=(),
    devices=("cpu",),
    contract=Contract(),
    has_cost=False,
    module="kernels.py",
    source_file="kernels.py",
    source_line=3,
    source_files=("kernels.py",),
)

HERE = Machine(
    key="k",
    system="s",
    cpu="c",
    cores=1,
    memory_bytes=1,
    devices=(),
    python="3.11",
    torch="2.13",
    versions={},
    threads=1,
)


def manifest(case: Case = CASE, *arguments: str) -> BundleManifest:
    names = arguments or ("x",)
    values = tuple(InputValue(kind=ValueKind.NONE) for _ in names)
    return BundleManifest(
        schema=BUNDLE_SCHEMA,
        tool_version="0",
        fingerprint="v2:0",
        case=case,
        case_id=case.id,
        inputs=InputTable(names=names, by_keyword=False, values=values, tensors=(), storages=()),
        stored=(),
        verdict=Verdict.FAIL,
        findings=(),
        observation=Observation(case_id=case.id, status=Status.RAN),
        commit="",
        dirty=False,
        source=None,
        machine=HERE,
    )


@pytest.fixture(scope="module")
def bench() -> Iterator[Workbench]:
    catalogue = Catalogue(
        operators=(GELU,), faults=(), unavailable=(Unavailable(operator="c_sum", reason="no C compiler was found"),)
    )
    with WorkerPool(sys.executable, workers=1) as pool:
        yield Workbench(pool=pool, catalogue=catalogue, machine=HERE, devices=("cpu",))


def test_an_operator_that_is_as_it_was_is_tried(bench: Workbench) -> None:
    assert obstacle(manifest(), bench) is None
    assert obstacle(manifest(CASE, "x", "scale"), bench) is None, "scalars are not described"


@pytest.mark.parametrize(
    ("recorded", "outcome", "reason"),
    [
        (
            manifest(replace(CASE, operator="relu")),
            ReplayOutcome.GONE,
            "operator `relu` does not exist any more",
        ),
        (
            replace(manifest(replace(CASE, operator="scores")), notes=(CAPTURED_NOTE,)),
            ReplayOutcome.GONE,
            "no operator `scores` is declared here: declare the captured function under its name",
        ),
        (
            manifest(replace(CASE, dims={"M": 4})),
            ReplayOutcome.GONE,
            "operator `gelu` had dims `M`; now it has `N`",
        ),
        (
            manifest(CASE, "y"),
            ReplayOutcome.GONE,
            "operator `gelu` takes `x` now, which the bundle does not have",
        ),
        (
            manifest(replace(CASE, device="cuda:0")),
            ReplayOutcome.IMPOSSIBLE,
            "it failed on device `cuda:0`; here are cpu",
        ),
        (
            manifest(replace(CASE, operator="c_sum")),
            ReplayOutcome.IMPOSSIBLE,
            "no C compiler was found",
        ),
    ],
)
def test_what_cannot_be_tried_says_why(
    bench: Workbench, recorded: BundleManifest, outcome: ReplayOutcome, reason: str
) -> None:
    found = obstacle(recorded, bench)
    assert found is not None
    assert (found.outcome, found.reason) == (outcome, reason)


def raised(kind: str, *, digest: str | None = None) -> Observation:
    facts = ExceptionFacts(type=kind, message="no", frames=("kernels.py:3 gelu",), place="kernels.py:3")
    return Observation(case_id=CASE.id, status=Status.RAISED, exception=facts, inputs_digest=digest)


def attempt(*, tries: int = 20, until_reproduced: bool = False) -> Attempt:
    """At a bundle of a ValueError."""
    recorded = replace(manifest(), observation=raised("ValueError"))
    found = Found(sha256="a" * 64, place="somewhere", read=lambda: pytest.fail("it is not read"))
    entry = Entry(found=found, sha256=found.sha256, manifest=recorded)
    return Attempt(entry, GELU, tries=tries, until_reproduced=until_reproduced)


def ended(status: Status) -> Observation:
    facts = ProcessFacts(signal="SIGKILL", exit_code=None, phase=Phase.FUNCTION, detail=None, log_tail="")
    return Observation(case_id=CASE.id, status=status, reason="it ended", process=facts)


def test_tries_are_told_apart_and_counted() -> None:
    tried = attempt()
    for kind in ("ValueError", "TypeError", "ValueError"):
        tried.seen(raised(kind))
    tried.seen(Observation(case_id=CASE.id, status=Status.SKIPPED, reason="unsupported"))
    assert tried.counts == TryCounts(reproduced=2, otherwise=1, unjudged=1)
    assert tried.telling is not None
    assert tried.telling.observation.exception == raised("ValueError").exception
    assert tried.more()


@pytest.mark.parametrize(
    ("observation", "most"),
    [
        (ended(Status.TIMED_OUT), 3),
        (Observation(case_id=CASE.id, status=Status.REFERENCE_BROKEN, reason="it broke"), 3),
        (Observation(case_id=CASE.id, status=Status.INPUTS_BROKEN, reason="others"), 1),
        (raised("ValueError", digest="0" * 64), 1),
        (ended(Status.CRASHED), 20),
    ],
)
def test_tries_that_tell_nothing_new_end_it(observation: Observation, most: int) -> None:
    tried, made = attempt(), 0
    while made < 20 and tried.more():
        tried.seen(observation)
        made += 1
    assert made == most


def test_the_first_that_shows_it_is_enough_where_that_was_asked() -> None:
    tried = attempt(until_reproduced=True)
    tried.seen(raised("TypeError"))
    assert tried.more()
    tried.seen(raised("ValueError"))
    assert not tried.more()


def test_other_inputs_are_refused_with_both_digests() -> None:
    tried = attempt()
    tried.seen(raised("ValueError", digest="0" * 64))
    assert tried.manifest.inputs is not None
    wanted = tried.manifest.inputs.digest
    assert tried.refusal == f"a try ran on inputs with digest {'0' * 64}; wanted {wanted}, as the bundle says"
    assert tried.counts == TryCounts()


@pytest.mark.parametrize(
    ("directory", "verdict", "code"),
    [
        ("elsewhere", Verdict.INCONCLUSIVE, 4),  # nothing was ever kept here: nothing is known
        (".opsdebug", Verdict.PASS, 0),  # there is no failure to repeat
    ],
)
def test_a_stage_without_bundles(bench: Workbench, tmp_path: Path, directory: str, verdict: Verdict, code: int) -> None:
    project = Project(directory=tmp_path)
    (tmp_path / directory).mkdir()
    document = replay_all(
        Selection(stage=Stage.REPLAY),
        bench,
        project.configuration(operators=["kernels.py"]),
        project.world(),
        memory=Memory(),
        revision=Revision(),
        ci=CiContext(),
    )
    assert (document.summary.verdict, document.summary.exit_code) == (verdict, code)
    assert document.notes == ("no bundle is stored for this selection: there is nothing to replay",)


def test_an_operator_nobody_knows_is_a_mistake(bench: Workbench, tmp_path: Path) -> None:
    project = Project(directory=tmp_path)
    with pytest.raises(UsageError, match=r"no operator matches `gelo`; did you mean `gelu`\?"):
        replay_all(
            Selection(stage=Stage.REPLAY, patterns=("gelo",)),
            bench,
            project.configuration(operators=["kernels.py"]),
            project.world(),
            memory=Memory(),
            revision=Revision(),
            ci=CiContext(),
        )


@pytest.mark.parametrize(
    ("outcomes", "code"),
    [
        ("reproduced", 1),
        ("not_reproduced", 0),
        ("refused", 2),
        ("impossible", 3),
        ("otherwise", 4),
        ("unjudged", 4),
        ("gone", 4),
        ("", 4),
        ("gone not_reproduced", 0),
        ("gone not_reproduced reproduced refused", 1),
        ("not_reproduced refused impossible", 2),
        ("not_reproduced otherwise", 4),
        ("not_reproduced impossible", 3),
    ],
)
def test_exit_codes(outcomes: str, code: int) -> None:
    assert exit_code(ReplayOutcome(word) for word in outcomes.split()) == code

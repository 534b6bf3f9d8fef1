"""What rules say, read from recorded output."""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Mapping
from pathlib import Path

import msgspec
import pytest
import rule_asv
import rule_opsdebug
import rule_pytest
import rule_stored
from repository import create, git, write_head
from rules import Ran, RuleError, command
from single_process import Measured
from trials import Answer

from opsdebug_ci.model.case_document import CaseDocument
from opsdebug_ci.model.machine import Machine
from opsdebug_ci.model.speed import (
    COMPARE_SCHEMA,
    CompareDocument,
    Comparing,
    Comparison,
    ComparisonRun,
    LaunchTime,
    Round,
    SpeedVerdict,
)

ASV = """\
·· Benchmarking virtualenv-py3.11
All benchmarks:

| Change   | Before [2f91734b] <main>   | After [b8ee7f17] <head>   | Ratio   | Benchmark (Parameter)     |
|----------|----------------------------|---------------------------|---------|---------------------------|
| +        | 40.0±0.5μs                 | 49.5±0.4μs                | 1.24    | speed.time_softmax        |
|          | 243±100μs                  | 186±20μs                  | ~0.76   | speed.time_gather         |
| -        | 1.31±0.6ms                 | 1.01±0ms                  | 0.77    | speed.time_sort           |
| !        | 68.2±5μs                   | failed                    | n/a     | speed.time_exp_numpy      |

SOME BENCHMARKS HAVE CHANGED SIGNIFICANTLY.
PERFORMANCE DECREASED.
"""

MACHINE = Machine(
    key="k",
    system="Linux x86_64",
    cpu="cpu",
    cores=2,
    memory_bytes=2**33,
    devices=(),
    python="3.11.7",
    torch="2.13.0",
    versions={},
    threads=1,
)

PYTEST = """\
Performance has regressed:
\ttest_speed[softmax] (0001_base) - Field 'min' has failed PercentageRegressionCheck: 23.125561741 > 10.000000000
ERROR: Performance has regressed.
"""


def test_rows_of_asv_are_read() -> None:
    readings = {one.operator: one for one in rule_asv.read(ASV)}
    assert {name: one.answer for name, one in readings.items()} == {
        "softmax": Answer.REGRESSED,
        "gather": Answer.QUIET,
        "sort": Answer.QUIET,
        "exp_numpy": Answer.FAILED,
    }
    assert {name: one.ratio for name, one in readings.items()} == {
        "softmax": 1.24,
        "gather": 0.76,
        "sort": 0.77,
        "exp_numpy": None,
    }
    assert readings["softmax"].base_ns == pytest.approx(40_000)
    assert readings["sort"].base_ns == pytest.approx(1_310_000)


def test_output_of_asv_without_a_table_says_nothing_of_any_operator() -> None:
    refusal = "No range spec may be specified if benchmarking in an existing environment"
    assert rule_asv.read(refusal) == ()


def saved(**minima: float) -> rule_pytest.Saved:
    benchmarks = [{"param": name, "stats": {"min": least, "median": 2 * least}} for name, least in minima.items()]
    return msgspec.json.decode(
        msgspec.json.encode({"benchmarks": benchmarks, "version": "5.2.3"}), type=rule_pytest.Saved
    )


def test_regressions_of_pytest_benchmark_are_read() -> None:
    ran = Ran(code=1, out=PYTEST, err="")
    judgement = rule_pytest.judgement(ran, saved(softmax=1e-5, sort=1e-3), saved(softmax=1.23e-5, sort=1.05e-3))
    found = {one.operator: (one.answer, one.ratio) for one in judgement.readings}
    assert found == {
        "softmax": (Answer.REGRESSED, pytest.approx(1.23)),
        "sort": (Answer.QUIET, pytest.approx(1.05)),
    }


@pytest.mark.parametrize(
    ("ran", "head"),
    [
        (Ran(code=1, out="ModuleNotFoundError: kernels", err=""), saved(softmax=1e-5)),
        (Ran(code=0, out=PYTEST, err=""), saved(softmax=1e-5)),
        (Ran(code=0, out="", err=""), saved(sort=1e-5)),
    ],
    ids=["another failure", "a regression with exit code 0", "another operator"],
)
def test_a_run_of_pytest_benchmark_that_failed_otherwise_is_no_silence(ran: Ran, head: rule_pytest.Saved) -> None:
    with pytest.raises(RuleError):
        rule_pytest.judgement(ran, saved(softmax=1e-5), head)


def measured(kernels: Mapping[str, float], *, probe: float) -> Measured:
    samples = {name: [median * 0.9, median, median * 3] for name, median in kernels.items()}
    return Measured(kernels=samples, probe=[probe, probe, probe * 5], excess_ns=150.0)


def test_the_stored_median_goes_by_medians() -> None:
    before, after = measured({"a": 100.0, "b": 100.0}, probe=50), measured({"a": 111.0, "b": 109.0}, probe=60)
    answers = {one.operator: one.answer for one in rule_stored.judgement(before, after, divided=False).readings}
    assert answers == {"a": Answer.REGRESSED, "b": Answer.QUIET}


def test_a_slower_copy_of_memory_excuses_and_a_faster_one_accuses() -> None:
    before, slower = measured({"a": 100.0}, probe=50), measured({"a": 120.0}, probe=60)
    assert rule_stored.judgement(before, slower, divided=True).readings[0].answer is Answer.QUIET
    same, faster = measured({"a": 100.0}, probe=50), measured({"a": 100.0}, probe=40)
    assert rule_stored.judgement(same, faster, divided=True).readings[0].answer is Answer.REGRESSED


def comparison(operator: str, verdict: SpeedVerdict, why: Comparing = Comparing.CHANGE) -> Comparison:
    case = CaseDocument(
        id="c",
        name=operator,
        operator=operator,
        dtype="float32",
        dims={},
        layout="own",
        inputs="own",
        seed=0,
        device="cpu",
        direction="forward",
    )
    launch = LaunchTime(
        arm="base", round=Round.SCREEN, launch=0, min_ns=100, p10_ns=101, median_ns=110, samples=9, calls=1
    )
    return Comparison(
        case=case,
        why=why,
        base="base",
        verdict=verdict,
        statement="+12 %",
        threshold=0.1,
        base_ns=100.0,
        head_ns=112.0,
        screen=None,
        confirm=None,
        launches=(launch,),
        cost_s=2.5,
    )


def document(*, schema: str = COMPARE_SCHEMA) -> str:
    verdicts = [SpeedVerdict.REGRESSED, SpeedVerdict.SUSPECTED, SpeedVerdict.INCONCLUSIVE, SpeedVerdict.FASTER]
    run = ComparisonRun(
        arms=(),
        comparisons=tuple(comparison(f"op{place}", verdict) for place, verdict in enumerate(verdicts)),
        controls=(comparison("op3", SpeedVerdict.SAME, Comparing.CONTROL),),
        contaminated=None,
        probe_ratio=1.0,
        machine=MACHINE,
        processes=9,
        duration_s=30.0,
        seed=0,
    )
    answer = CompareDocument(schema=schema, run=run, verdict=SpeedVerdict.REGRESSED, alarms=None, next=(), exit_code=1)
    return msgspec.json.encode(answer).decode()


def test_a_document_of_ours_is_read() -> None:
    judgement = rule_opsdebug.read(document())
    assert [(one.operator, one.answer, one.control) for one in judgement.readings] == [
        ("op0", Answer.REGRESSED, False),
        ("op1", Answer.SUSPECTED, False),
        ("op2", Answer.INCONCLUSIVE, False),
        ("op3", Answer.QUIET, False),
        ("op3", Answer.QUIET, True),
    ]
    first = judgement.readings[0]
    assert (first.base_ns, first.cost_s, judgement.processes) == (100.0, 2.5, 9)
    assert [(one.arm, one.part, one.min_ns) for one in first.launches] == [("base", "screen", 100)]


def test_every_verdict_of_ours_has_an_answer() -> None:
    assert set(rule_opsdebug.ANSWERS) == set(SpeedVerdict)


@pytest.mark.parametrize("text", ["", "error: no such command", "{}", document(schema="opsdebug.compare/2")])
def test_what_is_no_document_of_ours_is_refused(text: str) -> None:
    with pytest.raises(msgspec.DecodeError):
        rule_opsdebug.read(text)


def test_a_command_that_is_not_there_is_a_failure_of_the_rule(tmp_path: Path) -> None:
    with pytest.raises(RuleError, match="cannot be started"):
        command([tmp_path / "gone"], folder=tmp_path, environment=os.environ)


def test_a_command_that_takes_too_long_is_ended(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("rules.LIMIT_S", 0.05)
    began = time.monotonic()
    with pytest.raises(RuleError, match="no answer"):
        command([sys.executable, "-c", "import time; time.sleep(60)"], folder=tmp_path, environment=os.environ)
    assert time.monotonic() - began < 30


def test_a_head_differs_from_the_base_in_what_it_plants_and_a_comment(tmp_path: Path) -> None:
    repository = create(tmp_path)
    write_head(repository, 7, {"sort": 100})
    changed = git(repository.head, "diff", "--unified=0", "main", "head")
    lines = [line for line in changed.splitlines() if line[0] in "+-" and line[:3] not in ("+++", "---")]
    assert lines == ["+", "+# Round 7.", "-{}", "+{", '+ "sort": 100', "+}"]
    write_head(repository, 8, {})
    assert git(repository.head, "rev-list", "--count", "main..head").strip() == "1"
    assert git(repository.base, "status", "--porcelain") == ""

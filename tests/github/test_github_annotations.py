from __future__ import annotations

from dataclasses import replace
from pathlib import PurePosixPath, PureWindowsPath

from opsdebug_ci.github.annotations import annotate
from opsdebug_ci.github.workflow_commands import Annotation, Level
from opsdebug_ci.model import (
    Blame,
    CaseDocument,
    Cause,
    CiContext,
    Confidence,
    Finding,
    Group,
    Machine,
    ObservationDocument,
    OperatorSource,
    ReferenceUse,
    Revision,
    RunDocument,
    RunRecord,
    Stage,
    Summary,
    Verdict,
)
from opsdebug_ci.model.performance import PerformanceDocument
from opsdebug_ci.model.speed import Comparing, Comparison, ComparisonRun, SpeedVerdict

WORKSPACE = PurePosixPath("/home/runner/work/kernels/kernels")


def observation(
    operator: str, verdict: Verdict, cause: Cause | None = None, reason: str | None = None
) -> ObservationDocument:
    case = CaseDocument(
        id="0" * 16,
        name=f"{operator}[S=129 float32]",
        operator=operator,
        dtype="float32",
        dims={"S": 129},
        layout="contiguous",
        inputs="normal",
        seed=0,
        device="cpu",
        direction="forward",
    )
    findings = (
        ()
        if cause is None
        else (
            Finding(
                cause=cause,
                confidence=0.9,
                blame=Blame.OPERATOR,
                statement="1 of 129 elements wrong",
                evidence={},
                next=f"opsdebug attribute {operator}",
            ),
        )
    )
    return ObservationDocument(
        case=case,
        verdict=verdict,
        reason=reason,
        reference=ReferenceUse(used=None, confidence=Confidence.LOW, dissent=None),
        accuracy=None,
        outputs=(),
        findings=findings,
        timing=None,
    )


def run(*observations: ObservationDocument, sources: tuple[OperatorSource, ...] = ()) -> RunDocument:
    machine = Machine(
        key="k",
        system="s",
        cpu="c",
        cores=2,
        memory_bytes=1,
        devices=(),
        python="3.11",
        torch="2",
        versions={},
        threads=1,
    )
    record = RunRecord(
        id="1",
        commit="",
        stage=Stage.SMOKE,
        started_at="2026-11-29T00:00:00Z",
        duration_ns=1,
        machine=machine,
        revision=Revision(),
        ci=CiContext(),
        tool_version="0",
        config_hash="",
    )
    summary = Summary(verdict=Verdict.FAIL, exit_code=1, counts={}, groups=())
    return RunDocument(
        schema="opsdebug.run/1", run=record, observations=observations, summary=summary, next=(), sources=sources
    )


def test_a_remark_is_of_the_case_that_speaks_for_its_group() -> None:
    first, lead = (
        replace(one, case=replace(one.case, id=name, name=f"gelu[{name}]"), fingerprint="v2:a")
        for one, name in ((observation("gelu", Verdict.FAIL, Cause.TAIL_MASK), name) for name in ("S=250", "S=8"))
    )
    group = Group(
        fingerprint="v2:a", cause=Cause.TAIL_MASK, operator="gelu", count=2, cases=("S=8", "S=250"), statement="wrong"
    )
    document = run(first, lead)
    for groups, named in (((group,), "S=8"), ((), "S=250"), ((replace(group, cases=()),), "S=250")):
        (told,) = annotate(replace(document, summary=replace(document.summary, groups=groups)), WORKSPACE)
        assert f"2 cases, first: gelu[{named}]" in told.message


def test_a_clean_run_says_nothing() -> None:
    clean = run(observation("gelu", Verdict.PASS), observation("gelu", Verdict.SKIPPED, reason="no cuda"))
    assert annotate(clean, WORKSPACE) == ()


def test_one_remark_per_operator_and_cause_beside_its_source() -> None:
    document = run(
        observation("silu", Verdict.INCONCLUSIVE, reason="the references disagree"),
        observation("gelu", Verdict.FAIL, Cause.TAIL_MASK),
        observation("gelu", Verdict.FAIL, Cause.TAIL_MASK),
        observation("gelu", Verdict.CRASH, reason="killed by signal 11"),
        sources=(OperatorSource(operator="gelu", file=f"{WORKSPACE}/kernels/gelu.py", line=12),),
    )
    assert annotate(document, WORKSPACE) == (
        Annotation(
            level=Level.ERROR,
            title="gelu: tail_mask",
            message="1 of 129 elements wrong\n2 cases, first: gelu[S=129 float32]\nnext: opsdebug attribute gelu",
            file="kernels/gelu.py",
            line=12,
        ),
        Annotation(
            level=Level.ERROR,
            title="gelu: crash",
            message="killed by signal 11\n1 case, first: gelu[S=129 float32]",
            file="kernels/gelu.py",
            line=12,
        ),
        Annotation(
            level=Level.WARNING,
            title="silu: inconclusive",
            message="the references disagree\n1 case, first: silu[S=129 float32]",
        ),
    )


def test_a_source_outside_the_repository_has_no_location() -> None:
    source = OperatorSource(operator="gelu", file="/usr/lib/python3/gelu.py", line=1)
    (remark,) = annotate(run(observation("gelu", Verdict.FAIL), sources=(source,)), WORKSPACE)
    assert remark.file is None


def test_a_windows_source_becomes_a_posix_path() -> None:
    workspace = PureWindowsPath("D:\\a\\kernels\\kernels")
    source = OperatorSource(operator="gelu", file="D:\\a\\kernels\\kernels\\src\\gelu.py", line=1)
    (remark,) = annotate(run(observation("gelu", Verdict.FAIL), sources=(source,)), workspace)
    assert remark.file == "src/gelu.py"


def comparison(operator: str, verdict: SpeedVerdict, statement: str) -> Comparison:
    return Comparison(
        case=observation(operator, Verdict.PASS).case,
        why=Comparing.CHANGE,
        base="base",
        verdict=verdict,
        statement=statement,
        threshold=0.1,
        base_ns=800.0,
        head_ns=900.0,
        screen=None,
        confirm=None,
    )


def with_speed(document: RunDocument, *comparisons: Comparison, regressions: tuple[str, ...]) -> RunDocument:
    compared = ComparisonRun(
        arms=(),
        comparisons=comparisons,
        controls=(),
        contaminated=None,
        probe_ratio=None,
        machine=document.run.machine,
        processes=8,
        duration_s=4.0,
        seed=0,
    )
    return replace(document, performance=PerformanceDocument(comparison=compared), regressions=regressions)


def test_a_regression_is_one_warning_beside_its_operator_between_errors_and_doubts() -> None:
    document = with_speed(
        run(
            observation("silu", Verdict.INCONCLUSIVE, reason="the references disagree"),
            observation("erf", Verdict.FAIL, Cause.TAIL_MASK),
            sources=(OperatorSource(operator="gelu", file=f"{WORKSPACE}/kernels/gelu.py", line=12),),
        ),
        comparison("gelu", SpeedVerdict.REGRESSED, "slower: +11 % [8, 14]"),
        comparison("gelu", SpeedVerdict.REGRESSED, "slower: +10 % [7, 13]"),
        comparison("add", SpeedVerdict.INCONCLUSIVE, "too noisy"),
        regressions=("gelu",),
    )
    first, second, third = annotate(document, WORKSPACE)
    assert (first.title, third.title) == ("erf: tail_mask", "silu: inconclusive")
    assert second == Annotation(
        level=Level.WARNING,
        title="gelu: slower, needs a person",
        message="slower: +11 % [8, 14]\ngelu[S=129 float32], and 1 more\nnext: opsdebug profile gelu",
        file="kernels/gelu.py",
        line=12,
    )


def test_a_regression_somebody_accepted_is_no_warning() -> None:
    slower = comparison("gelu", SpeedVerdict.REGRESSED, "slower: +11 % [8, 14]")
    assert annotate(with_speed(run(), slower, regressions=()), WORKSPACE) == ()

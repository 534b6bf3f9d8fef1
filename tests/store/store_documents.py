"""Documents for the tests of the store, from a short notation."""

from __future__ import annotations

import math
from dataclasses import replace

from store_performance import performance

from opsdebug_ci.model import (
    Accuracy,
    Blame,
    Calibration,
    CaseDocument,
    Cause,
    CiContext,
    ClassMismatch,
    Confidence,
    Finding,
    Gate,
    Group,
    Machine,
    ObservationDocument,
    OperatorSource,
    OutputDocument,
    ProbeReading,
    Quantiles,
    ReferenceKind,
    ReferenceUse,
    Revision,
    RunDocument,
    RunRecord,
    Stage,
    Summary,
    TimingDocument,
    Unavailable,
    Verdict,
    WorstElement,
    Zone,
)
from opsdebug_ci.model.document import PlanFacts
from opsdebug_ci.model.region import Span
from opsdebug_ci.model.timing import Clocks

MACHINE = Machine(
    key="m1",
    system="Linux x86_64",
    cpu="a CPU",
    cores=2,
    memory_bytes=8 << 30,
    devices=(),
    python="3.11.7",
    torch="2.13.0",
    versions={"numpy": "2.1", "mpmath": "1.3"},
    threads=2,
)

FULL_MACHINE = replace(
    MACHINE,
    devices=("a GPU", "a GPU"),
    cpu_revision="family 25 model 17 stepping 1",
    instruction_set="AVX512",
    physical_cores=1,
    numa_nodes=1,
    container_cores=1.5,
    container_memory_bytes=4 << 30,
    clock_policy="intel_pstate powersave, turbo",
    drivers=("nvidia 570.86.15",),
    device_settings=("clocks default", "power 700 W"),
    kernel="6.8.0",
)
"""No field at its default."""

CALIBRATION = Calibration(
    device="cpu",
    probes=(
        ProbeReading(probe="memcpy", size_bytes=1 << 20, samples_ns=(100, 110), bandwidth_bytes_per_s=2e10),
        ProbeReading(probe="gemm", size_bytes=3 << 18, samples_ns=(1600,), flops_per_s=2e10, dtype="float32"),
    ),
    clocks_before=Clocks(frequency_hz=2.5e9),
    clocks_after=Clocks(
        frequency_hz=2.4e9, nominal_hz=3e9, throttled=True, policy="performance", stolen=0.25, load=1.5
    ),
)

NOTHING = Quantiles(p50=None, p95=None, p99=None, max=None)


def run_document(cases: str, run_id: str = "r1", *, day: str = "2026-11-29", **facts: object) -> RunDocument:
    """A run from blank-separated cases `operator:verdict` or `operator:verdict/fingerprint`.

    `facts` are `stage`, `machine`, and fields of the revision or of the CI context.
    """
    observations = tuple(observation(word, position) for position, word in enumerate(cases.split()))
    revision = {
        name: facts[name] for name in ("commit", "ancestors", "base_commit", "branch", "dirty", "tree") if name in facts
    }
    ci = {name: facts[name] for name in ("key", "attempt", "event", "pull_request") if name in facts}
    run = RunRecord(
        id=run_id,
        commit=str(facts.get("commit", "")),
        stage=facts.get("stage", Stage.SMOKE),
        started_at=f"{day}T10:20:30.123456Z",
        duration_ns=5_000_000_000,
        machine=facts.get("machine", MACHINE),
        revision=Revision(**revision),
        ci=CiContext(**ci),
        tool_version="0.1.0",
        config_hash="0" * 64,
    )
    failed = any(seen.verdict is Verdict.FAIL for seen in observations)
    verdict = Verdict.FAIL if failed else Verdict.PASS
    summary = Summary(verdict=verdict, exit_code=int(failed), counts={"pass": len(observations)}, groups=())
    return RunDocument(schema="opsdebug.run/1", run=run, observations=observations, summary=summary, next=())


def observation(word: str, seed: int = 0) -> ObservationDocument:
    """One case with one output."""
    operator, _, rest = word.partition(":")
    verdict, _, fingerprint = rest.partition("/")
    measured = accuracy("y")
    return ObservationDocument(
        case=case(operator, seed),
        verdict=Verdict(verdict),
        reason=None,
        reference=ReferenceUse(used=ReferenceKind.PRECISE, confidence=Confidence.HIGH, dissent=None),
        accuracy=measured,
        outputs=(OutputDocument(name="y", kind="norm", shape=(1, 128), dtype="float32", accuracy=measured),),
        findings=(),
        timing=None,
        fingerprint=fingerprint or None,
    )


def case(operator: str, seed: int = 0) -> CaseDocument:
    return CaseDocument(
        id=f"{operator}-{seed}",
        name=f"{operator}[B=1,S=128 float32 seed={seed}]",
        operator=operator,
        dtype="float32",
        dims={"S": 128, "B": 1},
        layout="contiguous",
        inputs="normal",
        seed=seed,
        device="cpu",
        direction="forward",
    )


def accuracy(output: str) -> Accuracy:
    """Readings of an output that is right."""
    return Accuracy(
        output=output,
        compared=128,
        cosine=0.99999,
        max_abs_err=1.5e-7,
        max_abs_index=(0, 17),
        rel_err=Quantiles(p50=1e-8, p95=5e-8, p99=9e-8, max=1e-7),
        ulp=Quantiles(p50=0.0, p95=1.0, p99=1.0, max=2.0),
        significant_digits=7.2,
        misrounding_rate=0.25,
        zone=Zone.GREEN,
        over_tolerance=0,
        over_worst_case=0,
        class_mismatches=(),
        worst=None,
        bound="rounding + sum",
    )


def full_document() -> RunDocument:
    """A run in which every field differs from its default, and every kind of case is present."""
    plain = run_document("add:pass softmax:fail/f1 topk:skipped", "r-full")
    wrong = replace(
        accuracy("indices"),
        cosine=math.inf,
        max_abs_index=(),
        ulp=NOTHING,
        significant_digits=None,
        misrounding_rate=None,
        zone=Zone.RED,
        over_tolerance=3,
        over_worst_case=2,
        class_mismatches=(ClassMismatch(expected="nan", actual="+0", count=2, first_index=(0, 3)),),
        worst=WorstElement(
            index=(0, 5), actual=None, expected=2.0, tolerance=0.5, rounding=0.25, internal=0.25, worst_case=None
        ),
    )
    right = OutputDocument(name="values", kind="exact", shape=(), dtype="bfloat16", accuracy=accuracy("values"))
    broken = OutputDocument(
        name="indices",
        kind="index",
        shape=(0, 3),
        dtype="int64",
        accuracy=wrong,
        bad_region=(Span(first=0, last=0), Span(first=1, last=2)),
    )
    absent = OutputDocument(name="extra", kind="exact", shape=(1,), dtype="bool", accuracy=None)
    failed = replace(
        plain.observations[1],
        reason="half a pair: é",
        reference=ReferenceUse(used=ReferenceKind.NAIVE, confidence=Confidence.LOW, dissent="torch by 3 ULP"),
        accuracy=wrong,
        outputs=(right, broken, absent),
        findings=(finding(Cause.TAIL_MASK, 0.97), finding(Cause.UNKNOWN, 0.1)),
        timing=TimingDocument(total_ns=900, function_ns=300, reference_ns=500),
        bundle="ab" * 32,
    )
    skipped = replace(
        plain.observations[2],
        reason="outside the domain",
        reference=ReferenceUse(used=None, confidence=Confidence.LOW, dissent=None),
        accuracy=None,
        outputs=(),
    )
    run = replace(
        plain.run,
        commit="c" * 40,
        stage=Stage.FULL,
        started_at="2026-11-29T23:59:59.999999+00:00",
        machine=FULL_MACHINE,
        revision=Revision(
            commit="d" * 40,
            ancestors=("b" * 40, "a" * 40),
            base_commit="a",
            branch="main",
            dirty=True,
            tree="e" * 40,
        ),
        ci=CiContext(key="o/r/7/test/full@2of8", attempt=2, event="push", pull_request=12, recording=True),
    )
    group = Group(
        fingerprint="f1",
        cause=Cause.TAIL_MASK,
        operator="softmax",
        count=1,
        cases=("softmax-1",),
        statement="the tail",
        bundle="ab" * 32,
        replay="opsdebug replay abababababab",
        known=True,
        since="b" * 40,
        smallest="N=5, float16",
    )
    return RunDocument(
        schema="opsdebug.run/1",
        run=run,
        observations=(plain.observations[0], failed, skipped),
        summary=Summary(
            verdict=Verdict.FAIL, exit_code=1, counts={"pass": 1, "fail": 1, "skipped": 1}, groups=(group,)
        ),
        next=("opsdebug attribute softmax",),
        stage="full",
        baseline="b" * 40,
        baseline_how="baseline: bbbbbbbbbbbb, the parent of the commit under test",
        baseline_doubt="1 file of the store cannot be read and is left out",
        regressions=("gelu",),
        unchanged=("mul", "sum"),
        unavailable=(Unavailable(operator="c_sum", reason="no C compiler was found"),),
        notes=("bundles hold no values",),
        sources=(OperatorSource(operator="softmax", file="kernels/softmax.py", line=12),),
        performance=performance(case("add"), FULL_MACHINE),
        plan=PlanFacts(id="9" * 64, cases=24, mine=3, gate=Gate.ALL),
    )


def finding(cause: Cause, confidence: float) -> Finding:
    return Finding(
        cause=cause,
        confidence=confidence,
        blame=Blame.OPERATOR,
        statement="elements from 120 on are wrong",
        evidence={
            "first": 120,
            "share": 0.5,
            "whole": 1.0,
            "all": True,
            "axis": None,
            "text": "nan",
            "limit": -math.inf,
        },
        next="opsdebug attribute softmax",
    )

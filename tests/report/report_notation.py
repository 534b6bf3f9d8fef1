"""A run with one of everything, in the notation of the judge's tests."""

from __future__ import annotations

from judge_notation import ended, judged, output, process, quantiles, raised, ran, vote

from opsdebug_ci.failures import fingerprints, group
from opsdebug_ci.judge import summarise
from opsdebug_ci.model import (
    CiContext,
    Durations,
    Gate,
    Machine,
    Revision,
    RunDocument,
    RunRecord,
    Stage,
    Unavailable,
)
from opsdebug_ci.report import document

MACHINE = Machine(
    key="k",
    system="Linux x86_64",
    cpu="cpu",
    cores=2,
    memory_bytes=2**33,
    devices=(),
    python="3.11.2",
    torch="2.13.0",
    versions={"numpy": "2.3.5"},
    threads=2,
)


def record(stage=Stage.SMOKE, commit="0123456789abcdef0123"):
    return RunRecord(
        id="run-1",
        commit=commit,
        stage=stage,
        started_at="2026-11-29T12:00:00Z",
        duration_ns=1_500_000_000,
        machine=MACHINE,
        revision=Revision(commit=commit),
        ci=CiContext(),
        tool_version="0.1.0",
        config_hash="00",
    )


def run_document(judgements, *, stage=Stage.SMOKE, gate=Gate.NEW, unchanged=(), unavailable=(), **facts) -> RunDocument:
    summary = summarise(judgements, group(judgements), gate, **facts)
    return document(
        record(stage),
        judgements,
        summary,
        fingerprints=fingerprints(judgements),
        unchanged=unchanged,
        unavailable=tuple(Unavailable(operator=name, reason=reason) for name, reason in unavailable),
    )


GOOD = output(
    ulp=quantiles("0 1 1 2"),
    rel_err=quantiles("0 1e-8 2e-8 5e-8"),
    significant_digits=7.2,
    misrounding_rate=0.0004,
    cosine=1.0,
    bad="1.0000001 for 1 allowed 2e-7 at 3,17",
)

BAD = output(
    rejected=12,
    over_tolerance=15,
    compared=16384,
    dtype="float16",
    shape=(128, 128),
    ulp=quantiles("0 1 3 6"),
    rel_err=quantiles("0 0.001 0.002 0.25"),
    significant_digits=3.0,
    misrounding_rate=0.3125,
    cosine=0.9995,
    max_abs_err=0.25,
    bad="1.25 for 1 allowed 0.001 at 3,17",
)


def demo() -> RunDocument:
    """Two operators that fail, one clean, and every other verdict."""
    return run_document(
        [
            judged(ran(GOOD), operator="add"),
            judged(ran(output(zone="amber", kind="elementwise", over_tolerance=1)), operator="add", seed=1),
            judged(ran(BAD, durations=Durations(total_ns=12_300_000, function_ns=1, reference_ns=2)), dtype="float16"),
            judged(ran(BAD), dtype="float16", seed=1),
            judged(raised(), operator="gelu", dims="B=2"),
            judged(ended("timed_out", process=process(signal=None)), operator="scan", dims="N=5"),
            judged(ran(output(disputed=2, votes=[vote("torch", sides=2)])), operator="erf"),
            judged(ended("inputs_broken", reason="`inputs` returned None"), operator="erf", seed=1),
            judged(ended("skipped", reason="no C compiler here"), operator="conv2d"),
            judged(ran(output(bound="overridden by the contract: atol=0.1 + rtol=0 * |y|")), operator="mine"),
        ],
        unchanged=("matmul", "mean"),
        unavailable=[("c_sum", "no C compiler was found")],
    )

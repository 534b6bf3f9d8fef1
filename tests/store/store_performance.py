"""What a run says of speed, for the tests of the store: one in full, runs of controls, and any at all."""

from __future__ import annotations

import types
import typing
from collections.abc import Mapping
from dataclasses import fields, is_dataclass, replace
from enum import Enum
from typing import Any, Union

from hypothesis import strategies as st

from opsdebug_ci.model import Blame, CaseDocument, Cause, Finding, Machine, RunDocument
from opsdebug_ci.model.history import ChangePoint, ComparableRuns, HistoryReading, LeftOut, Trend, TrendPoint
from opsdebug_ci.model.imported import ImportedTime
from opsdebug_ci.model.performance import PerformanceDocument
from opsdebug_ci.model.profile import Parts, Stopwatch, Traffic
from opsdebug_ci.model.profile_document import (
    BoundBy,
    CachedBandwidth,
    DevicePeaks,
    Floor,
    ProfileEntry,
    Sweep,
    SweepPoint,
)
from opsdebug_ci.model.speed import (
    AlarmBound,
    ArmFacts,
    Comparing,
    Comparison,
    ComparisonRun,
    Effect,
    LaunchTime,
    Round,
    SpeedVerdict,
)
from opsdebug_ci.model.timing import Clocks

BASE, HEAD, OLD = "3fa9c21" + "0" * 33, "c" * 40, "a" * 40
"""Commits of the arms."""

WATCH = Stopwatch(
    warm_ns=900.5,
    best_ns=870.25,
    cold_ns=1500.0,
    samples_ns=(900.5, 870.25, 911.0),
    calls=64,
    first_call_ns=52_000.0,
    warm_calls=40,
    timer_ns=0.75,
    cpu_share=0.98,
    slowdown_per_call=1e-4,
)

EFFECT = Effect(
    ratio=1.11,
    low=1.08,
    high=1.14,
    p_slower=0.0001,
    p_faster=0.9999,
    tenth_ratio=1.105,
    detectable=0.03,
    launches=8,
)


def performance(case: CaseDocument, machine: Machine) -> PerformanceDocument:
    """One of everything, no field at its default."""
    finding = Finding(
        cause=Cause.PERF_CLIFF,
        confidence=0.9,
        blame=Blame.OPERATOR,
        statement="twice the bytes take five times as long",
        evidence={"exponent": 2.3},
        next="opsdebug profile add",
    )
    entry = ProfileEntry(
        case=case,
        measured=WATCH,
        parts=Parts(launch_ns=300.0, execute_ns=600.5, sync_ns=0.0, how="launch: a call on the smallest tensors"),
        traffic=Traffic(read_bytes=1024, written_bytes=512, stated_bytes=1500.5, flops=128.0),
        floor=Floor(ns=150.0, memory_ns=150.0, compute_ns=2.5, bound=BoundBy.MEMORY, intensity=0.25),
        utilisation=0.25,
        bandwidth_bytes_per_s=2.5e9,
        launch_share=0.33,
        reference=replace(WATCH, warm_ns=800.0),
        explanation="it fits in a cache",
        advice="look at the access pattern",
        findings=(finding,),
        clocks=Clocks(frequency_hz=2.9e9, nominal_hz=3e9, throttled=True, policy="powersave", stolen=0.01, load=1.5),
        reason="cut short",
    )
    untimed = replace(
        entry, measured=None, parts=None, traffic=None, floor=None, reference=None, findings=(), clocks=Clocks()
    )
    reading = HistoryReading(
        case=case,
        runs=21,
        left_out=2,
        observed_ns=910.0,
        expected_ns=900.0,
        low_ns=880.0,
        high_ns=920.0,
        suspected=True,
        drifting="slower by 12 % since aaaaaaa",
        detectable=0.04,
        covariate="memcpy, 60 % of the variance",
        changes=(ChangePoint(ratio=1.12, before=OLD, after=HEAD, at="2026-11-20T03:00:00Z", p_value=1e-5),),
        statement="within what 21 runs predict",
    )
    return PerformanceDocument(
        peaks=(
            DevicePeaks(
                device="cpu",
                bandwidth_bytes_per_s=1e10,
                flops_per_s={"float32": 1e11, "float64": 5e10},
                source="measured",
                cached=(CachedBandwidth(working_set_bytes=32768, bandwidth_bytes_per_s=1e11),),
                launch_ns=250.0,
            ),
        ),
        profiles=(entry, untimed),
        sweeps=(
            Sweep(
                operator=case.operator,
                dtype="float32",
                points=(SweepPoint(dims={"S": 128, "B": 1}, bytes=1024.0, operator_ns=900.0, reference_ns=None),),
                exponent=2.3,
                reference_exponent=1.0,
            ),
        ),
        comparison=comparison_run(case, machine),
        history=(reading,),
        alarms=AlarmBound(alarms=0, of=318, upper=0.0094),
        notes=("peaks are measured",),
        imported=(
            ImportedTime(
                case=case,
                source="pytest-benchmark 5.3.1",
                min_ns=100.5,
                median_ns=101.5,
                mean_ns=102.5,
                stddev_ns=1.5,
                samples_ns=(100.5, 104.5),
                samples=2,
                calls=20,
            ),
        ),
        comparable=ComparableRuns(
            machine_key=machine.key,
            counted=21,
            left_out=3,
            other_machines=2,
            why=(LeftOut(machines=2, runs=3, differs=("torch 2.12.0 there, 2.13.0 here",)),),
        ),
        trends=(
            Trend(case=case, now_ns=910.0, points=(TrendPoint(commit=OLD, ns=800.5, at="2026-11-20T03:00:00+00:00"),)),
        ),
    )


def comparison_run(case: CaseDocument, machine: Machine, *, controls: str = "same") -> ComparisonRun:
    """A regressed change, a rung of the ladder, and controls with the blank-separated verdicts."""
    launches = tuple(
        LaunchTime(
            arm=arm,
            round=Round.SCREEN,
            launch=launch,
            min_ns=800.5 + launch,
            p10_ns=810.0,
            median_ns=830.0,
            samples=24,
            calls=64,
            throttled=True,
        )
        for launch in range(2)
        for arm in ("head", "base")
    )
    change = Comparison(
        case=case,
        why=Comparing.CHANGE,
        base="base",
        verdict=SpeedVerdict.REGRESSED,
        statement="11 % slower [8, 14]",
        threshold=0.1,
        base_ns=800.5,
        head_ns=900.5,
        screen=EFFECT,
        confirm=replace(EFFECT, launches=10),
        launches=launches,
        cost_s=4.5,
    )
    rung = replace(
        change, why=Comparing.LADDER, base="a week ago", verdict=SpeedVerdict.SAME, confirm=None, launches=()
    )
    gone = replace(rung, verdict=SpeedVerdict.MISSING, base_ns=None, head_ns=None, screen=None)
    again = tuple(replace(one, arm="base again" if one.arm == "head" else one.arm) for one in launches)
    control = replace(change, why=Comparing.CONTROL, confirm=None, launches=again)
    arm = ArmFacts(
        name="base", revision="main", commit=BASE, dirty=True, tree="t" * 40, python="py", torch="2.13.0", build_s=2.5
    )
    return ComparisonRun(
        arms=(arm, replace(arm, name="a week ago", commit=OLD), replace(arm, name="head", commit=HEAD, build_s=None)),
        comparisons=(change, rung, gone),
        controls=tuple(replace(control, verdict=SpeedVerdict(word)) for word in controls.split()),
        contaminated="the probe differs by 4 %",
        probe_ratio=1.04,
        machine=replace(machine, threads=1),
        processes=24,
        duration_s=61.5,
        seed=7,
        complete=False,
        notes=("one operator was left out",),
    )


def with_controls(document: RunDocument, controls: str, *, contaminated: bool = False) -> RunDocument:
    """`document` with a finished comparison whose controls have these verdicts."""
    case = document.observations[0].case
    run = replace(
        comparison_run(case, document.run.machine, controls=controls),
        contaminated="the probe differs by 4 %" if contaminated else None,
        complete=True,
    )
    return replace(document, performance=PerformanceDocument(comparison=run))


def calm(document: RunDocument) -> RunDocument:
    """The same with clocks that nothing held down."""
    assert document.performance is not None and document.performance.comparison is not None
    run = document.performance.comparison
    first = replace(
        run.comparisons[0], launches=tuple(replace(x, throttled=False) for x in run.comparisons[0].launches)
    )
    comparison = replace(run, comparisons=(first, *run.comparisons[1:]))
    return replace(document, performance=replace(document.performance, comparison=comparison))


def performances() -> st.SearchStrategy[PerformanceDocument]:
    """Any at all: every field any value of its type, NaN aside, which equals nothing."""
    return any_value(PerformanceDocument).map(_told_apart)


def _told_apart(document: PerformanceDocument) -> PerformanceDocument:
    run = document.comparison
    if run is None:
        return document
    changes = tuple(c for c in run.comparisons if c.why is not Comparing.CONTROL)
    controls = tuple(replace(c, why=Comparing.CONTROL) for c in run.controls)
    return replace(document, comparison=replace(run, comparisons=changes, controls=controls))


def any_value(hint: Any) -> st.SearchStrategy[Any]:
    """Any value of a type that a stored document is made of, NaN aside."""
    scalars: dict[Any, st.SearchStrategy[Any]] = {
        int: st.integers(-(2**63), 2**63 - 1),
        float: st.floats(allow_nan=False),
        bool: st.booleans(),
        str: st.text(st.characters(codec="utf-8"), max_size=5),
        type(None): st.none(),
    }
    if hint in scalars:
        return scalars[hint]
    if isinstance(hint, type) and issubclass(hint, Enum):
        return st.sampled_from(hint)
    if is_dataclass(hint) and isinstance(hint, type):
        hints = typing.get_type_hints(hint)
        return st.builds(hint, **{field.name: any_value(hints[field.name]) for field in fields(hint)})
    origin, arguments = typing.get_origin(hint), typing.get_args(hint)
    if origin in (Union, types.UnionType):
        return st.one_of(*map(any_value, arguments))
    if origin is tuple:
        return st.lists(any_value(arguments[0]), max_size=2).map(tuple)
    assert issubclass(origin, Mapping)
    return st.dictionaries(any_value(arguments[0]), any_value(arguments[1]), max_size=2)

"""Comparisons in a short notation."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from opsdebug_ci.model import CaseDocument, Machine
from opsdebug_ci.model.speed import (
    ArmFacts,
    Comparing,
    Comparison,
    ComparisonRun,
    Effect,
    LaunchTime,
    Round,
    SpeedVerdict,
)

MACHINE = Machine(
    key="k",
    system="Linux x86_64",
    cpu="cpu",
    cores=2,
    memory_bytes=2**34,
    devices=(),
    python="3.11",
    torch="2.13.0",
    versions={},
    threads=1,
)


def arm(name: str, commit: str, *, dirty: bool = False) -> ArmFacts:
    return ArmFacts(
        name=name, revision="", commit=commit, dirty=dirty, tree="", python="python", torch="2.13.0", build_s=None
    )


def effect(ratio: float, low: float, high: float, launches: int = 8) -> Effect:
    return Effect(
        ratio=ratio,
        low=low,
        high=high,
        p_slower=0.001,
        p_faster=1.0,
        tenth_ratio=ratio,
        detectable=0.03,
        launches=launches,
    )


def comparison(
    operator: str,
    verdict: SpeedVerdict,
    *,
    why: Comparing = Comparing.CHANGE,
    base: str = "base",
    dims: Mapping[str, int] | None = None,
) -> Comparison:
    case = CaseDocument(
        id=f"{operator}{dims}",
        name=operator,
        operator=operator,
        dtype="float32",
        dims=dims or {"N": 4},
        layout="contiguous",
        inputs="normal",
        seed=0,
        device="cpu",
        direction="forward",
    )
    return Comparison(
        case=case,
        why=why,
        base=base,
        verdict=verdict,
        statement=str(verdict),
        threshold=0.1,
        base_ns=1e5,
        head_ns=1.1e5,
        screen=effect(1.1, 1.08, 1.12),
        confirm=None,
    )


def comparison_run(
    arms: Sequence[ArmFacts], comparisons: Sequence[Comparison], controls: Sequence[Comparison] = ()
) -> ComparisonRun:
    return ComparisonRun(
        arms=tuple(arms),
        comparisons=tuple(comparisons),
        controls=tuple(controls),
        contaminated=None,
        probe_ratio=1.0,
        machine=MACHINE,
        processes=8,
        duration_s=10.0,
        seed=0,
    )


def launches(arm_name: str, part: Round, minima_ns: Sequence[float]) -> list[LaunchTime]:
    return [launch_time(arm_name, part, number, value) for number, value in enumerate(minima_ns)]


def launch_time(arm_name: str, part: Round, number: int, least_ns: float) -> LaunchTime:
    return LaunchTime(
        arm=arm_name,
        round=part,
        launch=number,
        min_ns=least_ns,
        p10_ns=least_ns * 1.01,
        median_ns=least_ns * 1.05,
        samples=48,
        calls=10,
    )

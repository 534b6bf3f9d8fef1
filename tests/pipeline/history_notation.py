"""Histories of simulated nights over real commits, stored as a full stage stores them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta, timezone
from pathlib import Path

import numpy as np

from opsdebug_ci.model import (
    Calibration,
    CaseDocument,
    CiContext,
    Machine,
    ProbeReading,
    Revision,
    RunDocument,
    RunRecord,
    Stage,
    Summary,
    Verdict,
)
from opsdebug_ci.model.performance import PerformanceDocument
from opsdebug_ci.model.speed import (
    ArmFacts,
    Comparing,
    Comparison,
    ComparisonRun,
    LaunchTime,
    Round,
    SpeedVerdict,
)
from opsdebug_ci.store.places.backends import open_store

MACHINE = Machine(
    key="m1",
    system="Linux x86_64",
    cpu="a CPU",
    cores=2,
    memory_bytes=8 << 30,
    devices=(),
    python="3.11.7",
    torch="2.13.0",
    versions={},
    threads=1,
)

FIRST_NIGHT = datetime(2026, 9, 1, 3, tzinfo=timezone.utc)
"""When the first run starts."""

PROBE_BYTES = 1 << 26
"""Size of the only probe."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Night:
    """One stored run of one series."""

    commit: str
    """Under test."""

    ns: float
    """Median of its launch minima."""

    probe_ns: int = 1000
    """What a copy took."""

    throttled: bool = False
    """In one launch."""

    contaminated: str | None = None
    """Why its comparisons cannot be trusted."""


def case(operator: str = "double") -> CaseDocument:
    return CaseDocument(
        id=f"{operator}-1",
        name=f"{operator}[N=1048576 float32]",
        operator=operator,
        dtype="float32",
        dims={"N": 1 << 20},
        layout="contiguous",
        inputs="normal",
        seed=0,
        device="cpu",
        direction="forward",
    )


def compared(*operators: str, night: Night) -> ComparisonRun:
    """What the engine hands back: the head against the parent, four launches of each."""
    spread = (0.98, 0.99, 1.01, 1.02)
    head = ArmFacts(
        name="head", revision="", commit=night.commit, dirty=False, tree="", python="p", torch="2", build_s=None
    )
    return ComparisonRun(
        arms=(replace(head, name="base", commit="b" * 40), head),
        comparisons=tuple(
            Comparison(
                case=case(operator),
                why=Comparing.CHANGE,
                base="base",
                verdict=SpeedVerdict.SAME,
                statement="same",
                threshold=0.1,
                base_ns=night.ns,
                head_ns=night.ns,
                screen=None,
                confirm=None,
                launches=tuple(
                    _launch(arm, number, night.ns * factor, throttled=night.throttled and number == 0)
                    for arm in ("base", "head")
                    for number, factor in enumerate(spread)
                ),
            )
            for operator in operators or ("double",)
        ),
        controls=(),
        contaminated=night.contaminated,
        probe_ratio=1.0,
        machine=MACHINE,
        processes=8,
        duration_s=1.0,
        seed=1,
    )


def calibration(night: Night) -> Calibration:
    reading = ProbeReading(
        probe="memcpy",
        size_bytes=PROBE_BYTES,
        samples_ns=(night.probe_ns + 50, night.probe_ns),
        bandwidth_bytes_per_s=2e9 * PROBE_BYTES / night.probe_ns,
    )
    return Calibration(device="cpu", probes=(reading,))


def store_nights(place: Path, nights: Sequence[Night], *, first: int = 0, machine: Machine = MACHINE) -> None:
    """Store a run per night on one machine, the first so many days after FIRST_NIGHT."""
    for number, night in enumerate(nights, start=first):
        started = FIRST_NIGHT + timedelta(days=number)
        run = RunRecord(
            id=f"r{number:04}",
            commit=night.commit,
            stage=Stage.FULL,
            started_at=started.isoformat(),
            duration_ns=1,
            machine=machine,
            revision=Revision(commit=night.commit),
            ci=CiContext(event="schedule"),
            tool_version="0.1.0",
            config_hash="0" * 64,
        )
        document = RunDocument(
            schema="opsdebug.run/1",
            run=run,
            observations=(),
            summary=Summary(verdict=Verdict.PASS, exit_code=0, counts={}, groups=()),
            next=(),
            stage="full",
            performance=PerformanceDocument(comparison=compared(night=night)),
        )
        open_store(place).append(document, (calibration(night),))


def noisy(levels: Sequence[float], spread: float = 0.01, seed: int = 1) -> list[float]:
    """Levels in ns with noise between runs."""
    draws = np.random.default_rng(seed)
    return [level * float(np.exp(spread * draws.standard_normal())) for level in levels]


def _launch(arm: str, number: int, ns: float, *, throttled: bool) -> LaunchTime:
    return LaunchTime(
        arm=arm,
        round=Round.SCREEN,
        launch=number,
        min_ns=ns,
        p10_ns=1.01 * ns,
        median_ns=1.05 * ns,
        samples=24,
        calls=1,
        throttled=throttled,
    )

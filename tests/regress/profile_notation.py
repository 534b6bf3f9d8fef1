"""Profiles from a few numbers: `at({"N": 64}, 1000)` is a case of 64 elements that takes 1000 ns."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from opsdebug_ci.model.case import Case
from opsdebug_ci.model.profile import CaseProfile, Parts, Stopwatch, Traffic
from opsdebug_ci.model.profile_document import DevicePeaks
from opsdebug_ci.model.vocabulary import Family, Layout
from opsdebug_ci.regress.profiled import Profiled

AGAIN = "opsdebug profile op"


def watch(ns: float, **other: Any) -> Stopwatch:
    """Every call takes `ns`."""
    plain = Stopwatch(
        warm_ns=ns,
        best_ns=ns,
        cold_ns=None,
        samples_ns=(ns,) * 6,
        calls=1,
        first_call_ns=ns,
        warm_calls=3,
        timer_ns=0.0,
        cpu_share=1.0,
        slowdown_per_call=None,
    )
    return replace(plain, **other)


def traffic(read: int, written: int = 0, flops: float | None = None, stated: float | None = None) -> Traffic:
    return Traffic(read_bytes=read, written_bytes=written, stated_bytes=stated, flops=flops)


def parts(launch: float, execute: float, sync: float = 0.0) -> Parts:
    return Parts(launch_ns=launch, execute_ns=execute, sync_ns=sync, how="given")


def answer(ns: float | None, reference: float | None = None, **other: Any) -> CaseProfile:
    """A profile by the operator's time and the reference's."""
    plain = CaseProfile(
        case_id="a",
        operator=None if ns is None else watch(ns),
        reference=None if reference is None else watch(reference),
    )
    return replace(plain, **other)


def at(
    dims: Mapping[str, int], ns: float, reference: float | None = None, *, moved: int | None = None, **other: Any
) -> Profiled:
    """A profiled case; it moves 8 bytes per element of its dims unless said otherwise."""
    elements = 1
    for size in dims.values():
        elements *= size
    case = Case(operator="op", dims=dims, dtype="float32", layout=Layout.CONTIGUOUS, inputs=Family.NORMAL, seed=0)
    flops = other.pop("flops", None)
    profile = answer(ns, reference, **other)
    moving = traffic(8 * elements if moved is None else moved, flops=flops)
    return Profiled(case=case, profile=replace(profile, traffic=moving))


def peaks(bandwidth: float | None, **flops: float) -> DevicePeaks:
    return DevicePeaks(
        device="cpu",
        bandwidth_bytes_per_s=bandwidth,
        flops_per_s=flops,
        source="configuration",
        cached=(),
        launch_ns=None,
    )

"""Comparisons of speed, in a short notation."""

from __future__ import annotations

import re

from report_notation import MACHINE

from opsdebug_ci.model import CaseDocument
from opsdebug_ci.model.speed import (
    COMPARE_SCHEMA,
    AlarmBound,
    ArmFacts,
    CompareDocument,
    Comparing,
    Comparison,
    ComparisonRun,
    Effect,
    LaunchTime,
    Round,
    SpeedVerdict,
)

BASE = ArmFacts(
    name="base",
    revision="main",
    commit="3fa9c21" + "0" * 33,
    dirty=False,
    tree="",
    python="python",
    torch="2.13.0",
    build_s=2.5,
)
HEAD = ArmFacts(
    name="head", revision="", commit="c" * 40, dirty=True, tree="", python="python", torch="2.13.0", build_s=None
)
WEEK = ArmFacts(
    name="a week ago", revision="", commit="b" * 40, dirty=False, tree="", python="python", torch="2.13.0", build_s=None
)

_NOTATION = re.compile(r"(\S+) (\S+) (\w+)(?: ([-+.\d]+) \[([-.\d]+), ([-.\d]+)\] x(\d+))?(?: sees ([.\d]+))?")


def effect(percent: float, low: float, high: float, launches: int = 4, detectable: float = 3.0) -> Effect:
    """An effect in per cent."""
    return Effect(
        ratio=1 + percent / 100,
        low=1 + low / 100,
        high=1 + high / 100,
        p_slower=0.001,
        p_faster=0.999,
        tenth_ratio=1 + percent / 100,
        detectable=detectable / 100,
        launches=launches,
    )


def compared(
    notation: str, *, why: Comparing = Comparing.CHANGE, base: str = "base", statement: str = "said in full"
) -> Comparison:
    """From `operator dims verdict +11 [8, 14] x8 sees 3`: per cent, fresh launches (4: only screened), detectable."""
    match = _NOTATION.fullmatch(notation)
    assert match is not None
    operator, dims, verdict, percent, low, high, launches, sees = match.groups()
    sizes = {name: int(size) for name, size in (part.split("=") for part in dims.split(","))}
    found = None
    if percent is not None:
        found = effect(float(percent), float(low), float(high), int(launches), float(sees or 3))
    fresh = found is not None and found.launches > 4
    return Comparison(
        case=CaseDocument(
            id=f"{operator}-{dims}",
            name=f"{operator}[{dims} float32]",
            operator=operator,
            dtype="float32",
            dims=sizes,
            layout="contiguous",
            inputs="normal",
            seed=0,
            device="cpu",
            direction="forward",
        ),
        why=why,
        base=base,
        verdict=SpeedVerdict(verdict),
        statement=statement,
        threshold=0.1,
        base_ns=None if found is None else 812_345.0,
        head_ns=None if found is None else 812_345.0 * found.ratio,
        screen=effect(5, 1, 9) if fresh else found,
        confirm=found if fresh else None,
        launches=() if found is None else (launch("base"), launch("head")),
        cost_s=4.56,
    )


def launch(arm: str) -> LaunchTime:
    return LaunchTime(
        arm=arm, round=Round.SCREEN, launch=0, min_ns=812_345.0, p10_ns=8.2e5, median_ns=8.4e5, samples=24, calls=2
    )


def compared_run(*comparisons: Comparison, controls: str = "same same", **facts: object) -> ComparisonRun:
    """A run of 24 processes; `facts` are its fields."""
    told = [
        compared(f"add N=8 {verdict} +0.5 [-1, 2] x4", why=Comparing.CONTROL, statement=f"control is {verdict}")
        for verdict in controls.split()
    ]
    fields = {
        "contaminated": None,
        "probe_ratio": 1.0,
        "machine": MACHINE,
        "processes": 24,
        "duration_s": 61.2,
        "seed": 7,
    }
    return ComparisonRun(arms=(BASE, WEEK, HEAD), comparisons=comparisons, controls=tuple(told), **{**fields, **facts})


def compare_document(run: ComparisonRun, *, alarms: AlarmBound | None = None, next_: str = "") -> CompareDocument:
    verdict = run.comparisons[0].verdict if run.comparisons else SpeedVerdict.INCONCLUSIVE
    return CompareDocument(
        schema=COMPARE_SCHEMA, run=run, verdict=verdict, alarms=alarms, next=(next_,) if next_ else (), exit_code=0
    )


REGRESSED = (
    compared("layer_norm S=128 regressed +11 [8, 14] x8"),
    compared("layer_norm S=512 regressed +10.5 [7.6, 13.4] x8"),
    compared("gelu N=4096 inconclusive +4 [-12, 22] x4 sees 18"),
    compared("topk N=64 suspected +4.2 [3.1, 5.3] x8"),
    compared("gone N=8 missing", statement="missing: base has it, head does not"),
    compared("fresh N=8 new", statement="new: base does not have it"),
    compared("sum N=64 faster -20 [-22, -18] x8"),
    compared("add N=8 same +0.04 [-1, 1.04] x4 sees 2.25"),
)
"""One of every verdict, worst first; one operator with two shapes."""

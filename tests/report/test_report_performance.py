"""Speed in the reports of a run: what needs a person is open, the rest is folded, nothing is passed over."""

from __future__ import annotations

from dataclasses import replace

import pytest
from report_notation import demo
from speed_notation import REGRESSED, compared, compared_run

from opsdebug_ci.model import Blame, Cause, Finding, RunDocument
from opsdebug_ci.model.history import ChangePoint, HistoryReading
from opsdebug_ci.model.performance import PerformanceDocument
from opsdebug_ci.model.profile_document import ProfileEntry
from opsdebug_ci.model.speed import AlarmBound
from opsdebug_ci.model.timing import Clocks
from opsdebug_ci.report import decode, encode, markdown, text

CHANGE = ChangePoint(ratio=1.12, before="a" * 40, after="b" * 40, at="2026-11-20T03:00:00Z", p_value=1e-5)


def reading(operator: str, statement: str, **facts: object) -> HistoryReading:
    blank = HistoryReading(
        case=compared(f"{operator} N=8 same").case,
        runs=30,
        left_out=0,
        observed_ns=900.0,
        expected_ns=800.0,
        low_ns=780.0,
        high_ns=820.0,
        suspected=False,
        drifting=None,
        detectable=0.04,
        covariate=None,
        changes=(),
        statement=statement,
    )
    return replace(blank, **facts)


def profiled(operator: str, utilisation: float | None, *findings: Finding) -> ProfileEntry:
    return ProfileEntry(
        case=compared(f"{operator} N=8 same").case,
        measured=None,
        parts=None,
        traffic=None,
        floor=None,
        utilisation=utilisation,
        bandwidth_bytes_per_s=None,
        launch_share=None,
        reference=None,
        explanation=None,
        advice="look at the access pattern",
        findings=findings,
        clocks=Clocks(),
    )


CLIFF = Finding(
    cause=Cause.PERF_CLIFF, confidence=0.9, blame=Blame.OPERATOR, statement="9 x slower at N=9", evidence={}, next="x"
)

PERFORMANCE = PerformanceDocument(
    comparison=compared_run(*REGRESSED),
    history=(
        reading("add", "as expected"),
        reading("gelu", "12 % above what is expected: suspected, not certain", suspected=True),
        reading("sum", "as expected", changes=(CHANGE,)),
    ),
    profiles=(profiled("add", 0.82), profiled("sum", 0.12), profiled("topk", None, CLIFF)),
    alarms=AlarmBound(alarms=0, of=318, upper=0.009376),
    notes=("no release to compare with",),
)

SECTION = """\
performance: REGRESSED: layer_norm is 11 % slower [8, 14] than base 3fa9c21, confirmed in 8 fresh launches

regressed, needs a person:
  layer_norm S=128 float32: 11 % slower [8, 14] than base 3fa9c21 (+1 more)

suspected:
  topk N=64 float32: 4.2 % slower [3.1, 5.3] than base 3fa9c21

inconclusive:
  gelu N=4096 float32: 4 % slower [-12, 22] than base 3fa9c21; only 18 % slower or more would have shown

missing:
  gone: base has it, head does not

new:
  fresh: base does not have it

history:
  gelu[N=8 float32]: 12 % above what is expected: suspected, not certain
  sum[N=8 float32]: its level changed by +12 % between aaaaaaa and bbbbbbb (p 1e-05)

profile:
  topk[N=8 float32]: 9 x slower at N=9
  sum[N=8 float32] at 12 % of its floor: look at the access pattern
  add[N=8 float32] at 82 % of its floor: look at the access pattern

A/A control: 2 of 2 quiet; 0 false alarms in 318 so far: at most 0.94 %
cost: 24 processes, 61 s, builds 2 s, 7 operators
note: no release to compare with

not settled:
"""


def run(performance: PerformanceDocument | None = PERFORMANCE) -> RunDocument:
    return replace(demo(), performance=performance, regressions=("layer_norm",) if performance else ())


def test_the_text_report_has_a_section_between_failures_and_what_is_not_settled() -> None:
    told = text(run())
    assert SECTION in told
    assert told.index("failures:") < told.index("performance: ")
    assert told.splitlines()[0].endswith("; slower, needs a person: 1 operator")


def test_a_run_that_was_not_asked_about_speed_says_nothing_of_it() -> None:
    assert "performance" not in text(run(None)) and "Performance" not in markdown(run(None))
    assert "needs a person" not in text(run(None))


def test_v_adds_the_table() -> None:
    assert "detectable" not in text(run())
    assert "operator    dims    dtype    against" in text(run(), 1)


def test_nothing_to_compare_with_is_said() -> None:
    told = text(run(PerformanceDocument(notes=("the baseline commit cannot be built",))))
    assert "performance: nothing was compared\n\nnote: the baseline commit cannot be built\n" in told


def test_a_comment_lists_what_needs_a_person_openly_and_folds_the_rest() -> None:
    comment = markdown(run())
    shown, _, folded = comment.partition("<details><summary>Performance in detail</summary>")
    assert shown.index("### Failures") < shown.index("### Performance")
    assert "Regressed, needs a person:\n\n- layer_norm S=128 float32: 11 % slower &#91;8, 14&#93;" in shown
    assert "only 18 % slower or more would have shown" in shown
    assert "topk N=64" not in shown and "topk N=64" in folded
    assert "at most 0.94 %" in folded and "its level changed by +12 %" in folded


def test_regressions_outlive_the_details_when_space_runs_out() -> None:
    document = run()
    whole = len(markdown(document).encode())
    for limit in range(1500, whole, 250):
        comment = markdown(document, limit=limit)
        assert "slower, needs a person: 1 operator" in comment.splitlines()[0]
    assert "layer_norm S=128 float32" in markdown(document, limit=whole - 1)
    assert len(markdown(document, limit=0).encode()) < 1000


def test_a_name_cannot_write_markdown() -> None:
    evil = compared("gelu N=8 regressed +11 [8, 14] x8")
    evil = replace(evil, case=replace(evil.case, operator="</details>[x](http://y) @org/team"))
    comment = markdown(run(PerformanceDocument(comparison=compared_run(evil))))
    assert "</details>[" not in comment and "http://y" not in comment and "@org" not in comment


def test_performance_survives_json() -> None:
    assert decode(encode(run())) == run()


@pytest.mark.parametrize("verdict", ["inconclusive", "same"])
@pytest.mark.parametrize("complete", [False, True])
def test_what_gives_speed_more_time_is_said_where_that_would_tell(verdict: str, complete: bool):
    compared_now = compared_run(compared(f"gelu N=64 {verdict} +4 [-12, 22] x8"), complete=complete)
    shown = markdown(run(PerformanceDocument(comparison=compared_now)))
    said = "It had too little time: `budget` in the configuration gives it more." in shown
    assert said == (verdict == "inconclusive" and not complete)

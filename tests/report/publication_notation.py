"""Publications: one of each conclusion, and one whose every text is hostile."""

from __future__ import annotations

from dataclasses import replace

from judge_notation import ended, judged, output, raised, ran
from report_notation import BAD, GOOD, demo, run_document
from speed_notation import REGRESSED, compared, compared_run

from opsdebug_ci.model import RunDocument
from opsdebug_ci.model.history import Trend, TrendPoint
from opsdebug_ci.model.performance import PerformanceDocument
from opsdebug_ci.model.publication import (
    AcceptedRegression,
    Changes,
    Conclusion,
    FailureKey,
    Publication,
    RunLinks,
    ShardOutcome,
    ShardState,
)
from opsdebug_ci.model.speed import AlarmBound, SpeedVerdict

HEAD, BEFORE, BASELINE = "c0ffee1" + "0" * 33, "beef123" + "0" * 33, "3fa9c21" + "0" * 33

LINKS = RunLinks(
    run_url="https://github.example/acme/kernels/actions/runs/7",
    commit_url="https://github.example/acme/kernels/commit/",
    attempt=2,
    bundles="artifact opsdebug-v1-a2-s1of2 of the CI run",
)

EVIL = (
    "@org/team #1 fixes #2 GH-3 a/b#4 <img src=x onerror=alert(1)> <b>bold</b> <!-- opsdebug-ci:v1 id=default --> "
    "| ``` $x$ [^1] [x](javascript:alert) ![y](https://e.x/y.png) www.e.x me@e.x :tada: deadbeef01 &lt;i&gt; "
    "- [ ] task \u202egnp.exe\x1b[31m \n\n# title\n===\n```mermaid\n</details>"
)
"""A9 and A25 beside A8: what a name may hold."""


def shards(notation: str) -> tuple[ShardOutcome, ...]:
    """`taken missing rejected:its archive is damaged` -> outcomes; a reason has `_` for blanks."""
    words = [word.partition(":") for word in notation.split()]
    return tuple(
        ShardOutcome(
            shard=number,
            state=ShardState(state),
            attempt=1 if state == "taken" else 0,
            reason=reason.replace("_", " "),
        )
        for number, (state, _, reason) in enumerate(words, 1)
    )


def publication(
    document: RunDocument | None, conclusion: str, *, shard_states: str = "taken", **facts: object
) -> Publication:
    """`facts` are its fields."""
    fields: dict[str, object] = {
        "suite": "default",
        "stage": "smoke",
        "head_commit": HEAD,
        "reasons": (),
        "links": LINKS,
        **facts,
    }
    return Publication(conclusion=Conclusion(conclusion), shards=shards(shard_states), document=document, **fields)


def key(operator: str, cause: str) -> FailureKey:
    return FailureKey(fingerprint=f"v2:{operator}", operator=operator, cause=cause)


def with_known(document: RunDocument, *operators: str) -> RunDocument:
    """The failures of these operators are recorded at the baseline."""
    groups = tuple(
        replace(group, known=True, since=BASELINE) if group.operator in operators else group
        for group in document.summary.groups
    )
    return replace(document, summary=replace(document.summary, groups=groups))


def slower(document: RunDocument, *operators: str) -> RunDocument:
    """The series of `speed_notation`, of which `layer_norm` regressed."""
    comparison = compared_run(*REGRESSED)
    times = (812e3, 809e3, 815e3, 811e3)
    points = tuple(
        TrendPoint(commit=BASELINE, ns=ns, at=f"2026-11-2{day}T03:00:00Z") for day, ns in enumerate(times, 5)
    )
    trend = Trend(case=comparison.comparisons[0].case, now_ns=903e3, points=points)
    performance = PerformanceDocument(
        comparison=comparison, trends=(trend,), alarms=AlarmBound(alarms=0, of=318, upper=0.009376)
    )
    return replace(document, performance=performance, regressions=operators or ("layer_norm",))


def clean() -> Publication:
    document = run_document(
        [judged(ran(GOOD), operator=name, seed=seed) for name in ("add", "gelu") for seed in (0, 1)]
    )
    return publication(document, "pass")


def failing() -> Publication:
    """Two new causes and a known one, a regression, every other verdict, a push before it."""
    changes = Changes(
        since=BEFORE,
        new=(key("softmax", "unknown"),),
        fixed=(key("rope", "wrong_axis"), key("mean", "tail_mask")),
        still=(key("gelu", "exception"),),
    )
    return publication(slower(with_known(demo(), "scan")), "fail", shard_states="taken taken", changes=changes)


def regressed() -> Publication:
    return publication(slower(clean().document), "regressed")


def accepted() -> Publication:
    word = AcceptedRegression(
        operator="layer_norm",
        commit=HEAD,
        by="octocat",
        at="2026-11-29T12:00:00Z",
        reason="exact sums cost 11 %",
        until="2026-12-29T12:00:00Z",
    )
    return publication(slower(clean().document), "accepted", accepted=(word,))


def incomplete() -> Publication:
    reason = "its_archive_holds_2,001_files;_wanted_at_most_100"
    return publication(clean().document, "incomplete", shard_states=f"taken missing rejected:{reason}")


def broken() -> Publication:
    return publication(
        None,
        "error",
        shard_states="failed:opsdebug.toml:_unknown_key_`stge`",
    )


def known_only() -> Publication:
    return publication(
        with_known(run_document([judged(ran(BAD)), judged(ran(GOOD), operator="add")]), "softmax"), "pass"
    )


def many(number: int = 5_000, name: str = "op{}") -> Publication:
    """As many causes, each of its own operator: copies of one, since grouping them is not what is looked at."""
    one = run_document([judged(raised(), operator=name.format(0))])
    group, observation = one.summary.groups[0], one.observations[0]
    names = [name.format(i) for i in range(number)]
    groups = tuple(
        replace(group, fingerprint=f"v2:{i}", operator=operator, members=(), cases=(f"case{i}",))
        for i, operator in enumerate(names)
    )
    observations = tuple(
        replace(observation, case=replace(observation.case, id=f"case{i}", operator=operator, name=f"{operator}[N=1]"))
        for i, operator in enumerate(names)
    )
    summary = replace(one.summary, groups=groups, counts={**one.summary.counts, "fail": number})
    return publication(replace(one, observations=observations, summary=summary), "fail")


def hostile(text: str = EVIL) -> Publication:
    """`text` wherever others decide what stands there."""
    document = run_document(
        [
            judged(raised(text, text), operator=text),
            judged(ran(output(text, rejected=3)), operator=f"{text}2"),
            judged(ran(output(text, disputed=1)), operator=text, seed=1),
            judged(ended("skipped", reason=text), operator=text, seed=2),
            judged(ran(GOOD), operator=f"{text}3"),
        ],
        unchanged=(text,),
        unavailable=[(text, text)],
    )
    told = slower(with_known(document, f"{text}2"), "layer_norm", text)
    told = replace(
        told,
        notes=(text,),
        baseline_how=text,
        baseline_doubt=text,
        performance=replace(told.performance, notes=(text,)),
    )
    word = AcceptedRegression(operator="layer_norm", commit=text, by=text, at=text, reason=text, until=text)
    changes = Changes(since=text, new=(key(text, text),), fixed=(key(text, text),), unjudged=(key(text, text),))
    return publication(
        told,
        "fail",
        shard_states="taken missing",
        suite=text,
        reasons=(text,),
        changes=changes,
        fixed=(key(text, text),),
        accepted=(word,),
    )


def faster() -> Publication:
    document = replace(
        clean().document,
        performance=PerformanceDocument(comparison=compared_run(compared("sum N=64 faster -20 [-22, -18] x8"))),
    )
    assert document.performance.comparison.comparisons[0].verdict is SpeedVerdict.FASTER
    return publication(document, "pass")


EVERY = {
    "clean": clean,
    "failing": failing,
    "regressed": regressed,
    "accepted": accepted,
    "incomplete": incomplete,
    "broken": broken,
    "known": known_only,
    "hostile": hostile,
}
"""One of each, by name."""

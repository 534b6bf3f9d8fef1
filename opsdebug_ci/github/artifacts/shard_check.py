"""What the document of a shard must be beyond its types, so that whoever shows it need not ask again.

Decides ranges, spellings of hashes and names, and that counts, groups, verdict and exit code follow from the cases.
Whether the cases are true is not for a reader to tell.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import fields, is_dataclass

from opsdebug_ci.model.document import RUN_SCHEMA, PlanFacts, RunDocument
from opsdebug_ci.model.finding import Finding
from opsdebug_ci.model.gating import case_key, failing, possible_endings
from opsdebug_ci.model.judgement import Group, RecordedFailure
from opsdebug_ci.model.shard import SHARD_SCHEMA, ShardDocument
from opsdebug_ci.model.speed import SpeedVerdict
from opsdebug_ci.model.vocabulary import Stage, Verdict

STAGES = (Stage.SMOKE.value, Stage.FULL.value, Stage.REPLAY.value)
"""Stages that have shards."""

LISTED = 10
"""Case ids that a group lists at most."""

POSITIVE_NS = (
    *("duration_ns", "total_ns", "observed_ns", "base_ns", "head_ns"),
    *("min_ns", "p10_ns", "median_ns", "warm_ns", "best_ns", "samples_ns"),
)
"""Times of something that ran, which took longer than nothing."""

SIGNED = ("first", "last")
"""Indices, which count from the end where they are negative."""

_SUITE = re.compile(r"[A-Za-z0-9._-]{1,64}")
_REPOSITORY = re.compile(r"([A-Za-z0-9_.-]{1,100}/[A-Za-z0-9_.-]{1,100})?")
_HASH = re.compile(r"[0-9a-f]{0,64}")
_CASE = re.compile(r"[0-9a-f]{16}")
_SHA256 = re.compile(r"[0-9a-f]{64}")
_FINGERPRINT = re.compile(r"v[0-9]{1,4}:[0-9a-f]{16}")


def contradiction(document: ShardDocument) -> str:
    """What is wrong with `document`, the first of it; empty: nothing."""
    return next(_contradictions(document), "")


def _contradictions(document: ShardDocument) -> Iterator[str]:
    yield from _job(document)
    yield from _numbers(document)
    run = document.run
    if run is None:
        if not document.error or not document.exit_code:
            yield "it has no run, and does not say why"
        return
    if document.error:
        yield "it has a run, and says that it has none"
    if document.exit_code != run.summary.exit_code:
        yield f"its exit code is {document.exit_code}, and that of its run {run.summary.exit_code}"
    if not document.stage == run.stage == run.run.stage.value:
        yield f"it is of stage `{document.stage}`, and its run of another"
    if document.shards == 1 and run.plan is not None and run.plan.cases != run.plan.mine:
        yield f"it is the only shard, and has {run.plan.mine:,} of {run.plan.cases:,} planned cases"
    yield from _run(run)


def _job(document: ShardDocument) -> Iterator[str]:
    if document.schema != SHARD_SCHEMA:
        yield f"its schema is {document.schema[:80]!a}; wanted `{SHARD_SCHEMA}`"
    if not _SUITE.fullmatch(document.suite) or document.stage not in STAGES:
        yield "its suite or its stage is none"
    if not 1 <= document.shard <= document.shards or document.attempt < 1:
        yield f"it is shard {document.shard} of {document.shards} of attempt {document.attempt}"
    if not _REPOSITORY.fullmatch(document.repository) or not _HASH.fullmatch(document.head_commit):
        yield "its repository or its commit is none"
    if document.exit_code > 255:
        yield f"its exit code is {document.exit_code}"


def _run(run: RunDocument) -> Iterator[str]:
    if run.schema != RUN_SCHEMA:
        yield f"the schema of its run is {run.schema[:80]!a}; wanted `{RUN_SCHEMA}`"
    revision = run.run.revision
    hashes = (run.run.commit, revision.commit, revision.tree, revision.base_commit, run.baseline or "")
    if not all(map(_HASH.fullmatch, (*hashes, *revision.ancestors, run.run.config_hash))):
        yield "a hash of its run is none"
    if run.plan is not None:
        yield from _plan(run.plan, run)
    yield from _recorded(run.recorded)
    yield from _cases(run)
    yield from _groups(run)
    yield from _slower(run)
    ending = (run.summary.verdict, run.summary.exit_code)
    if ending not in possible_endings(run):
        yield f"its verdict is `{ending[0]}` and its exit code {ending[1]}, which does not follow from its cases"


def _plan(plan: PlanFacts, run: RunDocument) -> Iterator[str]:
    if not _SHA256.fullmatch(plan.id):
        yield "the id of its plan is none"
    if not len(run.observations) <= plan.mine <= plan.cases:
        yield f"it has {len(run.observations):,} cases of {plan.mine:,}, of {plan.cases:,} planned"


def _recorded(failures: Sequence[RecordedFailure]) -> Iterator[str]:
    for each in failures:
        hashed = _FINGERPRINT.fullmatch(each.fingerprint) and _HASH.fullmatch(each.commit)
        if not hashed or not each.cases or not all(map(_CASE.fullmatch, each.cases)):
            yield f"what it says is recorded as {each.fingerprint[:40]!a} is none"
    if len({each.fingerprint for each in failures}) < len(failures):
        yield "what it says is recorded is there twice"


def _cases(run: RunDocument) -> Iterator[str]:
    seen: set[tuple[str, str]] = set()
    for each in run.observations:
        key = case_key(each, run.stage)
        if not _CASE.fullmatch(each.case.id) or key in seen:
            yield f"case id {each.case.id[:40]!a} is none, or is there twice"
        seen.add(key)
        if each.fingerprint is not None and not _FINGERPRINT.fullmatch(each.fingerprint):
            yield f"fingerprint {each.fingerprint[:40]!a} is none"
        if each.bundle is not None and not _SHA256.fullmatch(each.bundle):
            yield f"bundle {each.bundle[:80]!a} is none"
    counted = Counter(each.verdict.value for each in run.observations)
    told = {verdict: count for verdict, count in run.summary.counts.items() if count}
    if told != dict(counted) or not set(run.summary.counts) <= {verdict.value for verdict in Verdict}:
        yield "its counts are not those of its cases"


def _groups(run: RunDocument) -> Iterator[str]:
    failures = failing(run.observations)
    operators = {each.case.id: each.case.operator for each in failures}
    counted = Counter(each.fingerprint for each in failures)
    groups = run.summary.groups
    if len({group.fingerprint for group in groups}) < len(groups) or sum(g.count for g in groups) > len(failures):
        yield "its groups have more failures than it has, or are there twice"
    for group in groups:
        yield from _group(group)
        if any(operators.get(case) != group.operator for case in group.cases):
            yield f"group {group.fingerprint} lists a case that did not fail"
        if run.stage != Stage.REPLAY.value and counted[group.fingerprint] != group.count:
            yield f"group {group.fingerprint} has {group.count:,} cases, and {counted[group.fingerprint]:,} failed so"


def _group(group: Group) -> Iterator[str]:
    if not all(map(_FINGERPRINT.fullmatch, (group.fingerprint, *group.members))):
        yield f"fingerprint {group.fingerprint[:40]!a} or one of its members is none"
    if group.bundle is not None and not _SHA256.fullmatch(group.bundle):
        yield f"bundle {group.bundle[:80]!a} is none"
    if not len(group.cases) == len(set(group.cases)) <= min(LISTED, group.count) or not group.count:
        yield f"group {group.fingerprint} has {group.count:,} cases and lists {len(group.cases):,}"
    if len(set(group.members)) < len(group.members) or len(group.members) > group.count:
        yield f"group {group.fingerprint} has {group.count:,} cases of {len(group.members):,} kinds"
    if not _HASH.fullmatch(group.since) or (group.since and not group.known):
        yield f"group {group.fingerprint} is known since no commit"


def _slower(run: RunDocument) -> Iterator[str]:
    comparison = None if run.performance is None else run.performance.comparison
    compared = () if comparison is None else comparison.comparisons
    regressed = {each.case.operator for each in compared if each.verdict is SpeedVerdict.REGRESSED}
    if len(set(run.regressions)) < len(run.regressions) or not set(run.regressions) <= regressed:
        yield "an operator is called slower that no comparison calls so"


def _numbers(document: ShardDocument) -> Iterator[str]:
    """Counts, sizes, indices and times that are below zero, and times of nothing, wherever they are."""
    waiting: list[object] = [document]
    while waiting:
        value = waiting.pop()
        if isinstance(value, Finding):  # what its evidence means, only its rule knows
            continue
        for name, item in _items(value):
            for number in item if isinstance(item, tuple) else (item,):
                if type(number) in (int, float) and not _fits(name, number):
                    yield f"`{name}` is {number}"
            waiting += [item] if _holds_more(item) else []


def _items(value: object) -> Iterable[tuple[str, object]]:
    if is_dataclass(value):
        return [(field.name, getattr(value, field.name)) for field in fields(value)]
    if isinstance(value, dict):
        return [("", item) for item in value.values()]
    return [("", item) for item in value] if isinstance(value, tuple) else ()


def _holds_more(value: object) -> bool:
    return is_dataclass(value) or isinstance(value, (tuple, dict))


def _fits(name: str, number: float) -> bool:
    if name in POSITIVE_NS:
        return number > 0
    return number >= 0 or name in SIGNED or (isinstance(number, float) and not name.endswith("_ns"))

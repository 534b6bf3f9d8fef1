"""The small store that docs/queries.md asks: two months of a project with three operators, from a short notation.

`python tests/docs/example_store.py docs/queries.md` rewrites the answers of the page. Nothing here is random or of
today, so that every answer is the same everywhere.
"""

from __future__ import annotations

import re
import sys
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path

from opsdebug_ci.cli.answer_text import table_text
from opsdebug_ci.model import (
    Accuracy,
    Blame,
    CaseDocument,
    Cause,
    CiContext,
    Confidence,
    Finding,
    Machine,
    ObservationDocument,
    OutputDocument,
    Quantiles,
    ReferenceKind,
    ReferenceUse,
    Revision,
    RunDocument,
    RunRecord,
    Stage,
    Summary,
    TimingDocument,
    Verdict,
    Zone,
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
from opsdebug_ci.store.sql.query import query

SMALL = Machine(
    key="m-small",
    system="Linux x86_64",
    cpu="small CPU",
    cores=4,
    memory_bytes=16 << 30,
    devices=(),
    python="3.11.7",
    torch="2.13.0",
    versions={},
    threads=4,
)
LARGE = replace(SMALL, key="m-large", cpu="large CPU", cores=32, threads=32)


@dataclass(frozen=True, slots=True, kw_only=True)
class Night:
    """One run."""

    day: str
    """When."""

    commit: str
    """One letter, 40 of which make the hash."""

    cases: str
    """Blank-separated `operator/dtype:verdict:ULP`, then `:cause` where it failed."""

    times: str = ""
    """Blank-separated `operator:ns`, of the code under test."""

    controls: str = ""
    """Verdicts of controls."""

    machine: Machine = SMALL
    """Where."""


NIGHTS = (
    Night(day="2026-10-01", commit="a", cases="softmax/float32:pass:1 softmax/bfloat16:pass:1 gelu/float32:pass:2",
          times="softmax:1000 gelu:400", controls="same same"),
    Night(day="2026-10-09", commit="b", cases="softmax/float32:pass:1 softmax/bfloat16:pass:1.5 gelu/float32:pass:2",
          times="softmax:1010 gelu:396", controls="same same"),
    Night(day="2026-10-20", commit="c",
          cases="softmax/float32:fail:900:tail_mask softmax/bfloat16:pass:1.5 gelu/float32:pass:2",
          times="softmax:1005 gelu:404", controls="same regressed"),
    Night(day="2026-11-02", commit="d",
          cases="softmax/float32:pass:1 softmax/bfloat16:pass:1.5 gelu/float32:pass:2 cumsum/float32:pass:3",
          times="softmax:1190 gelu:400", controls="same same"),
    Night(day="2026-11-03", commit="d", machine=LARGE,
          cases="softmax/float32:pass:1 softmax/bfloat16:pass:1.5 cumsum/float32:fail:70:nondeterminism_race",
          times="softmax:300", controls="same"),
    Night(day="2026-11-04", commit="d", machine=LARGE,
          cases="softmax/float32:pass:1 softmax/bfloat16:pass:1.5 cumsum/float32:pass:3", times="softmax:306"),
    Night(day="2026-11-15", commit="e",
          cases="softmax/float32:pass:1 softmax/bfloat16:fail:64:low_precision_accum gelu/float32:pass:2",
          times="softmax:1195 gelu:402", controls="same same"),
)  # fmt: skip
"""Oldest first."""

LAUNCHES = (0.99, 1.0, 1.01)
"""Launch minima beside their median."""

COST_NS = {"softmax": 40_000_000, "gelu": 10_000_000, "cumsum": 250_000_000}
"""What a case of an operator takes."""


def fill(place: Path, again: str = "") -> None:
    """Make the store; `again` is the id of a run of which there is a second attempt as well."""
    store = open_store(place)
    for number, night in enumerate(NIGHTS, 1):
        document = _document(f"r{number}", night)
        store.append(document)
        if document.run.id == again:
            ci = replace(document.run.ci, attempt=2)
            store.append(replace(document, run=replace(document.run, id=f"{again}-again", ci=ci)))


def updated(page: str, place: Path) -> str:
    """The page with every answer, the block of text behind a query, as the store at `place` gives it."""
    return _PAIR.sub(lambda found: f"```sql\n{found[1]}```\n\n```text\n{answered(place, found[1])}```\n", page)


def questions(page: str) -> list[str]:
    """The queries of the page."""
    return [found[1] for found in _PAIR.finditer(page)]


def answered(place: Path, sql: str) -> str:
    """What `opsdebug sql` prints."""
    answer = query(place, sql)
    return table_text(answer.columns, answer.rows)


_PAIR = re.compile(r"^```sql\n(.*?)^```\n\n```text\n.*?^```\n", flags=re.MULTILINE | re.DOTALL)


def _document(run_id: str, night: Night) -> RunDocument:
    observations = tuple(_observation(*word.split(":")) for word in night.cases.split())
    failed = any(seen.verdict is Verdict.FAIL for seen in observations)
    run = RunRecord(
        id=run_id,
        commit=night.commit * 40,
        stage=Stage.FULL,
        started_at=f"{night.day}T03:00:00Z",
        duration_ns=60_000_000_000,
        machine=night.machine,
        revision=Revision(commit=night.commit * 40, ancestors=tuple(c * 40 for c in "edcba" if c < night.commit)),
        ci=CiContext(key=f"o/r/{run_id}/nightly/full", attempt=1, event="schedule"),
        tool_version="0.1.0",
        config_hash="0" * 64,
    )
    return RunDocument(
        schema="opsdebug.run/1",
        run=run,
        observations=observations,
        summary=Summary(verdict=Verdict.FAIL if failed else Verdict.PASS, exit_code=int(failed), counts={}, groups=()),
        next=(),
        stage="full",
        performance=PerformanceDocument(comparison=_comparison(night)),
    )


def _case(operator: str, dtype: str) -> CaseDocument:
    return CaseDocument(
        id=f"{operator}-{dtype}",
        name=f"{operator}[N=4096 {dtype}]",
        operator=operator,
        dtype=dtype,
        dims={"N": 4096},
        layout="contiguous",
        inputs="normal",
        seed=0,
        device="cpu",
        direction="forward",
    )


def _observation(what: str, verdict: str, ulp: str, cause: str = "") -> ObservationDocument:
    operator, dtype = what.split("/")
    spread = Quantiles(p50=0.0, p95=1.0, p99=1.0, max=float(ulp))
    accuracy = Accuracy(
        output="y",
        compared=4096,
        cosine=1.0,
        max_abs_err=float(ulp) * 2.0**-23,
        max_abs_index=(17,),
        rel_err=spread,
        ulp=spread,
        significant_digits=7.0,
        misrounding_rate=0.25,
        zone=Zone.RED if cause else Zone.GREEN,
        over_tolerance=int(bool(cause)),
        over_worst_case=int(bool(cause)),
        class_mismatches=(),
        worst=None,
        bound="rounding",
    )
    return ObservationDocument(
        case=_case(operator, dtype),
        verdict=Verdict(verdict),
        reason=None,
        reference=ReferenceUse(used=ReferenceKind.PRECISE, confidence=Confidence.HIGH, dissent=None),
        accuracy=accuracy,
        outputs=(OutputDocument(name="y", kind="norm", shape=(4096,), dtype=dtype, accuracy=accuracy),),
        findings=(_finding(Cause(cause)),) if cause else (),
        timing=TimingDocument(
            total_ns=COST_NS[operator], function_ns=COST_NS[operator] // 4, reference_ns=COST_NS[operator] // 2
        ),
        bundle=(cause.encode().hex() * 8)[:64] if cause else None,
        fingerprint=f"1:{operator}-{cause}" if cause else None,
    )


def _finding(cause: Cause) -> Finding:
    return Finding(
        cause=cause,
        confidence=0.9,
        blame=Blame.OPERATOR,
        statement=f"looks like {cause.value}",
        evidence={},
        next="opsdebug attribute",
    )


def _comparison(night: Night) -> ComparisonRun:
    arm = ArmFacts(
        name="head", revision="", commit=night.commit * 40, dirty=False, tree="", python="p", torch="2", build_s=None
    )
    before = NIGHTS[max(0, "abcde".index(night.commit) - 1)].commit * 40
    changes = tuple(_change(*word.split(":")) for word in night.times.split())
    controls = tuple(
        replace(changes[0], why=Comparing.CONTROL, verdict=SpeedVerdict(word), launches=())
        for word in night.controls.split()
    )
    return ComparisonRun(
        arms=(replace(arm, name="base", commit=before), arm),
        comparisons=changes,
        controls=controls,
        contaminated=None,
        probe_ratio=1.0,
        machine=night.machine,
        processes=6,
        duration_s=10.0,
        seed=1,
    )


def _change(operator: str, ns: str) -> Comparison:
    return Comparison(
        case=_case(operator, "float32"),
        why=Comparing.CHANGE,
        base="base",
        verdict=SpeedVerdict.SAME,
        statement="same",
        threshold=0.1,
        base_ns=float(ns),
        head_ns=float(ns),
        screen=None,
        confirm=None,
        launches=tuple(_launches(float(ns))),
    )


def _launches(ns: float) -> Iterator[LaunchTime]:
    for arm in ("base", "head"):
        for number, factor in enumerate(LAUNCHES):
            minimum = ns * factor
            yield LaunchTime(
                arm=arm,
                round=Round.SCREEN,
                launch=number,
                min_ns=minimum,
                p10_ns=minimum,
                median_ns=minimum,
                samples=20,
                calls=1,
                throttled=False,
            )


def main() -> None:
    """Rewrite the answers of the page named by the only argument."""
    path = Path(sys.argv[1])
    with tempfile.TemporaryDirectory() as directory:
        fill(Path(directory))
        path.write_text(updated(path.read_text(encoding="utf-8"), Path(directory)), encoding="utf-8")


if __name__ == "__main__":
    main()

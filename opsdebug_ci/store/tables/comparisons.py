"""Table `comparisons`: what every comparison of speed came to, controls included.

Decides the columns of a verdict and of the effects it rests on; the launches behind them are in table `timings`. What
holds for all comparisons of a run is repeated on each, so that a verdict can be weighed without a join.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from opsdebug_ci.errors import InternalError
from opsdebug_ci.model.speed import ArmFacts, Comparing, Comparison, ComparisonRun, Effect, SpeedVerdict
from opsdebug_ci.store.case_columns import CASE_COLUMNS, case_cells, read_case
from opsdebug_ci.store.column import FLAG, INTEGER, REAL, TEXT, Column, Row, StoredRun, Table
from opsdebug_ci.store.struct import cells, read_cells
from opsdebug_ci.store.tables import timings

_EFFECT = {
    "ratio": ("head / base; 1.1 is 10 % slower", "1"),
    "low": ("lower end of the 95 % interval of the ratio", "1"),
    "high": ("upper end of it", "1"),
    "p_slower": ("one-sided Mann-Whitney p that the head is not slower", "1"),
    "p_faster": ("the same that it is not faster", "1"),
    "tenth_ratio": ("the ratio by tenth percentiles instead of minima", "1"),
    "detectable": ("smallest slowdown these launches would have shown, as a share", "1"),
    "launches": ("launches per arm", ""),
}
"""Field of `Effect` -> what it is, and its unit."""

_ROUNDS = {"screen": "first launches; null: not timed", "confirm": "fresh launches; null: none were made"}
"""The two effects of a comparison, and what they rest on."""

_SCREEN = {field: f"screen_{field}" for field in _EFFECT}
_CONFIRM = {field: f"confirm_{field}" for field in _EFFECT}

COLUMNS = (
    Column(name="run_id", type=TEXT, comment="run it belongs to: `runs.id`"),
    Column(name="position", type=INTEGER, comment="order of the rows of a run, from 0; controls last"),
    Column(name="why", type=TEXT, comment="change, control (the base against itself) or ladder (an older commit)"),
    Column(name="base", type=TEXT, comment="name of the arm compared with"),
    Column(name="base_commit", type=TEXT, comment="its full hash; empty outside git; null: not recorded"),
    Column(name="commit", type=TEXT, comment="full hash of the head, or of the base in a control; null as above"),
    *CASE_COLUMNS,
    Column(name="verdict", type=TEXT, comment="same, faster, regressed, suspected, inconclusive, new or missing"),
    Column(name="statement", type=TEXT, comment="one sentence with numbers"),
    Column(name="threshold", type=REAL, comment="slowdown that needs a person, as a share", unit="1"),
    Column(name="base_ns", type=REAL, comment="median of the base's launch minima; null: not timed", unit="ns"),
    Column(name="head_ns", type=REAL, comment="median of the head's launch minima; null: not timed", unit="ns"),
    *(
        Column(
            name=f"{part}_{field}",
            type=INTEGER if field == "launches" else REAL,
            comment=f"{meaning}, by the {launches}",
            unit=unit,
        )
        for part, launches in _ROUNDS.items()
        for field, (meaning, unit) in _EFFECT.items()
    ),
    Column(name="routed", type=FLAG, comment="the screen showed something, and fresh launches were made"),
    Column(name="cost_s", type=REAL, comment="time spent on it, process starts aside", unit="s"),
    Column(name="contaminated", type=TEXT, comment="why nothing is called regressed in this run; null: nothing does"),
    Column(name="probe_ratio", type=REAL, comment="what both arms share, timed in both; null: not timed", unit="1"),
    Column(name="complete", type=FLAG, comment="the run did everything planned within its budget"),
    Column(name="order_seed", type=INTEGER, comment="seed of the random order of arms, series and visits"),
)


def rows(stored: StoredRun) -> Sequence[Row]:
    """Every comparison, then every control.

    Raises:
        InternalError: a control is among the comparisons, or something else among the controls.
    """
    document = stored.document
    run = None if document.performance is None else document.performance.comparison
    if run is None:
        return ()
    _check_apart(run)
    return [
        {"run_id": document.run.id, "position": position, **row} for position, row in enumerate(_comparison_rows(run))
    ]


def read_comparisons(stored: Sequence[Row], launches: Sequence[Row]) -> tuple[Comparison, ...]:
    """Inverse of `rows`, with the launches read from table `timings`; controls are those whose `why` says so."""
    by_position = timings.read_launches(launches)
    return tuple(
        Comparison(
            case=read_case(row),
            why=Comparing(row["why"]),
            base=row["base"],
            verdict=SpeedVerdict(row["verdict"]),
            statement=row["statement"],
            threshold=row["threshold"],
            base_ns=row["base_ns"],
            head_ns=row["head_ns"],
            screen=read_cells(row, _SCREEN, Effect),
            confirm=read_cells(row, _CONFIRM, Effect),
            launches=by_position.get(row["position"], ()),
            cost_s=row["cost_s"],
        )
        for row in sorted(stored, key=lambda row: int(row["position"]))
    )


def _check_apart(run: ComparisonRun) -> None:
    misplaced = [c for c in run.comparisons if c.why is Comparing.CONTROL] + [
        c for c in run.controls if c.why is not Comparing.CONTROL
    ]
    if misplaced:
        first = misplaced[0]
        raise InternalError(
            f"comparison of `{first.case.name}` with `{first.base}` is a `{first.why}`; wanted controls among "
            "`controls` and everything else among `comparisons`"
        )


def _comparison_rows(run: ComparisonRun) -> Iterator[dict[str, Any]]:
    arms = {arm.name: arm for arm in run.arms}
    head = run.arms[-1] if run.arms else None
    for comparison in (*run.comparisons, *run.controls):
        base = arms.get(comparison.base)
        yield {
            **_verdict_cells(comparison),
            "base_commit": _commit(base),
            "commit": _commit(base if comparison.why is Comparing.CONTROL else head),
            "contaminated": run.contaminated,
            "probe_ratio": run.probe_ratio,
            "complete": run.complete,
            "order_seed": run.seed,
        }


def _commit(arm: ArmFacts | None) -> str | None:
    return None if arm is None else arm.commit


def _verdict_cells(comparison: Comparison) -> dict[str, Any]:
    return {
        **case_cells(comparison.case),
        "why": comparison.why.value,
        "base": comparison.base,
        "verdict": comparison.verdict.value,
        "statement": comparison.statement,
        "threshold": comparison.threshold,
        "base_ns": comparison.base_ns,
        "head_ns": comparison.head_ns,
        **cells(comparison.screen, _SCREEN),
        **cells(comparison.confirm, _CONFIRM),
        "routed": comparison.confirm is not None,
        "cost_s": comparison.cost_s,
    }


TABLE = Table(
    name="comparisons",
    comment="One row per comparison of a series in two arms, controls included.",
    columns=COLUMNS,
    rows=rows,
    order=("position",),
)

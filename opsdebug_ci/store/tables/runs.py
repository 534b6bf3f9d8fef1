"""Table `runs`: one row per run; written last, so a run appears whole or not at all.

Decides how the facts of a run lie in columns, and reads them back without loss.
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime, timezone
from typing import Any

import pyarrow as pa

from opsdebug_ci.errors import InternalError
from opsdebug_ci.model import (
    CiContext,
    Group,
    ObservationDocument,
    OperatorSource,
    Revision,
    RunDocument,
    RunRecord,
    Stage,
    Summary,
    Unavailable,
    Verdict,
)
from opsdebug_ci.model.document import PlanFacts
from opsdebug_ci.model.performance import PerformanceDocument
from opsdebug_ci.model.wire import from_json
from opsdebug_ci.store.column import (
    FLAG,
    INSTANT,
    INTEGER,
    INTEGER_MAP,
    TEXT,
    TEXT_MAP,
    TEXTS,
    Column,
    Row,
    StoredRun,
    Table,
)
from opsdebug_ci.store.machine_columns import MACHINE_COLUMNS, machine_columns, read_machine
from opsdebug_ci.store.performance import PERFORMANCE, performance_struct
from opsdebug_ci.store.struct import cells, read_cells, to_struct

IDENTITY = pa.struct(
    [
        ("operator", TEXT),
        ("kind", TEXT),
        ("cause", TEXT),
        ("target", TEXT),
        ("node", TEXT),
        ("zone", TEXT),
        ("distance", TEXT),
        ("pattern", TEXT),
        ("frames", TEXTS),
        ("dtype_family", TEXT),
    ]
)
"""Model value `Identity`."""

GROUP = pa.struct(
    [
        ("fingerprint", TEXT),
        ("cause", TEXT),
        ("operator", TEXT),
        ("count", INTEGER),
        ("cases", TEXTS),
        ("statement", TEXT),
        ("why", TEXT),
        ("separators", TEXTS),
        ("umbrella", FLAG),
        ("bundle", TEXT),
        ("replay", TEXT),
        ("boundary", TEXT),
        ("members", TEXTS),
        ("identity", IDENTITY),
        ("known", FLAG),
        ("since", TEXT),
        ("smallest", TEXT),
    ]
)
"""Model value `Group`; what stands behind `statement` is null in rows of older programs."""

SOURCE = pa.struct([("operator", TEXT), ("file", TEXT), ("line", INTEGER)])
"""Model value `OperatorSource`."""

FILE = pa.struct([("table", TEXT), ("sha256", TEXT), ("size_bytes", INTEGER), ("rows", INTEGER)])
"""What is recorded of a file of the run: `FileFacts`."""

UNAVAILABLE = pa.struct([("operator", TEXT), ("reason", TEXT)])
"""Model value `Unavailable`."""

COLUMNS = (
    Column(name="id", type=TEXT, comment="time-ordered unique id of the run"),
    Column(name="schema", type=TEXT, comment="name and version of the run document"),
    Column(name="ci_key", type=TEXT, comment="repository / CI run / job / stage with shard; empty outside CI"),
    Column(name="attempt", type=INTEGER, comment="attempt of that job, from 1; 0 outside CI"),
    Column(name="event", type=TEXT, comment="triggering event; empty outside CI"),
    Column(name="pull_request", type=INTEGER, comment="number of the pull request; null when there is none"),
    Column(name="recording", type=FLAG, comment="it may be a baseline, by its event; null: outside CI, or older"),
    Column(name="stage", type=TEXT, comment="smoke, full, replay, or run when cases were picked by hand"),
    Column(name="ci_stage", type=TEXT, comment="stage when `opsdebug ci` made the run; null otherwise"),
    Column(name="commit", type=TEXT, comment="full hash of the commit under test; empty outside a git repository"),
    Column(name="head_commit", type=TEXT, comment="full hash checked out in the work tree; `commit` unless overridden"),
    Column(name="ancestors", type=TEXTS, comment="up to 50 first-parent ancestors, nearest first"),
    Column(name="base_commit", type=TEXT, comment="merge base with the target branch; empty without one"),
    Column(name="branch", type=TEXT, comment="branch name; empty when detached"),
    Column(name="dirty", type=FLAG, comment="the work tree differed from the commit"),
    Column(name="tree", type=TEXT, comment="hash of the tree of `head_commit`; null in older files"),
    Column(name="baseline", type=TEXT, comment="baseline commit compared with; null when there was none"),
    Column(name="baseline_how", type=TEXT, comment="how it was found, or why there is none; null in older files"),
    Column(name="baseline_doubt", type=TEXT, comment="why what is recorded may count as new; null in older files"),
    Column(name="started_at", type=INSTANT, comment="start of the run", unit="UTC"),
    Column(name="started_at_text", type=TEXT, comment="start of the run as it was reported", unit="ISO 8601, UTC"),
    Column(name="duration_ns", type=INTEGER, comment="wall time", unit="ns"),
    *MACHINE_COLUMNS,
    Column(name="tool_version", type=TEXT, comment="version of opsdebug-ci"),
    Column(name="config_hash", type=TEXT, comment="sha256 of the effective configuration"),
    Column(name="verdict", type=TEXT, comment="worst verdict that gates"),
    Column(name="exit_code", type=INTEGER, comment="exit code of the run"),
    Column(name="counts", type=INTEGER_MAP, comment="cases per verdict", unit="cases"),
    Column(name="groups", type=pa.list_(GROUP), comment="failures by cause, largest first"),
    Column(name="next", type=TEXTS, comment="commands to run next"),
    Column(name="regressions", type=TEXTS, comment="operators that regressed"),
    Column(name="unchanged", type=TEXTS, comment="operators left out because nothing they depend on changed"),
    Column(name="unavailable", type=pa.list_(UNAVAILABLE), comment="operators that cannot run on this machine"),
    Column(name="notes", type=TEXTS, comment="what a reader must know beside the cases; null in older files"),
    Column(name="sources", type=pa.list_(SOURCE), comment="where the operators are defined"),
    Column(name="performance", type=PERFORMANCE, comment="what holds for all that is said of speed; null: not asked"),
    Column(
        name="plan_id", type=TEXT, comment="sha256 of what was planned before it was divided; null: by hand, or older"
    ),
    Column(name="plan_cases", type=INTEGER, comment="cases of the whole plan; null as `plan_id`", unit="cases"),
    Column(
        name="plan_mine", type=INTEGER, comment="those of them that are this run's; null as `plan_id`", unit="cases"
    ),
    Column(name="plan_gate", type=TEXT, comment="which failures gate: new, all, never; null as `plan_id`"),
    Column(
        name="files",
        type=pa.list_(FILE),
        comment="the run's files in the other tables as they were written; null in older files",
    ),
    Column(
        name="bundles_elsewhere",
        type=TEXT_MAP,
        comment="sha256 of each bundle the store does not hold, and where it is; null in older files",
    ),
)

PLAN_COLUMNS = {"id": "plan_id", "cases": "plan_cases", "mine": "plan_mine", "gate": "plan_gate"}
"""Field of `PlanFacts` -> column."""


def start_of(run: RunRecord) -> datetime:
    """When the run started, in UTC. Raises InternalError when `started_at` is no ISO 8601 instant."""
    try:
        # NOTE: Python 3.10 does not read the suffix `Z`.
        instant = datetime.fromisoformat(run.started_at.replace("Z", "+00:00"))
        return instant.replace(tzinfo=instant.tzinfo or timezone.utc).astimezone(timezone.utc)
    except (ValueError, OverflowError) as error:
        raise InternalError(f"`started_at` is `{run.started_at}`; wanted an ISO 8601 instant in UTC") from error


def rows(stored: StoredRun) -> Sequence[Row]:
    """The run's only row; its column `files` is filled by whoever writes those files."""
    document = stored.document
    return (
        {
            **_run_columns(document.run),
            **machine_columns(document.run.machine),
            **_summary_columns(document),
            "bundles_elsewhere": list(stored.bundles_elsewhere.items()),
        },
    )


def read_document(
    row: Row, observations: tuple[ObservationDocument, ...], performance: PerformanceDocument | None
) -> RunDocument:
    """Inverse of `rows`, with what was read from the other tables."""
    return RunDocument(
        schema=row["schema"],
        run=_read_run(row),
        observations=observations,
        summary=Summary(
            verdict=Verdict(row["verdict"]),
            exit_code=row["exit_code"],
            counts=dict(row["counts"]),
            groups=tuple(read_group(group) for group in row["groups"]),
        ),
        next=tuple(row["next"]),
        stage=row["ci_stage"],
        baseline=row["baseline"],
        baseline_how=row["baseline_how"] or "",
        baseline_doubt=row["baseline_doubt"] or "",
        regressions=tuple(row["regressions"]),
        unavailable=tuple(from_json(item, Unavailable) for item in row["unavailable"]),
        unchanged=tuple(row["unchanged"]),
        notes=tuple(row["notes"] or ()),
        sources=tuple(from_json(source, OperatorSource) for source in row["sources"]),
        performance=performance,
        plan=read_cells(row, PLAN_COLUMNS, PlanFacts),
    )


def read_group(row: Row) -> Group:
    """A group; what an older program did not record has its default."""
    group: Group = from_json({name: value for name, value in row.items() if value is not None}, Group)
    return group


def _run_columns(run: RunRecord) -> dict[str, Any]:
    return {
        "id": run.id,
        "ci_key": run.ci.key,
        "attempt": run.ci.attempt,
        "event": run.ci.event,
        "pull_request": run.ci.pull_request,
        "recording": run.ci.recording,
        "stage": run.stage.value,
        "commit": run.commit,
        "head_commit": run.revision.commit,
        "ancestors": list(run.revision.ancestors),
        "base_commit": run.revision.base_commit,
        "branch": run.revision.branch,
        "dirty": run.revision.dirty,
        "tree": run.revision.tree,
        "started_at": start_of(run),
        "started_at_text": run.started_at,
        "duration_ns": run.duration_ns,
        "tool_version": run.tool_version,
        "config_hash": run.config_hash,
    }


def _summary_columns(document: RunDocument) -> dict[str, Any]:
    return {
        "schema": document.schema,
        "verdict": document.summary.verdict.value,
        "exit_code": document.summary.exit_code,
        "counts": list(document.summary.counts.items()),
        "groups": to_struct(document.summary.groups),
        "next": list(document.next),
        "ci_stage": document.stage,
        "baseline": document.baseline,
        "baseline_how": document.baseline_how,
        "baseline_doubt": document.baseline_doubt,
        "regressions": list(document.regressions),
        "unavailable": to_struct(document.unavailable),
        "unchanged": list(document.unchanged),
        "notes": list(document.notes),
        "sources": to_struct(document.sources),
        "performance": performance_struct(document.performance),
        **cells(document.plan, PLAN_COLUMNS),
    }


def _read_run(row: Row) -> RunRecord:
    return RunRecord(
        id=row["id"],
        commit=row["commit"],
        stage=Stage(row["stage"]),
        started_at=row["started_at_text"],
        duration_ns=row["duration_ns"],
        machine=read_machine(row),
        revision=Revision(
            commit=row["head_commit"],
            ancestors=tuple(row["ancestors"]),
            base_commit=row["base_commit"],
            branch=row["branch"],
            dirty=row["dirty"],
            tree=row["tree"] or "",
        ),
        ci=CiContext(
            key=row["ci_key"],
            attempt=row["attempt"],
            event=row["event"],
            pull_request=row["pull_request"],
            recording=row["recording"],
        ),
        tool_version=row["tool_version"],
        config_hash=row["config_hash"],
    )


TABLE = Table(name="runs", comment="One row per run.", columns=COLUMNS, rows=rows, of_run=False)

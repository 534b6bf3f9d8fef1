"""Table `failures`: one row per case that failed, with the first of its findings.

Decides which cases are failures: those with a fingerprint, and every verdict `fail`, `crash` or `timeout`. When a
failure was first and last seen is not stored: the view `failure_history` derives it.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from opsdebug_ci.model import FAILING_VERDICTS, Cause, Finding, ObservationDocument
from opsdebug_ci.store.column import REAL, TEXT, Column, Row, StoredRun, Table
from opsdebug_ci.store.struct import finding_struct


def rows(stored: StoredRun) -> Sequence[Row]:
    """One row per failed case."""
    document = stored.document
    return [
        {
            "run_id": document.run.id,
            **_failure_columns(observation),
            "bundle_elsewhere": stored.bundles_elsewhere.get(observation.bundle or ""),
            **_finding_columns(observation.findings),
        }
        for observation in document.observations
        if observation.fingerprint is not None or observation.verdict in FAILING_VERDICTS
    ]


def _failure_columns(observation: ObservationDocument) -> dict[str, Any]:
    return {
        "fingerprint": observation.fingerprint,
        "operator": observation.case.operator,
        "dtype": observation.case.dtype,
        "device": observation.case.device,
        "case_id": observation.case.id,
        "case_name": observation.case.name,
        "verdict": observation.verdict.value,
        "reason": observation.reason,
        "bundle": observation.bundle,
    }


def _finding_columns(findings: Sequence[Finding]) -> dict[str, Any]:
    return finding_struct(findings[0]) if findings else {"cause": Cause.UNKNOWN.value}


TABLE = Table(
    name="failures",
    comment="One row per case that failed.",
    columns=(
        Column(name="run_id", type=TEXT, comment="run it belongs to: `runs.id`"),
        Column(name="fingerprint", type=TEXT, comment="versioned identity of the cause; null: not known"),
        Column(name="cause", type=TEXT, comment="cause of the most probable finding; `unknown` without one"),
        Column(name="operator", type=TEXT, comment="operator name"),
        Column(name="dtype", type=TEXT, comment="dtype of the arguments that do not fix theirs"),
        Column(name="device", type=TEXT, comment="device the operator ran on"),
        Column(name="case_id", type=TEXT, comment="stable id of the case"),
        Column(name="case_name", type=TEXT, comment="readable name of the case"),
        Column(name="verdict", type=TEXT, comment="verdict of the case"),
        Column(name="reason", type=TEXT, comment="what broke, when something did"),
        Column(name="bundle", type=TEXT, comment="sha256 of the failure bundle; null: none was written"),
        Column(
            name="bundle_elsewhere",
            type=TEXT,
            comment="where that bundle is, in words; null: in the store, or there is none",
        ),
        Column(name="confidence", type=REAL, comment="how sure the finding is, 0 to 1; null without one", unit="1"),
        Column(name="blame", type=TEXT, comment="whom it holds responsible; null without one"),
        Column(name="statement", type=TEXT, comment="one sentence with numbers; null without one"),
        Column(name="evidence", type=TEXT, comment="JSON object: the numbers behind the statement"),
        Column(name="next", type=TEXT, comment="command to run next"),
    ),
    rows=rows,
)

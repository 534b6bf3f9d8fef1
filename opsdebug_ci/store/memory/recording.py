"""Which stored runs are a record of their commit.

Decides it for all who ask: stages of `opsdebug ci` count, runs by hand do not, for repeating a failing `opsdebug run`
must not make it pass.
"""

from __future__ import annotations

from opsdebug_ci.model import Stage
from opsdebug_ci.model.baseline import RECORDING_EVENTS

RECORDING_STAGES = (Stage.SMOKE, Stage.FULL)
"""Stages whose runs are a record of a commit."""

_STAGES = ", ".join(f"'{stage.value}'" for stage in RECORDING_STAGES)

_EVENTS = ", ".join(f"'{event}'" for event in ("", *RECORDING_EVENTS))

MERGED = f"pull_request is null and coalesce(event, '') in ({_EVENTS}) and coalesce(recording, true)"
"""Condition over `runs`: of what is merged, or made by hand. Runs of changes still to be merged, and of events that
anybody may cause, are no part of the project's history."""

RECORD = f"stage in ({_STAGES}) and not dirty and {MERGED}"
"""Condition over `runs`: a record of what is merged, made on an unmodified work tree."""

RECORDS_OF_LINE = f"""
    line as (select unnest($1::varchar[]) as "commit", unnest(range(len($1::varchar[]))) as distance),
    records as (select id, "commit", groups from runs where {RECORD})
"""  # noqa: S608 - our own text
"""Two common table expressions: the commits of a line with their distance, and all records. The first parameter is the
line, commits nearest to the code under test first."""

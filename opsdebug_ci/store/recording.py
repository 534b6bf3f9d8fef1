"""Which stored runs are a record of their commit.

Decides it for all who ask: stages of `opsdebug ci` count, runs by hand do not, for repeating a failing `opsdebug run`
must not make it pass.
"""

from __future__ import annotations

from opsdebug_ci.model import Stage

RECORDING_STAGES = (Stage.SMOKE, Stage.FULL)
"""Stages whose runs are a record of a commit."""

_STAGES = ", ".join(f"'{stage.value}'" for stage in RECORDING_STAGES)

RECORD = (
    f"stage in ({_STAGES}) and not dirty and pull_request is null and coalesce(event, '') not like 'pull_request%' "
    "and coalesce(event, '') <> 'merge_group'"
)
"""Condition over `runs`: a record of what is merged, made on an unmodified work tree."""

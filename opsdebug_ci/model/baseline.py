"""What is known of commits when a baseline is looked for: their place in the history, and what is recorded of them.

Decides which events are of changes that are still to be merged. Deliberately finds nothing.
"""

from __future__ import annotations

from dataclasses import dataclass

PULL_REQUEST_EVENTS = ("pull_request", "pull_request_target")
"""Events of a change that is not part of the default branch; their rows are no baseline."""

RECORDING_EVENTS = ("push", "schedule", "workflow_dispatch")
"""Events of which those of the default branch may make baselines; nothing else in CI does."""

MERGE_GROUP_EVENT = "merge_group"
"""A merge queue tests what the default branch would become; its rows are no baseline either."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Ancestor:
    """A commit on the first-parent line, and the files it has."""

    commit: str
    """Full hash."""

    tree: str
    """Hash of its tree; empty: not known."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Recorded:
    """A commit of which the store holds a run that may be a baseline."""

    commit: str
    """Full hash."""

    tree: str
    """Hash of its tree; empty: not known."""

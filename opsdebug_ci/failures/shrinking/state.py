"""Where a minimiser stands, in a file: every run it has made, and those it is making.

Decides the format and what an interrupted run means. The search itself is not kept: it decides by outcomes alone, so
that with these outcomes it comes to the same place again without running anything.

History:
    opsdebug.shrink/1  first version
"""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from pathlib import Path

from opsdebug_ci.bundle.durable import write_whole
from opsdebug_ci.errors import UsageError
from opsdebug_ci.failures.shrinking.trial import Outcome, Trial

SCHEMA = "opsdebug.shrink/1"

ATTEMPTS = 2
"""A run that was interrupted so often is not begun again: it may be what ends us. Once can be anyone's doing."""


@dataclass(frozen=True, slots=True, kw_only=True)
class State:
    """Everything that is kept."""

    start: str
    """Key of the candidate it began with."""

    trials: int = 0
    """Runs begun."""

    seconds: float = 0.0
    """Time spent."""

    settled: dict[str, Trial] = field(default_factory=dict)
    """Run -> what it came to."""

    running: dict[str, int] = field(default_factory=dict)
    """Run -> how often it was begun; written before it is."""


def write_state(path: Path, state: State) -> None:
    """Put `state` at `path`, whole or not at all."""
    data = {
        "schema": SCHEMA,
        "start": state.start,
        "trials": state.trials,
        "seconds": round(state.seconds, 3),
        "settled": {run: [str(trial.outcome), trial.finding] for run, trial in state.settled.items()},
        "running": state.running,
    }
    write_whole(path, json.dumps(data, separators=(",", ":")).encode())


def read_state(path: Path, start: str) -> State:
    """What `path` holds about the shrinking that began with `start`; a blank state where there is no file.

    Raises:
        UsageError: the file holds something else.
    """
    if not path.exists():
        return State(start=start)
    try:
        data = json.loads(path.read_bytes())
        settled = {
            str(run): Trial(outcome=Outcome(outcome), finding=str(finding))
            for run, (outcome, finding) in data["settled"].items()
        }
        running = {str(run): int(begun) for run, begun in data["running"].items()}
        state = State(
            start=str(data["start"]),
            trials=int(data["trials"]),
            seconds=float(data["seconds"]),
            settled=settled,
            running=running,
        )
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        raise _refused(path, f"{type(error).__name__}: {error}") from error
    if data.get("schema") != SCHEMA or state.start != start:
        raise _refused(path, f"schema {data.get('schema')!r} of a shrinking that began with {state.start[:40]!r}")
    return state


def _refused(path: Path, found: str) -> UsageError:
    return UsageError(
        f"`{path}` holds {found}; wanted {SCHEMA} of the failure that is shrunk",
        next_step="remove the file to begin anew",
    )

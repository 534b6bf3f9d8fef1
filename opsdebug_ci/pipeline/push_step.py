"""The run step of the action where it sends recorded runs to the store: one `opsdebug baselines push`.

Decides which directories hold recorded runs, and that this process is given the token, since no operator runs here.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TextIO

from opsdebug_ci.errors import UsageError
from opsdebug_ci.github.environment import child_environment, with_token
from opsdebug_ci.github.inputs import ActionInputs
from opsdebug_ci.model import Verdict
from opsdebug_ci.pipeline.child import run_child
from opsdebug_ci.pipeline.step_outcome import Outcome, failure, last_words
from opsdebug_ci.store.files.layout import MARKER


def push_step(
    inputs: ActionInputs,
    directory: Path,
    document: Path,
    environ: Mapping[str, str],
    *,
    opsdebug: Sequence[str],
    stdout: TextIO,
) -> Outcome:
    """Send, and what that came to.

    Args:
        inputs: of the action.
        directory: to run in.
        document: file for what the command says.
        environ: the step's environment.
        opsdebug: the words that start the command line.
        stdout: where the runner reads commands.

    Raises:
        UsageError: no run was recorded where `push` says.
    """
    result = run_child(
        [*opsdebug, *push_arguments(inputs, recorded_stores(directory / inputs.push))],
        directory=directory,
        environ=with_token(child_environment(environ), environ),
        document=document,
        stdout=stdout,
    )
    if result.exit_code:
        words = last_words(result.last_words)
        return failure(result.exit_code, f"opsdebug baselines push ended with {result.exit_code}", words)
    return Outcome(exit_code=0, verdict=str(Verdict.PASS), failures=0, regressions=0, annotations=())


def recorded_stores(place: Path) -> tuple[Path, ...]:
    """The stores in `place`: itself, or those directly below it, as downloaded artifacts are.

    Raises:
        UsageError: there is none.
    """
    found = [path for path in (place, *sorted(place.glob("*"))) if (path / MARKER).is_file()]
    if not found:
        raise UsageError(
            f"`push` is {str(place)!r}, in which no run was recorded; wanted a directory that `record` filled, or one "
            "with several of them",
            next_step="download the artifacts of the jobs that recorded runs into it first",
        )
    return tuple(found[:1] if found[0] == place else found)


def push_arguments(inputs: ActionInputs, sources: Sequence[Path]) -> tuple[str, ...]:
    """Arguments of `opsdebug baselines push`. Values follow `=`, so none is ever read as an option."""
    options = [("--config", inputs.config), ("--store", inputs.store)]
    given = (f"{name}={value}" for name, value in options if value)
    return ("baselines", "push", *(f"--from={source}" for source in sources), *given)

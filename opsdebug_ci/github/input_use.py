"""Which inputs of the action mean something to which of its jobs.

Decides that an input which a job would pass over is told: whoever gave it expects something of it. One that says what
holds anyway, as a default does, is no mistake. Deliberately not which values an input may have at all.
"""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

from opsdebug_ci.errors import ConfigurationError
from opsdebug_ci.github.inputs import CHANGED_AUTO, given, shown
from opsdebug_ci.model.vocabulary import Gate, Stage, Word


class Task(Word):
    """What a job with the action does."""

    RUN = "run"
    """Stage `smoke` or `full`: operators run."""

    REPLAY = "replay"
    """Stage `replay`: stored failures run again."""

    PUSH = "push"
    """Recorded runs are sent to the store."""

    PUBLISH = "publish"
    """It is told what other jobs found."""


ANY: tuple[str, ...] = ()
"""Every value that the input may have."""

Values = Mapping[Task, tuple[str, ...]]


def _any(*tasks: Task) -> Values:
    return dict.fromkeys(tasks, ANY)


_STAGES = _any(Task.RUN, Task.REPLAY)
_PUBLISH = _any(Task.PUBLISH)
_EVERY = _any(*Task)

MEANT: Mapping[str, Values] = MappingProxyType(
    {
        "stage": _any(Task.RUN, Task.REPLAY, Task.PUBLISH),
        "config": _EVERY,
        "operators": _STAGES,
        "changed": {Task.RUN: ANY, Task.REPLAY: (CHANGED_AUTO,)},  # whatever changed, all bundles are replayed
        "shard": _STAGES,
        "python": _EVERY,  # the set-up may need it too
        "store": _EVERY,
        "record": _STAGES,
        "push": _any(Task.PUSH),
        "publish": _PUBLISH,
        "comment": _PUBLISH,
        "comment-id": _any(Task.RUN, Task.REPLAY, Task.PUBLISH),
        "expected-shards": _PUBLISH,
        "run-id": _PUBLISH,
        "comment-author": _PUBLISH,
        "workflow": _PUBLISH,
        "token": _EVERY,  # withheld from operators, and said to be
        "gate": {**_STAGES, Task.PUBLISH: (str(Gate.NEVER),)},  # the others are the gates of the jobs told of
        "timeout": _STAGES,
        "budget": _STAGES,
        "annotations": _EVERY,
        "summary": _EVERY,
        "working-directory": _EVERY,
        "wheelhouse": _EVERY,
    }
)
"""Input -> the tasks it means something to, and with which values; elsewhere it may only be left at its default."""

DEFAULTS: Mapping[str, str] = MappingProxyType(
    {
        "stage": str(Stage.SMOKE),
        "publish": "false",
        "comment": "auto",
        "annotations": "true",
        "summary": "true",
        "working-directory": ".",
    }
)
"""What an input is that nobody gave; the others are empty."""

_HERE: Mapping[Task, str] = {
    Task.RUN: "where operators run",
    Task.REPLAY: "with stage `replay`",
    Task.PUSH: "with `push`",
    Task.PUBLISH: "with `publish`",
}


def task_of(environ: Mapping[str, str]) -> Task:
    """What the job does, of one whose inputs are sound."""
    if given(environ, "publish") == "true":
        return Task.PUBLISH
    if given(environ, "push"):
        return Task.PUSH
    return Task.REPLAY if given(environ, "stage") == str(Stage.REPLAY) else Task.RUN


def check_use(environ: Mapping[str, str]) -> None:
    """Refuse inputs that the job would pass over.

    Raises:
        ConfigurationError: lists all of them at once.
    """
    task = task_of(environ)
    problems = [_problem(environ, name, task) for name in MEANT if not _is_meant(environ, name, task)]
    if problems:
        raise ConfigurationError(
            "; ".join(problems),
            next_step="leave them out of the `with:` block of this step, or give them to the job they are for; "
            "docs/action.md says which that is",
        )


def _is_meant(environ: Mapping[str, str], name: str, task: Task) -> bool:
    value, values = given(environ, name), MEANT[name]
    if value in ("", DEFAULTS.get(name, "")):
        return True
    return task in values and (values[task] is ANY or value in values[task])


def _problem(environ: Mapping[str, str], name: str, task: Task) -> str:
    values = MEANT[name]
    usable = " or ".join(f"`{value}`" for value in values.get(task, ()))
    wanted = f"{usable} or nothing" if usable else "nothing"
    return f"`{name}` is {shown(given(environ, name))}; wanted {wanted} {_HERE[task]}"

"""The CI run that is told of, as the server knows it.

Decides of which run a publication is, and about which runs nothing is said. Deliberately believes no artifact: what
the server says of a run, nobody who wrote its code can change.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from opsdebug_ci.errors import UsageError
from opsdebug_ci.github.api.interface import Api
from opsdebug_ci.github.api.records import WorkflowRun
from opsdebug_ci.github.event import read_event
from opsdebug_ci.github.own_run import own_run
from opsdebug_ci.pipeline.publication.request import PublishRequest
from opsdebug_ci.report.escape import plain

SILENT = {
    "action_required": "it waits for somebody to approve it",
    "skipped": "all its jobs were skipped",
    "stale": "the server gave it up",
    "startup_failure": "its workflow could not start",
}
"""How runs end in which no job of ours had its turn."""

CANCELLED = "cancelled"
"""How a run ends that a newer one took the place of, or that a person stopped."""

NOT_TOLD = "not told"
"""Stands for how an earlier attempt ended where no event says it: the server tells of the newest."""


def run_id(request: PublishRequest, environ: Mapping[str, str]) -> int:
    """Id of the run to tell of: the one asked for, else the one whose end triggered this job, else this job's own.

    Raises:
        UsageError: there is none.
    """
    if request.run_id is not None:
        return request.run_id
    finished = read_event(environ).finished_run
    if finished is not None:
        return finished
    own = own_run(environ).id
    if not own:
        raise UsageError(
            "no CI run is named, and this is not a CI job; wanted a run to tell of",
            next_step="give `--run-id ID`, or look at artifacts on disk with `--from DIR --dry-run`",
        )
    return own


def trusted_run(
    api: Api, repository: str, number: int, request: PublishRequest, environ: Mapping[str, str]
) -> WorkflowRun:
    """The run `number` of `repository`, at the attempt that is told of: the server answers with the newest.

    Raises:
        UsageError: it is of another workflow than the one this publication is for.
        GithubError: the server does not tell.
    """
    run = api.get(f"/repos/{repository}/actions/runs/{number}", WorkflowRun)
    path = run.path.partition("@")[0]
    if request.workflow and path != request.workflow:
        raise UsageError(
            f"run {number} is of the workflow `{plain(path, 200)}`; wanted `{request.workflow}`",
            next_step="name the right workflow in `workflow`, and its name under `workflow_run`",
        )
    event = read_event(environ)
    ended = event.finished_attempt if event.finished_run == number else 0
    told = request.attempt or ended
    if not 0 < told < run.run_attempt:
        return run
    conclusion = event.finished_conclusion if told == ended else ""
    return replace(run, run_attempt=told, conclusion=conclusion or NOT_TOLD)


def silence(run: WorkflowRun) -> str | None:
    """Why nothing is said of `run`; None: something is."""
    why = SILENT.get(run.conclusion or "")
    return None if why is None else f"nothing is said of run {run.id}: {why}"

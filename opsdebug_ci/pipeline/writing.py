"""Who may write baselines: only runs of the default branch, and people by hand.

Decides by the event that triggered this job, in code, whatever a workflow file says: the code of a pull request is not
the project's yet, and must not be able to change what it is compared with. What a person accepts on a pull request is
the one thing that is written for it, by a job whose workflow is the default branch's own; that they may is for
`publication.acceptance_request` to find out.
"""

from __future__ import annotations

from collections.abc import Mapping

from opsdebug_ci.errors import UsageError
from opsdebug_ci.github import read_event
from opsdebug_ci.github.own_run import own_run
from opsdebug_ci.github.person_event import COMMENT_EVENT
from opsdebug_ci.report.escape import plain

ACCEPTING_EVENTS = (COMMENT_EVENT, "pull_request_target")
"""Events of what a person does on a pull request, whose workflow is taken from the repository itself. Not
`pull_request`: there it is the pull request's own."""


def check_may_accept(environ: Mapping[str, str]) -> None:
    """Nothing, where this job may store what a person accepts on a pull request.

    Raises:
        UsageError: its event is of another kind, or it does not run for the default branch.
    """
    event = read_event(environ)
    ref = own_run(environ).ref
    of_default = bool(event.default_branch) and ref == f"refs/heads/{event.default_branch}"
    if event.name not in ACCEPTING_EVENTS or not of_default:
        at = f" on `{plain(ref.removeprefix('refs/heads/'), 80)}`" if ref else ""
        raise UsageError(
            f"an acceptance in a job of event `{event.name}`{at}; wanted {' or '.join(ACCEPTING_EVENTS)}, and the "
            "workflow of the default branch: nothing else records what a person accepts on a pull request",
            next_step="let the workflow that `opsdebug init` writes do it, or use `opsdebug baselines accept` by hand",
        )


def check_may_write(doing: str, environ: Mapping[str, str]) -> None:
    """Nothing, where this job may change the baseline store.

    Args:
        doing: the command, e.g. `baselines push`.
        environ: environment variables.

    Raises:
        UsageError: it runs for an event that may not.
    """
    event = read_event(environ)
    if not event.recording:
        ref = own_run(environ).ref
        at = f" on `{plain(ref.removeprefix('refs/heads/'), 80)}`" if ref else ""
        raise UsageError(
            f"`opsdebug {doing}` in a job of event `{event.name}`{at}; wanted a push, schedule or workflow_dispatch "
            "of the default branch: nothing else writes baselines",
            next_step="run it in a workflow of the default branch, or by hand",
        )

"""Who may write baselines: only runs of the default branch, and people by hand.

Decides by the event that triggered this job, in code, whatever a workflow file says: the code of a pull request is not
the project's yet, and must not be able to change what it is compared with.
"""

from __future__ import annotations

from collections.abc import Mapping

from opsdebug_ci.errors import UsageError
from opsdebug_ci.github import read_event
from opsdebug_ci.report.escape import plain


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
        ref = environ.get("GITHUB_REF", "")
        at = f" on `{plain(ref.removeprefix('refs/heads/'), 80)}`" if ref else ""
        raise UsageError(
            f"`opsdebug {doing}` in a job of event `{event.name}`{at}; wanted a push, schedule or workflow_dispatch "
            "of the default branch: nothing else writes baselines",
            next_step="run it in a workflow of the default branch, or by hand",
        )

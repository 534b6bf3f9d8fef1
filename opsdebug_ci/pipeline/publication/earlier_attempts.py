"""Whether shards of earlier attempts count while the attempt that is told is under way, as its own report sees it.

Decides by the server's list of the run's jobs, in which a job that was not run again keeps the attempt it ran in. What
jobs are called is for whoever writes the workflow to choose, so they are counted and not matched. Deliberately asks for
nothing where every shard is of the attempt that is told, or where that has ended: how it ended is judged elsewhere.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import replace

from opsdebug_ci.errors import GithubError
from opsdebug_ci.github.api.interface import Api
from opsdebug_ci.github.api.records import Job
from opsdebug_ci.pipeline.publication.gathering import Gathered
from opsdebug_ci.pipeline.publication.subject import Subject

_ENDED = ("success", "failure")
"""How a job ends that had its turn: one that failed may have left a shard first, and does where an operator fails."""

_HARMLESS = ("success", "skipped")
"""How a job ends that has lost no shard."""


def with_doubt(api: Api, subject: Subject, gathered: Gathered) -> Subject:
    """`subject`, doubtful where a shard of an earlier attempt was taken and the jobs do not say that it counts.

    Args:
        api: asked for the jobs, if need be.
        subject: what is told of.
        gathered: its shards.
    """
    earlier = [one.attempt for one in gathered.outcomes if 0 < one.attempt < subject.attempt]
    if not earlier or not subject.under_way:
        return subject
    try:
        jobs = api.pages(f"/repos/{subject.repository}/actions/runs/{subject.ci_run}/jobs", Job, within="jobs")
    except GithubError as error:
        note = f"no shard of an earlier attempt counts, since nobody tells which jobs ran again: {error.one_line}"
        return replace(subject, doubtful=True, notes=(*subject.notes, note))
    return subject if _not_run_again(jobs, earlier) else replace(subject, doubtful=True)


def _not_run_again(jobs: Sequence[Job], earlier: Sequence[int]) -> bool:
    """Of each earlier attempt as many jobs are the newest of theirs as shards were taken, and of what ran after the
    first of them nothing failed, which could have lost one.

    Args:
        jobs: of the run, each as it ran last; one that says no attempt may be of any.
        earlier: attempt of each shard that was taken of one before.
    """
    had_their_turn = Counter(job.run_attempt for job in jobs if job.conclusion in _ENDED)
    after = [job for job in jobs if job.conclusion is not None and not 0 < job.run_attempt <= min(earlier)]
    return all(had_their_turn[attempt] >= taken for attempt, taken in Counter(earlier).items()) and all(
        job.conclusion in _HARMLESS for job in after
    )

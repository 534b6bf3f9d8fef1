"""The words of the check: a title without text of others, a summary that is the comment without its invitation."""

from __future__ import annotations

from opsdebug_ci.model.publication import Publication
from opsdebug_ci.report.comment.headline import ACCEPTED, counts
from opsdebug_ci.report.comment.lacking import lacking_words
from opsdebug_ci.report.comment.ladder import rungs
from opsdebug_ci.report.comment.since_push import fixed_words

TITLE_LIMIT = 255
"""Characters of a title: as many as a column of its kind usually holds; GitHub names no limit."""


def check_title(publication: Publication) -> str:
    """`incomplete: shard 2 of 3 left nothing; 0 of 900 cases of 24 operators failed; 900 pass`: our own words and
    numbers, in one line."""
    clauses = filter(None, (lacking_words(publication), counts(publication), fixed_words(publication)))
    return f"{publication.conclusion}: {'; '.join(clauses)}"[:TITLE_LIMIT]


def tells_of_acceptance(title: str) -> bool:
    """A check of that title told of operators whose slowness a person has accepted."""
    return f" {ACCEPTED}" in title


def check_summary(publication: Publication, limit: int) -> str:
    """The fullest form that fits into `limit` bytes of UTF-8, for the check's page and the job summary."""
    return rungs(publication, limit_bytes=limit, silence=False)[0]

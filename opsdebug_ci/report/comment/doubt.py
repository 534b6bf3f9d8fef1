"""That failures told as new may be old ones: nothing is recorded to compare with, or it cannot be read or believed.

Decides that this is said openly, and only where a failure counts as new for it.
"""

from __future__ import annotations

from opsdebug_ci.model.publication import Publication
from opsdebug_ci.report.comment.amount import STATEMENT_LIMIT
from opsdebug_ci.report.comment.failures import new_groups
from opsdebug_ci.report.escape import md_prose


def doubt_blocks(publication: Publication) -> list[str]:
    """One line; none where nothing is doubted, or nothing is new."""
    document = publication.document
    if document is None or not new_groups(document):
        return []
    if document.baseline_doubt:
        return [f"Not all of these failures need be new: {md_prose(document.baseline_doubt, STATEMENT_LIMIT)}."]
    if document.baseline is None and document.baseline_how:
        how = md_prose(document.baseline_how, STATEMENT_LIMIT)
        return [f"These failures need not be of this change. {how[:1].upper()}{how[1:]}."]
    return []

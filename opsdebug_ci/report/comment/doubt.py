"""That failures told as new may be old ones, because what is stored of them cannot be read or is not believed.

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
    if document is None or not document.baseline_doubt or not new_groups(document):
        return []
    return [f"Not all of these failures need be new: {md_prose(document.baseline_doubt, STATEMENT_LIMIT)}."]

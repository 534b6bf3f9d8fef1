"""Whether a comment is worth the notification it sends.

Decides about creating one; a comment that is there is kept up to date by the bot. A first run that finds nothing says
nothing, under every policy: the check says it. One that fixes what failed at the baseline asks nothing of anybody, so
only whoever wants to hear of every change is told of it by a comment; the check tells everybody.
"""

from __future__ import annotations

from opsdebug_ci.model.publication import CommentPolicy, Conclusion, Publication
from opsdebug_ci.model.speed import SpeedVerdict
from opsdebug_ci.report.comment.failures import new_groups
from opsdebug_ci.report.comment.regressions import waiting_regressions

_QUIET = (Conclusion.PASS, Conclusion.ACCEPTED, Conclusion.INCONCLUSIVE)
"""Conclusions that ask nothing of whoever made the change: where references disagree, they disagree on every change."""


def wanted(publication: Publication, policy: CommentPolicy) -> bool:
    """A comment is to be created where there is none."""
    gates = publication.conclusion not in _QUIET
    if policy is CommentPolicy.OFF:
        return False
    if policy is CommentPolicy.FAILURES:
        return gates and (_fails(publication) or bool(waiting_regressions(publication)))
    return gates or (policy is CommentPolicy.CHANGES and _differs(publication))


def _fails(publication: Publication) -> bool:
    document = publication.document
    if document is None:
        return False
    return publication.conclusion is Conclusion.FAIL or bool(new_groups(document))


def _differs(publication: Publication) -> bool:
    """Something is other than at the baseline or the last push, without gating."""
    changes, document = publication.changes, publication.document
    fixed = bool(publication.fixed) or (changes is not None and bool(changes.fixed))
    if document is None:
        return fixed
    run = None if document.performance is None else document.performance.comparison
    faster = run is not None and any(one.verdict is SpeedVerdict.FASTER for one in run.comparisons)
    return fixed or faster or bool(new_groups(document)) or bool(document.regressions)

"""What became of a request that a person made on a pull request.

Decides only the words for it.
"""

from __future__ import annotations

from dataclasses import dataclass

from opsdebug_ci.model.publication import AcceptedRegression
from opsdebug_ci.pipeline.publication.told_comments import ToldComment


@dataclass(frozen=True, slots=True, kw_only=True)
class Accepted:
    """The request was carried out, now or before."""

    regressions: tuple[AcceptedRegression, ...]
    """Everything that counts as accepted of what is flagged at the newest commit, whoever accepted it."""

    comments: tuple[ToldComment, ...]
    """Our comments about that commit, for which the publication is to be made again."""

    notes: tuple[str, ...] = ()
    """For the log."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Declined:
    """Nothing was stored."""

    reason: str
    """Why, in one or two sentences; untrusted text may be part of it."""

    tell: bool
    """The person was told on the pull request; everybody else is passed over."""

    command: str = ""
    """What to write instead, to be copied; empty: nothing."""

    notes: tuple[str, ...] = ()
    """For the log."""


Handled = Accepted | Declined
"""One or the other."""

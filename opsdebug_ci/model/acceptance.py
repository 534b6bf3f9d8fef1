"""A person's word that a failure, or how fast an operator is, is as it should be.

Decides what an acceptance says, and that it cannot contradict itself. Deliberately not how far it reaches: that is
told where a gate asks. It is never changed; a later one that lapses at once withdraws it.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime

from opsdebug_ci.errors import InternalError


@dataclass(frozen=True, slots=True, kw_only=True)
class Acceptance:
    """One acceptance, or the withdrawal of those before it."""

    id: str
    """Time-ordered unique id."""

    fingerprint: str | None = None
    """Failure accepted; None: what is accepted is how fast the operator is."""

    operator: str | None = None
    """Operator it concerns; None only beside a fingerprint."""

    commit: str
    """Full hash of the commit it was accepted at; empty outside git."""

    accepted_by: str
    """Who; not empty."""

    accepted_at: str
    """When; ISO 8601 with its distance from UTC."""

    reason: str
    """Why; not empty."""

    until: str | None = None
    """When it lapses, as `accepted_at`; None: never. Not before it was made."""

    pull_request: int | None = None
    """Number of the pull request it was accepted on, before it was merged, if it ever was; None: by hand."""

    def __post_init__(self) -> None:
        if not self.fingerprint and not self.operator:
            raise _contradiction(self.id, "neither a fingerprint nor an operator", "at least one of them")
        if not self.accepted_by or not self.reason:
            raise _contradiction(self.id, f"`{self.accepted_by}` for `{self.reason}`", "who it is from, and why")
        at, end = self.at, self.end
        if end is not None and end < at:
            raise _contradiction(self.id, f"`until` {self.until}", f"an instant from {self.accepted_at} on")

    @property
    def at(self) -> datetime:
        """When it was made."""
        return self._instant(self.accepted_at)

    @property
    def end(self) -> datetime | None:
        """When it lapses; None: never."""
        return None if self.until is None else self._instant(self.until)

    @property
    def withdraws(self) -> bool:
        """It lapses as it is made: what was accepted of the same before is so no longer."""
        return self.end == self.at

    def _instant(self, text: str) -> datetime:
        try:
            # NOTE: Python 3.10 does not read the suffix `Z`.
            instant = datetime.fromisoformat(text.replace("Z", "+00:00"))
        except ValueError as error:
            raise _contradiction(self.id, f"`{text}`", "an ISO 8601 instant") from error
        if instant.tzinfo is None:
            raise _contradiction(self.id, f"`{text}`", "an instant with its distance from UTC")
        return instant


def _contradiction(name: str, found: str, wanted: str) -> InternalError:
    return InternalError(f"acceptance `{name}` has {found}; wanted {wanted}")

"""What the fake GitHub has now, for a test to look at."""

from __future__ import annotations

from github_server.records import Check, Comment, Reaction
from github_server.state import State


class Holdings:
    """Looks into `state`."""

    state: State

    def comments_of(self, repository: str, number: int) -> tuple[Comment, ...]:
        """Comments of a pull request, oldest first."""
        with self.state.lock:
            found = [
                one for one in self.state.comments.values() if (one.repository, one.number) == (repository, number)
            ]
            return tuple(sorted(found, key=lambda one: one.id))

    def checks_of(self, repository: str, sha: str) -> tuple[Check, ...]:
        """Check runs of a commit, oldest first."""
        with self.state.lock:
            found = [one for one in self.state.checks.values() if (one.repository, one.head_sha) == (repository, sha)]
            return tuple(sorted(found, key=lambda one: one.id))

    def reactions_of(self, comment: int) -> tuple[Reaction, ...]:
        """Reactions to a comment, oldest first."""
        with self.state.lock:
            found = [one for one in self.state.reactions.values() if one.comment == comment]
            return tuple(sorted(found, key=lambda one: one.id))

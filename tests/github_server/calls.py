"""One request on its way through the fake GitHub, and the pages of its lists.

Decides what every list has in common: thirty entries, a hundred at most, `Link` headers by the repository's number.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeVar
from urllib.parse import urlencode

from github_server.answers import Answer, Refusal, not_found
from github_server.documents import Documents
from github_server.records import Artifact, PullRequest, Repository, Token
from github_server.state import State

Entry = TypeVar("Entry")


@dataclass(frozen=True, slots=True, kw_only=True)
class Call:
    """A request that has been read and admitted."""

    state: State
    documents: Documents
    path: str
    """Without the prefix."""

    values: Mapping[str, str]
    """What stands in the places of the path."""

    query: Mapping[str, str]
    body: Mapping[str, Any]
    token: Token | None
    locate: Callable[[Artifact], str]
    """Where the archive of an artifact lies."""

    @property
    def repository(self) -> Repository:
        """The one the path names; who may not see it has been refused before."""
        found = self.state.repository(f"{self.values['owner']}/{self.values['repo']}")
        if found is None:
            raise Refusal(not_found())
        return found

    @property
    def full_name(self) -> str:
        return self.repository.full_name

    def number(self, name: str) -> int:
        """A number in the path; anything else is not found."""
        text = self.values[name]
        if not text.isdecimal():
            raise Refusal(not_found())
        return int(text)

    def pull(self, name: str) -> PullRequest:
        """The pull request that the path names."""
        found = self.state.pulls.get((self.full_name, self.number(name)))
        if found is None:
            raise Refusal(not_found())
        return found

    def page(self, entries: Sequence[Entry]) -> tuple[Sequence[Entry], dict[str, str]]:
        """The part of a list that was asked for, and the headers that say where the rest is."""
        size = min(self._positive("per_page", 30), 100)
        page = self._positive("page", 1)
        last = max(1, -(-len(entries) // size))
        places = {"prev": page - 1, "next": page + 1, "last": last, "first": 1}
        if page == 1:
            del places["prev"], places["first"]
        if page >= last:
            del places["next"], places["last"]
        links = ", ".join(f'<{self._page_url(place)}>; rel="{name}"' for name, place in places.items())
        return entries[(page - 1) * size : page * size], {"Link": links} if links else {}

    def listed(self, entries: Sequence[Entry], told: Callable[[Entry], Any], within: str = "") -> Answer:
        """A page of a list, bare or in a field beside its `total_count`."""
        part, headers = self.page(entries)
        documents = [told(one) for one in part]
        value = {"total_count": len(entries), within: documents} if within else documents
        return Answer(value=value, headers=headers)

    def _positive(self, name: str, otherwise: int) -> int:
        text = self.query.get(name, "")
        return int(text) if text.isdecimal() and int(text) > 0 else otherwise

    def _page_url(self, page: int) -> str:
        rest = self.path.split("/", 4)[4]
        query = urlencode({**self.query, "page": page})
        return f"{self.documents.api}/repositories/{self.repository.id}/{rest}?{query}"

"""What the bot may ask of GitHub.

Decides the rules that every caller relies on. A GET and a PATCH may be sent again, since a second one changes nothing
more. A POST is sent once: after an answer that leaves open whether it was obeyed, `GithubAmbiguousError` says so, and
only the caller can find out by looking. Deliberately knows no comment, check or artifact.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Protocol, TypeVar

Value = TypeVar("Value")

PAGE_SIZE = 100
"""Entries of one page: as many as GitHub gives."""


class Api(Protocol):
    """GitHub's REST interface. Paths begin with `/`, e.g. `/repos/o/r/issues/7/comments`; `kind` is a dataclass of
    `records`, read strictly, unknown fields ignored.

    Every method raises GithubRefusedError for an answer that a person must do something about (401, 403, 404, 410,
    422), GithubUnreachableError when the time for trying again is used up, and GithubAnswerError when what came back is
    not what GitHub's description promises.
    """

    def get(self, path: str, kind: type[Value], parameters: Mapping[str, str | int] | None = None) -> Value:
        """One value."""

    def pages(
        self, path: str, kind: type[Value], parameters: Mapping[str, str | int] | None = None, *, within: str = ""
    ) -> tuple[Value, ...]:
        """A whole list, page by page.

        Args:
            path: as above.
            kind: of one entry.
            parameters: of the query; `per_page` and `page` are added.
            within: field of the answer that holds the list, e.g. `artifacts`; empty: the answer is the list.
        """

    def post(self, path: str, kind: type[Value], body: Mapping[str, object]) -> Value:
        """Create something. Sent once.

        Raises:
            GithubAmbiguousError: it may have been created, and may not.
        """

    def patch(self, path: str, kind: type[Value], body: Mapping[str, object], *, once: bool = False) -> Value:
        """Change something to be as `body` says.

        Args:
            path: as above.
            kind: of what it is then.
            body: what changes.
            once: sent as a POST is: for what is added to what there is, as annotations of a check are.

        Raises:
            GithubAmbiguousError: with `once`, as of a POST.
        """

    def delete(self, path: str) -> None:
        """Remove something; it being gone already is as good."""

    def download(self, path: str, limit_bytes: int) -> bytes:
        """A file that GitHub redirects to, at most so many bytes of it.

        Raises:
            GithubAnswerError: it is larger, or lies where no file of GitHub's does.
        """

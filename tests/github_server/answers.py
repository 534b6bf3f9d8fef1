"""What the fake GitHub says: values, and the refusals in GitHub's own words."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

DOCS = "https://docs.github.com/rest"


@dataclass(frozen=True, slots=True, kw_only=True)
class Answer:
    """A status, a JSON value and headers."""

    status: int = 200
    value: Any = None
    headers: Mapping[str, str] = field(default_factory=dict)
    empty: bool = False
    """It has no body at all, as 204 and 302."""

    @property
    def content(self) -> bytes:
        """The body as it is sent."""
        return b"" if self.empty else json.dumps(self.value, ensure_ascii=False).encode("utf-8", "surrogatepass")


class Refusal(Exception):  # noqa: N818 - not an error of ours but an answer
    """Raised where a request is worked on, to answer at once."""

    def __init__(self, answer: Answer) -> None:
        super().__init__(answer.status)
        self.answer = answer


def error(status: int, message: str, page: str = "", **headers: str) -> Answer:
    """GitHub's usual error."""
    value = {"message": message, "documentation_url": f"{DOCS}{page}", "status": str(status)}
    return Answer(status=status, value=value, headers={key.replace("_", "-"): text for key, text in headers.items()})


def not_found(page: str = "") -> Answer:
    """Also what is said of a private thing to somebody who may not know of it."""
    return error(404, "Not Found", page)


def bad_credentials() -> Answer:
    """An unknown token, or one that has expired."""
    return error(401, "Bad credentials")


def not_accessible(page: str = "") -> Answer:
    """A job's token without the permission."""
    return error(403, "Resource not accessible by integration", page)


def invalid(resource: str, code: str, named: str, message: str, page: str = "") -> Answer:
    """A field that GitHub does not take."""
    detail = {"resource": resource, "code": code, "field": named, "message": message}
    value = {
        "message": "Validation Failed",
        "errors": [detail],
        "documentation_url": f"{DOCS}{page}",
        "status": "422",
    }
    return Answer(status=422, value=value)


def invalid_request(reason: str, page: str = "") -> Answer:
    """A request against the schema, as the checks interface says it."""
    return error(422, f"Invalid request.\n\n{reason}", page)


def server_error(status: int) -> Answer:
    """An outage."""
    return Answer(status=status, value={"message": "Service unavailable" if status == 503 else "Server Error"})


def too_many(retry_after_s: int | None) -> Answer:
    """429."""
    headers = {} if retry_after_s is None else {"Retry-After": str(retry_after_s)}
    return Answer(
        status=429, value=_limit("API rate limit exceeded. Please wait before you try again."), headers=headers
    )


def secondary_limit(retry_after_s: int | None) -> Answer:
    """Too much at once."""
    text = (
        "You have exceeded a secondary rate limit. Please wait a few minutes before you try again. "
        "If you reach out to GitHub Support for help, please include the request ID."
    )
    headers = {} if retry_after_s is None else {"Retry-After": str(retry_after_s)}
    return Answer(status=403, value=_limit(text, "#about-secondary-rate-limits"), headers=headers)


def primary_limit(reset: int) -> Answer:
    """The hour's requests are used up until `reset`, in seconds since 1970."""
    headers = {"X-RateLimit-Remaining": "0", "X-RateLimit-Used": "1000", "X-RateLimit-Reset": str(reset)}
    return Answer(status=403, value=_limit("API rate limit exceeded for installation ID 4711."), headers=headers)


def _limit(message: str, anchor: str = "") -> dict[str, str]:
    page = f"{DOCS}/using-the-rest-api/rate-limits-for-the-rest-api{anchor}"
    return {"message": message, "documentation_url": page}

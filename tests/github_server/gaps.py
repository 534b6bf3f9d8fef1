"""Where GitHub does what its own description does not say.

Decides what the referee lets pass, each with the reason. Everything else is a violation.
"""

from __future__ import annotations

from dataclasses import dataclass

ANY_OPERATION = {
    301: "GitHub's page on best practices: addresses of renamed repositories answer so to GET",
    307: "the same page: and so to every other method",
    400: "GitHub's page on troubleshooting: a body that is no JSON object",
    401: "GitHub's page on authentication: credentials that are unknown or have expired",
    403: "GitHub's pages on permissions and on rate limits: no permission, or too many requests",
    404: "GitHub's page on troubleshooting: also for what may not be known to exist",
    422: "GitHub's page on troubleshooting: a request it does not take, as `Validation Failed` or `Invalid request.`",
    429: "GitHub's page on rate limits",
    500: "an outage",
    502: "an outage",
    503: "an outage",
}
"""Statuses that every operation may answer with, though most descriptions leave them out; the body is `basic-error`."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Gap:
    """A value that is against the description and is GitHub's nevertheless."""

    end: tuple[str, ...]
    """Last names of its path."""

    value: object
    reason: str


VALUES = (
    Gap(end=("head", "repo"), value=None, reason="the fork a pull request came from was deleted"),
    Gap(end=("head_repository",), value=None, reason="the fork a run was about was deleted"),
)
"""Values that are let pass."""


STATUS_FIELD = ("status",)
"""In the body of every refusal GitHub repeats the status as a text; the schemas of some leave it out."""


def is_gap(path: tuple[str | int, ...], value: object, status: int) -> bool:
    """Whether a complaint about this value in an answer of this status is one of those."""
    if path == STATUS_FIELD and status >= 400:
        return value == str(status)
    return any(path[-len(gap.end) :] == gap.end and value is gap.value for gap in VALUES)

"""Which operation answers which request, and what a token must be allowed for it.

Decides the permissions, from GitHub's page "Permissions required for GitHub Apps". Paths are written as GitHub's
description writes them, so that the referee and the server mean the same operation.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache

from github_server.answers import Answer, Refusal, bad_credentials, error, not_accessible, not_found
from github_server.calls import Call
from github_server.check_operations import create_check, get_check, list_annotations, list_checks, update_check
from github_server.comment_operations import (
    create_comment,
    create_reaction,
    delete_comment,
    get_comment,
    get_issue,
    list_comments,
    list_events,
    list_labels,
    update_comment,
)
from github_server.records import Repository, Token
from github_server.repository_operations import (
    get_artifact,
    get_permission,
    get_pull,
    get_rate_limit,
    get_repository,
    get_run,
    get_user,
    list_artifacts,
    list_jobs,
    list_pulls,
    list_pulls_of_commit,
    list_runs,
)
from github_server.state import State


@dataclass(frozen=True, slots=True, kw_only=True)
class Route:
    """One operation."""

    method: str
    template: str
    operate: Callable[[Call], Answer]
    permissions: tuple[str, ...] = ()
    """Any one of them is enough; none: every token may."""

    public: bool = True
    """Of a public repository it may be read without the permission."""

    anybody: bool = False
    """A person who may read may also do this."""

    @property
    def writes(self) -> bool:
        return self.method != "GET"


REPOSITORY = "/repos/{owner}/{repo}"
TALK = ("issues", "pull-requests")


def download_artifact(call: Call) -> Answer:
    """Where the archive lies."""
    return Answer(status=302, headers={"Location": call.locate(get_artifact(call))}, empty=True)


def _route(method: str, rest: str, operate: Callable[[Call], Answer], *permissions: str, **more: bool) -> Route:
    return Route(method=method, template=REPOSITORY + rest, operate=operate, permissions=permissions, **more)


ROUTES = (
    Route(method="GET", template="/user", operate=get_user),
    Route(method="GET", template="/rate_limit", operate=get_rate_limit),
    _route("GET", "", get_repository),
    _route("GET", "/collaborators/{username}/permission", get_permission, public=False),
    _route("GET", "/pulls", list_pulls, "pull-requests"),
    _route("GET", "/pulls/{pull_number}", get_pull, "pull-requests"),
    _route("GET", "/commits/{commit_sha}/pulls", list_pulls_of_commit, "pull-requests"),
    _route("GET", "/actions/runs", list_runs, "actions"),
    _route("GET", "/actions/runs/{run_id}", get_run, "actions"),
    _route("GET", "/actions/runs/{run_id}/artifacts", list_artifacts, "actions"),
    _route("GET", "/actions/runs/{run_id}/jobs", list_jobs, "actions"),
    _route("GET", "/actions/artifacts/{artifact_id}/{archive_format}", download_artifact, "actions", public=False),
    _route("GET", "/issues/{issue_number}", get_issue, *TALK),
    _route("GET", "/issues/{issue_number}/labels", list_labels, *TALK),
    _route("GET", "/issues/{issue_number}/events", list_events, *TALK),
    _route("GET", "/issues/{issue_number}/comments", list_comments, *TALK),
    _route("POST", "/issues/{issue_number}/comments", create_comment, *TALK, anybody=True),
    _route("GET", "/issues/comments/{comment_id}", get_comment, *TALK),
    _route("PATCH", "/issues/comments/{comment_id}", update_comment, *TALK),
    _route("DELETE", "/issues/comments/{comment_id}", delete_comment, *TALK),
    _route("POST", "/issues/comments/{comment_id}/reactions", create_reaction, *TALK, anybody=True),
    _route("POST", "/check-runs", create_check, "checks"),
    _route("GET", "/check-runs/{check_run_id}", get_check, "checks"),
    _route("PATCH", "/check-runs/{check_run_id}", update_check, "checks"),
    _route("GET", "/check-runs/{check_run_id}/annotations", list_annotations, "checks"),
    _route("GET", "/commits/{ref}/check-runs", list_checks, "checks"),
)
"""Every operation there is."""


@cache
def template_pattern(template: str) -> re.Pattern[str]:
    """Matches the paths of a template; each place is one segment."""
    parts = re.split(r"\{(\w+)\}", template)
    return re.compile("".join(f"(?P<{part}>[^/]+)" if i % 2 else re.escape(part) for i, part in enumerate(parts)))


def find_route(method: str, path: str) -> tuple[Route, dict[str, str]] | None:
    """The operation for a path; one that spells out more of it goes first."""
    found = [
        (route.template.count("{"), route, match.groupdict())
        for route in ROUTES
        if route.method == method and (match := template_pattern(route.template).fullmatch(path))
    ]
    return min(found, key=lambda one: one[0])[1:] if found else None


def admit(state: State, route: Route, repository: Repository | None, token: Token | None) -> None:
    """Let a request through, or refuse it as GitHub would."""
    if repository is None:
        if "{repo}" in route.template:
            raise Refusal(not_found())
        return
    if token is None:
        if repository.private:
            raise Refusal(not_found())
        if route.writes:
            raise Refusal(error(401, "Requires authentication"))
    elif token.kind == "job":
        _admit_job(route, repository, token)
    else:
        _admit_person(state, route, repository, token)


def authenticate(state: State, header: str | None) -> Token | None:
    """Whose a request is. None: nobody's in particular."""
    if not header:
        return None
    scheme, _, text = header.partition(" ")
    token = state.tokens.get(text.strip())
    if scheme.lower() not in ("token", "bearer") or token is None:
        raise Refusal(bad_credentials())
    used = state.used[token.text] = state.used.get(token.text, 0) + 1
    if (token.requests is not None and used > token.requests) or state.clock() >= token.until_s:
        raise Refusal(bad_credentials())
    return token


def _admit_job(route: Route, repository: Repository, token: Token) -> None:
    mine = token.repository is None or token.repository.lower() == repository.full_name.lower()
    if not mine and repository.private:
        raise Refusal(not_found())
    if not route.permissions:
        return
    has = {token.permissions.get(name, "none") for name in route.permissions} if mine else {"none"}
    enough = "write" in has if route.writes else has & {"read", "write"} or (route.public and not repository.private)
    if not enough:
        raise Refusal(not_accessible())


def _admit_person(state: State, route: Route, repository: Repository, token: Token) -> None:
    role = state.role(repository, token.login)
    if role == "none":
        raise Refusal(not_found())
    if route.writes and not route.anybody and role not in ("admin", "maintain", "write"):
        raise Refusal(error(403, "Must have write access to the repository."))

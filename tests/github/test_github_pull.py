"""Which pull request a run belongs to: the right one or none, asked of the server alone."""

from __future__ import annotations

from dataclasses import replace

import pytest
from bot_scene import HEAD, MAY, REPOSITORY
from github_server import Answer, GithubServer, answered
from scripted_github import Clock

from opsdebug_ci.errors import GithubRefusedError
from opsdebug_ci.github.api.client import open_client
from opsdebug_ci.github.api.records import PullReference, WorkflowRun
from opsdebug_ci.github.bot.pull import FoundPull, find_pull

FORK = "mona/kernels"
OLDER = "b" * 40
FOUND = "commit and repository are those of the run"


def found_by(server: GithubServer, run: WorkflowRun | None = None) -> FoundPull:
    """What is found for the newest run, as the server describes it."""
    token = server.token(permissions=MAY, repository=REPOSITORY)
    api = open_client(api_url=server.url, token=token, clock=Clock())
    newest = max(server.state.runs)
    return find_pull(api, run or api.get(f"/repos/{REPOSITORY}/actions/runs/{newest}", WorkflowRun), REPOSITORY)


def numbers(found: FoundPull) -> tuple[int | None, str]:
    return (None if found.pull is None else found.pull.number), found.reason


@pytest.fixture
def server() -> GithubServer:
    made = GithubServer()
    made.repository(REPOSITORY)
    made.repository(FORK, fork=True)
    return made


def test_of_the_repository_itself_one_request_is_enough(server: GithubServer) -> None:
    with server:
        server.pull_request(REPOSITORY, 7, head_sha=HEAD)
        server.run(REPOSITORY, head_sha=HEAD, pull_requests=(7,))
        assert numbers(found_by(server)) == (7, FOUND)
        assert [request.path for request in server.requests[1:]] == [f"/repos/{REPOSITORY}/pulls/7"]


def test_of_a_fork_which_a_run_never_names(server: GithubServer) -> None:
    with server:
        server.pull_request(REPOSITORY, 7, head_sha=HEAD, head_repository=FORK)
        server.run(REPOSITORY, head_sha=HEAD, head_repository=FORK)
        assert numbers(found_by(server)) == (7, FOUND)
        assert len(server.requests) == 3
        assert server.requests[-1].query["head"] == "mona:change"


@pytest.mark.parametrize("branch", ['a";curl x|sh;"', "$(id)", "a&state=all#b?c", "ü/🙂", "main"])
def test_of_a_branch_with_any_name(server: GithubServer, branch: str) -> None:
    with server:
        server.pull_request(REPOSITORY, 7, head_sha=HEAD, head_ref=branch, head_repository=FORK)
        server.run(REPOSITORY, head_sha=HEAD, head_branch=branch, head_repository=FORK)
        assert numbers(found_by(server)) == (7, FOUND)
        assert server.requests[-1].query == {"head": f"mona:{branch}", "state": "open", "per_page": "100", "page": "1"}


@pytest.mark.parametrize("named", [(), (7, 8)])
def test_one_branch_with_two_pull_requests_is_not_guessed(server: GithubServer, named: tuple[int, ...]) -> None:
    """A19: bases main and rel."""
    with server:
        server.pull_request(REPOSITORY, 7, head_sha=HEAD)
        server.pull_request(REPOSITORY, 8, head_sha=HEAD, base_ref="rel")
        server.run(REPOSITORY, head_sha=HEAD, pull_requests=named)
        assert numbers(found_by(server)) == (None, "the commit is the newest of several pull requests, #7 and #8")


def test_of_two_pull_requests_of_one_branch_the_open_one_is_it(server: GithubServer) -> None:
    with server:
        server.pull_request(REPOSITORY, 7, head_sha=HEAD, state="closed")
        server.pull_request(REPOSITORY, 8, head_sha=HEAD, base_ref="rel")
        server.run(REPOSITORY, head_sha=HEAD, pull_requests=(7, 8))
        assert numbers(found_by(server)) == (8, FOUND)


def test_two_forks_with_the_same_commit_are_told_apart(server: GithubServer) -> None:
    other = "hubot/kernels"
    with server:
        server.repository(other, fork=True)
        server.pull_request(REPOSITORY, 7, head_sha=HEAD, head_repository=other)
        server.pull_request(REPOSITORY, 8, head_sha=HEAD, head_repository=FORK)
        server.run(REPOSITORY, head_sha=HEAD, head_repository=FORK)
        assert numbers(found_by(server)) == (8, FOUND)


def test_a_closed_one_is_none(server: GithubServer) -> None:
    with server:
        server.pull_request(REPOSITORY, 7, head_sha=HEAD, state="closed")
        server.run(REPOSITORY, head_sha=HEAD, pull_requests=(7,))
        assert numbers(found_by(server)) == (None, "its pull request is closed")


def test_a_closed_one_of_a_fork_which_no_list_has_is_none(server: GithubServer) -> None:
    with server:
        server.pull_request(REPOSITORY, 7, head_sha=HEAD, head_repository=FORK, state="closed")
        server.run(REPOSITORY, head_sha=HEAD, head_repository=FORK)
        assert numbers(found_by(server)) == (None, "no open pull request has this commit as its newest")


@pytest.mark.parametrize("named", [(), (7,)])
def test_one_that_has_moved_on_is_none(server: GithubServer, named: tuple[int, ...]) -> None:
    with server:
        server.pull_request(REPOSITORY, 7, head_sha=OLDER)
        server.run(REPOSITORY, head_sha=OLDER, pull_requests=named)
        server.push(REPOSITORY, 7, HEAD)
        assert numbers(found_by(server)) == (None, "its pull request has newer commits")


def test_a_fork_that_is_gone_is_none(server: GithubServer) -> None:
    with server:
        server.pull_request(REPOSITORY, 7, head_sha=HEAD, head_repository=None)
        server.run(REPOSITORY, head_sha=HEAD, head_repository=None)
        assert numbers(found_by(server)) == (None, "the repository the code came from is gone")
        assert len(server.requests) == 1


def test_a_fork_that_went_away_after_the_run_is_none(server: GithubServer) -> None:
    with server:
        server.pull_request(REPOSITORY, 7, head_sha=HEAD, head_repository=None, head_owner="mona")
        server.run(REPOSITORY, head_sha=HEAD, head_repository=FORK)
        assert numbers(found_by(server)) == (None, "the repository the code came from is gone")


def test_a_branch_without_pull_request_is_none(server: GithubServer) -> None:
    with server:
        server.commit(REPOSITORY, HEAD)
        server.run(REPOSITORY, head_sha=HEAD)
        assert numbers(found_by(server)) == (None, "no open pull request has this commit as its newest")


def test_a_number_of_another_repository_is_not_ours(server: GithubServer) -> None:
    with server:
        server.pull_request(REPOSITORY, 7, head_sha=HEAD)
        server.pull_request(REPOSITORY, 3, head_sha=OLDER, head_ref="other")
        server.run(REPOSITORY, head_sha=HEAD)
        run = described(server, pull_requests=[{"number": 3}, {"number": 999}])
        assert numbers(found_by(server, run)) == (7, FOUND)


def described(server: GithubServer, *, pull_requests: list[dict[str, int]]) -> WorkflowRun:
    """The newest run, naming other pull requests than the server would."""
    token = server.token(permissions=MAY, repository=REPOSITORY)
    api = open_client(api_url=server.url, token=token, clock=Clock())
    run = api.get(f"/repos/{REPOSITORY}/actions/runs/{max(server.state.runs)}", WorkflowRun)
    return replace(run, pull_requests=tuple(PullReference(number=one["number"]) for one in pull_requests))


def test_a_refusal_is_told(server: GithubServer) -> None:
    forbidden = Answer(status=403, value={"message": "Forbidden", "documentation_url": "https://docs"})
    with server:
        server.pull_request(REPOSITORY, 7, head_sha=HEAD, head_repository=FORK)
        server.run(REPOSITORY, head_sha=HEAD, head_repository=FORK)
        server.fail("GET", "/repos/*/*/commits/*/pulls", answered(forbidden))
        with pytest.raises(GithubRefusedError, match="Forbidden"):
            found_by(server)

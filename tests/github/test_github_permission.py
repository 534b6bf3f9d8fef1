"""Who may accept: whoever may write, as the server says now, and nobody else."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import pytest
from bot_scene import REPOSITORY, Scene, scene
from github_server import outage

from opsdebug_ci.errors import GithubError
from opsdebug_ci.github.bot.permission import may_write


@pytest.fixture
def place() -> Iterator[Scene]:
    with scene() as made:
        yield made


@pytest.mark.parametrize(
    ("role", "may"),
    [
        ("admin", True),
        ("maintain", True),
        ("write", True),
        ("triage", False),
        ("read", False),
        ("none", False),
    ],
)
def test_a_role_that_writes_may(place: Scene, role: str, *, may: bool) -> None:
    place.server.role(REPOSITORY, "ada", role)
    assert may_write(place.client(), REPOSITORY, "ada") is may


def test_a_stranger_and_an_account_that_is_gone_may_not(place: Scene) -> None:
    place.server.state.account("stranger")
    assert may_write(place.client(), REPOSITORY, "stranger") is False
    assert may_write(place.client(), REPOSITORY, "nobody") is False


def test_a_bot_never_may_whatever_its_role(place: Scene) -> None:
    place.server.role(REPOSITORY, "robot[bot]", "admin")
    assert may_write(place.client(), REPOSITORY, "robot[bot]") is False
    accounts = place.server.state.accounts
    accounts["sleeper"] = replace(place.server.state.account("sleeper"), type="Bot")
    place.server.role(REPOSITORY, "sleeper", "admin")
    assert may_write(place.client(), REPOSITORY, "sleeper") is False


def test_a_name_that_is_another_account_by_now_may_not(place: Scene) -> None:
    place.server.role(REPOSITORY, "ada", "write")
    account = place.server.state.account("ada")
    assert may_write(place.client(), REPOSITORY, "ada", account.id) is True
    assert may_write(place.client(), REPOSITORY, "ada", account.id + 1) is False


@pytest.mark.parametrize("login", ["", "..", "a/../b", "a%2fb", "a b", "-a", "a?x=1", "a#b", "a\n", "ä", "x" * 101])
def test_what_is_no_login_is_not_even_asked_for(place: Scene, login: str) -> None:
    assert may_write(place.client(), REPOSITORY, login) is False
    assert place.server.requests == ()


def test_a_server_that_does_not_tell_is_no_yes(place: Scene) -> None:
    place.server.role(REPOSITORY, "ada", "write")
    place.server.fail("GET", "/repos/*/*/collaborators/*/permission", outage(502), count=100)
    with pytest.raises(GithubError):
        may_write(place.client(), REPOSITORY, "ada")

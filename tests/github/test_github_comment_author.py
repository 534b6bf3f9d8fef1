"""Whose comment it is: both name and kind of account must be ours."""

from __future__ import annotations

import pytest
from comment_states import comment

from opsdebug_ci.github.api.records import Comment
from opsdebug_ci.github.bot.author import JOB_LOGIN, Author, author_named, wrote

JOB = Author(login=JOB_LOGIN, is_app=True)
PERSON = Author(login="opsdebug-robot", is_app=False)


@pytest.mark.parametrize(
    ("author", "login", "kind"),
    [
        (JOB, "github-actions[bot]", "Bot"),
        (JOB, "GitHub-Actions[bot]", "Bot"),
        (PERSON, "opsdebug-robot", "User"),
        (PERSON, "Opsdebug-Robot", "User"),
    ],
)
def test_ours(author: Author, login: str, kind: str) -> None:
    assert wrote(comment(1, "x", login, kind), author)


@pytest.mark.parametrize(
    ("author", "login", "kind"),
    [
        (JOB, "mallory", "User"),
        (JOB, "github-actions", "User"),
        (JOB, "github-actions", "Bot"),
        (JOB, "github-actions[bot]", "User"),
        (JOB, "dependabot[bot]", "Bot"),
        (JOB, "", "Bot"),
        (JOB, "github-actions[bot] ", "Bot"),
        (PERSON, "opsdebug-robot", "Bot"),
        (PERSON, "opsdebug-robot", "Organization"),
        (PERSON, "opsdebug-robot2", "User"),
        (PERSON, "github-actions[bot]", "Bot"),
    ],
)
def test_not_ours(author: Author, login: str, kind: str) -> None:
    assert not wrote(comment(1, "x", login, kind), author)


def test_an_account_that_is_gone_is_not_ours() -> None:
    gone = Comment(id=1, user=None, created_at="", updated_at="", body="x")
    assert not wrote(gone, JOB)
    assert not wrote(gone, Author(login="", is_app=False))


def test_a_name_says_whether_it_is_an_app() -> None:
    assert author_named("github-actions[bot]") == JOB
    assert author_named("opsdebug-robot") == PERSON

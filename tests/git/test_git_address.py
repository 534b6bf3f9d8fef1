"""Addresses taken apart, and credentials that nobody sees."""

from __future__ import annotations

from pathlib import Path

import pytest

from opsdebug_ci.errors import UsageError
from opsdebug_ci.git.address import hide_credentials, read_address
from opsdebug_ci.git.remote import remote_at

BASE = Path("/base")


@pytest.mark.parametrize(
    ("text", "given", "shown", "user", "password"),
    [
        ("https://h/r.git", "https://h/r.git", "https://h/r.git", "", ""),
        ("https://u:s3cret@h:8443/r", "https://h:8443/r", "https://***@h:8443/r", "u", "s3cret"),
        ("https://token@h/r", "https://h/r", "https://***@h/r", "token", ""),
        ("HTTPS://u:p%40q@h/r", "https://h/r", "HTTPS://***@h/r", "u", "p@q"),
        ("https://u:p@q@h/r", "https://h/r", "https://***@h/r", "u", "p@q"),
        ("ssh://git@h/r", "ssh://git@h/r", "ssh://git@h/r", "", ""),
        ("ssh://git:secret@h/r", "ssh://git@h/r", "ssh://***@h/r", "", ""),
        ("git@h:o/r.git", "git@h:o/r.git", "git@h:o/r.git", "", ""),
        ("file:///x/y%20z", "file:///x/y%20z", "file:///x/y%20z", "", ""),
        ("../r.git", "/base/../r.git", "/base/../r.git", "", ""),
        ("/x/r@2:3.git", "/x/r@2:3.git", "/x/r@2:3.git", "", ""),
    ],
)
def test_an_address_taken_apart(text: str, given: str, shown: str, user: str, password: str) -> None:
    found = read_address(text, BASE)
    assert (found.given, found.shown, found.user, found.password) == (given, shown, user, password)
    assert password == "" or password not in repr(found)


def test_where_a_repository_on_this_machine_is() -> None:
    assert read_address("file:///x/y%20z", BASE).path == Path("/x/y z")
    assert read_address("r", BASE).path == Path("/base/r")
    assert read_address("h:r", BASE).path is None
    assert read_address("https://h/r", BASE).path is None


@pytest.mark.parametrize(
    "text", ["", "-u", "ext::sh", "fd::3", "ftp://h/r", "https://h:x/r", "https://[h/r", "a\nb", "a\0b"]
)
def test_what_is_no_address(text: str) -> None:
    with pytest.raises(UsageError, match="is no address of a repository"):
        read_address(text, BASE)


def test_the_message_about_a_bad_address_hides_its_password() -> None:
    with pytest.raises(UsageError) as told:
        read_address("ftp://u:secret@h/r", BASE)
    assert "secret" not in str(told.value)
    assert hide_credentials("see https://u:p@h/a and ssh://git@h/b") == "see https://***@h/a and ssh://git@h/b"


@pytest.mark.parametrize("end", ["?access_token=s3cret", "/?x=1&t=s3cret", "#s3cret"])
def test_an_address_with_a_query_is_refused_and_not_shown(end: str) -> None:
    with pytest.raises(UsageError, match="has a query or a fragment") as told:
        read_address(f"https://h/r.git{end}", BASE)
    assert "s3cret" not in str(told.value)
    assert read_address("https://h/r.git", BASE).given == "https://h/r.git"
    assert read_address("/x/r?1#2", BASE).path == Path("/x/r?1#2")


def test_no_user_of_a_url_is_shown_but_that_of_ssh() -> None:
    assert hide_credentials("ftp://ghp_x@h/r git+https://ghp_x@h/r") == "ftp://***@h/r git+https://***@h/r"
    assert hide_credentials("ssh://git@h/r") == "ssh://git@h/r"


def test_a_person_keeps_their_configuration_and_a_token_uses_none() -> None:
    person = remote_at(
        read_address("https://me@h/r", BASE), {"GIT_SSH_COMMAND": "ssh -x", "GITHUB_TOKEN": "t0ken"}, believed=True
    )
    assert "GIT_CONFIG_GLOBAL" not in person.environment
    assert person.environment["GIT_SSH_COMMAND"] == "ssh -x"
    assert "t0ken" not in repr(person) + str(person.environment)
    assert "me" in person.environment.values()
    for environ in ({"GITHUB_TOKEN": "t0ken"}, {"INPUT_TOKEN": "t0ken", "GITHUB_TOKEN": "x", "CI": "true"}):
        job = remote_at(read_address("https://github.com/o/r", BASE), environ, believed=True)
        assert job.environment["GIT_CONFIG_GLOBAL"] == "/dev/null"
        assert job.environment["GIT_CONFIG_NOSYSTEM"] == "1"
        assert "AUTHORIZATION: basic eC1hY2Nlc3MtdG9rZW46dDBrZW4=" in job.environment.values()
        assert job.without_secrets("t0ken, eC1hY2Nlc3MtdG9rZW46dDBrZW4=") == "***, ***"


@pytest.mark.parametrize(
    ("address", "server", "sent"),
    [
        ("https://github.com/o/r", "", True),
        ("https://GitHub.com:443/o/r", "", True),
        ("https://ghe.example.org:8443/o/r", "https://ghe.example.org:8443", True),
        ("https://ghe.example.org/o/r", "https://ghe.example.org:8443", False),
        ("https://github.com.evil.org/o/r", "", False),
        ("https://github.com@evil.org/o/r", "", False),
        ("http://github.com/o/r", "", False),
        ("https://github.com/o/r", "https://ghe.example.org", False),
        ("git@github.com:o/r", "", False),
    ],
)
def test_the_token_is_for_its_own_server(address: str, server: str, sent: bool) -> None:
    environ = {"GITHUB_TOKEN": "t0ken", "GITHUB_SERVER_URL": server}
    remote = remote_at(read_address(address, BASE), environ, believed=True)
    assert any(value.startswith("AUTHORIZATION") for value in remote.environment.values()) == sent

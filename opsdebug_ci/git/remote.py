"""Who we are to another repository.

Decides what git gets to know on the way there. Credentials go through its environment alone: no argument, no file and
no message ever holds them. A token goes to the one server it was issued for, over https. A person's own configuration
is used, and none at all where a token speaks for us; never that of a repository around a work tree.

A repository on this machine that only such a configuration names runs no program when we speak to it: whoever can
write a configuration could otherwise have us run one. Its hooks run when a person named it.
"""

from __future__ import annotations

import base64
import shlex
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from urllib.parse import urlsplit

from opsdebug_ci.errors import StoreError
from opsdebug_ci.git.address import HIDDEN, PROTOCOLS, Address
from opsdebug_ci.git.command import answer, environment_for_git

NAME = "opsdebug-store"
"""What the remote is called in our own repositories."""

TOKENS = ("OPSDEBUG_TOKEN", "INPUT_TOKEN", "GITHUB_TOKEN")
"""Variables that may hold a token; the first that does counts."""

SERVER, DEFAULT_SERVER = "GITHUB_SERVER_URL", "https://github.com"
"""Variable with the address of the server that the token is for, and what holds without it."""

_OF_THE_PERSON = (
    "GIT_CONFIG_GLOBAL",
    "GIT_CONFIG_NOSYSTEM",
    "GIT_CONFIG_SYSTEM",
    "GIT_SSH",
    "GIT_SSH_COMMAND",
    "GIT_SSH_VARIANT",
)
"""Variables of a surrounding git that say who the person is."""

_SETTINGS = {
    # Objects that were left out of a fetch are fetched when they are asked for.
    f"remote.{NAME}.promisor": "true",
    f"remote.{NAME}.partialclonefilter": "blob:none",
    # A transfer below 1000 bytes/s for a minute is dead.
    "http.lowSpeedLimit": "1000",
    "http.lowSpeedTime": "60",
    "gc.auto": "0",
    "maintenance.auto": "false",
    "fetch.unpackLimit": "1",
    "push.gpgSign": "false",
    "push.recurseSubmodules": "no",
    "push.followTags": "false",
    "push.negotiate": "false",
}
"""What holds in our own repositories, whatever a person's configuration says."""

_DISTRUSTED = (
    "core.hooksPath=/dev/null",
    "core.fsmonitor=false",
    "core.alternateRefsCommand=:",
    "core.sshCommand=false",
    "receive.denyCurrentBranch=refuse",
    "receive.autogc=false",
    "safe.directory=*",
)
"""How git answers in a repository whose configuration is not believed."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Remote:
    """Another repository, as we may speak to it."""

    address: Address
    """Where it is."""

    environment: Mapping[str, str] = field(repr=False)
    """Every variable that git gets."""

    secrets: tuple[str, ...] = field(repr=False)
    """What must not be in any message."""

    def without_secrets(self, text: str) -> str:
        """`text`, fit for a message."""
        for secret in self.secrets:
            text = text.replace(secret, HIDDEN)
        return text


def remote_at(address: Address, environ: Mapping[str, str], *, believed: bool) -> Remote:
    """The repository at an address.

    Args:
        address: where it is.
        environ: environment variables, which may hold a token.
        believed: a person named it, so that it may run its hooks.

    Raises:
        StoreError: it is on this machine, not believed, and gets objects from elsewhere.
    """
    token = next((environ[name] for name in TOKENS if environ.get(name)), "")
    identity, secrets = _identity(address, token, environ)
    settings = {f"remote.{NAME}.url": address.given, **_SETTINGS, **identity}
    if address.path and not believed:
        settings |= _distrusting(address.path)
    alone = bool(token) and (bool(environ.get("CI")) or token in secrets)
    return Remote(
        address=address,
        environment=_environment(environ, settings, alone=alone),
        secrets=tuple(secret for secret in {token, *secrets} if secret),
    )


def _identity(address: Address, token: str, environ: Mapping[str, str]) -> tuple[dict[str, str], tuple[str, ...]]:
    """Settings by which the server knows us, and the secrets in them."""
    if address.password:
        user, secret = address.user, address.password
    elif token and _is_for_token(address, environ):
        user, secret = "x-access-token", token
    elif address.user:
        return {f"credential.{address.server}.username": address.user}, (f"{address.user}@",)
    else:
        return {}, ()
    encoded = base64.b64encode(f"{user}:{secret}".encode()).decode()
    header = f"AUTHORIZATION: basic {encoded}"
    # NOTE: without redirects, for git would send the header to the next server as well.
    return {f"http.{address.server}/.extraheader": header, "http.followRedirects": "false"}, (secret, encoded)


def _is_for_token(address: Address, environ: Mapping[str, str]) -> bool:
    server = urlsplit(environ.get(SERVER) or DEFAULT_SERVER)
    there = urlsplit(address.server)
    same = (there.hostname, there.port or 443) == (server.hostname, server.port or 443)
    return there.scheme == server.scheme == "https" and same


def _distrusting(path: Path) -> dict[str, str]:
    if answer(path, "config", "--get-regexp", r"^(extensions\.partialclone|remote\..*\.promisor)$"):
        raise StoreError(
            f"`{path}` is a partial clone, which lacks objects that its configuration says how to get; wanted a "
            "repository that has its objects",
            next_step="name the repository that has the store: `store = branch:NAME@URL`",
        )
    options = " ".join(f"-c {shlex.quote(setting)}" for setting in _DISTRUSTED)
    return {
        f"remote.{NAME}.uploadpack": f"git {options} upload-pack",
        f"remote.{NAME}.receivepack": f"git {options} receive-pack",
    }


def _environment(environ: Mapping[str, str], settings: Mapping[str, str], *, alone: bool) -> dict[str, str]:
    found = environment_for_git({name: value for name, value in environ.items() if name not in TOKENS})
    if alone:
        found["GIT_SSH_COMMAND"] = environ.get("GIT_SSH_COMMAND") or "ssh -oBatchMode=yes"
    else:
        del found["GIT_CONFIG_GLOBAL"], found["GIT_CONFIG_NOSYSTEM"]
        found |= {name: environ[name] for name in _OF_THE_PERSON if name in environ}
    found |= {"GIT_ALLOW_PROTOCOL": ":".join(PROTOCOLS), "GIT_ASKPASS": "", "GIT_CONFIG_COUNT": str(len(settings))}
    for number, (key, value) in enumerate(settings.items()):
        found |= {f"GIT_CONFIG_KEY_{number}": key, f"GIT_CONFIG_VALUE_{number}": value}
    return found

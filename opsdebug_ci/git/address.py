"""The address of a repository, taken apart: what git is given, what people are shown, and the credentials in it.

Decides which addresses are used at all: none that makes git run a program it names.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from pathlib import Path
from urllib.parse import unquote, urlsplit

from opsdebug_ci.errors import UsageError

PROTOCOLS = ("file", "git", "http", "https", "ssh")
"""Ways on which git may reach a repository."""

HIDDEN = "***"
"""Stands for credentials in messages."""

_HELPER = re.compile(r"[A-Za-z0-9+.-]+::")
"""Begins an address that names a program: `ext::sh -c ...` (gitremote-helpers(7))."""

_SCHEME = re.compile(r"([A-Za-z][A-Za-z0-9+.-]*)://")
_HOST_AND_PATH = re.compile(r"[^/\\:]+:(?!//)")
"""`host:path` of ssh: a colon before the first slash (git-fetch(1), "GIT URLS")."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Address:
    """Where a repository is."""

    given: str
    """What git gets: without credentials, but for the user of an ssh address, who is none."""

    shown: str
    """For people: credentials are hidden."""

    path: Path | None = None
    """Its directory, when it is on this machine."""

    server: str = ""
    """`https://host:port`, when it is reached by http or https."""

    user: str = field(default="", repr=False)
    """User named in it, when it is reached by http or https."""

    password: str = field(default="", repr=False)
    """Password named in it, likewise."""


def read_address(text: str, base: Path) -> Address:
    """Take an address apart.

    Args:
        text: URL, `host:path`, or path.
        base: what a relative path starts from.

    Raises:
        UsageError: it is none that is used here.
    """
    scheme = _checked_scheme(text)
    if scheme == "file":
        return Address(given=text, shown=text, path=Path(unquote(urlsplit(text).path)))
    if not scheme and not _HOST_AND_PATH.match(text):
        path = (base / text).absolute()
        return Address(given=str(path), shown=str(path), path=path)
    if not scheme:
        return Address(given=text, shown=text)
    parts = urlsplit(text)
    named, _, host = parts.netloc.rpartition("@")
    user, colon, password = named.partition(":")
    if scheme in ("http", "https"):
        _refuse_query(text)
        return Address(
            given=parts._replace(netloc=host).geturl(),
            shown=hide_credentials(text),
            server=f"{scheme}://{host.lower()}",
            user=unquote(user),
            password=unquote(password),
        )
    given = parts._replace(netloc=f"{user}@{host}").geturl() if colon else text
    return Address(given=given, shown=hide_credentials(text))


def hide_credentials(text: str) -> str:
    """`text` without what stands in front of the host of a URL, and without its query and fragment; the user of an ssh
    address stays."""
    text = re.sub(r"(?i)(?<!ssh)(://)[^/?#\s]+@", rf"\1{HIDDEN}@", text)
    text = re.sub(r"(://)[^/?#\s@]*:[^/?#\s]*@", rf"\1{HIDDEN}@", text)
    return re.sub(r"(://[^?#\s]*[?#])[^\s]+", rf"\1{HIDDEN}", text)


def _checked_scheme(text: str) -> str:
    found = _SCHEME.match(text)
    scheme = found[1].lower() if found else ""
    unusable = not text or not text.isprintable() or text.startswith("-") or _HELPER.match(text)
    if unusable or _has_bad_host(text) or (scheme and scheme not in PROTOCOLS):
        raise UsageError(
            f"`{hide_credentials(text)!a}` is no address of a repository that is used here; wanted a path, "
            f"`host:path`, or a URL with one of {', '.join(PROTOCOLS)}",
            next_step="e.g. `store = branch:opsdebug-baselines@https://github.com/OWNER/REPOSITORY`",
        )
    return scheme


def _refuse_query(text: str) -> None:
    """A query often holds a token, and git would show it in messages, and send it to wherever it is led."""
    if "?" in text or "#" in text:
        raise UsageError(
            f"`{hide_credentials(text)!a}` has a query or a fragment; wanted the address of a repository without",
            next_step="leave out what begins with `?` or `#`, and give a token in GITHUB_TOKEN or OPSDEBUG_TOKEN",
        )


def _has_bad_host(text: str) -> bool:
    try:
        return urlsplit(text).port == 0
    except ValueError:  # no number, or brackets that do not match
        return True

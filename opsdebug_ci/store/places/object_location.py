"""Where a store in object storage is, and who may go there: its location, and what the environment says.

Decides what a location may be (`s3://BUCKET/PREFIX`, `gs://BUCKET/PREFIX`, nothing else in it) and which variables
count. Deliberately reads no file: those that variables name are read by the client library, with the other standard
ways to credentials.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import NoReturn
from urllib.parse import urlsplit

from opsdebug_ci.errors import UsageError

SCHEMES = ("s3", "gs")
"""Schemes of locations in object storage."""

ENDPOINTS: Mapping[str, tuple[str, ...]] = {
    "s3": ("AWS_ENDPOINT_URL_S3", "AWS_ENDPOINT_URL"),
    "gs": ("STORAGE_EMULATOR_HOST",),
}
"""Variables that name another server, by scheme; the first that is set counts."""

ANY_REGION = "us-east-1"
"""Region for a server that is not Amazon's: those that have no regions accept it."""

SHORTEST_SECRET = 8
"""Characters of the shortest text that is taken for a secret: half of what the services give out. Shorter ones, as for
a server on this machine, would be found in the middle of words."""

_LOCATION = re.compile(r"(?P<scheme>[A-Za-z0-9]+)://(?P<bucket>[^/]*)(?:/(?P<prefix>.*))?", re.DOTALL)
_BUCKET = re.compile(r"[a-z0-9][a-z0-9._-]{1,220}[a-z0-9]")
"""What both services allow (S3: 3 to 63 characters; Cloud Storage: up to 222 with dots)."""

_LONGEST_PREFIX = 700
"""Bytes. Keys have at most 1024, and the longest path below a store has under 200."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ObjectLocation:
    """Where a store in object storage is."""

    scheme: str
    """`s3` or `gs`."""

    bucket: str
    """Its bucket."""

    prefix: str
    """What the keys of its objects begin with, without slashes at its ends; empty: the bucket is the store."""

    @property
    def base(self) -> str:
        """Bucket and prefix."""
        return f"{self.bucket}/{self.prefix}" if self.prefix else self.bucket


@dataclass(frozen=True, slots=True, kw_only=True)
class ObjectAccess:
    """How to get there."""

    endpoint: str | None
    """HOST:PORT of the server; None: the provider's own."""

    encrypted: bool
    """https, not http."""

    region: str | None
    """Region of the bucket; None: to be found out."""

    certificates: str | None
    """File of certificates to trust instead of the system's; None: the system's."""

    access_key: str | None = field(repr=False)
    """Key id from the environment; None: the client library finds credentials."""

    secret_key: str | None = field(repr=False)
    """The secret that belongs to it."""

    session_token: str | None = field(repr=False)
    """The token that belongs to it; None: it is a lasting key."""

    @property
    def secrets(self) -> tuple[str, ...]:
        """What must never be seen in a message."""
        given = (self.session_token, self.secret_key, self.access_key)
        return tuple(secret for secret in given if secret and len(secret) >= SHORTEST_SECRET)


def read_location(text: str) -> ObjectLocation:
    """What a location says.

    Raises:
        UsageError: it is none of object storage. Whatever may be a credential in it is not repeated.
    """
    found = _LOCATION.fullmatch(text)
    if not found or found["scheme"].lower() not in SCHEMES:
        _refuse("two slashes and a bucket must follow the first colon")
    bucket, prefix = found["bucket"], found["prefix"] or ""
    if "@" in bucket or ":" in bucket or "?" in text or "#" in text:
        _refuse("it has credentials, a port or settings in it, which come from the environment")
    if not bucket:
        _refuse("it names no bucket")
    if not _BUCKET.fullmatch(bucket):
        _refuse(f"`{bucket[:80]}` cannot be the name of a bucket (lower case letters, digits, `-`, `.`, `_`)")
    prefix = prefix[:-1] if prefix.endswith("/") else prefix
    if prefix and any(part in ("", ".", "..") for part in prefix.split("/")):
        _refuse(f"its prefix `{prefix[:80]}` has an empty part, `.` or `..` in it")
    if not prefix.isprintable() or len(prefix.encode(errors="surrogateescape")) > _LONGEST_PREFIX:
        _refuse(f"its prefix has more than {_LONGEST_PREFIX} bytes, or control characters")
    return ObjectLocation(scheme=found["scheme"].lower(), bucket=bucket, prefix=prefix)


def read_access(location: ObjectLocation, environ: Mapping[str, str]) -> ObjectAccess:
    """What the environment says of the way to `location`.

    Raises:
        UsageError: the address of the server is none.
    """
    endpoint, encrypted = _endpoint(location.scheme, environ)
    key, secret = environ.get("AWS_ACCESS_KEY_ID"), environ.get("AWS_SECRET_ACCESS_KEY")
    both = bool(key and secret and location.scheme == "s3")
    region = environ.get("AWS_REGION") or environ.get("AWS_DEFAULT_REGION")
    return ObjectAccess(
        endpoint=endpoint,
        encrypted=encrypted,
        region=region or (ANY_REGION if endpoint else None),
        certificates=environ.get("AWS_CA_BUNDLE") or None,
        access_key=key if both else None,
        secret_key=secret if both else None,
        session_token=(environ.get("AWS_SESSION_TOKEN") or None) if both else None,
    )


def _endpoint(scheme: str, environ: Mapping[str, str]) -> tuple[str | None, bool]:
    variable = next((name for name in ENDPOINTS[scheme] if environ.get(name)), None)
    ignored = scheme == "s3" and environ.get("AWS_IGNORE_CONFIGURED_ENDPOINT_URLS", "").lower() == "true"
    if variable is None or ignored:
        return None, True
    address = environ[variable]
    parts = urlsplit(address if "://" in address or scheme == "s3" else f"http://{address}")
    beyond = parts.username or parts.password or parts.path.strip("/") or parts.query or parts.fragment
    if parts.scheme not in ("http", "https") or not parts.hostname or beyond:
        raise UsageError(
            f"{variable} is no address of a server: wanted `https://HOST` or `http://HOST:PORT` and nothing more",
            next_step=f"set {variable} to such an address, or unset it",
        )
    return parts.netloc, parts.scheme == "https"


def _refuse(why: str) -> NoReturn:
    raise UsageError(
        f"`store` is no place: {why}; wanted `s3://BUCKET/PREFIX` or `gs://BUCKET/PREFIX`",
        next_step="set `store` to such a location, e.g. `s3://my-bucket/baselines`",
    )

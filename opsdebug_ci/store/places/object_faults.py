"""What an error of object storage means: worth another try, nothing there, or something a person has to mend.

Decides by the text of the error, because pyarrow hands over nothing else; texts that are not known count as something
to mend, and are shown as they are.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from enum import Enum

from opsdebug_ci.errors import StoreError, StoreUnreachableError


class Fault(Enum):
    """What an error of object storage means."""

    TRANSIENT = "transient"
    """The server is busy, broken or out of reach: the same may succeed a moment later."""

    ABSENT = "absent"
    """There is no such object."""

    NO_BUCKET = "no bucket"
    """There is no such bucket."""

    DENIED = "denied"
    """The credentials do not allow it."""

    CREDENTIALS = "credentials"
    """There are no credentials, or none that are valid."""

    REGION = "region"
    """The bucket lies in another region."""

    CLOCK = "clock"
    """The clock of this machine is wrong."""

    CERTIFICATE = "certificate"
    """The server's certificate is not trusted."""

    OTHER = "other"
    """Anything else."""


_PATTERNS: tuple[tuple[Fault, str], ...] = (
    (Fault.CERTIFICATE, r"curlCode: (?:35|51|58|59|60|77|83)\b|CURL error \[(?:35|51|58|59|60|77|83)\]"),
    (
        Fault.NO_BUCKET,
        r"NO_SUCH_BUCKET|NoSuchBucket|NOT_FOUND.*retry\.function=(?:ListObjects|CreateResumableUpload|InsertObject)",
    ),
    (Fault.CLOCK, r"REQUEST_TIME_TOO_SKEWED|RequestTimeTooSkewed|REQUEST_EXPIRED"),
    (
        Fault.CREDENTIALS,
        r"INVALID_ACCESS_KEY_ID|SIGNATURE_DOES_NOT_MATCH|INVALID_CLIENT_TOKEN_ID|UNRECOGNIZED_CLIENT|EXPIRED_TOKEN"
        r"|INVALID_SIGNATURE|MISSING_AUTHENTICATION_TOKEN|ExpiredToken|InvalidToken|TokenRefreshRequired"
        r"|UNAUTHENTICATED|Status\((?!UNAVAILABLE).*OAuth2 access token|[Dd]efault [Cc]redentials",
    ),
    (Fault.REGION, r"PermanentRedirect|AuthorizationHeaderMalformed|IllegalLocationConstraint|HTTP status 30[17]"),
    (Fault.DENIED, r"ACCESS_DENIED|AllAccessDisabled|PERMISSION_DENIED"),
    (
        Fault.TRANSIENT,
        r"SLOW_DOWN|SlowDown|SERVICE_UNAVAILABLE|INTERNAL_FAILURE|REQUEST_TIMEOUT|NETWORK_CONNECTION|THROTTLING"
        r"|OperationAborted|HTTP status (?:408|409|429|50[0234])\b|: UNAVAILABLE|\(UNAVAILABLE|DEADLINE_EXCEEDED"
        r"|\(INTERNAL|RESOURCE_EXHAUSTED|ABORTED",
    ),
    (Fault.ABSENT, r"NO_SUCH_KEY|NoSuchKey|NOT_FOUND|No such file or directory|Path does not exist"),
)
"""Fault by what its text has in it; the first that is found counts."""

_NEXT: Mapping[Fault, str] = {
    Fault.NO_BUCKET: "make the bucket, or set `store` to one that is there",
    Fault.DENIED: "allow these credentials to list, read and write objects there (docs/places.md has the policy)",
    Fault.CREDENTIALS: "give credentials that are valid (docs/places.md says in which variables)",
    Fault.REGION: "set AWS_REGION to the region of the bucket",
    Fault.CLOCK: "set the clock of this machine",
    Fault.CERTIFICATE: "set AWS_CA_BUNDLE to the certificates to trust, or mend the server's",
    Fault.TRANSIENT: "try again when the server can be reached",
}
_MEANING: Mapping[Fault, str] = {
    Fault.ABSENT: "there is no such object",
    Fault.NO_BUCKET: "there is no such bucket",
    Fault.DENIED: "access is denied",
    Fault.CREDENTIALS: "the credentials are missing, expired or wrong",
    Fault.REGION: "the bucket lies in another region",
    Fault.CLOCK: "the clock of this machine is too far off",
    Fault.CERTIFICATE: "the certificate of the server is not trusted",
    Fault.TRANSIENT: "the server cannot be reached, or does not answer as it should",
    Fault.OTHER: "the server refused",
}
_NO_DETAIL = "No response body"
"""What an error says whose request has no answer to explain it (HEAD)."""

_LONGEST = 400
"""Characters of an error that are shown; a server may answer with a whole page."""


def fault_of(error: OSError) -> Fault:
    """What an error means."""
    text = str(error)
    return next((fault for fault, pattern in _PATTERNS if re.search(pattern, text, re.DOTALL)), Fault.OTHER)


def is_mute(error: OSError) -> bool:
    """The server said no, but not why: a request that has an answer will tell."""
    return _NO_DETAIL in str(error) and fault_of(error) is not Fault.TRANSIENT


def as_store_error(error: OSError, doing: str, location: str, secrets: tuple[str, ...]) -> StoreError:
    """The error as one of ours.

    Args:
        error: what pyarrow raised.
        doing: what was being done, e.g. `list`.
        location: the store.
        secrets: what is taken out of its text, should a server repeat it.
    """
    fault = fault_of(error)
    text = str(error)
    for secret in secrets:
        text = text.replace(secret, "***")
    short = " ".join(text.split())[:_LONGEST]
    kind = StoreUnreachableError if fault is Fault.TRANSIENT else StoreError
    return kind(
        f"cannot {doing} store `{location}`: {_MEANING[fault]}; got `{short}`; wanted a bucket that these credentials "
        "can list, read and write",
        next_step=_NEXT.get(fault, "the server's words say what to mend"),
    )

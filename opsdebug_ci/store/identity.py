"""Run ids: unique without a server, and in the order of time when sorted as text.

Decides the form: UUID version 7 (RFC 9562, section 5.7), with the 12 bits of `rand_a` holding the fraction of the
millisecond (section 6.2, method 3), so that ids of one machine sort by its clock to the microsecond.
"""

from __future__ import annotations

import uuid
from datetime import datetime, timedelta, timezone

from opsdebug_ci.errors import InternalError

ENTROPY_BYTES = 8
"""Random bytes an id needs; 62 of their bits are used."""

_EPOCH = datetime(1970, 1, 1, tzinfo=timezone.utc)
_VERSION = 7
_VARIANT = 0b10


def new_run_id(now: datetime, entropy: bytes) -> str:
    """Id of a run that starts at `now`.

    Args:
        now: instant with a time zone, from 1970 on.
        entropy: ENTROPY_BYTES random bytes.

    Raises:
        InternalError: `now` has no time zone, or `entropy` another length.
    """
    if now.tzinfo is None or len(entropy) != ENTROPY_BYTES:
        raise InternalError(
            f"run id from `now`={now!r} and {len(entropy)} bytes of `entropy`; "
            f"wanted an instant with a time zone and {ENTROPY_BYTES} bytes"
        )
    milliseconds, rest = divmod(now - _EPOCH, timedelta(milliseconds=1))
    fraction = rest.microseconds * 4096 // 1000
    random = int.from_bytes(entropy, "big") & (2**62 - 1)
    return str(uuid.UUID(int=milliseconds << 80 | _VERSION << 76 | fraction << 64 | _VARIANT << 62 | random))

"""What a store remembers of failures: when each was first seen, and which a person has accepted.

Decides nothing of its own: which acceptances count is told by the macro `accepted`, for everybody.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from datetime import datetime

from opsdebug_ci.store.backends import open_store
from opsdebug_ci.store.query import query

_ACCEPTED = "select fingerprint from accepted(?::timestamptz) where fingerprint is not null"

_FIRST_SEEN = "select fingerprint, first_seen from failure_history"


def accepted_fingerprints(location: str | os.PathLike[str], now: datetime) -> frozenset[str]:
    """Fingerprints of failures that are accepted, that is not lapsed nor withdrawn; none without a store."""
    if not open_store(location).exists():
        return frozenset()
    return frozenset(str(fingerprint) for (fingerprint,) in query(location, _ACCEPTED, (now,)).rows)


def first_seen(location: str | os.PathLike[str]) -> Mapping[str, datetime]:
    """Fingerprint -> start of the first run that recorded it; empty without a store."""
    if not open_store(location).exists():
        return {}
    rows = query(location, _FIRST_SEEN).rows
    return {str(fingerprint): seen for fingerprint, seen in rows if isinstance(seen, datetime)}

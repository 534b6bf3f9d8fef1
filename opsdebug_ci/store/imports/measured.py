"""Numbers of another tool as times of ours.

Decides what counts as a time, what a benchmark's parameters say of dims and dtype, and the id it keeps for ever.
Deliberately computes nothing but minimum and median of samples that the source kept.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections import Counter
from collections.abc import Mapping, Sequence
from datetime import datetime, timedelta, timezone
from pathlib import Path
from statistics import median

from opsdebug_ci.model.case_document import CaseDocument
from opsdebug_ci.model.imported import ImportedTime
from opsdebug_ci.store.imports.history import LeftOut
from opsdebug_ci.store.imports.source_text import refuse

UNITS_NS: Mapping[str, float] = {
    **dict.fromkeys(("ns", "nsec", "nanoseconds"), 1.0),
    **dict.fromkeys(("us", "\u00b5s", "\u03bcs", "usec", "microseconds"), 1e3),
    **dict.fromkeys(("ms", "msec", "milliseconds"), 1e6),
    **dict.fromkeys(("s", "sec", "second", "seconds"), 1e9),
}
"""Nanoseconds in a unit; the micro sign and the Greek letter are two characters."""

SECOND_NS = UNITS_NS["s"]

LONGEST_NS = 1e18
"""A number above it, thirty years, is no time of a benchmark."""

ID_DIGITS = 16
"""Digits of a case id, as of ours: 64 bits, so that two of a million benchmarks share one with probability 3e-8."""

MOST_DIM = 2**63 - 1
"""Largest size a column holds."""

COMMIT = re.compile(r"[0-9a-fA-F]{7,64}")
"""What the hash of a commit looks like, in full or abbreviated."""

_EPOCH = datetime(1970, 1, 1, tzinfo=timezone.utc)


def time_ns(value: float | None, unit_ns: float) -> float | None:
    """`value` in nanoseconds; None: it is none, or no positive, finite time."""
    found = None if value is None else value * unit_ns
    return found if found is not None and 0 < found <= LONGEST_NS else None


def spread_ns(value: float | None, unit_ns: float) -> float | None:
    """A standard deviation in nanoseconds, which may be zero; None: it is none, or not finite."""
    found = None if value is None else value * unit_ns
    return found if found is not None and 0 <= found <= LONGEST_NS else None


def samples_of(values: Sequence[float | None] | None, unit_ns: float) -> tuple[float, ...] | None:
    """Samples in nanoseconds; None: there are none, or one of them is no time."""
    found = [time_ns(value, unit_ns) for value in values or ()]
    kept = tuple(sample for sample in found if sample is not None)
    return kept if kept and len(kept) == len(found) else None


def smallest(samples_ns: tuple[float, ...] | None) -> float | None:
    """The shortest of the samples, where there are some."""
    return None if samples_ns is None else min(samples_ns)


def middle(samples_ns: tuple[float, ...] | None) -> float | None:
    """The median of the samples, where there are some."""
    return None if samples_ns is None else float(median(samples_ns))


def told(time: ImportedTime, left_out: Counter[LeftOut]) -> list[ImportedTime]:
    """`time` where at least one number of it is there; else nothing, and it is counted."""
    if any(number is not None for number in (time.min_ns, time.median_ns, time.mean_ns)):
        return [time]
    left_out[LeftOut.NO_NUMBER] += 1
    return []


def case_of(
    tool: str, name: str, parameters: Mapping[str, object], *, operator: str | None = None, identity: object = None
) -> CaseDocument:
    """The case a benchmark is.

    Args:
        tool: who measured it.
        name: its full name with its parameters, unique in the source.
        parameters: its parameters by name.
        operator: its name without parameters; None: the full name.
        identity: what tells it from every other benchmark of the tool; None: name and parameters.
    """
    known = [name, parameters] if identity is None else identity
    text = json.dumps([tool, known], sort_keys=True, default=repr)
    return CaseDocument(
        id=hashlib.sha256(text.encode(errors="backslashreplace")).hexdigest()[:ID_DIGITS],
        name=name,
        operator=operator or name,
        dtype=_dtype(parameters),
        dims=dict(_dims(parameters)),
        layout="",
        inputs="",
        seed=0,
        device="",
        direction="forward",
    )


def full_commit(commit: str, path: Path, where: str) -> str:
    """`commit` in lower case; empty stays empty. Raises UsageError when it is no hash."""
    if commit and not COMMIT.fullmatch(commit):
        refuse(path, f"{commit[:80]!r} at `{where}`", "the hash of a commit", "correct it, or leave that run out")
    return commit.lower()


def instant(text: str, path: Path, where: str) -> datetime:
    """An ISO 8601 instant; without a time zone it is in UTC. Raises UsageError when it is none."""
    try:
        # NOTE: Python 3.10 does not read the suffix `Z`.
        read = datetime.fromisoformat(text.strip().replace("Z", "+00:00"))
        moment = (read if read.tzinfo else read.replace(tzinfo=timezone.utc)).astimezone(timezone.utc)
    except (ValueError, OverflowError):
        moment = None
    if moment is None or moment < _EPOCH:
        refuse(path, f"{text[:80]!r} at `{where}`", "an ISO 8601 time since 1970")
    return moment


def instant_of_ms(milliseconds: float, path: Path, where: str) -> datetime:
    """Milliseconds since 1970 as JavaScript counts them. Raises UsageError when that is no time since 1970."""
    try:
        read = _EPOCH + timedelta(milliseconds=milliseconds)
    except (OverflowError, ValueError):
        read = None
    if read is None or read < _EPOCH:
        refuse(path, f"{milliseconds!r} at `{where}`", "milliseconds since 1970")
    return read


def _dtype(parameters: Mapping[str, object]) -> str:
    value = parameters.get("dtype")
    return value if isinstance(value, str) else ""


def _dims(parameters: Mapping[str, object]) -> list[tuple[str, int]]:
    """Parameters that are sizes: whole numbers by name, and lists of them as `name_0`, `name_1`, ..."""
    found: list[tuple[str, int]] = []
    for name, value in parameters.items():
        sizes = value if isinstance(value, (list, tuple)) else ()
        if _is_size(value):
            found.append((name, int(str(value))))
        elif sizes and all(map(_is_size, sizes)):
            found += [(f"{name}_{axis}", int(str(size))) for axis, size in enumerate(sizes)]
    return found


def _is_size(value: object) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and 0 <= value <= MOST_DIM

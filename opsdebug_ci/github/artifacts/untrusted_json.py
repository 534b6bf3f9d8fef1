"""JSON of whoever: one meaning or none, at a cost that is known beforehand.

Decides what ordinary readers leave open: keys given twice, NaN and infinities, numbers of thousands of digits, texts
and nesting without end. Deliberately knows nothing of what the text is about.
"""

from __future__ import annotations

import json
from collections import Counter
from typing import Any

from opsdebug_ci.errors import ArtifactError

DEEPEST = 32
"""Objects and lists within each other; a document of ours has 11."""

LONGEST_NUMBER = 32
"""Characters of a number; a float64 needs 24, an int64 20."""

LONGEST_TEXT = 2**20
"""Characters of one text; the longest of ours are what an operator printed, 4 KiB."""

MOST_VALUES = 7_000_000
"""Marks that part values: documents of runs have one in ten bytes, and so the largest as many. A value costs here up to
64 bytes and its place, whatever it costs in the text."""

_NEXT = "look at the job that uploaded it; a file that `opsdebug ci` wrote is never refused for this"


def read_untrusted(data: bytes, limit: int) -> Any:
    """The plain value of a JSON text.

    Args:
        data: the text.
        limit: bytes it may have.

    Raises:
        ArtifactError: it is no JSON, leaves open what it means, or costs more than it may.
    """
    if len(data) > limit:
        raise refusal(f"it has {len(data):,} bytes; at most {limit:,} are read")
    # NOTE: counted before anything is built of them; marks within texts count too, which errs on the safe side.
    values = sum(data.count(mark) for mark in (b",", b"[", b"{", b":"))
    if values > MOST_VALUES:
        raise refusal(f"it has up to {values:,} values; at most {MOST_VALUES:,} are read")
    try:
        value = json.loads(
            data.decode("utf-8"),
            object_pairs_hook=_unique,
            parse_constant=_refuse,
            parse_int=_integer,
            parse_float=_float,
        )
    except UnicodeDecodeError as error:
        raise refusal(f"byte {error.start} is no UTF-8") from error
    except json.JSONDecodeError as error:
        raise refusal(f"no JSON at line {error.lineno}, column {error.colno}: {error.msg}") from error
    except RecursionError as error:
        raise refusal(f"it is nested more than {DEEPEST} deep") from error
    _check_levels(value)
    return value


def refusal(why: str) -> ArtifactError:
    """The error of a document that is not taken."""
    return ArtifactError(f"the document of a shard is not taken: {why}", next_step=_NEXT)


def _check_levels(value: object) -> None:
    """Depth and texts, level by level: without recursion, which the text decides the depth of."""
    level = [value]
    for _ in range(DEEPEST + 1):
        for each in level:
            if isinstance(each, str):
                _check_text(each)
            elif isinstance(each, dict):
                for key in each:
                    _check_text(key)
        level = [child for parent in level for child in _children(parent)]
    if level:
        raise refusal(f"it is nested more than {DEEPEST} deep")


def _check_text(text: str) -> None:
    if len(text) > LONGEST_TEXT:
        raise refusal(f"a text has {len(text):,} characters; at most {LONGEST_TEXT:,} are read")
    if not text.isascii() and any("\ud800" <= character <= "\udfff" for character in text):
        raise refusal("a text holds half a surrogate pair, which is no Unicode")


def _children(value: object) -> list[object]:
    if isinstance(value, dict):
        return list(value.values())
    return value if isinstance(value, list) else []


def _unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) != len(pairs):
        twice = next(key for key, count in Counter(key for key, _ in pairs).items() if count > 1)
        raise refusal(f"key {twice[:40]!a} is given twice")
    return found


def _refuse(constant: str) -> None:
    raise refusal(f"`{constant}` is no number in JSON")


def _integer(text: str) -> int:
    value = int(text) if len(text) <= LONGEST_NUMBER else 2**64
    if not -(2**63) <= value < 2**63:
        raise refusal(f"number {text[:LONGEST_NUMBER]} does not fit into 64 bits")
    return value


def _float(text: str) -> float:
    value = float(text)
    if len(text) > LONGEST_NUMBER or value - value != 0.0:
        raise refusal(f"number {text[:LONGEST_NUMBER]} is longer or larger than a float64")
    return value

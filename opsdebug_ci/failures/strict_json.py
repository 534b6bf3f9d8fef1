"""JSON from strangers: one meaning or none.

Decides what ordinary readers leave open: keys given twice, NaN and infinities, numbers of thousands of digits, and
nesting so deep that a later reader dies of it. Deliberately knows nothing of what the text is about.
"""

from __future__ import annotations

import json
from typing import Any

from opsdebug_ci.errors import BundleError

DEEPEST = 32
"""Objects and lists within each other."""

LONGEST_NUMBER = 64
"""Characters of a number; a float64 needs 24, a count of bytes 20."""


def read_strictly(data: bytes) -> Any:
    """The plain value of a JSON text.

    Raises:
        BundleError: it is no JSON, or leaves open what it means.
    """
    try:
        value = json.loads(
            data.decode("utf-8"),
            object_pairs_hook=_unique,
            parse_constant=_refuse,
            parse_int=_integer,
            parse_float=_float,
        )
    except UnicodeDecodeError as error:
        raise BundleError(f"byte {error.start} is no UTF-8") from error
    except json.JSONDecodeError as error:
        raise BundleError(f"no JSON at line {error.lineno}, column {error.colno}: {error.msg}") from error
    except RecursionError as error:
        raise BundleError(f"it is nested more than {DEEPEST} deep") from error
    _check_depth(value)
    return value


def _check_depth(value: object) -> None:
    level = [value]
    for _ in range(DEEPEST + 1):
        level = [child for parent in level for child in _children(parent)]
    if level:
        raise BundleError(f"it is nested more than {DEEPEST} deep")


def _children(value: object) -> list[object]:
    if isinstance(value, dict):
        return list(value.values())
    return value if isinstance(value, list) else []


def _unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found: dict[str, Any] = {}
    for key, value in pairs:
        if key in found:
            raise BundleError(f"key {key[:40]!r} is given twice")
        found[key] = value
    return found


def _refuse(constant: str) -> None:
    raise BundleError(f"`{constant}` is no number in JSON")


def _integer(text: str) -> int:
    if len(text) > LONGEST_NUMBER:
        raise BundleError(f"a number has {len(text)} digits; wanted at most {LONGEST_NUMBER}")
    return int(text)


def _float(text: str) -> float:
    value = float(text)
    if len(text) > LONGEST_NUMBER or value - value != 0.0:
        raise BundleError(f"number {text[:40]} is longer or larger than a float64")
    return value

"""JSON of whoever: one meaning or none, at a cost that is known beforehand.

Decides what ordinary readers leave open: keys given twice, NaN and infinities, numbers of thousands of digits, halves
of surrogate pairs, texts and nesting without end. Deliberately knows nothing of what the text is about, nor which error
tells that it is not taken.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, final

from opsdebug_ci.errors import OpsdebugError

Refused = Callable[[str], OpsdebugError]
"""The error for a text, by why it is not taken."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Bounds:
    """What a text may cost."""

    size: int
    """Bytes."""

    values: int
    """Marks that part values; those within texts count too, which errs on the safe side."""

    depth: int
    """Objects and lists within each other."""

    number: int
    """Characters of a number."""

    text: int
    """Characters of one text."""

    integer: int = 2**63
    """Integers lie below it, and not below its negative."""

    halves: bool = False
    """Halves of surrogate pairs, which no Unicode text has, are let pass: what an operator prints may hold them."""


def strict_json(data: bytes, bounds: Bounds, refused: Refused) -> Any:
    """The plain value of a JSON text. All numbers are finite.

    Args:
        data: the text, in UTF-8.
        bounds: what it may cost.
        refused: makes the error that is raised when it is no JSON, leaves open what it means, or costs more.
    """
    if len(data) > bounds.size:
        raise refused(f"it has {len(data):,} bytes; at most {bounds.size:,} are read")
    values = sum(data.count(mark) for mark in (b",", b"[", b"{", b":"))  # before anything is built of them
    if values > bounds.values:
        raise refused(f"it has up to {values:,} values; at most {bounds.values:,} are read")
    reader = _Reader(bounds, refused)
    try:
        value = json.loads(
            data.decode("utf-8"),
            object_pairs_hook=reader.unique,
            parse_constant=reader.constant,
            parse_int=reader.integer,
            parse_float=reader.real,
        )
    except UnicodeDecodeError as error:
        raise refused(f"byte {error.start} is no UTF-8") from error
    except json.JSONDecodeError as error:
        raise refused(f"no JSON at line {error.lineno}, column {error.colno}: {error.msg}") from error
    except RecursionError as error:
        raise refused(f"it is nested more than {bounds.depth} deep") from error
    reader.check_levels(value)
    return value


@final
class _Reader:
    """What is asked of every part of one text."""

    def __init__(self, bounds: Bounds, refused: Refused) -> None:
        self._bounds, self._refused = bounds, refused

    def unique(self, pairs: list[tuple[str, Any]]) -> dict[str, Any]:
        found = dict(pairs)
        if len(found) != len(pairs):
            twice = next(key for key, count in Counter(key for key, _ in pairs).items() if count > 1)
            raise self._refused(f"key {twice[:40]!a} is given twice")
        return found

    def constant(self, text: str) -> None:
        raise self._refused(f"`{text}` is no number in JSON")

    def integer(self, text: str) -> int:
        if len(text) > self._bounds.number:
            raise self._refused(f"a number has {len(text):,} digits; at most {self._bounds.number} are read")
        value, bound = int(text), self._bounds.integer
        if not -bound <= value < bound:
            raise self._refused(f"number {text} does not fit into {bound.bit_length()} bits")
        return value

    def real(self, text: str) -> float:
        value = float(text)
        if len(text) > self._bounds.number or value - value != 0.0:
            raise self._refused(f"number {text[:40]} is longer or larger than a float64")
        return value

    def check_levels(self, value: object) -> None:
        """Depth and texts, level by level: without recursion, which the text decides the depth of."""
        level = [value]
        for _ in range(self._bounds.depth + 1):
            for each in level:
                self._check_texts(each)
            level = [child for parent in level for child in _children(parent)]
        if level:
            raise self._refused(f"it is nested more than {self._bounds.depth} deep")

    def _check_texts(self, value: object) -> None:
        if isinstance(value, str):
            self._check_text(value)
        elif isinstance(value, dict):
            for key in value:
                self._check_text(key)

    def _check_text(self, text: str) -> None:
        if len(text) > self._bounds.text:
            raise self._refused(f"a text has {len(text):,} characters; at most {self._bounds.text:,} are read")
        if not (self._bounds.halves or text.isascii()) and any("\ud800" <= character <= "\udfff" for character in text):
            raise self._refused("a text holds half a surrogate pair, which is no Unicode")


def _children(value: object) -> list[object]:
    if isinstance(value, dict):
        return list(value.values())
    return value if isinstance(value, list) else []

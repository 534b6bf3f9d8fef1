"""`--shard 2/8`: one part of the cases, so that several machines share a stage.

Decides which part a case belongs to. Deliberately ignores how long cases take: equal counts, spread by hash.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from opsdebug_ci.errors import UsageError
from opsdebug_ci.model.case import Case


@dataclass(frozen=True, slots=True, kw_only=True)
class Shard:
    """One part of several."""

    index: int
    """Which part, from 1."""

    count: int
    """How many parts."""

    def __str__(self) -> str:
        return f"{self.index}/{self.count}"


def parse_shard(text: str) -> Shard:
    """`2/8` as the second of eight. Raises UsageError otherwise."""
    match = re.fullmatch(r"\s*(\d{1,9})\s*/\s*(\d{1,9})\s*", text, flags=re.ASCII)
    if match is None or not 1 <= int(match[1]) <= int(match[2]):
        raise UsageError(
            f"`--shard` is `{text}`; wanted INDEX/COUNT with 1 <= INDEX <= COUNT",
            next_step="write e.g. --shard 2/8 for the second of eight",
        )
    return Shard(index=int(match[1]), count=int(match[2]))


def shard(cases: Sequence[Case], index: int, count: int) -> tuple[Case, ...]:
    """Part `index` (from 1) of `count`, in plan order.

    Cases are dealt in the order of their ids, which are hashes: parts are disjoint, together complete, differ by at
    most one in size, and are the same on every machine that planned the same cases.
    """
    dealt = frozenset(sorted(case.id for case in cases)[index - 1 :: count])
    return tuple(case for case in cases if case.id in dealt)

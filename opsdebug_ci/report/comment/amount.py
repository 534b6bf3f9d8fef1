"""How much of a publication one rung shows.

Decides the numbers alone; every part of the comment asks here and cuts itself.
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class Amount:
    """What one rung shows at most."""

    entries: int
    """Causes, and operators that became slower."""

    lines: int
    """Lines of every other list, and rows of the table of operators; 0: none of them is shown."""

    folded: bool
    """What is folded away is there."""


EVERYTHING = Amount(entries=50, lines=200, folded=True)
"""Of what a run can hold, as much as somebody would read: fifty causes of failure are not fifty accidents."""

OPEN = Amount(entries=50, lines=50, folded=False)
"""The same without what is folded away."""

URGENT = Amount(entries=10, lines=0, folded=False)
"""Failures and regressions only, few of them."""

STATEMENT_LIMIT = 400
"""Characters of a statement: it holds a count, an index and three numbers beside a name."""

UNFOLDED = 10
"""Entries of a list that stand open; more of them are folded away, so that the comment stays short."""

"""What each round plants in which operator, by its number alone, so that an experiment can be continued.

Mixed rounds and rounds of same code take turns. A mixed one has, of twelve comparisons, six slowed by 15 %, five by
10 % and one by 5 %. Two uniform rounds come on top, at fixed numbers. A whole experiment makes 120 of +15 %, 124 of
+10 %, 20 of +5 % and 228 of same code, beside the controls that every round of ours has.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from trials import Kind

UNIFORM_ROUNDS = (4, 29)
"""One early, so that a short experiment has one, and one in the middle of a whole experiment."""

UNIFORM_SHARE = 0.10
"""Planted in every operator of a uniform round."""

ROLES = (0.10, 0.15, 0.10, 0.15, 0.05, 0.15, 0.10, 0.15, 0.10, 0.15, 0.10, 0.15)
"""Shares of a mixed round, dealt to the operators in turn."""

STEP = 5
"""Places by which the roles move from one mixed round to the next; prime to 12, so that each operator has each role
once in twelve mixed rounds, and neighbours of a kind do not stay together."""

WHOLE = 41
"""Rounds of an experiment that has everything it is to show: 39 and the two uniform ones."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Planting:
    """What one round plants."""

    kind: Kind
    """What kind of round it is."""

    shares: dict[str, float]
    """Operator -> slowdown as a share; 0 is none."""


def planting(number: int, operators: Sequence[str]) -> Planting:
    """What round `number` plants."""
    if number in UNIFORM_ROUNDS:
        return Planting(kind=Kind.UNIFORM, shares=dict.fromkeys(operators, UNIFORM_SHARE))
    turn = number - sum(uniform < number for uniform in UNIFORM_ROUNDS)
    if turn % 2:
        return Planting(kind=Kind.SAME, shares=dict.fromkeys(operators, 0.0))
    shift = turn // 2 * STEP
    shares = {name: ROLES[(place + shift) % len(ROLES)] for place, name in enumerate(operators)}
    return Planting(kind=Kind.MIXED, shares=shares)


def spins(shares: dict[str, float], best_ns: dict[str, float], excess_ns: float) -> dict[str, int]:
    """ns of busy waiting per operator: its share of the best time, less what a wait lasts too long."""
    return {name: max(0, round(share * best_ns[name] - excess_ns)) for name, share in shares.items() if share}

"""In which order the cases of a run are handed out, and how many an operator that is slow here, or its reference, gets.

Operators are asked in batches: of a fixed size where one may have enough failures before its last case, else of sizes
that double. After each batch `Rations` prices the next by what the operator's cases have cost. So that the same run
ends with the same cases, a cost is processor time rounded to a power of two, and what another size costs is counted in
elements; no clock is read. The first batch is run whatever it costs: it is the sample that a verdict may rest on.
"""

from __future__ import annotations

import math
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from itertools import pairwise
from statistics import median_low
from typing import final

from opsdebug_ci.model import Case, Observation, Status
from opsdebug_ci.model.observation import NOT_RUN
from opsdebug_ci.plan.sizes import work

FIRST = 6
"""Cases of an operator in the first batch that grows: the everyday one of three dtypes, and as many at tails."""

OPERATOR_S = 12.0
"""Seconds of processor time for an operator where nobody set a budget. A case usually takes some hundredths of one."""

CASES_SHARE = 0.6
"""Of a budget that somebody set, what is divided among operators; workers must start, and failures be looked into."""


def batches(cases: Sequence[Case], size: int | None) -> list[list[Case]]:
    """In each batch the next `size` cases of every operator, or as many as it has had before; None: all at once."""
    made: list[list[Case]] = []
    seen: Counter[str] = Counter()
    for case in cases:
        number = 0 if size is None else seen[case.operator] // size
        seen[case.operator] += 1
        made += [[] for _ in range(number + 1 - len(made))]
        made[number].append(case)
    return made


def growing_batches(cases: Sequence[Case]) -> list[list[Case]]:
    """The first `FIRST` cases of every operator, then as many as before; its gradients spread evenly among them."""
    counts = Counter((case.operator, case.direction) for case in cases)
    met: Counter[tuple[str, str]] = Counter()
    places = {}
    for case in cases:
        places[case.id] = met[case.operator, case.direction] / counts[case.operator, case.direction]
        met[case.operator, case.direction] += 1
    small = batches(sorted(cases, key=lambda case: places[case.id]), FIRST)
    ends = [0, *(2**power for power in range(len(small).bit_length() + 1))]
    grown = [[case for batch in small[start:end] for case in batch] for start, end in pairwise(ends)]
    return [batch for batch in grown if batch]


@final
class Rations:
    """What is left for each operator.

    Args:
        cases: all that are to be run.
        total_s: processor seconds to divide among operators, what one does not need to the others; None: each has
            `OPERATOR_S`.
    """

    def __init__(self, cases: Iterable[Case], total_s: float | None) -> None:
        self._total_s = total_s
        self._own: dict[str, int] = {}
        self._to_run: dict[str, dict[str, float]] = defaultdict(dict)
        self._prices: dict[str, list[float]] = defaultdict(list)
        self._spent: dict[str, float] = defaultdict(float)
        self._missing: Counter[str] = Counter()
        for case in cases:
            own = self._own.setdefault(case.operator, work(case.dims))
            self._to_run[case.operator][case.id] = max(1.0, work(case.dims) / own)

    def pay(self, case: Case, observation: Observation) -> None:
        """Count what a case has cost; one that killed its worker has no price, see `Endurance`."""
        weight = self._to_run[case.operator].pop(case.id, 1.0)
        if observation.processor_ns:
            cost_s = 2.0 ** round(math.log2(observation.processor_ns / 1e9))
            self._spent[case.operator] += cost_s
            self._prices[case.operator].append(cost_s / weight)

    def parted(self, batch: Iterable[Case]) -> tuple[list[Case], list[tuple[Case, Observation]]]:
        """Cases of a batch that their operators can afford, and SKIPPED with the reason for the others."""
        shares, wanted, cut = self._shares(), [], []
        left = dict(shares)
        for case in batch:
            weights = self._to_run[case.operator]
            price_s = self._price(case.operator) * weights[case.id]
            if self._prices[case.operator] and price_s > left[case.operator]:
                share_s = shares[case.operator] + self._spent[case.operator]
                why = f"cases before it used the {max(share_s, 0.0):.0f} s of processor time that this operator has"
                cut.append(self._cut(case, why))
            else:
                left[case.operator] -= price_s
                wanted.append(case)
        return wanted, cut

    def give_up(self, cases: Iterable[Case]) -> list[tuple[Case, Observation]]:
        """SKIPPED for what has not run when time is over, of the operators whose first batch has."""
        sound = {operator for operator, prices in self._prices.items() if len(prices) >= FIRST}
        left = [case for case in cases if case.operator in sound and case.id in self._to_run[case.operator]]
        return [self._cut(case, "the time for all operators was over") for case in left]

    def told(self) -> tuple[str, ...]:
        """The line that says which operators were too slow for all of their cases."""
        count, names = self._missing.total(), ", ".join(self._missing)
        return (
            (f"slow, {count:,} case{'s'[: count - 1]} not run: {names}; `--budget SECONDS` sets how long all may take",)
            if count
            else ()
        )

    def _cut(self, case: Case, why: str) -> tuple[Case, Observation]:
        del self._to_run[case.operator][case.id]
        self._missing[case.operator] += 1
        return case, Observation(case_id=case.id, status=Status.SKIPPED, reason=NOT_RUN + why)

    def _price(self, operator: str) -> float:
        """Processor seconds of a case of the declared size."""
        return median_low(self._prices[operator] or [0.0])

    def _shares(self) -> Mapping[str, float]:
        """Processor seconds left for each operator: the same for all, but none gets more than it needs."""
        if self._total_s is None:
            return {operator: OPERATOR_S - self._spent[operator] for operator in self._to_run}
        needs = {operator: self._price(operator) * sum(each.values()) for operator, each in self._to_run.items()}
        left_s, shares = self._total_s - sum(self._spent.values()), {}
        for done, operator in enumerate(sorted(needs, key=needs.__getitem__)):
            shares[operator] = min(needs[operator], left_s / (len(needs) - done))
            left_s -= shares[operator]
        return shares

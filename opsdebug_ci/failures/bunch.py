"""Failures of one operator that have one fingerprint, with what separates them from the cases that pass.

Decides what the second stage of grouping looks at: never single failures, so that one odd case moves nothing.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from opsdebug_ci.failures.fingerprint import digest, dtype_family, identity
from opsdebug_ci.failures.separators import Separator, separators
from opsdebug_ci.model import Case, Identity, Judgement, Verdict

ALWAYS = "always"
"""Condition of failures in a dtype family of which no case passes."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Bunch:
    """Failures with one fingerprint."""

    identity: Identity
    """Of the smallest of them."""

    fingerprint: str
    """What they share."""

    failing: tuple[Judgement, ...]
    """All of them, smallest case first."""

    separators: tuple[Separator, ...]
    """What separates them from passing cases of the operator in their dtype families."""

    everywhere: bool
    """No case of the operator passes in their dtype family."""

    @property
    def cases(self) -> tuple[Case, ...]:
        """The cases that failed."""
        return tuple(judgement.case for judgement in self.failing)

    @property
    def hypothesis(self) -> str:
        """What explains most of them, of the operator's hypotheses; empty: none does."""
        told = Counter(judgement.findings[0].evidence.get("hypothesis") for judgement in self.failing)
        usual, count = told.most_common(1)[0]
        return str(usual) if usual is not None and 2 * count > len(self.failing) else ""

    @property
    def conditions(self) -> tuple[str, ...]:
        """What must hold for it to fail, as far as it is known exactly; empty: not known."""
        if self.everywhere:
            return (ALWAYS,)
        return tuple(separator.text for separator in self.separators if separator.exact)


def bunches(judgements: Iterable[Judgement]) -> list[Bunch]:
    """The failures among `judgements` by fingerprint, ordered by it."""
    every = list(judgements)
    members: dict[str, list[tuple[Identity, Judgement]]] = {}
    for judgement in every:
        found = identity(judgement)
        if found is not None:
            members.setdefault(digest(found), []).append((found, judgement))
    passing = passing_cases(every)
    return [_bunch(key, failing, passing) for key, failing in sorted(members.items())]


def passing_cases(judgements: Iterable[Judgement]) -> dict[str, list[Case]]:
    """Operator -> its cases that pass."""
    passing: dict[str, list[Case]] = {}
    for judgement in judgements:
        if judgement.verdict is Verdict.PASS:
            passing.setdefault(judgement.case.operator, []).append(judgement.case)
    return passing


def elements(case: Case) -> int:
    """Size of a case: the product of its dims."""
    return math.prod(case.dims.values())


def _bunch(key: str, failing: Sequence[tuple[Identity, Judgement]], passing: dict[str, list[Case]]) -> Bunch:
    ordered = sorted(failing, key=lambda pair: elements(pair[1].case))
    smallest = ordered[0][0]
    cases = [judgement.case for _, judgement in ordered]
    families = {dtype_family(case.dtype) for case in cases}
    others = [case for case in passing.get(smallest.operator, []) if dtype_family(case.dtype) in families]
    return Bunch(
        identity=smallest,
        fingerprint=key,
        failing=tuple(judgement for _, judgement in ordered),
        separators=separators(cases, others, without_dtype=True),
        everywhere=not others,
    )

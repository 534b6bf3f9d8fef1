"""What separates failing from passing cases: the simplest single question about a case that does.

Decides which questions are asked, in which order, and when an answer is worth telling: no conjunctions, no fits. A
question separates when it holds in at least 95 % of the failing cases and fails in at least 95 % of the passing ones.

Chance. Among n cases of which f fail, a question that has nothing to do with the failure separates them exactly with
probability 1 / C(n, f), whatever it asks. With q questions asked, one of them does so with probability at most
q / C(n, f) (Bonferroni's inequality); above 5 % nothing is said.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial

from opsdebug_ci.model import Case, Direction, Layout

MODULI = (16, 32, 64, 128)
"""Sizes of blocks and vectors."""

PURITY = 0.95
"""Share of the failing cases in which a question holds, and of the passing ones in which it does not."""

CHANCE = 0.05
"""Probability with which chance alone may have one question separate."""

ALTERNATIVES = 2
"""Dtypes, layouts or families that one question may name."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Separator:
    """A question that separates failing from passing cases."""

    text: str
    """The question, e.g. `S % 16 != 0`."""

    holds: Callable[[Case], bool]
    """Whether the answer is yes."""

    failing: int
    """Failing cases in which it is."""

    failing_of: int
    """Failing cases there are."""

    passing: int
    """Passing cases in which it is."""

    passing_of: int
    """Passing cases there are."""

    @property
    def exact(self) -> bool:
        """It separates every case."""
        return self.failing == self.failing_of and not self.passing

    @property
    def sentence(self) -> str:
        """`S % 16 != 0 (14 of 14 failing, 0 of 58 passing)`."""
        return (
            f"{self.text} ({self.failing:,} of {self.failing_of:,} failing, "
            f"{self.passing:,} of {self.passing_of:,} passing)"
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class _Question:
    """Something a case can be asked."""

    text: str
    """As it is told."""

    holds: Callable[[Case], bool]
    """Whether the answer is yes."""


def separators(
    failing: Sequence[Case], passing: Sequence[Case], *, without_dtype: bool = False
) -> tuple[Separator, ...]:
    """The questions that separate, exact ones first, then simplest first; none where chance could do as well.

    Args:
        failing: cases of one group.
        passing: cases of the same operator that pass.
        without_dtype: ask nothing about dtypes.
    """
    if not failing or not passing:
        return ()
    questions = [*_questions(failing, passing, without_dtype=without_dtype)]
    if len(questions) > CHANCE * math.comb(len(failing) + len(passing), len(failing)):
        return ()
    asked = (_asked(question, failing, passing) for question in questions)
    pure = [found for found in asked if _pure(found)]
    return tuple(sorted(pure, key=lambda found: not found.exact))


def covers(found: Sequence[Separator], cases: Iterable[Case]) -> bool:
    """Whether every question that separates holds in every one of the cases, so that they lie where its failures do.

    Every one, because the questions that separate are equally good guesses at what matters.
    """
    wanted = list(cases)
    return bool(found) and all(separator.holds(case) for separator in found for case in wanted)


def _asked(question: _Question, failing: Sequence[Case], passing: Sequence[Case]) -> Separator:
    return Separator(
        text=question.text,
        holds=question.holds,
        failing=sum(map(question.holds, failing)),
        failing_of=len(failing),
        passing=sum(map(question.holds, passing)),
        passing_of=len(passing),
    )


def _pure(found: Separator) -> bool:
    return found.failing >= PURITY * found.failing_of and found.passing <= (1 - PURITY) * found.passing_of


def _questions(failing: Sequence[Case], passing: Sequence[Case], *, without_dtype: bool) -> Iterator[_Question]:
    """Simplest first: an axis has a value, a size is a multiple, a size is beyond a limit."""
    if not without_dtype:
        yield from _values("dtype", lambda case: case.dtype, failing)
    yield _Question(text="layout is not contiguous", holds=lambda case: case.layout is not Layout.CONTIGUOUS)
    yield from _values("layout", lambda case: str(case.layout), failing)
    yield from _values("inputs", lambda case: str(case.inputs), failing)
    yield from _values("device", lambda case: case.device, failing)
    yield _Question(text="gradients are asked for", holds=lambda case: case.direction is not Direction.FORWARD)
    yield from _values("direction", lambda case: str(case.direction), failing)
    dims = [name for name in failing[0].dims if all(name in case.dims for case in (*failing, *passing))]
    for name in dims:
        yield from _remainders(name)
    for name in dims:
        yield from _limits(name, _size_of(name), failing, passing)
    yield from _limits("elements", lambda case: math.prod(case.dims.values()), failing, passing)
    yield from _values("seed", lambda case: str(case.seed), failing)


def _values(axis: str, value: Callable[[Case], str], failing: Sequence[Case]) -> Iterator[_Question]:
    """`dtype is float16`, or `dtype is bfloat16 or float16`."""
    seen = sorted({value(case) for case in failing})
    if len(seen) <= ALTERNATIVES:
        yield _Question(text=f"{axis} is {' or '.join(seen)}", holds=lambda case: value(case) in seen)


def _remainders(name: str) -> Iterator[_Question]:
    for modulus in MODULI:
        multiple = partial(_is_multiple, name, modulus)
        yield _Question(text=f"{name} % {modulus} != 0", holds=partial(_not, multiple))
        yield _Question(text=f"{name} % {modulus} == 0", holds=multiple)


def _is_multiple(name: str, modulus: int, case: Case) -> bool:
    return case.dims[name] % modulus == 0


def _not(holds: Callable[[Case], bool], case: Case) -> bool:
    return not holds(case)


def _limits(
    name: str, size: Callable[[Case], int], failing: Sequence[Case], passing: Sequence[Case]
) -> Iterator[_Question]:
    """A size from which on, or up to which, it fails; `S == 1` where it is one size."""
    sizes = sorted({size(case) for case in failing})
    if len(sizes) == 1:
        yield _Question(text=f"{name} == {sizes[0]}", holds=lambda case: size(case) == sizes[0])
    passed = sorted({size(case) for case in passing})
    if sizes[0] > passed[0]:
        largest = max(other for other in passed if other < sizes[0])
        yield _Question(text=f"{name} > {largest}", holds=lambda case: size(case) > largest)
    if sizes[-1] < passed[-1]:
        smallest = min(other for other in passed if other > sizes[-1])
        yield _Question(text=f"{name} < {smallest}", holds=lambda case: size(case) < smallest)


def _size_of(name: str) -> Callable[[Case], int]:
    return lambda case: case.dims[name]

"""Which case's words a group is told in: its smallest case is quick to rerun, and rarely the one that says most.

Decides the words alone. A statement is no part of what identifies a failure, so nothing is recognised by them.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence

from opsdebug_ci.failures.bunch import elements
from opsdebug_ci.model import Finding, Judgement

AS_SURE = 0.02
"""Confidence by which one is less sure and may still speak: what rules of one cause add to each other."""

_ASIDE = re.compile(r" ?\((?:[^()]|\([^()]*\))*\)")
"""In brackets, which may hold a formula with brackets of its own."""

_NUMBER = re.compile(r"\d[\d.,]*(?:e[+-]?\d+)?%?")


def most_telling(failing: Sequence[Judgement]) -> Judgement:
    """Of the cases that name the cause of the first of them about as surely as any, and in the words most of them
    have, numbers aside: the largest, and of equally large ones the one that says most.

    Args:
        failing: cases of one cause; the first is its smallest.
    """
    cause = failing[0].findings[0].cause
    named = [each for each in failing if each.findings[0].cause is cause]
    surest = max(each.findings[0].confidence for each in named)
    sure = [each for each in named if each.findings[0].confidence >= surest - AS_SURE]
    counts = Counter(_words(each.findings[0]) for each in sure)
    usual, _ = counts.most_common(1)[0]
    able = [each for each in sure if _words(each.findings[0]) == usual]
    return max(able, key=lambda each: (elements(each.case), len(each.findings[0].statement)))


def _words(finding: Finding) -> str:
    """Its statement without asides and numbers: what is said of every size alike."""
    return _NUMBER.sub("#", _ASIDE.sub("", finding.statement))

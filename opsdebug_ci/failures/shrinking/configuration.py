"""Simpler settings of the same case: the first seed, contiguous tensors, ordinary values, float32.

Decides what counts as simpler. References stay as they are, since they decide whether a case fails at all.
"""

from __future__ import annotations

from dataclasses import replace

from opsdebug_ci.failures.shrinking.shape import First
from opsdebug_ci.failures.shrinking.space import Space
from opsdebug_ci.failures.shrinking.trial import Candidate
from opsdebug_ci.model.case import Case
from opsdebug_ci.model.dtype import is_float
from opsdebug_ci.model.vocabulary import Family, Layout

PLAIN_FAMILIES = (Family.NORMAL, Family.UNIFORM, Family.INTEGER, Family.CONSTANT, Family.INDEX_CODED, Family.OWN)
"""Values that are simple already, or not ours to choose."""

PLAIN_DTYPE = "float32"


def simplified(start: Candidate, first: First) -> Candidate:
    """All simpler settings at once, else each that still fails alike. Dtype and dims are left alone."""
    plain = start
    for change in (_first_seed, contiguous, ordinary):
        plain = replace(plain, case=change(plain.case))
    if plain.case == start.case or first([plain]) is not None:
        return plain
    current = start
    for change in (contiguous, ordinary, _first_seed):
        candidate = replace(current, case=change(current.case))
        if candidate.case != current.case and first([candidate]) is not None:
            current = candidate
    return current


def widened(current: Candidate, first: First, space: Space) -> Candidate:
    """In float32, where the operator supports it and still fails alike."""
    candidate = replace(current, case=plain_dtype(current.case, space))
    return candidate if candidate.case != current.case and first([candidate]) is not None else current


def contiguous(case: Case) -> Case:
    """With contiguous tensors, where the layout is ours to choose."""
    return case if case.layout is Layout.OWN else replace(case, layout=Layout.CONTIGUOUS)


def ordinary(case: Case) -> Case:
    """With normally distributed values instead of special ones."""
    return case if case.inputs in PLAIN_FAMILIES else replace(case, inputs=Family.NORMAL)


def plain_dtype(case: Case, space: Space) -> Case:
    """In float32, for a float format the operator supports float32 beside."""
    possible = is_float(case.dtype) and PLAIN_DTYPE in space.dtypes
    return replace(case, dtype=PLAIN_DTYPE) if possible else case


def _first_seed(case: Case) -> Case:
    return replace(case, seed=0)

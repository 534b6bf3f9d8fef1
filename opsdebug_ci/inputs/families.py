"""The registry of input families: one line each.

Decides which function makes which family. A family is a pair of functions of a `Recipe`: one for floats, one for
integers. `own` has no line: the operator's own callable makes those inputs.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Protocol

import torch

from opsdebug_ci.inputs import aimed_families as aimed
from opsdebug_ci.inputs import float_families as real
from opsdebug_ci.inputs import integer_families as whole
from opsdebug_ci.inputs.generator import Real, Stream, Whole
from opsdebug_ci.inputs.recipe import Recipe
from opsdebug_ci.inputs.rounding import float_tensor, integer_tensor
from opsdebug_ci.model.dtype import is_float
from opsdebug_ci.model.vocabulary import Family, Kind, ValueDomain


class FamilyFunction(Protocol):
    """Makes one family's values."""

    def __call__(
        self,
        shape: tuple[int, ...],
        dtype: str,
        stream: Stream,
        kind: Kind,
        domain: ValueDomain = ValueDomain.ANY,
        *,
        derived: bool = False,
    ) -> torch.Tensor:
        """A contiguous CPU tensor; values outside `domain` are still the caller's to restrict."""


def _family(floats: Callable[[Recipe], Real], integers: Callable[[Recipe], Whole]) -> FamilyFunction:
    def make(
        shape: tuple[int, ...],
        dtype: str,
        stream: Stream,
        kind: Kind,
        domain: ValueDomain = ValueDomain.ANY,
        *,
        derived: bool = False,
    ) -> torch.Tensor:
        recipe = Recipe(shape=shape, dtype=dtype, stream=stream, kind=kind, domain=domain, derived=derived)
        if is_float(dtype):
            return float_tensor(floats(recipe), shape, dtype)
        return integer_tensor(integers(recipe), shape, dtype)

    return make


FAMILIES: dict[Family, FamilyFunction] = {
    Family.NORMAL: _family(real.normal, whole.normal),
    Family.UNIFORM: _family(real.uniform, whole.uniform),
    Family.SHIFTED: _family(real.shifted, whole.shifted),
    Family.HEAVY: _family(real.heavy, whole.heavy),
    Family.CONSTANT: _family(real.constant, whole.constant),
    Family.CANCELLING: _family(real.cancelling, whole.cancelling),
    Family.LARGE: _family(real.large, whole.large),
    Family.SMALL: _family(real.small, whole.small),
    Family.SUBNORMAL: _family(real.subnormal, whole.subnormal),
    Family.INTEGER: _family(real.integer, whole.integer),
    Family.INDEX_CODED: _family(real.index_coded, whole.index_coded),
    Family.TIES: _family(real.ties, whole.ties),
    Family.SIGNED_ZEROS: _family(real.signed_zeros, whole.signed_zeros),
    Family.SPECIALS: _family(real.specials, whole.specials),
    Family.SPECIAL_ROWS: _family(real.special_rows, whole.special_rows),
    Family.NEAR_CONSTANT: _family(aimed.near_constant, whole.near_constant),
    Family.THRESHOLDS: _family(aimed.thresholds, whole.thresholds),
    Family.HALVES: _family(aimed.halves, whole.halves),
    Family.EDGES: _family(aimed.edges, whole.edges),
    Family.MASKED: _family(aimed.masked, whole.masked),
    Family.LEVELS: _family(aimed.levels, whole.levels),
}
"""Every family the generator makes."""

"""The input families of `FAMILY_TRAITS`, each a pair of functions of a `Recipe` that bear its name.

One is for floats, one for integers. `own` has none: the operator's own callable makes those inputs.
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
from opsdebug_ci.model.families import FAMILY_TRAITS
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
    family: _family(getattr(aimed, family.value, None) or getattr(real, family.value), getattr(whole, family.value))
    for family in FAMILY_TRAITS
}
"""Every family the generator makes, of the functions of its name."""

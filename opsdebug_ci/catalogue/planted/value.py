"""A planted defect: a wrong operator beside its correct twin."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from opsdebug_ci import Contract, Operator
from opsdebug_ci.catalogue.sibling import sibling
from opsdebug_ci.errors import DeclarationError
from opsdebug_ci.model.planted import DEFECTS, RIGHT, WRONG, Defect


@dataclass(frozen=True, slots=True, kw_only=True)
class Planted:
    """Two operators of one declaration and one set of references that differ in the defect alone."""

    defect: Defect
    """What is wrong, and what a diagnosis should say."""

    wrong: Operator
    """Must fail somewhere in its declared domain."""

    right: Operator
    """Must pass everywhere."""

    @property
    def name(self) -> str:
        """Name of the defect."""
        return self.defect.name


def plant(
    original: Operator,
    name: str,
    *,
    wrong: Callable[..., Any],
    right: Callable[..., Any],
    inputs: Mapping[str, object] | Callable[..., Any] | None = None,
    dtypes: Sequence[str] | None = None,
    dims: Mapping[str, int] | None = None,
    contract: Contract | None = None,
    devices: Sequence[str] = ("cpu",),
) -> Planted:
    """Both operators of a registered defect as siblings of `original`, with what is given replaced.

    Raises:
        DeclarationError: `model.planted` has no such defect.
    """
    found = next((defect for defect in DEFECTS if defect.name == name), None)
    if found is None:
        raise DeclarationError(
            f"`name` is `{name}`; wanted a registered defect", next_step="add a line to `DEFECTS` of model.planted"
        )
    twins = [
        sibling(
            original,
            f"{side}{name}",
            function,
            inputs=inputs,
            dtypes=dtypes,
            dims=dims,
            contract=contract,
            devices=devices,
        )
        for side, function in ((WRONG, wrong), (RIGHT, right))
    ]
    return Planted(defect=found, wrong=twins[0], right=twins[1])

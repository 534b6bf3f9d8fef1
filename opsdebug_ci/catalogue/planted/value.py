"""A planted defect: a wrong operator beside its correct twin."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from opsdebug_ci import Operator
from opsdebug_ci.catalogue.sibling import sibling
from opsdebug_ci.model.vocabulary import Cause


@dataclass(frozen=True, slots=True, kw_only=True)
class Planted:
    """Two operators of one declaration and one set of references that differ in the defect alone."""

    name: str
    """Short name of the defect; the operators are `wrong_<name>` and `right_<name>`."""

    cause: Cause
    """What a diagnosis should say."""

    defect: str
    """What is wrong, in one phrase."""

    wrong: Operator
    """Must fail somewhere in its declared domain."""

    right: Operator
    """Must pass everywhere."""


def plant(
    original: Operator,
    name: str,
    cause: Cause,
    defect: str,
    *,
    wrong: Callable[..., Any],
    right: Callable[..., Any],
    inputs: Mapping[str, object] | None = None,
    dtypes: Sequence[str] | None = None,
    dims: Mapping[str, int] | None = None,
) -> Planted:
    """Both operators as siblings of `original`, with what is given replaced."""
    twins = [
        sibling(original, f"{side}_{name}", function, inputs=inputs, dtypes=dtypes, dims=dims, devices=("cpu",))
        for side, function in (("wrong", wrong), ("right", right))
    ]
    return Planted(name=name, cause=cause, defect=defect, wrong=twins[0], right=twins[1])

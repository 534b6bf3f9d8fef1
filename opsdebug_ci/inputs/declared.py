"""The arguments of a declaration, made for one case.

Decides which family, domain and layout each declared argument gets, and checks what the declaration's own functions
return. Deliberately knows nothing of operators: it takes the declaration, the case, and who is written to. Everything
is made on the CPU; `transfer` moves it.
"""

from __future__ import annotations

import contextlib
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import torch

from opsdebug_ci.errors import InputsError, Unsupported
from opsdebug_ci.inputs.domain import restrict
from opsdebug_ci.inputs.families import FAMILIES
from opsdebug_ci.inputs.generator import stream_for
from opsdebug_ci.inputs.layouts import arrange
from opsdebug_ci.inputs.placement import BLOCKS
from opsdebug_ci.inputs.returned import called, number, tensor_of
from opsdebug_ci.inputs.transfer import to_device
from opsdebug_ci.model.argument import ScalarArgument, TensorArgument
from opsdebug_ci.model.case import Case
from opsdebug_ci.model.families import FAMILY_TRAITS
from opsdebug_ci.model.vocabulary import Direction, Family, Kind, Layout, ValueDomain

ZERO_FREE = (ValueDomain.NONZERO, ValueDomain.POSITIVE)
"""Domains in which a family about zeros has nothing to say."""

BORDER_DRAWS = 32
"""Seeds among which `edges` chooses: of 4 lengths up to 64 one is a multiple of 16 in all but 3 of 10,000 cases."""

SEED_STEP = 1_000_003
"""From one of those seeds to the next: a prime, far from the seeds that other cases have."""


@dataclass(frozen=True, slots=True, kw_only=True)
class _Argument:
    """One declared tensor on its way to values."""

    name: str
    """Argument name."""

    declared: TensorArgument
    """What is declared about it."""

    case: Case
    """The case it is made for."""

    kind: Kind
    """Kind of the operator's output."""

    @property
    def dtype(self) -> str:
        return self.declared.dtype or self.case.dtype

    @property
    def where(self) -> str:
        return _where(self.name, self.case)


def declared_values(
    declared: Mapping[str, object], case: Case, *, kind: Kind, written: frozenset[str]
) -> dict[str, Any]:
    """Make every argument of a declaration, in order, on the CPU.

    Args:
        declared: argument name -> `tensor(...)`, `scalar(...)` or a plain value (passed as it is; tensors copied).
        case: dims, dtype, layout, family and seed.
        kind: kind of the operator's output; decides how large `large` values may be.
        written: arguments the operator writes; never `expanded`, whose elements share one place.

    Returns:
        Argument name -> tensor, number or plain value. Values of one argument depend on the seed, the operator's and
        the argument's name and the family alone, not on the other arguments. In `edges`, all functions of the
        declaration are called with the seed by which most of their whole numbers lie on borders of blocks and pages.

    Raises:
        InputsError: a function of the declaration raised or returned something unusable, a dim is not bound, or the
            case's family is `own`.
    """
    made = _made(declared, case, kind, written, case.seed, {})
    tensors = {name: item for name, item in declared.items() if isinstance(item, TensorArgument)}
    drawn = {name: made[name] for name, item in tensors.items() if isinstance(item.values, ValueDomain)}
    lengths = [name for name in tensors if name not in drawn and _is_whole(made[name])]
    if not lengths or case.inputs not in FAMILY_TRAITS or not FAMILY_TRAITS[case.inputs].lengths:
        return made
    turns = [made]
    for turn in range(1, BORDER_DRAWS):
        with contextlib.suppress(InputsError, Unsupported):  # the case's own seed works, so no other has to
            turns.append(_made(declared, case, kind, written, case.seed + turn * SEED_STEP, drawn))
    return max(turns, key=lambda made: sum(_on_borders(made[name]) for name in lengths))


def _made(
    declared: Mapping[str, object],
    case: Case,
    kind: Kind,
    written: frozenset[str],
    seed: int,
    kept: Mapping[str, torch.Tensor],
) -> dict[str, Any]:
    """Every argument in order, functions called with `seed`; tensors in `kept` are taken as they are."""
    made: dict[str, Any] = {}
    tensors = 0
    for name, item in declared.items():
        if isinstance(item, TensorArgument):
            argument = _Argument(name=name, declared=item, case=case, kind=kind)
            layout = _layout(argument, position=tensors, written=written)
            made[name] = kept[name] if name in kept else arrange(_values(argument, seed, made), layout)
            tensors += 1
        elif isinstance(item, ScalarArgument):
            where = _where(name, case)
            made[name] = number(called(where, item.function, dict(case.dims), dict(made)), where)
        else:
            made.update(to_device({name: item}, "cpu") if isinstance(item, torch.Tensor) else {name: item})
    return made


def _is_whole(values: torch.Tensor) -> bool:
    return not values.is_floating_point() and values.dtype is not torch.bool


def _on_borders(values: torch.Tensor) -> int:
    """How many whole numbers, and steps of offsets, which go up from 0, are multiples of how many of `BLOCKS`."""
    flat = values.reshape(-1).to(torch.int64)
    steps = flat.diff()
    if steps.numel() and not flat[0] and bool((steps >= 0).all()):
        flat = torch.cat([flat, steps])
    return sum(int(((flat > 0) & (flat % block == 0)).sum()) for block in BLOCKS)


def _values(argument: _Argument, seed: int, made: Mapping[str, Any]) -> torch.Tensor:
    case, shape, values = argument.case, _shape(argument), argument.declared.values
    if not isinstance(values, ValueDomain):
        result = called(argument.where, values, seed, dict(case.dims), dict(made))
        return tensor_of(result, shape, argument.dtype, where=argument.where)
    family = _family(argument, values)
    stream = stream_for(case.seed, operator=case.operator, argument=argument.name, family=str(family))
    derived = case.direction is not Direction.FORWARD
    return restrict(FAMILIES[family](shape, argument.dtype, stream, argument.kind, values, derived=derived), values)


def _shape(argument: _Argument) -> tuple[int, ...]:
    dims = argument.case.dims
    unbound = [name for name in argument.declared.dim_names if name not in dims]
    if unbound:
        raise InputsError(
            f"{argument.where}: shape `{argument.declared.shape_text}` needs `{unbound[0]}`; "
            f"the case binds {dict(dims)}",
            next_step=f"give the operator `dims={{{unbound[0]!r}: 16}}` or the command `--dims {unbound[0]}=16`",
        )
    return tuple(dim.size(dims) for dim in argument.declared.shape)


def _family(argument: _Argument, domain: ValueDomain) -> Family:
    """The case's family, or `normal` where the domain forbids what the family is about."""
    family = argument.case.inputs
    if family not in FAMILIES:
        raise InputsError(
            f"{argument.where}: the case's inputs are `{family}`; a declared argument wants one of "
            f"{', '.join(map(str, FAMILIES))}",
            next_step="pick one with `--inputs`",
        )
    traits = FAMILY_TRAITS[family]
    forbidden = (traits.non_finite and domain is not ValueDomain.ANY) or (traits.only_special and domain in ZERO_FREE)
    return Family.NORMAL if forbidden else family


def _layout(argument: _Argument, *, position: int, written: frozenset[str]) -> Layout:
    layout = argument.case.layout
    if layout not in argument.declared.layouts:
        return Layout.CONTIGUOUS
    if layout is Layout.MIXED:
        return Layout.TRANSPOSED if position else Layout.CONTIGUOUS
    # Values of an operator's own function mean something as a whole; repeating their first slice would change them.
    unshared = argument.name in written or not isinstance(argument.declared.values, ValueDomain)
    return Layout.CONTIGUOUS if layout is Layout.EXPANDED and unshared else layout


def _where(name: str, case: Case) -> str:
    return f"argument `{name}` of `{case.operator}`"

"""Inputs for the catalogue's tests: values, layouts and sizes, made here and not by the tool under test."""

from __future__ import annotations

import zlib
from collections.abc import Callable, Iterator, Mapping
from types import SimpleNamespace
from typing import Any

import torch

from opsdebug_ci import Operator
from opsdebug_ci.model.argument import ScalarArgument, TensorArgument
from opsdebug_ci.model.vocabulary import ValueDomain

Values = Callable[[torch.Tensor], torch.Tensor]


def _sprinkle(x: torch.Tensor) -> torch.Tensor:
    flat = x.reshape(-1).clone()
    for place, value in enumerate((float("nan"), float("inf"), -float("inf"), 0.0, -0.0)):
        flat[3 * place + 1 :: 37] = value
    return flat.reshape(x.shape)


def _rows(x: torch.Tensor) -> torch.Tensor:
    rows = x.reshape(-1, x.shape[-1]).clone() if x.ndim and x.numel() else x.clone()
    for place, value in enumerate((float("nan"), float("inf"), -float("inf"), 0.0, -0.0)):
        rows[place + 1 :: 7] = value
    return rows.reshape(x.shape)


FINITE: dict[str, Values] = {
    "normal": lambda x: x,
    "shifted": lambda x: x + 30.0,
    "heavy": lambda x: x**3,
    "small": lambda x: x * 1e-3,
    "constant": lambda x: torch.full_like(x, 0.1),
    "subnormal": lambda x: x * 2.0**-130,
    "signed_zeros": lambda x: torch.where(x.abs() < 0.7, torch.copysign(torch.zeros_like(x), x), x),
}
SPECIAL: dict[str, Values] = {"specials": _sprinkle, "special_rows": _rows}
FAMILIES: dict[str, Values] = {**FINITE, **SPECIAL}


def _gapped(x: torch.Tensor, shape: tuple[int, ...], view: Callable[[torch.Tensor], torch.Tensor]) -> torch.Tensor:
    """`x` inside a larger storage whose other elements are NaN."""
    arena = torch.full(shape, float("nan")).to(x.dtype) if x.is_floating_point() else torch.zeros(shape, dtype=x.dtype)
    window = view(arena)
    window.copy_(x)
    return window


LAYOUTS: dict[str, Callable[[torch.Tensor], torch.Tensor]] = {
    "contiguous": lambda x: x,
    "transposed": lambda x: x.transpose(-1, -2).contiguous().transpose(-1, -2) if x.ndim > 1 else x,
    "strided": lambda x: _gapped(x, (*x.shape[:-1], 2 * x.shape[-1]), lambda a: a[..., ::2]),
    "padded": lambda x: _gapped(x, (*x.shape[:-1], x.shape[-1] + 3), lambda a: a[..., : a.shape[-1] - 3]),
    "offset": lambda x: _gapped(x, (x.numel() + 5,), lambda a: a[5:].view(x.shape)),
    "expanded": lambda x: x[:1].expand(x.shape) if x.ndim > 1 and x.shape[0] else x,
}


def accepts_special(operator: Operator) -> bool:
    """Whether any tensor may hold NaN and infinities."""
    return any(item.values is ValueDomain.ANY for item in operator.tensors.values())


PRIMES = (3, 5, 7, 11, 13, 17)
"""Different for neighbouring dims, so that no two axes can be mixed up, and a tail for every vector width."""


def sizes(operator: Operator, *, longest: int = 33) -> Iterator[dict[str, int]]:
    """Primes with the last dim `longest`, all ones, and each dim at 0; inside the declared domain only."""
    names = list(operator.dims)
    odd = dict(zip(names, [*PRIMES[: len(names) - 1], longest], strict=True))
    for dims in (odd, dict.fromkeys(names, 1), *({**odd, name: 0} for name in names)):
        requires = operator.requires_function
        if requires is None or requires(SimpleNamespace(dims=dims)) is True:
            yield dims


def arguments(
    operator: Operator, dims: Mapping[str, int], dtype: str, family: str, *, seed: int, layout: str = "contiguous"
) -> dict[str, Any]:
    """Every argument by name; one whose domain excludes the family or the layout is normal or contiguous."""
    made: dict[str, Any] = {}
    for name, item in operator.inputs.items():
        if isinstance(item, ScalarArgument):
            made[name] = item.function(dims, made)
        elif isinstance(item, TensorArgument):
            accepted = layout if layout in map(str, item.layouts) else "contiguous"
            made[name] = LAYOUTS[accepted](_tensor(name, item, dims, dtype, family, seed, made))
        else:
            made[name] = item
    return made


def _tensor(
    name: str, item: TensorArgument, dims: Mapping[str, int], dtype: str, family: str, seed: int, made: dict[str, Any]
) -> torch.Tensor:
    wanted = getattr(torch, item.dtype or dtype)
    if not isinstance(item.values, ValueDomain):
        return torch.as_tensor(item.values(seed, dims, made)).to(wanted)
    generator = torch.Generator().manual_seed(zlib.crc32(f"{name} {seed}".encode()))
    raw = torch.randn([dim.size(dims) for dim in item.shape], generator=generator, dtype=torch.float64)
    special = family in SPECIAL and item.values is not ValueDomain.ANY
    return (raw if special or not raw.numel() else FAMILIES[family](raw)).to(wanted)

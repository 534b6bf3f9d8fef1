"""Tables of the numbers that codes stand for: those of another format."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial

import torch

from opsdebug_ci.model.vocabulary import Cause
from opsdebug_ci.numerics.variants.call import Alternative, Call

_E2M1 = (0.0, 0.5, 1.0, 1.5, 2.0, 3.0, 4.0, 6.0)
"""OCP Microscaling Formats (MX) Specification 1.0, table 5."""

_NF4_BELOW = (-1.0, -0.6961928010, -0.5250730515, -0.3949174881, -0.2844413817, -0.1847734302, -0.0910500363)
_NF4_ABOVE = (0.0795802996, 0.1609302014, 0.2461123019, 0.3379152417, 0.4407098293, 0.5626170039, 0.7229568362, 1.0)
_NF4 = (*_NF4_BELOW, 0.0, *_NF4_ABOVE)
"""Dettmers et al., "QLoRA", arXiv:2305.14314, appendix E."""

_FP4 = (0.0, 0.0052083333, 0.66666667, 1.0, 0.33333333, 0.5, 0.16666667, 0.25)
"""The 4-bit float of bitsandbytes, relative to its largest value."""


def _of_bits(dtype: torch.dtype) -> tuple[float, ...]:
    return tuple(torch.arange(256, dtype=torch.uint8).view(dtype).double().tolist())


TABLES: dict[str, tuple[float, ...]] = {
    "FP4 (E2M1)": (*_E2M1, *(-each for each in _E2M1)),
    "INT4 in two's complement": (*range(8), *range(-8, 0)),
    "unsigned INT4": tuple(range(16)),
    "INT4 offset by 8": tuple(range(-8, 8)),
    "NF4": _NF4,
    "the FP4 of bitsandbytes": (*_FP4, *(-each for each in _FP4)),
    "FP8 (E4M3)": _of_bits(torch.float8_e4m3fn),
    "FP8 (E5M2)": _of_bits(torch.float8_e5m2),
    "INT8 in two's complement": (*range(128), *range(-128, 0)),
    "unsigned INT8": tuple(range(256)),
    "INT8 offset by 128": tuple(range(-128, 128)),
}
"""What code i stands for, by format."""


def tables(call: Call) -> Iterator[Alternative]:
    """A tensor that holds one of TABLES holds another one of its length."""
    for name, value in call.values.items():
        if not isinstance(value, torch.Tensor) or value.numel() not in (16, 256) or value.dtype is torch.bool:
            continue
        known = next((format_ for format_, table in TABLES.items() if _holds(value, table)), None)
        for other, table in TABLES.items() if known and not _counts(call, value) else ():
            if other != known and len(table) == value.numel():
                yield Alternative(
                    name=f"the table of {other}, not {known}",
                    cause=Cause.WRONG_DEFAULT,
                    statement=f"codes are looked up in the table of {other}, not of {known}",
                    result=partial(_instead, call, name, value, table),
                    weight=0.75,
                )


def _holds(value: torch.Tensor, table: tuple[float, ...]) -> bool:
    if value.numel() != len(table):
        return False
    wanted = torch.tensor(table, dtype=torch.float64)
    return torch.allclose(value.detach().cpu().reshape(-1).double(), wanted, rtol=1e-6, atol=0.0, equal_nan=True)


def _counts(call: Call, value: torch.Tensor) -> bool:
    """It is `arange`, which holds places, not what codes stand for."""
    maker = call.maker(value)
    return maker is not None and maker.name == "arange"


def _instead(call: Call, name: str, value: torch.Tensor, table: tuple[float, ...]) -> object:
    return call.again(**{name: torch.tensor(table, device=value.device).to(value.dtype).reshape(value.shape)})

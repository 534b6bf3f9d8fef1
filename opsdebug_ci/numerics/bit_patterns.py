"""Numbers kept as bit patterns in unsigned numpy arrays: bfloat16 and float8, decoded exactly and rounded once."""

from __future__ import annotations

import functools
from typing import Any

import numpy as np

FLOAT8 = {"fp8e5": (2, 15, "ieee"), "fp8e4nv": (3, 7, "fn"), "fp8e4b8": (3, 8, "fnuz"), "fp8e5b16": (2, 16, "fnuz")}
"""Stored bits of the mantissa, exponent bias, and which codes are special, by Triton's name (Micikevicius et al.,
"FP8 formats for deep learning", 2022, arXiv:2209.05433; `fnuz` has one zero, and NaN in place of the other)."""


@functools.cache
def _float8_values(name: str) -> np.ndarray[Any, np.dtype[np.float32]]:
    """Values of the 256 codes of a float8 format."""
    mantissa, bias, special = FLOAT8[name]
    code = np.arange(128)
    exponent, fraction = code >> mantissa, code & ((1 << mantissa) - 1)
    significand = np.where(exponent == 0, fraction, fraction + (1 << mantissa))
    positive = np.ldexp(significand.astype(np.float32), np.maximum(exponent, 1) - bias - mantissa)
    if special == "ieee":
        positive[exponent == exponent.max()] = np.nan
        positive[(exponent == exponent.max()) & (fraction == 0)] = np.inf
    elif special == "fn":
        positive[127] = np.nan
    values = np.concatenate([positive, -positive])
    if special == "fnuz":
        values[128] = np.nan
    return values


def decode(data: Any, name: str) -> Any:
    """Values of an array of the interpreter, of Triton's format `name`; exact, and in float32 where they are codes."""
    if name == "bf16":
        return (data.astype(np.uint32) << 16).view(np.float32)
    return _float8_values(name)[data.astype(np.uint8)] if name in FLOAT8 else data


def encode(values: Any, name: str, dtype: Any, *, toward_zero: bool = False) -> Any:
    """`values` rounded once to Triton's format `name`, which the interpreter keeps in arrays of `dtype`.

    Rounds to nearest even, or toward zero. NaN stays NaN. What is too large becomes infinity in bfloat16, and the
    largest number in float8, as `cvt.rn.satfinite` has it (PTX ISA, cvt).
    """
    values = np.asarray(values)
    if name in FLOAT8:
        return _float8_codes(values, name, toward_zero=toward_zero)
    if name == "bf16":
        return _bfloat16_codes(values, toward_zero=toward_zero)
    nearest = values.astype(dtype)
    if not toward_zero or nearest.dtype.kind != "f":
        return nearest
    away = np.abs(nearest.astype(np.float64)) > np.abs(values.astype(np.float64))
    return np.where(away, np.nextafter(nearest, nearest.dtype.type(0)), nearest)


def _bfloat16_codes(values: Any, *, toward_zero: bool) -> Any:
    if values.dtype not in (np.float32, np.float16, np.bool_, np.uint8, np.int8, np.uint16, np.int16):
        wide = values.astype(np.float64)
        bits = np.atleast_1d(wide.astype(np.float32)).view(np.uint32).reshape(wide.shape)
        near = bits.view(np.float32).astype(np.float64)
        # Rounded to odd, so that rounding a second time errs nowhere (Boldo and Melquiond, 2008, theorem 3).
        bits = (bits - (np.abs(near) > np.abs(wide)).astype(np.uint32)) | (near != wide).astype(np.uint32)
    else:
        bits = values.astype(np.float32).view(np.uint32)
        wide = values
    bias = np.uint32(0) if toward_zero else np.uint32(0x7FFF) + ((bits >> 16) & np.uint32(1))
    codes = ((bits + bias) >> 16).astype(np.uint16)
    return np.where(np.isnan(wide), np.uint16(0x7FC0), codes)


def _float8_codes(values: Any, name: str, *, toward_zero: bool) -> Any:
    table = _float8_values(name)
    finite = table[:128][np.isfinite(table[:128])].astype(np.float64)
    size = np.abs(values.astype(np.float64))
    below = np.searchsorted(finite, size, side="right") - 1
    above = np.minimum(below + 1, finite.size - 1)
    middle = (finite[below] + finite[above]) / 2
    up = (size > middle) | ((size == middle) & (below % 2 == 1))
    codes = np.where(up & (not toward_zero), above, below)
    negative = np.signbit(values.astype(np.float64))
    if FLOAT8[name][2] == "fnuz":
        negative &= codes != 0
    nan = 0x80 if FLOAT8[name][2] == "fnuz" else 0x7F
    return np.where(np.isnan(size), nan, codes | (negative.astype(np.int64) << 7)).astype(np.uint8)

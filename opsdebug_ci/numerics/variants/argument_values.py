"""An argument whose special or precise values are read as others."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from functools import partial
from typing import Any

import torch

from opsdebug_ci.model.vocabulary import Cause
from opsdebug_ci.numerics.variants.call import Alternative, alternative


def special_argument(name: str, value: Any, others: Mapping[str, Any]) -> Iterator[Alternative]:
    """NaN, infinities, subnormals, negative zeros and negative indices read as something else."""
    del others
    if not isinstance(value, torch.Tensor) or value.numel() == 0 or value.is_complex():
        return
    if not value.is_floating_point():
        if value.dtype is not torch.bool and bool((value < 0).any()):
            yield alternative(
                f"negative entries of `{name}` are taken for 0", Cause.MASK_SEMANTICS, lambda: value.clamp(min=0)
            )
            yield alternative(f"negative entries of `{name}` are taken for their size", Cause.MASK_SEMANTICS, value.abs)
        return
    if bool(torch.isnan(value).any()):
        for text, number in (("minus infinity", -math.inf), ("infinity", math.inf), ("0", 0.0)):
            yield alternative(
                f"NaN in `{name}` is taken for {text}",
                Cause.NAN_INF_HANDLING,
                partial(lambda n: torch.nan_to_num(value, nan=n, posinf=math.inf, neginf=-math.inf), number),
            )
    if bool(torch.isinf(value).any()):
        yield alternative(
            f"infinities in `{name}` are made finite",
            Cause.NAN_INF_HANDLING,
            lambda: torch.nan_to_num(value, nan=math.nan),
        )
    tiny = torch.finfo(value.dtype).tiny
    if bool(((value != 0) & (value.abs() < tiny)).any()):
        yield alternative(
            f"subnormals in `{name}` are flushed to zero",
            Cause.DENORMAL_SIGNED_ZERO,
            lambda: torch.where(value.abs() < tiny, torch.zeros_like(value), value),
        )


FLOAT_CODES = {"float16": torch.float16, "bfloat16": torch.bfloat16}
"""Formats values may be rounded to first."""


def narrowed_argument(name: str, value: Any, others: Mapping[str, Any]) -> Iterator[Alternative]:
    """Values rounded to a narrower format before use; integers cut to a narrower type."""
    del others
    if not isinstance(value, torch.Tensor) or value.numel() == 0:
        return
    if value.dtype in (torch.float32, torch.float64):
        for text, dtype in FLOAT_CODES.items():
            yield alternative(
                f"`{name}` is rounded to {text} first",
                Cause.LOW_PRECISION_ACCUM,
                partial(lambda d: value.to(d).to(value.dtype), dtype),
                weight=0.4,
            )
    if value.dtype in (torch.int64, torch.int32):
        for dtype in (torch.int32, torch.int16, torch.int8):
            bits = torch.iinfo(dtype).bits
            if bits < torch.iinfo(value.dtype).bits:
                yield alternative(
                    f"`{name}` is cut to {bits} bits",
                    Cause.INDEX_OVERFLOW,
                    partial(lambda d: value.to(d).to(value.dtype), dtype),
                    weight=0.5 + bits / 1000,  # the widest is the one to name where several give the same
                )
        yield alternative(
            f"`{name}` is computed with in float32",
            Cause.DTYPE_PROMOTION,
            lambda: value.to(torch.float32).to(value.dtype),
            weight=0.5,
        )

"""How an operator may have read one of its arguments instead: other strides, one entry for all, other values."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import partial
from typing import Any

import torch

from opsdebug_ci.model.vocabulary import Cause
from opsdebug_ci.numerics.variants.call import Alternative

ArgumentRule = Callable[[str, Any, Mapping[str, Any]], Iterable[Alternative]]
"""(name, value, all arguments) to what the value might have been read as."""

FLOAT_CODES = {"float16": torch.float16, "bfloat16": torch.bfloat16}


def dense_argument(name: str, value: Any, others: Mapping[str, Any]) -> Iterator[Alternative]:
    """Elements taken in memory order from the argument's first, as if it were contiguous."""
    del others
    if not isinstance(value, torch.Tensor) or value.is_contiguous() or value.numel() < 2:
        return
    yield _argument(
        f"`{name}` read as if it were contiguous", Cause.STRIDE_VIEW, lambda: read_dense(value), weight=0.95
    )
    if value.ndim >= 2 and value.shape[-1] > 1:
        yield _argument(
            f"`{name}` read with unit stride along its last axis",
            Cause.STRIDE_VIEW,
            lambda: _restrided(value, (*value.stride()[:-1], 1)),
            weight=0.9,
        )
        packed = (value.shape[-1] * value.stride(-1), value.stride(-1))
        yield _argument(
            f"`{name}` read with rows that follow each other without a gap",
            Cause.STRIDE_VIEW,
            lambda: _restrided(value, (*value.stride()[:-2], *packed)),
            weight=0.9,
        )


def read_dense(value: torch.Tensor) -> torch.Tensor:
    """`value`'s memory from its first element on, in its shape; zeros beyond its storage."""
    strides, step = [], 1
    for size in reversed(value.shape):
        strides.append(step)
        step *= size
    return _restrided(value, tuple(reversed(strides)))


def _restrided(value: torch.Tensor, strides: tuple[int, ...]) -> torch.Tensor:
    needed = 1 + sum((size - 1) * stride for size, stride in zip(value.shape, strides, strict=True))
    held = value.untyped_storage().nbytes() // value.element_size() - value.storage_offset()
    flat = torch.as_strided(value, (held,), (1,), value.storage_offset())
    if needed > held:
        flat = torch.cat([flat, flat.new_zeros(needed - held)])
    return torch.as_strided(flat.contiguous(), value.shape, strides).clone()


def broadcast_argument(name: str, value: Any, others: Mapping[str, Any]) -> Iterator[Alternative]:
    """The first entry along one axis for all; the whole argument as its first element."""
    del others
    if not isinstance(value, torch.Tensor) or value.numel() < 2:
        return
    for axis, size in enumerate(value.shape):
        if size > 1:
            yield _argument(
                f"the first entry of `{name}` along axis {axis} used for all",
                Cause.BROADCASTING,
                partial(lambda axis: value.narrow(axis, 0, 1).expand(value.shape).clone(), axis),
                also=(Cause.STRIDE_VIEW,),
                weight=0.8,
            )


def special_argument(name: str, value: Any, others: Mapping[str, Any]) -> Iterator[Alternative]:
    """NaN, infinities, subnormals, negative zeros and negative indices read as something else."""
    del others
    if not isinstance(value, torch.Tensor) or value.numel() == 0 or value.is_complex():
        return
    if not value.is_floating_point():
        if value.dtype is not torch.bool and bool((value < 0).any()):
            yield _argument(
                f"negative entries of `{name}` taken for 0", Cause.MASK_SEMANTICS, lambda: value.clamp(min=0)
            )
            yield _argument(f"negative entries of `{name}` taken for their size", Cause.MASK_SEMANTICS, value.abs)
        return
    if bool(torch.isnan(value).any()):
        for text, number in (("minus infinity", -math.inf), ("infinity", math.inf), ("0", 0.0)):
            yield _argument(
                f"NaN in `{name}` taken for {text}",
                Cause.NAN_INF_HANDLING,
                partial(lambda n: torch.nan_to_num(value, nan=n, posinf=math.inf, neginf=-math.inf), number),
            )
    if bool(torch.isinf(value).any()):
        yield _argument(
            f"infinities in `{name}` made finite", Cause.NAN_INF_HANDLING, lambda: torch.nan_to_num(value, nan=math.nan)
        )
    tiny = torch.finfo(value.dtype).tiny
    if bool(((value != 0) & (value.abs() < tiny)).any()):
        yield _argument(
            f"subnormals in `{name}` flushed to zero",
            Cause.DENORMAL_SIGNED_ZERO,
            lambda: torch.where(value.abs() < tiny, torch.zeros_like(value), value),
        )


def moved_argument(name: str, value: Any, others: Mapping[str, Any]) -> Iterator[Alternative]:
    """The same elements at other places: transposed, reversed, shifted by one, halves exchanged."""
    del others
    if not isinstance(value, torch.Tensor) or value.numel() < 2:
        return
    if value.ndim >= 2 and value.shape[-1] == value.shape[-2]:
        yield _argument(
            f"`{name}` read transposed",
            Cause.LAYOUT_PERMUTATION,
            lambda: value.transpose(-1, -2).clone(),
            also=(Cause.STRIDE_VIEW, Cause.WRONG_AXIS),
        )
    for axis, size in enumerate(value.shape):
        if size < 2:
            continue
        yield _argument(
            f"`{name}` reversed along axis {axis}",
            Cause.LAYOUT_PERMUTATION,
            partial(value.flip, axis),
            weight=0.5,
        )
        for step in (1, -1):
            yield _argument(
                f"`{name}` read {'one element late' if step > 0 else 'one element early'} along axis {axis}",
                Cause.LAYOUT_PERMUTATION,
                partial(lambda a, s: value.roll(s, a), axis, step),
                also=(Cause.OOB_READ, Cause.TAIL_MASK),
                weight=0.5,
            )
        if size % 2 == 0 and size > 2:
            yield _argument(
                f"the halves of `{name}` along axis {axis} exchanged",
                Cause.LAYOUT_PERMUTATION,
                partial(lambda a, s: value.roll(s // 2, a), axis, size),
                weight=0.5,
            )
            yield _argument(
                f"`{name}` along axis {axis} in interleaved pairs for halves",
                Cause.LAYOUT_PERMUTATION,
                partial(
                    lambda a, s: torch.unflatten(value, a, (2, s // 2)).transpose(a, a + 1).flatten(a, a + 1),
                    axis,
                    size,
                ),
                also=(Cause.WRONG_AXIS,),
                weight=0.5,
            )
            yield _argument(
                f"`{name}` along axis {axis} in halves for interleaved pairs",
                Cause.LAYOUT_PERMUTATION,
                partial(
                    lambda a, s: torch.unflatten(value, a, (s // 2, 2)).transpose(a, a + 1).flatten(a, a + 1),
                    axis,
                    size,
                ),
                also=(Cause.WRONG_AXIS,),
                weight=0.5,
            )


def replaced_argument(name: str, value: Any, others: Mapping[str, Any]) -> Iterator[Alternative]:
    """Another argument of the same shape in its place, as after a write through an alias; or nothing at all."""
    if isinstance(value, torch.Tensor) and value.numel():
        for other, held in others.items():
            same = isinstance(held, torch.Tensor) and held.shape == value.shape and held.dtype == value.dtype
            if other != name and same:
                yield _argument(
                    f"`{other}` in the place of `{name}`, as if it had been written over it before it was read",
                    Cause.ALIASING_INPLACE,
                    partial(lambda held: held.clone(), held),
                    also=(Cause.LAYOUT_PERMUTATION,),
                    weight=0.75,
                )
        if value.ndim == 0 or value.numel() == 1:
            yield from _parameters(name, value)
        elif value.is_floating_point():
            yield _argument(
                f"zeros in the place of `{name}`", Cause.WRONG_DEFAULT, lambda: torch.zeros_like(value), weight=0.3
            )
            yield _argument(
                f"ones in the place of `{name}`", Cause.WRONG_DEFAULT, lambda: torch.ones_like(value), weight=0.3
            )
    elif isinstance(value, (int, float)):
        yield from _parameters(name, value)
    elif value is not None and not isinstance(value, (torch.Tensor, str)):
        yield _argument(f"`{name}` not given", Cause.WRONG_DEFAULT, lambda: None, weight=0.4)


def _parameters(name: str, value: Any) -> Iterator[Alternative]:
    """A parameter that does not enter, or enters otherwise."""
    if isinstance(value, bool):
        yield _argument(f"`{name}` = {not value}", Cause.WRONG_DEFAULT, lambda: not value)
        return
    changes: tuple[tuple[str, Callable[[], Any]], ...] = (
        (f"0 for `{name}`", lambda: value * 0),
        (f"1 for `{name}`", lambda: value * 0 + 1),
        (f"-`{name}`", lambda: -value),
        (f"1 - `{name}`", lambda: 1 - value),
        (f"1 / `{name}`", lambda: 1 / value),
    )
    for phrase, result in changes:
        sign = phrase.startswith("-")
        yield _argument(
            f"{phrase} in its place",
            Cause.SIGN_FLIP if sign else Cause.WRONG_DEFAULT,
            result,
            also=(Cause.WRONG_CONSTANT_EPS, Cause.WRONG_SCALE),
            weight=0.6,
        )


def narrowed_argument(name: str, value: Any, others: Mapping[str, Any]) -> Iterator[Alternative]:
    """Values rounded to a narrower format before use; integers cut to a narrower type."""
    del others
    if not isinstance(value, torch.Tensor) or value.numel() == 0:
        return
    if value.dtype in (torch.float32, torch.float64):
        for text, dtype in FLOAT_CODES.items():
            yield _argument(
                f"`{name}` rounded to {text} first",
                Cause.LOW_PRECISION_ACCUM,
                partial(lambda d: value.to(d).to(value.dtype), dtype),
                also=(Cause.DTYPE_PROMOTION,),
                weight=0.4,
            )
    if value.dtype in (torch.int64, torch.int32):
        for dtype in (torch.int8, torch.int16, torch.int32):
            if torch.iinfo(dtype).bits < torch.iinfo(value.dtype).bits:
                yield _argument(
                    f"`{name}` cut to {str(dtype).removeprefix('torch.')}",
                    Cause.INDEX_OVERFLOW,
                    partial(lambda d: value.to(d).to(value.dtype), dtype),
                    also=(Cause.DTYPE_PROMOTION,),
                    weight=0.5,
                )
        yield _argument(
            f"`{name}` computed in float32",
            Cause.DTYPE_PROMOTION,
            lambda: value.to(torch.float32).to(value.dtype),
            weight=0.5,
        )


def _argument(
    phrase: str, cause: Cause, result: Callable[[], Any], *, also: tuple[Cause, ...] = (), weight: float = 0.7
) -> Alternative:
    return Alternative(name=phrase, cause=cause, statement=phrase, result=result, also=also, weight=weight)

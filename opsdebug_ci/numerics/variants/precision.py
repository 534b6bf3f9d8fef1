"""Steps at another precision: operands or results rounded, integers that wrap, saturate or do neither."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from itertools import pairwise
from typing import Any

import torch

from opsdebug_ci.model.dtype import TF32
from opsdebug_ci.model.vocabulary import Cause
from opsdebug_ci.numerics.variants.call import Alternative, Call
from opsdebug_ci.numerics.variants.operands import _FACTORS

NARROW: dict[str, torch.dtype] = {"float16": torch.float16, "bfloat16": torch.bfloat16, "float32": torch.float32}
"""Formats a step may be rounded to."""

BLOCKS = (16, 32, 64, 128, 256, 512)
"""Lengths of stretches of K."""

PARTS = (2, 3, 4, 6, 8, 16)
"""Numbers of stretches K may be split into."""


def precision(call: Call) -> Iterator[Alternative]:
    """A narrower or wider format inside one step."""
    if call.name in _FACTORS:
        yield from _products(call)
    if isinstance(call.result, torch.Tensor):
        yield from _integers(call)
        if call.result.is_floating_point() and call.name not in ("_to_copy", "clone", "view", "t", "transpose"):
            yield from _stored(call)


def _blocked(call: Call, left: str, right: str) -> Iterator[Alternative]:
    """Products of stretches of K, each rounded and added up in half precision."""
    a, b = call.values[left], call.values[right]
    k, axis = a.shape[-1], max(0, b.ndim - 2)
    lengths = {length for length in BLOCKS if length < k} | {-(-k // parts) for parts in PARTS if k >= parts}
    for length in sorted(lengths):
        for name in ("float16", "bfloat16"):
            yield Alternative(
                name=f"sums over {length} of K kept in {name}",
                cause=Cause.LOW_PRECISION_ACCUM,
                statement=f"the product is summed over stretches of {length} of {k} terms, kept in {name}",
                result=partial(_summed_in_blocks, call, a, b, (left, right), axis, length, NARROW[name]),
                weight=0.65,
            )


def _summed_in_blocks(
    call: Call, a: torch.Tensor, b: torch.Tensor, names: tuple[str, str], axis: int, length: int, dtype: torch.dtype
) -> torch.Tensor:
    k = a.shape[-1]
    parts = max(1, round(k / length))
    bounds = [round(part * k / parts) for part in range(parts + 1)]
    total: torch.Tensor | None = None
    for start, end in pairwise(bounds):
        stretch = {names[0]: a.narrow(-1, start, end - start), names[1]: b.narrow(axis, start, end - start)}
        part = call.again(**stretch).to(dtype)
        total = part if total is None else total + part
    assert total is not None  # noqa: S101 - there is at least one stretch
    return total.double()


def _rounded(value: torch.Tensor, name: str) -> torch.Tensor:
    if name == "tf32":
        return _to_tf32(value)
    return value.to(NARROW[name]).to(value.dtype)


def _to_tf32(value: torch.Tensor) -> torch.Tensor:
    """Round to nearest even at TF32's precision by adding and subtracting a multiple of the value (Dekker 1971)."""
    scaled = value * (2.0 ** (53 - TF32.precision) + 1)
    return scaled - (scaled - value)


def _products(call: Call) -> Iterator[Alternative]:
    left, right = _FACTORS[call.name]
    a, b = call.tensor(left), call.tensor(right)
    if a is None or b is None or not a.is_floating_point() or not b.is_floating_point():
        return
    yield from _blocked(call, left, right)
    for name in ("tf32", "float16", "bfloat16"):
        yield _low(
            f"the factors of the product are rounded to {name}",
            partial(lambda name: call.again(**{left: _rounded(a, name), right: _rounded(b, name)}), name),
        )
        if name != "tf32":
            yield _low(
                f"the factors and the result of the product are rounded to {name}",
                partial(
                    lambda name: _rounded(call.again(**{left: _rounded(a, name), right: _rounded(b, name)}), name), name
                ),
            )


def _stored(call: Call) -> Iterator[Alternative]:
    for name in ("float16", "bfloat16"):
        yield Alternative(
            name=f"a step stored in {name}",
            cause=Cause.LOW_PRECISION_ACCUM,
            statement=f"the result of `{call.name}` is stored in {name}",
            result=partial(lambda name: _rounded(call.result, name), name),
            weight=0.35,
        )


def _integers(call: Call) -> Iterator[Alternative]:
    result = call.result
    if (
        result.is_floating_point()
        or result.is_complex()
        or result.dtype is torch.bool
        or call.name not in ("add", "sub", "mul", "sum", "cumsum", "neg")
    ):
        return
    widened: dict[str, Any] = {
        name: value.to(torch.int64) for name, value in call.values.items() if isinstance(value, torch.Tensor)
    }
    if "dtype" in call.values:
        widened["dtype"] = torch.int64
    if result.dtype is not torch.int64:
        yield _promotion("integers do not wrap around", lambda: call.again(**widened))
    for dtype in (torch.int8, torch.int16, torch.int32, torch.uint8):
        limits = torch.iinfo(dtype)
        if limits.bits <= torch.iinfo(result.dtype).bits:
            yield _promotion(
                f"integers saturate at the ends of {str(dtype).removeprefix('torch.')}, {limits.min} and {limits.max}",
                partial(lambda limits: call.again(**widened).clamp(limits.min, limits.max).to(result.dtype), limits),
            )
        if torch.iinfo(dtype).bits < torch.iinfo(result.dtype).bits:
            name = str(dtype).removeprefix("torch.")
            yield _promotion(
                f"integers wrap around in {name}",
                partial(lambda dtype: call.again(**widened).to(dtype).to(result.dtype), dtype),
            )
    yield _promotion(
        "integers are computed in float32",
        lambda: call.again(**{n: _floating(v) for n, v in widened.items()}).to(result.dtype),
    )


def _floating(value: Any) -> Any:
    return value.to(torch.float32) if isinstance(value, torch.Tensor) else torch.float32


def _promotion(phrase: str, result: Callable[[], Any]) -> Alternative:
    return Alternative(name=phrase, cause=Cause.DTYPE_PROMOTION, statement=phrase, result=result, weight=0.85)


def _low(phrase: str, result: Callable[[], Any]) -> Alternative:
    return Alternative(
        name=phrase,
        cause=Cause.LOW_PRECISION_ACCUM,
        statement=phrase,
        result=result,
        weight=0.7,
    )

"""Masks: what is compared, where a triangle begins, what a mask covers, what it puts in."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

import torch

from opsdebug_ci.model.vocabulary import Cause
from opsdebug_ci.numerics.variants.call import Alternative, Call

NEIGHBOURS = {"ge": "gt", "gt": "ge", "le": "lt", "lt": "le"}
"""Comparison to the one that treats equality the other way."""

OPPOSITES = {"ge": "lt", "gt": "le", "le": "gt", "lt": "ge", "eq": "ne", "ne": "eq"}
"""Comparison to its negation."""


def masks(call: Call) -> Iterator[Alternative]:
    """Comparisons, triangles, `where` and `masked_fill`, products with a 0-1 mask, counts of a mask."""
    if call.name in OPPOSITES:
        yield from _comparisons(call)
    if call.name in ("tril", "triu"):
        yield from _triangles(call)
    if call.name in ("where", "masked_fill", "logical_not", "bitwise_not"):
        yield from _selections(call)
    if call.name in ("add", "where"):
        yield from _left_in(call)
    if call.name == "mul":
        yield from _covers(call)
    if call.name == "sum":
        yield from _counts(call)


def _comparisons(call: Call) -> Iterator[Alternative]:
    x, other = call.tensor("self"), call.values["other"]
    if x is None or not isinstance(call.result, torch.Tensor):
        return
    whole = not x.is_floating_point()
    if call.name in NEIGHBOURS:
        wanted, given = NEIGHBOURS[call.name], call.name
        yield Alternative(
            name=f"`{wanted}` for `{given}`",
            cause=Cause.MASK_SEMANTICS,
            statement=f"`{wanted}` is asked, not `{given}`, so that values on the boundary fall on its other side",
            result=lambda: getattr(torch, wanted)(x, other),
            weight=0.85,
        )
        if whole:
            for step in (1, -1, 2, -2):
                yield _mask(
                    f"the boundary of the mask lies {abs(step)} {'further' if step > 0 else 'earlier'}",
                    partial(lambda step: getattr(torch, given)(x, other + step), step),
                )
    yield _mask(f"the opposite of `{call.name}` is asked", lambda: ~call.result)
    yield _mask("the comparison of the mask is always true", lambda: torch.ones_like(call.result), weight=0.8)
    yield _mask("the comparison of the mask is never true", lambda: torch.zeros_like(call.result), weight=0.7)
    if x.ndim >= 2 and x.shape[-1] == x.shape[-2]:
        yield _mask("the mask is transposed", lambda: call.result.transpose(-1, -2))
    yield from _shifted_masks(call.result)


def _shifted_masks(mask: torch.Tensor) -> Iterator[Alternative]:
    if mask.ndim < 2:
        return
    for name, step in _steps(mask, 1):
        if abs(step) < mask.shape[-1]:
            yield _mask(f"the mask {name}", partial(_moved, mask, step), weight=0.75)


def _steps(x: torch.Tensor, most: int) -> Iterator[tuple[str, int]]:
    """Places along its columns that a mask of the shape of `x` may be off by."""
    wider = x.shape[-1] - x.shape[-2]
    if wider:
        yield "is aligned to the top left corner, not to the bottom right one", -wider
        yield "is aligned to the bottom right corner, not to the top left one", wider
    for step in range(1, most + 1):
        yield f"lies {step} column{'s'[: step - 1]} too far to the right", step
        yield f"lies {step} column{'s'[: step - 1]} too far to the left", -step


def _moved(mask: torch.Tensor, step: int) -> torch.Tensor:
    """Columns moved to the right by `step`, the edge repeated."""
    columns = torch.arange(mask.shape[-1], device=mask.device) - step
    return mask.index_select(-1, columns.clamp(0, mask.shape[-1] - 1))


def _triangles(call: Call) -> Iterator[Alternative]:
    x = call.tensor("self")
    if x is None or x.ndim < 2:
        return
    diagonal = int(call.values.get("diagonal") or 0)
    for name, step in _steps(x, 2):
        yield Alternative(
            name=f"`{call.name}` {name}",
            cause=Cause.MASK_SEMANTICS,
            statement=f"`{call.name}` starts at diagonal {diagonal + step}, not {diagonal}: the mask {name}",
            result=partial(lambda step: call.again(diagonal=diagonal + step), step),
            weight=0.85,
        )
    yield _mask("the triangle is not cut out", lambda: x)


def _selections(call: Call) -> Iterator[Alternative]:
    if call.name == "where":
        condition, one, other = call.values["condition"], call.values["self"], call.values["other"]
        yield _mask("the choices of `where` are exchanged", lambda: torch.where(condition, other, one))
        yield _mask("the first choice of `where` is taken everywhere", lambda: _like(one, call.result), weight=0.7)
        yield _mask("the second choice of `where` is taken everywhere", lambda: _like(other, call.result), weight=0.7)
    if call.name == "masked_fill":
        x, mask = call.values["self"], call.values["mask"]
        yield _mask("true and false of the mask are exchanged", lambda: call.again(mask=~mask))
        yield _mask("the mask is left out", lambda: _like(x, call.result))
        for value in (0.0, -1e4, -1e9, -65504.0, torch.finfo(torch.float32).min, -math.inf):
            yield _mask(
                f"masked places are filled with {value:g}",
                partial(lambda value: call.again(value=value), value),
                weight=0.7,
            )
    if call.name in ("logical_not", "bitwise_not") and call.result.dtype is torch.bool:
        yield _mask("true and false of the mask are exchanged", call.values["self"].bool)


def _left_in(call: Call) -> Iterator[Alternative]:
    """Scores that become minus infinity here, at another value instead."""
    result = call.result
    if not isinstance(result, torch.Tensor) or not result.is_floating_point() or result.numel() < 2:
        return
    hidden = torch.isneginf(result)
    if bool(hidden.any()) and not bool(hidden.all()):
        for value in (0.0, -1e4, -1e9, -65504.0):
            yield _mask(
                f"masked places are {value:g}, not minus infinity",
                partial(result.masked_fill, hidden, value),
                weight=0.7,
            )


def _like(value: Any, result: torch.Tensor) -> torch.Tensor:
    tensor = value if isinstance(value, torch.Tensor) else torch.as_tensor(value, device=result.device)
    return tensor.to(result.dtype).expand(result.shape).clone()


def _covers(call: Call) -> Iterator[Alternative]:
    """(p + q) * mask where the mask should cover one term alone, or is left out."""
    for name, other in (("self", "other"), ("other", "self")):
        mask, value = call.values[name], call.values[other]
        if not _is_mask(mask) or not isinstance(value, torch.Tensor):
            continue
        yield _mask(
            "the mask on the product is left out", partial(lambda value: _like(value, call.result), value), weight=0.75
        )
        inner = call.maker(value)
        if inner is None or inner.name not in ("add", "sub"):
            continue
        p, q = inner.values["self"], inner.values["other"]
        alpha = inner.values.get("alpha", 1)
        sign = alpha if inner.name == "add" else -alpha
        yield _mask(
            "the mask covers the first of two terms only", partial(lambda p, q, m, s: p * m + s * q, p, q, mask, sign)
        )
        yield _mask(
            "the mask covers the second of two terms only", partial(lambda p, q, m, s: p + s * q * m, p, q, mask, sign)
        )


def _is_mask(value: Any) -> bool:
    if not isinstance(value, torch.Tensor) or value.numel() == 0:
        return False
    return value.dtype is torch.bool or bool(((value == 0) | (value == 1)).all())


def _counts(call: Call) -> Iterator[Alternative]:
    x = call.tensor("self")
    if x is not None and _is_mask(x) and isinstance(call.result, torch.Tensor) and call.result.numel():
        each = x.numel() // call.result.numel()
        yield _mask(
            "everything is counted, not only what the mask lets through",
            lambda: torch.full_like(call.result, each),
        )
    if x is not None and x.is_floating_point() and call.maker(x) is not None:
        product = call.maker(x)
        if product is not None and product.name == "mul":
            for name, other in (("self", "other"), ("other", "self")):
                if _is_mask(product.values[name]) and isinstance(product.values[other], torch.Tensor):
                    value = product.values[other]
                    yield _mask(
                        "the mask does not limit the sum",
                        partial(lambda value: call.again(self=_like(value, x)), value),
                    )


def _mask(phrase: str, result: Callable[[], Any], *, weight: float = 0.85) -> Alternative:
    return Alternative(name=phrase, cause=Cause.MASK_SEMANTICS, statement=phrase, result=result, weight=weight)

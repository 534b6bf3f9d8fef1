"""Sums accumulated one by one in half precision, alone or inside a call that stands for several steps.

Decides which steps such a call consists of. Deliberately knows one order only: others have other errors.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

import torch

from opsdebug_ci.model.vocabulary import Cause
from opsdebug_ci.numerics.variants.call import Alternative, Call
from opsdebug_ci.numerics.variants.normalisation import normalised_rows
from opsdebug_ci.numerics.variants.reductions import axis_of
from opsdebug_ci.numerics.variants.softmaxes import NAMES as SOFTMAXES

MOST = 1 << 20
"""Most terms that are added up one by one."""

FORMATS = {"float16": torch.float16, "bfloat16": torch.bfloat16}
"""Formats of such accumulators."""

Total = Callable[[torch.Tensor, int], torch.Tensor]
"""The sum over an axis, which is kept."""


def narrow_sums(call: Call) -> Iterator[Alternative]:
    """Sums, means, scans, products, softmax, log-sum-exp, variances and norms with a narrow accumulator inside."""
    for what, terms, made in _sums(call):
        if not 0 < terms <= MOST:
            continue
        for name, dtype in FORMATS.items():
            for narrow in (True, False):
                yield Alternative(
                    name=f"{what} is accumulated one by one in {name}{'' if narrow else ', of wider terms'}",
                    cause=Cause.LOW_PRECISION_ACCUM,
                    statement=f"{what} is accumulated one by one in {name}{'' if narrow else ', of wider terms'}",
                    result=partial(made, partial(_total, dtype=dtype, narrow=narrow)),
                    weight=0.7 if narrow else 0.65,
                )


def _sums(call: Call) -> Iterator[tuple[str, int, Callable[[Total], Any]]]:
    """(which sum, its terms in all, the call's result from how sums are made)."""
    x = call.tensor("self")
    norm = normalised_rows(call)
    if norm is not None:
        rows, finish = norm
        yield f"each sum inside `{call.name}`", rows.x.numel(), lambda total: finish(rows.rows(total))
        if rows.centred:
            centre = rows.x.mean(-1, keepdim=True)
            squares = f"the sum of squares inside `{call.name}`"
            yield squares, rows.x.numel(), lambda total: finish(rows.rows(total, centre))
    if x is None or not x.is_floating_point() or not isinstance(call.result, torch.Tensor):
        return
    if call.name in ("mm", "bmm"):
        other = call.values["mat2"]
        yield "the product", x.numel() * other.shape[-1], partial(_product, x, other)
    axis = axis_of(call, x.ndim)
    if axis is None:
        return
    if call.name in ("sum", "mean", "cumsum"):
        yield "the sum", x.numel(), partial(_plain, call, x, axis)
    elif call.name in (*SOFTMAXES, "logsumexp"):
        yield f"the sum of exponentials inside `{call.name}`", x.numel(), partial(_exponentials, call, x, axis)
    elif call.name in ("var", "std"):
        yield f"each sum inside `{call.name}`", x.numel(), partial(_moments, call, x, axis)


def _total(x: torch.Tensor, axis: int, *, dtype: torch.dtype, narrow: bool, every: bool = False) -> torch.Tensor:
    """The sum over `axis`, which is kept; of `every` stretch from the start on."""
    rows = x.movedim(axis, 0).to(dtype if narrow else torch.float32)
    total = torch.zeros_like(rows[0], dtype=dtype)
    sums = []
    for row in rows:
        total = (total + row).to(dtype)
        if every:
            sums.append(total)
    return torch.stack(sums or [total]).double().movedim(0, axis)


def _plain(call: Call, x: torch.Tensor, axis: int, total: Total) -> torch.Tensor:
    if call.name == "cumsum":
        return total(x, axis, every=True)  # type: ignore[call-arg]  # the only total there is
    made = total(x, axis).reshape(call.result.shape)
    return made / x.shape[axis] if call.name == "mean" else made


def _product(a: torch.Tensor, b: torch.Tensor, total: Total) -> torch.Tensor:
    return total(a.unsqueeze(-1) * b.unsqueeze(-3), a.ndim - 1).squeeze(-2)


def _exponentials(call: Call, x: torch.Tensor, axis: int, total: Total) -> torch.Tensor:
    largest = x.amax(axis, keepdim=True)
    shifted = x - largest
    denominator = total(shifted.exp(), axis)
    if call.name == "logsumexp":
        return (largest + denominator.log()).reshape(call.result.shape)
    return shifted - denominator.log() if "log" in call.name else shifted.exp() / denominator


def _moments(call: Call, x: torch.Tensor, axis: int, total: Total) -> torch.Tensor:
    n = x.shape[axis]
    correction = call.values.get("correction")
    lost = float(1 if correction is None else correction)
    mean = total(x, axis) / n
    variance = (total((x - mean).square(), axis) / (n - lost)).reshape(call.result.shape)
    return variance.sqrt() if call.name == "std" else variance

"""The same logical values in another layout of their storage.

Decides strides, offsets and what lies in the gaps: NaN for floats and the largest value for integers, so that a read
outside the view shows. Deliberately changes values only for `expanded`, where several elements share one place.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import torch

from opsdebug_ci.errors import InternalError
from opsdebug_ci.model.vocabulary import Layout

STEP = 2
"""Elements from one to the next in `strided`: x[..., ::2]."""

OFFSET = 3
"""First element in `offset`: odd, so no vector load of two or more elements is aligned."""

SLACK = 5
"""Gap elements behind the last one, and behind each row in `padded`: odd, for the same reason."""


def arrange(values: torch.Tensor, layout: Layout) -> torch.Tensor:
    """`values` in `layout`; a contiguous tensor is returned as it is when that is the layout.

    Args:
        values: a contiguous tensor of any shape, empty and zero-dimensional ones included.
        layout: any but `mixed` and `own`, which are decided per argument by the caller.

    Raises:
        InternalError: the layout is one of those two.
    """
    if layout not in _ARRANGEMENTS:
        raise InternalError(f"`layout` is `{layout}`; wanted one of {', '.join(map(str, _ARRANGEMENTS))}")
    return _ARRANGEMENTS[layout](values)


def gap_value(dtype: torch.dtype) -> float | int | bool:
    """What fills the storage outside the view."""
    if dtype.is_floating_point:
        return float("nan")
    return True if dtype is torch.bool else torch.iinfo(dtype).max


def _contiguous(values: torch.Tensor) -> torch.Tensor:
    return values.contiguous()


def _transposed(values: torch.Tensor) -> torch.Tensor:
    """The last two axes exchanged in storage; fewer axes: `strided`."""
    if values.dim() < 2:
        return _strided(values)
    rows, columns = values.shape[-2:]
    outer = [stride * max(1, rows * columns) for stride in _packed(values.shape[:-2])]
    return _placed(values, [*outer, 1, max(1, rows)])


def _strided(values: torch.Tensor) -> torch.Tensor:
    return _placed(values, [STEP * stride for stride in _packed(values.shape)])


def _offset(values: torch.Tensor) -> torch.Tensor:
    return _placed(values, _packed(values.shape), offset=OFFSET)


def _padded(values: torch.Tensor) -> torch.Tensor:
    """Rows further apart than they are wide; fewer than two axes: slack behind the only row."""
    if not values.dim():
        return _placed(values, [])
    return _placed(values, _packed([*values.shape[:-1], values.shape[-1] + SLACK]))


def _expanded(values: torch.Tensor) -> torch.Tensor:
    """The first slice of the first axis longer than 1, repeated with stride 0; no such axis: contiguous."""
    axis = next((axis for axis, size in enumerate(values.shape) if size > 1), None)
    if axis is None:
        return values.contiguous()
    return values.narrow(axis, 0, 1).clone(memory_format=torch.contiguous_format).expand(values.shape)


def _packed(shape: Sequence[int]) -> list[int]:
    """Strides, in elements, of a contiguous tensor of `shape`."""
    strides: list[int] = []
    step = 1
    for size in reversed(shape):
        strides.insert(0, step)
        step *= max(1, size)
    return strides


def _placed(values: torch.Tensor, strides: Sequence[int], offset: int = 0) -> torch.Tensor:
    """A view with these strides and offset into fresh storage whose every other element is the gap value."""
    span = 1 + sum(stride * (size - 1) for stride, size in zip(strides, values.shape, strict=True))
    length = offset + (span if values.numel() else 0) + SLACK
    storage = torch.empty(length, dtype=values.dtype).fill_(gap_value(values.dtype))
    view = storage.as_strided(tuple(values.shape), tuple(strides), offset)
    view.copy_(values)
    return view


_ARRANGEMENTS: dict[Layout, Callable[[torch.Tensor], torch.Tensor]] = {
    Layout.CONTIGUOUS: _contiguous,
    Layout.TRANSPOSED: _transposed,
    Layout.STRIDED: _strided,
    Layout.OFFSET: _offset,
    Layout.PADDED: _padded,
    Layout.EXPANDED: _expanded,
}

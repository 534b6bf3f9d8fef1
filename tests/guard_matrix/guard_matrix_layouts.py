"""The eleven layouts and eight dtypes of the matrix, and where a byte lies, by listing every byte of every element."""

from __future__ import annotations

import itertools
from collections.abc import Callable

import torch

from opsdebug_ci.model.vocabulary import Side

ROWS, COLUMNS = 5, 6

DTYPES = (
    torch.float32,
    torch.float64,
    torch.float16,
    torch.bfloat16,
    torch.float8_e5m2,
    torch.int32,
    torch.int64,
    torch.uint8,
)
"""One of every size and family; `bool` has a test of its own."""


def values(dtype: torch.dtype, *sizes: int, seed: int = 0) -> torch.Tensor:
    """Whole numbers from 1 to 100 (bool: either), so that no fill of a guard is one of them by chance."""
    drawn = torch.randint(1, 101, sizes, generator=torch.Generator().manual_seed(seed))
    return (drawn > 50) if dtype is torch.bool else drawn.to(dtype)


LAYOUTS: dict[str, Callable[[torch.dtype], torch.Tensor]] = {
    "contiguous": lambda dtype: values(dtype, ROWS, COLUMNS),
    "transposed": lambda dtype: values(dtype, COLUMNS, ROWS).t(),
    "sliced columns": lambda dtype: values(dtype, ROWS, COLUMNS + 3)[:, 3:],
    "stepped rows": lambda dtype: values(dtype, 2 * ROWS - 1, COLUMNS)[::2],
    "offset": lambda dtype: values(dtype, 3 + ROWS * COLUMNS)[3:].view(ROWS, COLUMNS),
    "padded rows": lambda dtype: values(dtype, ROWS, COLUMNS + 2)[:, :COLUMNS],
    "expanded": lambda dtype: values(dtype, COLUMNS).expand(ROWS, COLUMNS),
    "overlapping": lambda dtype: values(dtype, ROWS + COLUMNS - 1).as_strided((ROWS, COLUMNS), (1, 1)),
    "no axes": lambda dtype: values(dtype, 1)[0].clone(),
    "one element": lambda dtype: values(dtype, 1, 1),
    "empty": lambda dtype: values(dtype, 0, COLUMNS),
}
"""Layout -> a tensor in it."""

OWN_ELEMENTS = tuple(name for name in LAYOUTS if name not in ("expanded", "overlapping"))
"""Those in which every element has bytes of its own, so that it can be written."""


def bytes_of(view: torch.Tensor) -> set[int]:
    """Bytes of the storage that belong to an element."""
    size = view.element_size()
    places = (
        view.storage_offset() + sum(i * stride for i, stride in zip(index, view.stride(), strict=True))
        for index in itertools.product(*map(range, view.shape))
    )
    return {size * place + byte for place in places for byte in range(size)}


def sides(view: torch.Tensor, distances: set[int]) -> set[Side]:
    """Where elements that many bytes from the first one lie."""
    start, end = view.storage_offset() * view.element_size(), view.untyped_storage().nbytes()
    inside = bytes_of(view)
    return {_side(start + distance, end, inside) for distance in distances}


def _side(byte: int, end: int, inside: set[int]) -> Side:
    if byte < 0:
        return Side.HEAD
    if byte >= end:
        return Side.TAIL
    return Side.INSIDE if byte in inside else Side.GAP

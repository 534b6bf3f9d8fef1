"""Kernels of the matrix: what each does to a tensor it was given, and what of it can be found in a cell.

A kernel is an operator whose function does the right thing and one thing more. Kernels that write are given `x` and
`out`, and the cell's layout is that of `out`; all others are given `x` alone, in the cell's layout.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import torch
from guard_matrix_layouts import sides

from opsdebug_ci.catalogue.planted import strays
from opsdebug_ci.model.vocabulary import Side

TILE = 8
"""Columns of the tile that a kernel without a mask stores."""

Facts = frozenset[tuple[str, ...]]
"""What was found: `write side role tensor`, `read side tensor`, `alias output other`, `layout tensor field`,
`unwritten` and `changed`."""

NOTHING: Facts = frozenset()

VALUES = "around truth values lie only truth values; none of them shows here"
TIMES_ZERO = "0 times any whole number is 0"
NO_TRACE = "no trace is left; watched pages see it"


@dataclass(frozen=True, slots=True, kw_only=True)
class Kernel:
    """One kernel that strays, or one that does not."""

    name: str
    """Unique, in words."""

    function: Callable[..., Any]
    """Called with `x`, or with `x` and `out`."""

    into: bool = False
    """It writes to `out`."""

    found: Callable[[torch.Tensor], Facts] = lambda tensor: NOTHING
    """The cell's tensor -> what must be found, no more and no less; nothing: the kernel is right in this cell."""

    hidden: Callable[[torch.Tensor], str | None] = lambda tensor: None
    """The cell's tensor -> why what it does there cannot be found; None: it can."""


def _whole(x: torch.Tensor) -> bool:
    return not x.dtype.is_floating_point


def _copied(x: torch.Tensor, out: torch.Tensor) -> None:
    strays.copy(x, out)


def _stored(value: Callable[[torch.Tensor], bytes], distance: Callable[[torch.Tensor], int]) -> Callable[..., None]:
    def call(x: torch.Tensor, out: torch.Tensor) -> None:
        strays.copy(x, out)
        strays.store(out, distance(out), value(x))

    return call


def _written(distances: Callable[[torch.Tensor], set[int]]) -> Callable[[torch.Tensor], Facts]:
    """One writing fact per side that some of these distances lie on; the elements of `out` are its own."""

    def found(out: torch.Tensor) -> Facts:
        where = sides(out, distances(out)) if out.numel() else set()
        return frozenset(("write", str(side), "output", "out") for side in where - {Side.INSIDE})

    return found


def _before(tensor: torch.Tensor) -> int:
    return -tensor.element_size()


def _row_behind(tensor: torch.Tensor) -> int:
    """One row stride behind the last element."""
    return strays.behind(tensor) + (max(tensor.stride(), default=1) - 1) * tensor.element_size()


def _first(x: torch.Tensor) -> bytes:
    return bytes(x.reshape(-1)[:1].clone().view(torch.uint8).tolist())


def _number(value: float) -> Callable[[torch.Tensor], bytes]:
    """The bytes of a number; of NaN, in a dtype that has none, those of the largest."""

    def given(x: torch.Tensor) -> bytes:
        if _whole(x) and math.isnan(value):
            return strays.element(True if x.dtype is torch.bool else torch.iinfo(x.dtype).max, x.dtype)
        return strays.element(value, x.dtype)

    return given


def _tiles(tensor: torch.Tensor) -> set[int]:
    """Distances of the lanes that lie beyond each row's end."""
    if tensor.dim() < 2:
        return set()
    row, column = tensor.stride()
    lanes = range(tensor.shape[1], TILE * -(-tensor.shape[1] // TILE))
    return {(r * row + c * column) * tensor.element_size() for r in range(tensor.shape[0]) for c in lanes}


def _tiled(x: torch.Tensor, out: torch.Tensor) -> None:
    width = TILE * -(-x.shape[-1] // TILE) if x.dim() > 1 else 1
    strays.copy_tiles(x, out, width, strays.element(0, x.dtype))


def _dense(tensor: torch.Tensor) -> set[int]:
    return {i * tensor.element_size() for i in range(tensor.numel())}


def _written_densely(out: torch.Tensor) -> Facts:
    """Every element that lands in a gap is one of `out` that is never written."""
    strayed = _written(_dense)(out)
    return strayed | {("unwritten",)} if strayed else NOTHING


def _copied_densely(x: torch.Tensor, out: torch.Tensor) -> None:
    strays.copy(x, out, dense=True)


WRITING = (
    Kernel(name="copy", function=_copied, into=True),
    *(
        Kernel(
            name=f"{what} {where}",
            function=_stored(value, distance),
            into=True,
            found=_written(lambda out, distance=distance: {distance(out)}),
        )
        for what, value, where, distance in (
            ("zero", _number(0), "behind the end", strays.behind),
            ("NaN", _number(math.nan), "behind the end", strays.behind),
            ("-1", _number(-1), "behind the end", strays.behind),
            ("an element", _first, "behind the end", strays.behind),
            ("zero", _number(0), "before the start", _before),
            ("an element", _first, "before the start", _before),
            ("NaN", _number(math.nan), "a row behind the end", _row_behind),
        )
    ),
    Kernel(name="tiles without a mask", function=_tiled, into=True, found=_written(_tiles)),
    Kernel(name="copy as if contiguous", function=_copied_densely, into=True, found=_written_densely),
)


def _folded(how: str, distance: Callable[[torch.Tensor], int] | None, weight: float = 1.0) -> Callable[..., Any]:
    def call(x: torch.Tensor) -> torch.Tensor:
        out = torch.full((), strays.NEUTRAL[how], dtype=torch.float64)
        strays.fold(x, how, out)
        if distance is not None:
            strays.fold_at(x, how, out, (distance(x),), weight)
        return out

    return call


def _sum_densely(x: torch.Tensor) -> torch.Tensor:
    out = torch.zeros((), dtype=torch.float64)
    strays.fold(x, "sum", out, dense=True)
    return out


def _read(distances: Callable[[torch.Tensor], set[int]]) -> Callable[[torch.Tensor], Facts]:
    def found(x: torch.Tensor) -> Facts:
        where = sides(x, distances(x)) if x.numel() else set()
        return frozenset(("read", str(side), "x") for side in where - {Side.INSIDE})

    return found


def _largest_hidden(x: torch.Tensor) -> str | None:
    return VALUES if x.dtype is torch.bool and x.any() else None


def _smallest_hidden(x: torch.Tensor) -> str | None:
    return VALUES if x.dtype is torch.bool and x.numel() and not x.all() else None


def _times_zero(x: torch.Tensor) -> str | None:
    return TIMES_ZERO if _whole(x) else None


READING = (
    Kernel(name="sum", function=_folded("sum", None)),
    Kernel(name="largest", function=_folded("largest", None)),
    Kernel(name="smallest", function=_folded("smallest", None)),
    *(
        Kernel(
            name=f"{name} reads {where}",
            function=_folded(how, distance, weight),
            found=_read(lambda x, distance=distance: {distance(x)}),
            hidden=hidden,
        )
        for name, how, weight, where, distance, hidden in (
            ("sum", "sum", 1.0, "behind the end", strays.behind, lambda x: None),
            ("largest", "largest", 1.0, "behind the end", strays.behind, _largest_hidden),
            ("smallest", "smallest", 1.0, "behind the end", strays.behind, _smallest_hidden),
            ("masked sum", "sum", 0.0, "behind the end", strays.behind, _times_zero),
            ("sum", "sum", 1.0, "before the start", _before, lambda x: None),
            ("largest", "largest", 1.0, "before the start", _before, _largest_hidden),
        )
    ),
    Kernel(name="sum as if contiguous", function=_sum_densely, found=_read(_dense)),
)


def _all_but_last(x: torch.Tensor) -> torch.Tensor:
    out = torch.empty(x.shape, dtype=x.dtype)
    strays.copy(x, out, done=max(0, x.numel() - 1))
    return out


def _all(x: torch.Tensor) -> torch.Tensor:
    out = torch.empty(x.shape, dtype=x.dtype)
    strays.copy(x, out)
    return out


def _accumulated(x: torch.Tensor) -> torch.Tensor:
    out = torch.empty((), dtype=torch.float64)
    strays.fold(x, "sum", out)
    return out


UNWRITTEN = (
    Kernel(name="copy to memory of its own", function=_all),
    Kernel(
        name="the last element is never written",
        function=_all_but_last,
        found=lambda x: frozenset({("unwritten",)}) if x.numel() else NOTHING,
    ),
    Kernel(
        name="sums start from what memory holds", function=_accumulated, found=lambda x: frozenset({("unwritten",)})
    ),
)


def _nudged(x: torch.Tensor) -> torch.Tensor:
    out = _all(x)
    strays.nudge(x)
    return out


def _restored(x: torch.Tensor) -> torch.Tensor:
    out = _all(x)
    strays.restore_wrongly(x)
    return out


def _mutated(x: torch.Tensor) -> Facts:
    return frozenset({("write", "inside", "input", "x")}) if x.numel() else NOTHING


MUTATING = (
    Kernel(name="an input moves by one ulp", function=_nudged, found=_mutated),
    Kernel(name="an input is changed and not all of it back", function=_restored, found=_mutated),
)


def _itself(x: torch.Tensor) -> torch.Tensor:
    return x.view(x.shape)


def _twice(x: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
    out = _all(x)
    return out, out.view(x.shape)


SHARING = (
    Kernel(
        name="a view of an input is returned",
        function=_itself,
        found=lambda x: frozenset({("alias", "out0", "x")}) if x.numel() else NOTHING,
    ),
    Kernel(
        name="two outputs are one",
        function=_twice,
        found=lambda x: frozenset({("alias", "out1", "out0")}) if x.numel() else NOTHING,
    ),
)


def _turned(x: torch.Tensor) -> torch.Tensor:
    out = _all(x)
    x.t_()
    return out


def _turned_found(x: torch.Tensor) -> Facts:
    if x.dim() < 2:
        return NOTHING
    fields = [("shape", x.shape[0] != x.shape[1]), ("stride", x.stride(0) != x.stride(1))]
    return frozenset(("layout", "x", field) for field, differs in fields if differs)


def _emptied(x: torch.Tensor) -> torch.Tensor:
    out = _all(x)
    x.resize_(0)
    return out


def _emptied_found(x: torch.Tensor) -> Facts:
    return frozenset({("layout", "x", "shape")} | ({("layout", "x", "stride")} if x.stride() != (1,) else set()))


RESTRIDING = (
    Kernel(name="an input is transposed in place", function=_turned, found=_turned_found),
    Kernel(name="an input is emptied", function=_emptied, found=_emptied_found),
)


def _touched(how: str) -> Callable[[torch.Tensor], torch.Tensor]:
    def call(x: torch.Tensor) -> torch.Tensor:
        out = _all(x)
        strays.touch(x, strays.behind(x), how)
        return out

    return call


def _traced(x: torch.Tensor) -> Facts:
    """What watched pages see."""
    return frozenset({("touch", "x")}) if x.numel() else NOTHING


TRACELESS = tuple(
    Kernel(name=name, function=_touched(how), found=_traced, hidden=lambda x: NO_TRACE)
    for name, how in (
        ("a byte behind the end is read and not used", "read"),
        ("a byte behind the end is copied onto itself", "copy_back"),
        ("0 is added to a byte behind the end", "add_nothing"),
    )
)

KERNELS = (*WRITING, *READING, *UNWRITTEN, *MUTATING, *SHARING, *RESTRIDING, *TRACELESS)
"""All of them."""

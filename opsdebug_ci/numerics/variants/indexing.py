"""Indices: off by one, wrapped in a narrow type, negative ones wrapped or clamped; updates that overwrite or add."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from functools import partial
from typing import Any

import torch

from opsdebug_ci.model.vocabulary import Cause
from opsdebug_ci.numerics.variants.call import Alternative, Call, alternative

GATHERS = {"gather": "index", "index_select": "index", "embedding": "indices", "index": "indices", "take": "index"}
"""Call to the argument that holds its indices."""

PERMUTED = ("gather", "index_select", "index", "scatter")
"""Calls by which elements are put in order, or back."""

WIDTHS = (8, 16, 32)
"""Bits of the index types offsets may be computed in."""


def indexing(call: Call) -> Iterator[Alternative]:
    """What a gather or a scatter might have used for its indices."""
    if call.name in GATHERS:
        yield from _gathers(call)
    if call.name in PERMUTED:
        yield from _permutations(call)
    if call.name in ROWS:
        yield from _lost(call)
    if call.name in ("scatter", "scatter_add", "index_put", "index_add", "scatter_reduce"):
        yield from _updates(call)
    if call.name == "slice":
        yield from _slices(call)


def _gathers(call: Call) -> Iterator[Alternative]:
    name = GATHERS[call.name]
    source = call.values["weight"] if call.name == "embedding" else call.values["self"]
    index = _single(call.values[name])
    if index is None or index.dtype is torch.bool or not source.ndim:
        return
    size = source.shape[0] if call.name in ("embedding", "index") else source.shape[int(call.values.get("dim") or 0)]

    def use(changed: torch.Tensor) -> Any:
        return call.again(**{name: [changed] if call.name == "index" else changed})

    for step in (1, -1):
        yield alternative(
            f"every index is {'one too high' if step > 0 else 'one too low'}",
            Cause.OOB_READ,
            partial(lambda step: use((index + step).clamp(0, size - 1)), step),
        )
    if bool((index < 0).any()):
        yield alternative("negative indices are taken for 0", Cause.MASK_SEMANTICS, lambda: use(index.clamp(min=0)))
    row = max(1, source.numel() // max(1, source.shape[0]))
    for bits in WIDTHS:
        if source.numel() > 1 << (bits - 1) and call.name in ("embedding", "index", "index_select"):
            yield alternative(
                f"offsets (index * {row}) wrap around in {bits} bits",
                Cause.INDEX_OVERFLOW,
                partial(lambda bits: _wrapped_rows(call, source, index, row, bits), bits),
                weight=0.9,
            )


def _permutations(call: Call) -> Iterator[Alternative]:
    """Elements put in order the other way round, or not at all, where the indices are a permutation."""
    index, moved = _single(call.values.get("index", call.values.get("indices"))), call.tensor("self")
    if call.name == "scatter":
        moved = call.tensor("src")
    if index is None or moved is None or index.dtype is torch.bool or not index.ndim:
        return
    axis = int(call.values.get("dim") or 0) % index.ndim
    inverse, size = index.argsort(axis), index.shape[axis]
    in_order = torch.arange(size, device=index.device).reshape([-1 if k == axis else 1 for k in range(index.ndim)])
    if size < 2 or not bool((index.gather(axis, inverse) == in_order).all()):
        return
    name = "indices" if call.name == "index" else "index"
    back = partial(call.again, **{name: [inverse] if call.name == "index" else inverse})
    phrase = f"`{call.name}` goes by the inverse of its permutation"
    yield alternative(phrase, Cause.LAYOUT_PERMUTATION, back, weight=0.8)
    if moved.shape == call.result.shape:
        phrase = f"what `{call.name}` puts in order stays as it was"
        yield alternative(phrase, Cause.LAYOUT_PERMUTATION, moved.clone, weight=0.7)


def _single(indices: Any) -> torch.Tensor | None:
    if isinstance(indices, torch.Tensor):
        return indices
    if isinstance(indices, (list, tuple)) and len(indices) == 1 and isinstance(indices[0], torch.Tensor):
        return indices[0]
    return None


def _wrapped_rows(call: Call, source: torch.Tensor, index: torch.Tensor, row: int, bits: int) -> torch.Tensor:
    offset = (index * row).long()
    wrapped = (offset + (1 << (bits - 1))) % (1 << bits) - (1 << (bits - 1))
    places = (wrapped.unsqueeze(-1) + torch.arange(row, device=source.device)) % source.numel()
    return source.reshape(-1)[places].reshape(call.result.shape)


TILES = (4, 8, 16, 32, 64, 128)
"""Updates that are made at a time."""

ROWS = {
    "index_put": ("self", "indices", "values"),
    "index_add": ("self", "index", "source"),
    "embedding_dense_backward": ("", "indices", "grad_output"),
}
"""Call that adds rows: to what, at which indices, and which."""


def _lost(call: Call) -> Iterator[Alternative]:
    """Of rows added to one place, the last of a tile alone arrives."""
    into, where, what = ROWS[call.name]
    index, rows = _single(call.values[where]), call.tensor(what)
    along = call.name != "index_add" or call.values["dim"] == 0
    if (
        index is None
        or rows is None
        or not along
        or index.dtype is torch.bool
        or call.values.get("accumulate") is False
    ):
        return
    start = call.values[into] if into else torch.zeros_like(call.result)
    places, updates = index.reshape(-1), rows.expand(*index.shape, *start.shape[1:]).reshape(-1, *start.shape[1:])

    def lost(tile: int) -> torch.Tensor:
        made: torch.Tensor = start.clone()
        for at, update in zip(torch.split(places, tile), torch.split(updates, tile), strict=True):
            last = torch.tensor([k for k, row in enumerate(at.tolist()) if row not in at[k + 1 :].tolist()])
            made[at[last]] += update[last]
        return made

    for tile in (*(tile for tile in TILES if tile < len(places)), len(places)):
        some = f", of those in a tile of {tile}" if tile < len(places) else ""
        phrase = f"the last of equal indices stands alone{some}, where they should be summed"
        yield replace(
            alternative(phrase, Cause.NONDETERMINISM_RACE, partial(lost, tile), weight=0.7),
            name=phrase if some else "the last of all equal indices stands alone",
        )


def _updates(call: Call) -> Iterator[Alternative]:
    index, source = (
        call.values.get("index", call.values.get("indices")),
        call.values.get("src", call.values.get("source")),
    )
    if call.name == "scatter_add" and isinstance(source, torch.Tensor):
        yield alternative(
            "the last of equal indices stands alone, where they should be summed",
            Cause.NONDETERMINISM_RACE,
            lambda: call.values["self"].scatter(call.values["dim"], index, source),
        )
    if call.name == "index_put" and isinstance(call.values.get("accumulate"), bool):
        word = "overwrites, not adds" if call.values["accumulate"] else "adds, not overwrites"
        yield alternative(
            f"the update {word}",
            Cause.WRONG_DEFAULT,
            lambda: call.again(accumulate=not call.values["accumulate"]),
        )


def _slices(call: Call) -> Iterator[Alternative]:
    """The same stretch one element earlier or later, the edge repeated."""
    x = call.values["self"]
    axis = int(call.values.get("dim") or 0) % x.ndim
    size, length = x.shape[axis], call.result.shape[axis]
    start, step = int(call.values.get("start") or 0), int(call.values.get("step") or 1)
    if start < 0:
        start += size
    if not length or length == size:
        return
    places = start + step * torch.arange(length, device=x.device)
    for shift in (1, -1):
        yield alternative(
            f"the slice begins one element {'late' if shift > 0 else 'early'}",
            Cause.OOB_READ,
            partial(lambda shift: x.index_select(axis, (places + shift).clamp(0, size - 1)), shift),
            weight=0.5,
        )

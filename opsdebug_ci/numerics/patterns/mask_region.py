"""Bad elements whose places a mask, a length or the diagonal describes.

Decides from bool arguments, lengths per row, and differences of two positions. Deliberately knows nothing of values.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator

import torch

from opsdebug_ci.model.clue import Clue
from opsdebug_ci.model.finding import EvidenceValue
from opsdebug_ci.model.vocabulary import Cause
from opsdebug_ci.numerics.failure import Failure
from opsdebug_ci.numerics.patterns.keyed_rows import LEAST_ROWS, integer_arguments, meets, rows_with_bad
from opsdebug_ci.numerics.patterns.placement import FULL, LEAST_BAD, MANY_BAD

WIDEST = 4096
"""Largest last axis on which diagonals are looked for."""


def mask_region(failure: Failure) -> Iterator[Clue]:
    """Fires when the bad elements are exactly those a mask selects or bars, of rows it bars altogether, at or behind
    the length of their row, or on one diagonal or beyond one.

    Exactly: nothing else is bad and FULL of these are. Rivals: `row_tail`, `index_argument`.
    """
    if failure.bad.ndim == 0 or int(torch.count_nonzero(failure.bad)) < LEAST_BAD:
        return
    count = int(torch.count_nonzero(failure.bad))
    evidence: dict[str, EvidenceValue] = {"bad": count, "of": failure.bad.numel()}
    for place in _by_other_axis(failure):
        statement = f"the {count:,} bad elements are those {place}"
        yield failure.clue("mask_region", Cause.BROADCASTING, 0.88, statement, evidence)
        return
    found = [*_by_mask(failure), *_by_length(failure), *_by_diagonal(failure)]
    if not found:
        return
    place, confidence = max(found, key=lambda each: each[1])
    sure = confidence if count >= MANY_BAD else confidence - 0.1
    statement = f"the {count:,} bad elements are those {place}"
    yield failure.clue("mask_region", Cause.MASK_SEMANTICS, sure, statement, evidence)


def _by_mask(failure: Failure) -> Iterator[tuple[str, float]]:
    for name, mask in failure.tensors.items():
        if mask.dtype != torch.bool or mask.ndim == 0:
            continue
        for place, condition in _readings(name, mask.to(failure.bad.device)):
            matched = _broadcast(condition, failure.bad)
            if matched is not None and meets(matched, failure.bad):
                yield place, 0.85
            rows = rows_with_bad(failure.bad, min(condition.ndim, failure.bad.ndim))
            if condition.shape == rows.shape and rows.ndim < failure.bad.ndim and meets(condition, rows):
                yield place, 0.85


def _readings(name: str, mask: torch.Tensor) -> Iterator[tuple[str, torch.Tensor]]:
    yield f"where `{name}` is true", mask
    yield f"where `{name}` is false", ~mask
    if mask.ndim > 1:
        yield f"of rows where `{name}` is false throughout", ~mask.any(-1)
        yield f"of rows where `{name}` is true throughout", mask.all(-1)


def _broadcast(condition: torch.Tensor, bad: torch.Tensor) -> torch.Tensor | None:
    """`condition` at the shape of `bad`, its axes the last ones."""
    try:
        return condition.expand(bad.shape)
    except RuntimeError:  # shapes that do not go together
        return None


def _by_other_axis(failure: Failure) -> Iterator[str]:
    """A one-dimensional mask of a square runs along the other axis: bad where its entries for the two differ."""
    bad = failure.bad
    for name, mask in failure.tensors.items():
        if mask.dtype != torch.bool or mask.ndim != 1:
            continue
        for one, other in itertools.combinations(range(bad.ndim), 2):
            if bad.shape[one] != len(mask) or bad.shape[other] != len(mask):
                continue
            entries = mask.to(bad.device)
            layer = bad.movedim((one, other), (-2, -1)).reshape(-1, len(mask), len(mask)).any(0)
            if meets(entries[:, None] != entries, layer):
                yield f"where the entries of `{name}` for axes {one} and {other} differ: it runs along the other one"


def _by_length(failure: Failure) -> Iterator[tuple[str, float]]:
    bad = failure.bad
    if bad.ndim < 2:
        return
    rows = rows_with_bad(bad, 2)
    positions = torch.arange(rows.shape[1], device=bad.device)
    for name, lengths in integer_arguments(failure):
        if lengths.shape not in (rows.shape[:1], (rows.shape[0], 1)) or len(lengths) < LEAST_ROWS:
            continue
        ends = lengths.reshape(-1, 1)
        if meets(positions >= ends, rows):
            yield f"at or behind the length that `{name}` gives their row", 0.85
        for step, where in ((1, "last inside"), (0, "first outside")):
            if meets(positions == ends - step, rows):
                yield f"at the {where} the length that `{name}` gives their row", 0.85


def _by_diagonal(failure: Failure) -> Iterator[tuple[str, float]]:
    bad = failure.bad
    if bad.ndim < 2 or min(bad.shape[-2:]) < LEAST_BAD or bad.shape[-1] > WIDEST:
        return
    layer = bad.flatten(0, -3).any(0) if bad.ndim > 2 else bad
    height, width = layer.shape
    places = layer.nonzero()
    apart = places[:, 1] - places[:, 0]
    least, most = int(apart.min()), int(apart.max())
    offset = torch.arange(width, device=bad.device) - torch.arange(height, device=bad.device)[:, None]
    alike = int(torch.count_nonzero(bad)) >= 0.9 * len(places) * (bad.numel() // layer.numel())
    if not alike:
        return
    if least == most and meets(offset == least, layer):
        yield f"on the diagonal where column - row = {least}", 0.8
    elif most == width - 1 and least > 1 - height and _triangle(layer, offset >= least, offset == least):
        yield f"where column - row >= {least}", 0.75
    elif least == 1 - height and most < width - 1 and _triangle(layer, offset <= most, offset == most):
        yield f"where column - row <= {most}", 0.75


def _triangle(bad: torch.Tensor, region: torch.Tensor, edge: torch.Tensor) -> bool:
    """The region is bad up to its edge, which is long enough to be one: a rectangle has a corner there."""
    length = int(torch.count_nonzero(edge))
    return meets(region, bad) and length >= LEAST_BAD and int(torch.count_nonzero(bad & edge)) >= FULL * length

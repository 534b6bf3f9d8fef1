"""At which sizes does the operator fail? Multiples of a block, beyond a limit, or below one."""

from __future__ import annotations

from collections.abc import Iterator

import torch

from opsdebug_ci.errors import OpsdebugError, Unsupported
from opsdebug_ci.model.clue import Clue
from opsdebug_ci.model.finding import EvidenceValue
from opsdebug_ci.model.vocabulary import Cause, Kind
from opsdebug_ci.numerics.failure import Failure
from opsdebug_ci.worker.probes.scene import Scene
from opsdebug_ci.worker.probes.steadiness import told_apart

GROSS = 0.05
"""Relative error that no order of a sum, and no precision of a format in use, explains."""

RULE = "sizes"

WIDTHS = (2, 3, 4, 8, 16, 32, 64, 128, 256, 512)
"""Block widths that are tried as the reason for failing sizes."""

STRICT_BITS = (15, 16, 31, 32)
"""The same for offsets into a tensor that may be larger than the dim says."""

INDEX_BITS = (15, 16, 24, 31, 32)
"""Bits in which an offset, in elements, may have been kept."""

MOST_ELEMENTS = 1 << 22
"""Elements of an argument up to which a larger size is tried."""

SUMMING = (Kind.REDUCTION, Kind.MATMUL)
"""Kinds that sum along no axis their output has."""


def sizes(scene: Scene, failure: Failure) -> Iterator[Clue]:
    """Verifies the operator at neighbouring sizes of each dim, all else as in the case.

    Passing exactly at multiples of V is a tail; failing beyond a size whose offsets no longer fit an index type is an
    overflow. Silent where every size fails, as for most causes, or none does, or launches in turn do not keep to that.
    """
    for dim, size in scene.case.dims.items():
        if size < 1 or scene.expired:
            continue
        search = _Search(scene, failure, dim)
        clue = _multiples(search, failure, size) or _limits(search, failure, size)
        if clue is not None and search.lasting:
            yield clue


class _Search:
    """Verdicts by size of one dim, each asked once."""

    def __init__(self, scene: Scene, failure: Failure, dim: str) -> None:
        self.scene = scene
        self._failure = failure
        self.dim = dim
        self._known: dict[int, bool | None] = {scene.case.dims[dim]: False}

    def passes(self, size: int) -> bool | None:
        """Whether the operator is right at this size; None when that cannot be said, or time is up."""
        if size not in self._known:
            if size < 1 or self.scene.expired:
                return None
            self._known[size] = self.scene.passes_at({self.dim: size}, self._failure)
        return self._known[size]

    def right_off(self, width: int) -> bool:
        """Some size that is no multiple of `width` is right, so that is not what matters."""
        return any(known and size % width for size, known in self._known.items())

    def offsets(self, size: int) -> set[int]:
        """Elements of the arguments and of the output at this size."""
        try:
            arguments = self.scene.arguments_at({self.dim: size})
        except (OpsdebugError, Unsupported):
            return set()
        counts = {value.numel() for value in arguments.values if isinstance(value, torch.Tensor)}
        outputs = self.scene.launch(arguments)
        return counts | {output.numel() for output in (outputs or {}).values()}

    def rows(self) -> set[int]:
        """Elements of one row of each argument and output."""
        tensors = [value for value in self.scene.arguments.values if isinstance(value, torch.Tensor)]
        tensors += self.scene.outputs.values()
        return {tensor.numel() // tensor.shape[0] for tensor in tensors if tensor.ndim and tensor.shape[0]}

    def ignores_from(self, start: int) -> bool:
        """Whether no entry from `start` on, along this dim of any argument, changes what is returned before there."""
        size = self.scene.case.dims[self.dim]

        def ends(value: torch.Tensor) -> list[torch.Tensor]:
            return [value.narrow(axis, start, size - start) for axis in range(value.ndim) if value.shape[axis] == size]

        def changed(_: str, value: object) -> object:
            if not isinstance(value, torch.Tensor) or not value.is_floating_point() or not ends(value):
                return value
            other = value.clone()
            for end in ends(other):
                end.mul_(-2.0)
            return other

        outputs = self.scene.launch(self.scene.arguments.map(changed))
        return outputs is not None and all(
            torch.equal(_before(output, start, size), _before(outputs[name], start, size))
            for name, output in self.scene.outputs.items()
        )

    @property
    def lasting(self) -> bool:
        """It keeps failing at the case's size, and keeps being right at the nearest one where it was."""
        size = self.scene.case.dims[self.dim]
        nearest = min((n for n, known in self._known.items() if known), key=lambda n: abs(n - size))
        return told_apart(self.scene, self._failure, self.scene.arguments_at({self.dim: nearest}))

    @property
    def tried(self) -> str:
        """Sizes and their verdicts, for the evidence."""
        told = {True: "passes", False: "fails"}
        return ", ".join(f"{size} {told[known]}" for size, known in sorted(self._known.items()) if known is not None)


def _multiples(search: _Search, failure: Failure, size: int) -> Clue | None:
    """The smallest V whose multiples pass while their neighbours fail."""
    for width in WIDTHS:
        if size % width == 0 or search.right_off(width):
            continue
        above = size + (-size % width)
        if search.passes(above) is not True or search.passes(above + width) is not True:
            continue
        neighbours = [n for n in (above + 1, above - 1, above + width + 1, above + width - 1) if n % width]
        verdicts = [search.passes(n) for n in neighbours if n > 0]
        if verdicts and all(verdict is False for verdict in verdicts):
            wrong = {size, *neighbours}
            right, odd = f"a multiple of {width}", above + 2 * width
            if _is_power(above) and _is_power(above + width) and search.passes(odd) is False:
                right, wrong = "a power of two", {*wrong, odd}
            return failure.clue(
                RULE,
                Cause.TAIL_MASK,
                0.95,
                f"right where {search.dim} is {right} ({above}, {above + width}), wrong at "
                f"{', '.join(map(str, sorted(wrong)))}",
                {"dim": search.dim, "width": width, "sizes": search.tried},
            )
    return None


def _before(value: torch.Tensor, start: int, size: int) -> torch.Tensor:
    """The entries before `start` along every axis of that size; NaN as a number."""
    for axis in range(value.ndim):
        if value.shape[axis] == size:
            value = value.narrow(axis, 0, start)
    return torch.nan_to_num(value.double())


def _is_power(size: int) -> bool:
    return size & (size - 1) == 0


def _limits(search: _Search, failure: Failure, size: int) -> Clue | None:
    low = _passing_below(search, size)
    if low is not None:
        return _upper(search, failure, low, size)
    high = _passing_above(search, size)
    return None if high is None else _lower(search, failure, size, high)


def _passing_below(search: _Search, size: int) -> int | None:
    while size > 1 and not search.scene.expired:
        size //= 2
        if search.passes(size):
            return size
    return None


def _passing_above(search: _Search, size: int) -> int | None:
    for factor in (2, 4, 8):
        if size * factor * _elements_each(search.scene, size) <= MOST_ELEMENTS and search.passes(size * factor):
            return size * factor
    return None


def _elements_each(scene: Scene, size: int) -> int:
    counts = [value.numel() for value in scene.arguments.values if isinstance(value, torch.Tensor)]
    return max(counts, default=1) // max(1, size) + 1


def _between(search: _Search, right: int, wrong: int) -> tuple[int, int] | None:
    """Neighbouring sizes, one right and one wrong, by bisection; None when it ends undecided."""
    while abs(right - wrong) > 1:
        middle = (right + wrong) // 2
        verdict = search.passes(middle)
        if verdict is None:
            return None
        right, wrong = (middle, wrong) if verdict else (right, middle)
    return right, wrong


def _upper(search: _Search, failure: Failure, low: int, size: int) -> Clue | None:
    found = _between(search, low, size)
    if found is None:
        return None
    right, wrong = found
    evidence: dict[str, EvidenceValue] = {
        "dim": search.dim,
        "largest_right": right,
        "smallest_wrong": wrong,
        "sizes": search.tried,
    }
    overflow = _overflow(search, right, wrong)
    if overflow is not None:
        sure, words, bits = overflow
        statement = f"right up to {search.dim} = {right} and wrong from {wrong} on: {words}"
        return failure.clue(RULE, Cause.INDEX_OVERFLOW, sure, statement, {**evidence, "bits": bits})
    if right >= 16 and _is_power(right):
        where = f"right up to {search.dim} = {right} and wrong from {wrong} on"
        if search.ignores_from(right):
            words = f"{where}: one block of {right} is all that is done"
            return failure.clue(RULE, Cause.TAIL_MASK, 0.8, words, evidence)
        words = f"{where}: the results of blocks of {right} are put together wrongly"
        return failure.clue(RULE, Cause.WRONG_DEFAULT, 0.8, words, evidence)
    return None


def _overflow(search: _Search, right: int, wrong: int) -> tuple[float, str, int] | None:
    """How sure, why and in how many bits an offset ends between two sizes; None where none does."""
    inside, outside = search.offsets(right), search.offsets(wrong)
    for bits in INDEX_BITS:
        limit = 1 << bits
        if limit in inside and any(count > limit for count in outside) and right >= 4:
            kept = bits + 1 if bits in (15, 31) else bits
            return 0.94, f"a tensor has 2^{bits} elements there, and an offset does not fit {kept} bits", bits
    for row in sorted(search.rows()):
        bits = next((bits for bits in STRICT_BITS if row > 1 and right * row == 1 << bits), 0)
        if bits:
            return 0.8, f"{right} rows of {row} are 2^{bits} elements, where an offset ends", bits
    return None


def _is_gross(failure: Failure) -> bool:
    """Beyond what another order or precision of a sum changes."""
    error, size = failure.error.abs()[failure.bad], failure.expected.double().abs()[failure.bad]
    return bool((error > GROSS * size).double().mean() > 0.5)


def _lower(search: _Search, failure: Failure, size: int, high: int) -> Clue | None:
    """Wrong only where the dim is small: another path is taken there. A batch that changes a sum changes its order."""
    if failure.kind not in SUMMING or size not in failure.actual.shape or _is_gross(failure):
        return None
    found = _between(search, high, size)
    if found is None or found[1] < 2:  # at 1 there is nothing to sum, whatever runs along it
        return None
    right, wrong = found
    return failure.clue(
        RULE,
        Cause.ACCUMULATION_ORDER,
        0.9,
        f"right from {search.dim} = {right} on, wrong up to {wrong}, though no sum runs along it: small batches are "
        "summed in another order or precision",
        {"dim": search.dim, "smallest_right": right, "largest_wrong": wrong, "sizes": search.tried},
    )

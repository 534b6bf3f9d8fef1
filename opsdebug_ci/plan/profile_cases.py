"""Which cases of an operator are profiled, and around which of them cliffs are looked for.

Decides sizes, layouts and values. One dtype, the everyday layout and values are shown: its own sizes and, where those
are small, the same ones grown. Around the largest of them: sweeps of single dims, neighbouring sizes, other layouts and
other values. An operator whose inputs come from a callable is called at its own sizes and smaller ones only, since
nobody said that it can make larger ones. Deliberately measures nothing.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import product

from opsdebug_ci.errors import UsageError
from opsdebug_ci.model.case import Case
from opsdebug_ci.model.description import OperatorDescription
from opsdebug_ci.model.dims import parse_shape
from opsdebug_ci.model.vocabulary import Family, Layout
from opsdebug_ci.plan.axes import Axes
from opsdebug_ci.plan.choices import MISMATCH_STEP, families_of, layouts_of, mismatch
from opsdebug_ci.plan.sizes import WORK_LIMIT, grown, largest_tensor

GROWN_ELEMENTS = 2**20
"""Elements of the largest tensor of grown sizes: 4 MiB of float32, beyond a core's own caches."""

SEARCH_ELEMENTS = 2**18
"""The same of cases in which cliffs are looked for: 1 MiB of float32 takes some 0.1 ms, so that a multiple of it
shows, and two dozen such cases are made and timed in a few seconds."""

POINTS = 5
"""Sizes of a sweep, each twice the one before: three steps to judge, and one below in which the fixed cost shows."""

SWEPT_DIMS = 3
"""Dims that are swept, the largest first."""

NEIGHBOUR_DIMS = 2
"""Dims whose neighbouring sizes are tried, the innermost first."""

LAYOUTS = (Layout.TRANSPOSED, Layout.STRIDED, Layout.PADDED)
"""Layouts on which slow paths are looked for: other order, gaps between elements, gaps between rows."""

FAMILIES = (Family.SUBNORMAL, Family.SPECIALS, Family.SIGNED_ZEROS)
"""Values on which they are: subnormal, NaN and infinite, zero."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SizeCases:
    """Cases that differ in one dim, smallest first."""

    dim: str
    """Which."""

    cases: tuple[Case, ...]
    """At least two."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ProfileCases:
    """Everything that is timed of one operator on one device."""

    entries: tuple[Case, ...]
    """What is shown; at least one."""

    around: Case
    """What the others differ from: the last entry, or the same at a size between its own and the grown one."""

    sweeps: tuple[SizeCases, ...] = ()
    """Sizes that double."""

    neighbours: tuple[SizeCases, ...] = ()
    """Sizes that differ by one or two."""

    layouts: tuple[Case, ...] = ()
    """The same in other layouts."""

    families: tuple[Case, ...] = ()
    """The same with other values."""

    own_values: bool = False
    """A callable makes the values, so they can only be tamed."""

    downward: bool = False
    """Sizes are those of the entry and smaller ones."""

    @property
    def base(self) -> Case:
        """The last entry."""
        return self.entries[-1]


def profile_cases(description: OperatorDescription, axes: Axes, device: str) -> ProfileCases:
    """The cases of one operator on one device it supports.

    Args:
        description: the operator.
        axes: values fixed by hand: all of them are entries, and nothing else is tried on that axis; given dims are
            swept from below.
        device: where.

    Raises:
        UsageError: `axes` has a value the operator does not have.
    """
    problem = mismatch(description, axes)
    if problem:
        raise UsageError(f"operator `{description.name}`: {problem}", next_step=MISMATCH_STEP)
    entries = _entries(description, axes, device)
    around = replace(entries[-1], dims=_sizes(description, axes, SEARCH_ELEMENTS)[-1])
    upward = not (description.own_inputs or axes.dims)
    varying = tuple(name for name in description.dims if description.own_inputs or name not in description.fixed_dims)
    shown = _in_tensors(description, varying)
    return ProfileCases(
        entries=entries,
        around=around,
        sweeps=tuple(_sweeps(description, around, shown, upward=upward)),
        neighbours=tuple(_neighbours(around, shown, upward=upward)),
        layouts=() if axes.layouts else tuple(_in_layouts(description, around)),
        families=() if axes.families else tuple(_in_families(description, around)),
        own_values=description.own_inputs,
        downward=not upward,
    )


def _entries(description: OperatorDescription, axes: Axes, device: str) -> tuple[Case, ...]:
    layouts, dtypes = layouts_of(description), axes.dtypes or description.dtypes[:1]
    everyday = Layout.CONTIGUOUS if Layout.CONTIGUOUS in layouts else layouts[0]
    return tuple(
        Case(
            operator=description.name,
            dims=dims,
            dtype=dtype,
            layout=layout,
            inputs=family,
            seed=next(iter(axes.seeds), 0),
            device=device,
        )
        for dtype, dims, layout in product(
            dtypes, _sizes(description, axes, GROWN_ELEMENTS), axes.layouts or (everyday,)
        )
        for family in axes.families or families_of(description, dtype)[:1]
    )


def _sizes(description: OperatorDescription, axes: Axes, elements: int) -> tuple[dict[str, int], ...]:
    own = {**description.dims, **axes.dims}
    shapes = tuple(parse_shape(tensor.shape) for tensor in description.tensors)
    varying = _in_tensors(description, tuple(name for name in own if name not in description.fixed_dims))
    if axes.dims or not shapes or not varying or 0 in own.values():
        return (own,)
    larger = grown(own, varying, shapes, elements)
    return (own,) if larger == own else (own, larger)


def _in_tensors(description: OperatorDescription, names: tuple[str, ...]) -> tuple[str, ...]:
    """Those of `names` that are in the shape of a declared tensor; all where none is declared."""
    if not description.tensors:
        return names
    used = {name for tensor in description.tensors for dim in parse_shape(tensor.shape) for name in dim.names}
    return tuple(name for name in names if name in used)


def _sweeps(description: OperatorDescription, base: Case, dims: Sequence[str], *, upward: bool) -> list[SizeCases]:
    """Single dims at doubling sizes; upward from the operator's own sizes as far as tensors stay small."""
    start = dict(description.dims) if upward else dict(base.dims)
    found = []
    for dim in sorted(dims, key=lambda name: -start[name])[:SWEPT_DIMS]:
        top = _top(description, start, dim) if upward else start[dim]
        sizes = sorted({top >> halvings for halvings in range(POINTS)} - {0})
        if len(sizes) > 1:
            cases = tuple(replace(base, dims={**start, dim: size}) for size in sizes)
            found.append(SizeCases(dim=dim, cases=cases))
    return found


def _top(description: OperatorDescription, own: dict[str, int], dim: str) -> int:
    """The largest size of `dim`, the others at their own, at which tensors stay small."""
    shapes = tuple(parse_shape(tensor.shape) for tensor in description.tensors)
    size = own[dim]
    while size and size < 2 * SEARCH_ELEMENTS:
        larger = {**own, dim: 2 * size}
        if largest_tensor(larger, shapes) > SEARCH_ELEMENTS or math.prod(larger.values()) > WORK_LIMIT:
            break
        size *= 2
    return size


def _neighbours(base: Case, dims: Sequence[str], *, upward: bool) -> list[SizeCases]:
    """Sizes around the base's, and around the power of two below it, where strides fall onto each other in caches."""
    found = []
    for dim in list(dims)[::-1][:NEIGHBOUR_DIMS]:
        size = base.dims[dim]
        power = 1 << max(size.bit_length() - 1, 0)
        around = (size - 1, size, size + 1) if upward else (size - 2, size - 1, size)
        for sizes in dict.fromkeys((around, (power - 1, power) if power != size else around)):
            kept = [one for one in sizes if one > 0]
            if len(kept) > 1:
                cases = tuple(replace(base, dims={**base.dims, dim: one}) for one in kept)
                found.append(SizeCases(dim=dim, cases=cases))
    return found


def _in_layouts(description: OperatorDescription, base: Case) -> list[Case]:
    offered = layouts_of(description)
    return [replace(base, layout=layout) for layout in LAYOUTS if layout in offered and layout is not base.layout]


def _in_families(description: OperatorDescription, base: Case) -> list[Case]:
    offered = families_of(description, base.dtype)
    return [replace(base, inputs=family) for family in FAMILIES if family in offered and family is not base.inputs]

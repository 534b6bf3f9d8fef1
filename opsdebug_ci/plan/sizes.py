"""Dims worth trying for one operator: its own sizes, then each dim at the sizes where kernels break.

Decides sizes and keeps tensors small. Deliberately varies one dim at a time: a failing tail then has one suspect,
and the few variants in which all dims change together are there for masks that only fail in company.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from opsdebug_ci.model.description import OperatorDescription
from opsdebug_ci.model.dims import BLOCK_SIZES, TAIL_SIZES, DimExpression, parse_shape

Dims = Mapping[str, int]


@dataclass(frozen=True, slots=True, kw_only=True)
class SizePlan:
    """Which sizes a stage tries."""

    inner: tuple[int, ...]
    """For every dim that lies innermost in memory, where vector and block masks live."""

    dealt: tuple[int, ...]
    """For the innermost dims too, but dealt out among them in turn, so that many of them need no more variants."""

    outer: tuple[int, ...]
    """For every other dim."""

    powers: bool
    """Also try the powers of two beside each dim's own size: kernels are chosen by them from a table."""

    joint: tuple[int, ...]
    """For all dims at once."""

    elements: int
    """Most elements a tensor of a variant may have."""

    grow: bool
    """Also try the operator's own sizes doubled as often as the limits allow."""


WORK_LIMIT = 2**24
"""Largest product of all dims in a grown variant: what a textbook loop over every dim can still do in seconds."""

SMOKE_SIZES = SizePlan(
    inner=(0, 1, 3, 7, 17, 33, 65, 129),
    # In an order that gives each of two or three dims sizes below, on and above a border; 131 = 2 * 64 + 3
    dealt=(2, 9, 15, 8, 32, 31, 63, 64, 16, 127, 131, 259),
    outer=(0, 1, 5, 33),
    powers=True,
    joint=(1, 17),
    elements=2**16,
    grow=False,
)
"""Both neighbours of every vector width and block size up to 128, and rows of two blocks and three more."""

FULL_SIZES = SizePlan(
    # 515 = 2 * 256 + 3 and the rest around 1024 and 2 * 1024: tiles of large kernels
    inner=(0, *TAIL_SIZES, *BLOCK_SIZES, 515, 1023, 1024, 1025, 2051),
    dealt=(),
    outer=(0, *TAIL_SIZES, *BLOCK_SIZES, 515),
    powers=True,
    joint=(0, 1, 2, 3, 5, 9, 17, 33),
    elements=2**22,
    grow=True,
)
"""Every size of those neighbourhoods, the blocks of large kernels, and large inputs."""


def dims_variants(description: OperatorDescription, plan: SizePlan) -> tuple[dict[str, int], ...]:
    """Every choice of dims to run, the operator's own first, without repeats.

    Only dims in the shape of some tensor vary: the others are parameters, and so are `fixed_dims`. Where one size
    would make a tensor too large, the other dims are halved until it fits; a variant that cannot fit is left out.
    """
    own = dict(description.dims)
    if description.own_inputs:
        return (own,)
    shapes = tuple(parse_shape(tensor.shape) for tensor in description.tensors)
    used = tuple(dict.fromkeys(name for shape in shapes for dim in shape for name in dim.names))
    varying = tuple(name for name in used if name not in description.fixed_dims)
    distinct: dict[tuple[tuple[str, int], ...], dict[str, int]] = {}
    for variant in (own, *_wanted(own, varying, shapes, plan)):
        distinct.setdefault(tuple(variant.items()), variant)
    return tuple(distinct.values())


Shapes = tuple[tuple[DimExpression, ...], ...]


def _wanted(own: Dims, varying: tuple[str, ...], shapes: Shapes, plan: SizePlan) -> Iterator[dict[str, int]]:
    innermost = [name for name in varying if any(name in shape[-1].names for shape in shapes if shape)]
    for name in varying:
        dealt = plan.dealt[innermost.index(name) :: len(innermost)] if name in innermost else ()
        sizes = (*plan.inner, *dealt) if name in innermost else plan.outer
        for size in (*sizes, *(powers_beside(own[name]) if plan.powers else ())):
            others = tuple(other for other in varying if other != name)
            yield from _fitted({**own, name: size}, others, shapes, plan.elements)
    for size in plan.joint if len(varying) > 1 else ():
        yield from _fitted({**own, **dict.fromkeys(varying, size)}, (), shapes, plan.elements)
    if plan.grow and varying:
        yield grown(own, varying, shapes, plan.elements)


def powers_beside(size: int) -> tuple[int, ...]:
    """The largest power of two below `size`, where there is one, and the smallest above."""
    return (*([1 << ((size - 1).bit_length() - 1)] if size > 1 else []), 1 << size.bit_length())


def _fitted(dims: dict[str, int], halvable: tuple[str, ...], shapes: Shapes, limit: int) -> Iterator[dict[str, int]]:
    """`dims` with the largest of `halvable` halved until every tensor fits; nothing when that is not enough."""
    while largest_tensor(dims, shapes) > limit:
        halved = max(halvable, key=lambda name: dims[name], default=None)
        if halved is None or dims[halved] <= 1:
            return
        dims = {**dims, halved: dims[halved] // 2}
    yield dims


def grown(own: Dims, varying: tuple[str, ...], shapes: Shapes, limit: int) -> dict[str, int]:
    """`own` with all of `varying` doubled as often as no tensor has more than `limit` elements by it."""
    dims = dict(own)
    while True:
        larger = {**dims, **{name: 2 * dims[name] for name in varying}}
        too_large = largest_tensor(larger, shapes) > limit or math.prod(larger.values()) > WORK_LIMIT
        if too_large or larger == dims:
            return dims
        dims = larger


def work(dims: Dims) -> int:
    """How much there is to do at these sizes: the product of all dims, an empty one counted as 1."""
    return math.prod(max(size, 1) for size in dims.values())


def largest_tensor(dims: Dims, shapes: Shapes) -> int:
    """Elements of the largest tensor; 0 when there is none."""
    return max((math.prod(dim.size(dims) for dim in shape) for shape in shapes), default=0)


def is_hollow(description: OperatorDescription, dims: Dims) -> bool:
    """Whether some declared tensor has no elements."""
    shapes = (parse_shape(tensor.shape) for tensor in description.tensors)
    return any(math.prod(dim.size(dims) for dim in shape) == 0 for shape in shapes)

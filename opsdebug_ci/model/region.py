"""A region of a tensor: one stretch of indices per axis, as typed in `--range`.

Decides how it is written, and what it is in a tensor of a given shape. Deliberately holds no values.
"""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from dataclasses import dataclass

from opsdebug_ci.errors import UsageError

EXAMPLE = '"[16, 70, 100..110]"'
"""A region as one writes it."""

_ENTRY = re.compile(r"(?P<first>[+-]?\d{1,18})(?:\s*\.\.\s*(?P<last>[+-]?\d{1,18}))?")


@dataclass(frozen=True, slots=True, kw_only=True)
class Span:
    """A stretch of indices along one axis; negative ones count from its end."""

    first: int
    """First index of it."""

    last: int
    """Last index of it, which belongs to it."""

    @property
    def length(self) -> int:
        """Indices in it, when both ends count from the start."""
        return self.last - self.first + 1


WHOLE_AXIS = Span(first=0, last=-1)
"""What `*` stands for."""

Region = tuple[Span, ...]
"""One stretch per axis."""


def parse_region(text: str) -> Region:
    """`[16, 70, 100..110]` as one stretch per axis: `i`, `a..b` with both ends, or `*`; the brackets may be left out.

    Raises:
        UsageError: an entry is none of these.
    """
    inner = text.strip()
    if inner.startswith("[") and inner.endswith("]"):
        inner = inner[1:-1].strip()
    return tuple(_span(entry.strip()) for entry in inner.split(",")) if inner else ()


def resolve(region: Region, shape: Sequence[int], what: str) -> Region:
    """`region` in a tensor of `shape`, every index counted from the start.

    Args:
        region: one stretch per axis.
        shape: sizes.
        what: whose shape it is, for the message.

    Raises:
        UsageError: the number of axes differs, an index lies outside, or nothing lies inside; names the shape.
    """
    whose = f"{what}, which has shape {list(shape)}"
    if len(region) != len(shape):
        entries = "1 entry" if len(region) == 1 else f"{len(region)} entries"
        wanted = "1 axis" if len(shape) == 1 else f"{len(shape)} axes"
        raise UsageError(
            f"`--range` has {entries}; wanted one for each of the {wanted} of {whose}",
            next_step=f'write e.g. --range "{region_text((WHOLE_AXIS,) * len(shape))}"',
        )
    if 0 in shape:
        raise UsageError(f"`--range` selects from {whose}: there are no elements", next_step="pass larger --dims")
    return tuple(
        _resolved(span, size, axis, whose) for axis, (span, size) in enumerate(zip(region, shape, strict=True))
    )


def admits(region: Region, shape: Sequence[int]) -> bool:
    """Whether `resolve` would find something."""
    try:
        resolve(region, shape, "it")
    except UsageError:
        return False
    return True


def region_text(region: Region) -> str:
    """As it is typed: `[16, *, 100..110]`."""
    return f"[{', '.join(map(_span_text, region))}]"


def region_size(region: Region) -> int:
    """Elements of a resolved region."""
    return math.prod(span.length for span in region)


def _span(entry: str) -> Span:
    if entry == "*":
        return WHOLE_AXIS
    found = _ENTRY.fullmatch(entry)
    if found is None:
        raise UsageError(
            f"`--range` has `{entry}`; wanted an index `i`, a stretch `a..b` with both ends, or `*`, one for each axis",
            next_step=f"write e.g. --range {EXAMPLE}",
        )
    first = int(found["first"])
    return Span(first=first, last=first if found["last"] is None else int(found["last"]))


def _resolved(span: Span, size: int, axis: int, whose: str) -> Span:
    first, last = (index + size if index < 0 else index for index in (span.first, span.last))
    if 0 <= first <= last < size:
        return Span(first=first, last=last)
    raise UsageError(
        f"`--range` has `{_span_text(span)}` for axis {axis} of {whose}; wanted indices from 0 to {size - 1}, "
        "the smaller one first",
        next_step=f"negative indices count from the end: {-size} to -1",
    )


def _span_text(span: Span) -> str:
    if span == WHOLE_AXIS:
        return "*"
    return str(span.first) if span.first == span.last else f"{span.first}..{span.last}"

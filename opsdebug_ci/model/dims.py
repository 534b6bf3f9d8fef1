"""Symbolic dimensions: `B S H`, `N+1`, `2*H`, `3`; and the sizes worth trying.

Decides how a shape string becomes numbers. Deliberately supports only sums and products of names and whole numbers,
so that a shape can always be evaluated and never runs code.
"""

from __future__ import annotations

import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from opsdebug_ci.errors import DeclarationError

DEFAULT_DIMS: dict[str, int] = {"B": 1, "S": 128, "H": 128}
"""Sizes of the dims an operator does not bind itself."""

FALLBACK_SIZE = 16
"""Size of a named dim that neither the operator nor `DEFAULT_DIMS` binds."""

TAIL_SIZES: tuple[int, ...] = (1, 2, 3, 4, 5, 7, 8, 9, 15, 16, 17, 31, 32, 33)
"""Around the vector widths 4, 8, 16, 32: where a lane mask is wrong."""

BLOCK_SIZES: tuple[int, ...] = (63, 64, 65, 127, 128, 129, 255, 256, 257)
"""Around the block sizes 64, 128, 256: where a tile mask is wrong."""

LARGEST_INTERMEDIATE = 1 << 18
"""Elements that defaults give at most to a tensor whose innermost dim is exchanged for its largest: the scores of an
attention."""

_TERM = re.compile(r"^(?:(\d+)\*)?([A-Za-z_][A-Za-z0-9_]*)$|^(\d+)$")


@dataclass(frozen=True, slots=True, kw_only=True)
class Term:
    """One summand of a dim expression: `coefficient * name`, or a constant when `name` is empty."""

    coefficient: int
    """Whole-number factor; may be negative."""

    name: str
    """Dim name, or `""` for a constant."""


@dataclass(frozen=True, slots=True, kw_only=True)
class DimExpression:
    """A sum of terms, e.g. `N+1` or `2*H`."""

    text: str
    """As written."""

    terms: tuple[Term, ...]
    """Summands in order."""

    @property
    def names(self) -> tuple[str, ...]:
        """Names in the expression, in order of appearance."""
        return tuple(term.name for term in self.terms if term.name)

    def size(self, dims: Mapping[str, int]) -> int:
        """Evaluate for `dims`; raises KeyError for an unbound name. Negative results count as 0."""
        return max(0, sum(term.coefficient * (dims[term.name] if term.name else 1) for term in self.terms))


def parse_dim(text: str) -> DimExpression:
    """Parse one dim. Raises DeclarationError with what was found and what is allowed."""
    pieces = re.split(r"(?=[+-])", text)
    return DimExpression(text=text, terms=tuple(_term(piece, text) for piece in pieces if piece))


def _term(piece: str, text: str) -> Term:
    sign = -1 if piece.startswith("-") else 1
    match = _TERM.match(piece.lstrip("+-"))
    if match is None:
        raise DeclarationError(
            f"dim `{text}`: `{piece}` is not a name, a whole number or `number*name`",
            next_step='write shapes like "B S H", "N+1" or "2*H 3"',
        )
    factor, name, constant = match.groups()
    if constant is not None:
        return Term(coefficient=sign * int(constant), name="")
    return Term(coefficient=sign * int(factor or 1), name=name)


def parse_shape(text: str) -> tuple[DimExpression, ...]:
    """Parse a blank-separated shape; the empty string is a zero-dimensional tensor."""
    if not isinstance(text, str):
        raise DeclarationError(
            f"`shape` is {text!r}; wanted blank-separated dims in one string",
            next_step='write shapes like "B S H", "N+1" or "2*H 3"',
        )
    return tuple(parse_dim(piece) for piece in text.split())


def bind(shapes: Sequence[Sequence[DimExpression]], declared: Mapping[str, int]) -> dict[str, int]:
    """Sizes of the dims in `shapes`: the declared ones, else the defaults, of which the outermost are halved until
    nothing is larger than LARGEST_INTERMEDIATE; declared dims without a tensor are kept too."""
    names = dict.fromkeys(name for shape in shapes for dim in shape for name in dim.names)
    bound = {name: declared.get(name, DEFAULT_DIMS.get(name, FALLBACK_SIZE)) for name in names}
    for name in names:
        while (
            name not in declared and bound[name] > FALLBACK_SIZE and _intermediate(bound, shapes) > LARGEST_INTERMEDIATE
        ):
            bound[name] //= 2
    return {**bound, **{name: size for name, size in declared.items() if name not in bound}}


def _intermediate(dims: Mapping[str, int], shapes: Sequence[Sequence[DimExpression]]) -> int:
    sizes = [[dim.size(dims) for dim in shape] for shape in shapes if shape]
    return max((math.prod(shape[:-1]) * max(shape) for shape in sizes), default=0)

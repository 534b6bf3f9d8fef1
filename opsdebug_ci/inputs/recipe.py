"""Everything the values of one tensor may depend on."""

from __future__ import annotations

import math
from dataclasses import dataclass

from opsdebug_ci.inputs.generator import Stream
from opsdebug_ci.model.dtype import FLOAT_FORMATS, INTEGER_FORMATS, FloatFormat, IntegerFormat
from opsdebug_ci.model.vocabulary import Kind, ValueDomain


@dataclass(frozen=True, slots=True, kw_only=True)
class Recipe:
    """Shape, dtype, randomness, kind and domain of one tensor to make."""

    shape: tuple[int, ...]
    """Sizes."""

    dtype: str
    """Framework spelling."""

    stream: Stream
    """The argument's own randomness."""

    kind: Kind
    """What the operator computes; decides how large a value may be."""

    domain: ValueDomain = ValueDomain.ANY
    """What the argument accepts; one that must not be zero divides."""

    derived: bool = False
    """Derivatives are taken: what is formed of the values is a power higher than in the operator itself."""

    @property
    def count(self) -> int:
        """Number of elements."""
        return math.prod(self.shape)

    @property
    def width(self) -> int:
        """Elements of one row, along the last axis; 1 for a zero-dimensional tensor."""
        return self.shape[-1] if self.shape else 1

    @property
    def rows(self) -> int:
        """Number of rows."""
        return math.prod(self.shape[:-1])

    @property
    def float_format(self) -> FloatFormat:
        """Format of the values, when they are floating-point."""
        return FLOAT_FORMATS[self.dtype]

    @property
    def integer_format(self) -> IntegerFormat:
        """Format of the values, when they are integers."""
        return INTEGER_FORMATS[self.dtype]

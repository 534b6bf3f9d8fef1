"""What an operator takes: `tensor(...)`, `scalar(...)` or a plain value.

Decides what can be declared about one argument. Deliberately makes no values: `inputs` on the worker side does.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from opsdebug_ci.errors import DeclarationError
from opsdebug_ci.model.dims import DimExpression, parse_shape
from opsdebug_ci.model.dtype import DTYPE_NAMES
from opsdebug_ci.model.vocabulary import Layout, ValueDomain

DECLARABLE_LAYOUTS: tuple[Layout, ...] = tuple(layout for layout in Layout if layout is not Layout.OWN)
"""Layouts an argument may accept; `own` belongs to input callables."""

ValuesFunction = Callable[..., object]
"""`(seed, dims, args) -> tensor, array or list`: index and state arguments that random values would make invalid."""


@dataclass(frozen=True, slots=True, kw_only=True)
class TensorArgument:
    """A tensor argument."""

    shape: tuple[DimExpression, ...]
    """One expression per axis."""

    dtype: str | None
    """Fixed dtype, or None to follow the case's dtype."""

    layouts: tuple[Layout, ...]
    """Layouts the operator accepts here."""

    values: ValueDomain | ValuesFunction
    """Which values it accepts, or the function that makes them."""

    @property
    def dim_names(self) -> tuple[str, ...]:
        """Names of dims in the shape, in order of appearance."""
        return tuple(dict.fromkeys(name for dim in self.shape for name in dim.names))

    @property
    def shape_text(self) -> str:
        """The shape as declared, e.g. `B S 2*H`."""
        return " ".join(dim.text for dim in self.shape)


@dataclass(frozen=True, slots=True, kw_only=True)
class ScalarArgument:
    """A number derived from dims and the arguments before it."""

    function: Callable[..., object]
    """`(dims, args) -> number`."""


def tensor(
    shape: str, dtype: str | None = None, layouts: str | Sequence[str] = "all", values: str | ValuesFunction = "any"
) -> TensorArgument:
    """Declare a tensor argument.

    Args:
        shape: blank-separated dims, e.g. `"B S H"`, `"N+1"`; `""` is zero-dimensional.
        dtype: fixed dtype (index and state arguments), or None to follow the case.
        layouts: `"all"`, one layout name, or several: what the operator accepts.
        values: `any`, `finite`, `nonzero`, `nonnegative` or `positive`; or `(seed, dims, args) -> values`.

    Raises:
        DeclarationError: a name is not known.
    """
    if dtype is not None and dtype not in DTYPE_NAMES:
        raise DeclarationError(f"`dtype` is `{dtype}`; wanted one of {', '.join(DTYPE_NAMES)}")
    return TensorArgument(shape=parse_shape(shape), dtype=dtype, layouts=_layouts(layouts), values=_values(values))


def scalar(function: Callable[..., object]) -> ScalarArgument:
    """Declare a number derived as `function(dims, args)`, with `args` the arguments made before it, by name."""
    if not callable(function):
        raise DeclarationError(
            f"`scalar` got {function!r}; wanted a function of (dims, args)",
            next_step="pass a plain number without `scalar(...)` when it does not depend on the case",
        )
    return ScalarArgument(function=function)


def _layouts(layouts: str | Sequence[str]) -> tuple[Layout, ...]:
    if layouts == "all":
        return DECLARABLE_LAYOUTS
    names = (layouts,) if isinstance(layouts, str) else tuple(layouts)
    known = {str(layout): layout for layout in DECLARABLE_LAYOUTS}
    unknown = [name for name in names if str(name) not in known]
    if unknown or not names:
        raise DeclarationError(f"`layouts` has {unknown or 'no names'}; wanted `all` or some of {', '.join(known)}")
    return tuple(known[str(name)] for name in names)


def _values(values: str | ValuesFunction) -> ValueDomain | ValuesFunction:
    if not isinstance(values, str):
        if callable(values):
            return values
        raise DeclarationError(f"`values` is {values!r}; wanted a name or a function of (seed, dims, args)")
    known = {str(domain): domain for domain in ValueDomain}
    if str(values) not in known:
        raise DeclarationError(f"`values` is `{values}`; wanted one of {', '.join(known)} or a function")
    return known[str(values)]

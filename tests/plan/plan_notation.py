"""A small notation for operator descriptions: `described("gelu(x: B S H, r: B S H int32)", B=1)`."""

from __future__ import annotations

from opsdebug_ci.model import Contract, Kind, OperatorDescription, ReferenceKind, TensorDescription, ValueDomain
from opsdebug_ci.model.argument import DECLARABLE_LAYOUTS
from opsdebug_ci.model.dims import bind, parse_shape
from opsdebug_ci.model.dtype import DTYPE_NAMES
from opsdebug_ci.model.vocabulary import Layout


def described(
    text: str,
    *,
    dtypes: tuple[str, ...] = ("float32",),
    layouts: tuple[Layout, ...] = DECLARABLE_LAYOUTS,
    values: ValueDomain | None = ValueDomain.ANY,
    nan: str = "propagate",
    fixed: tuple[str, ...] = (),
    own_inputs: bool = False,
    lists: bool = False,
    devices: tuple[str, ...] = ("cpu",),
    source_files: tuple[str, ...] = (),
    **dims: int,
) -> OperatorDescription:
    """A description; a last word of an argument that names a dtype fixes it."""
    name, _, arguments = text.rstrip(")").partition("(")
    tensors = tuple(_tensor(item, layouts, values) for item in arguments.split(",") if item.strip())
    return OperatorDescription(
        name=name,
        kind=Kind.AUTO,
        dtypes=dtypes,
        dims=bind([parse_shape(tensor.shape) for tensor in tensors], dims),
        fixed_dims=fixed,
        tensors=tensors,
        own_inputs=own_inputs,
        lists=lists,
        references=tuple(ReferenceKind),
        devices=devices,
        contract=Contract(nan=nan),
        has_cost=False,
        module="kernels.py",
        source_file=source_files[0] if source_files else None,
        source_line=1 if source_files else None,
        source_files=source_files,
    )


def _tensor(text: str, layouts: tuple[Layout, ...], values: ValueDomain | None) -> TensorDescription:
    name, _, shape = text.partition(":")
    words = shape.split()
    dtype = words.pop() if words and words[-1] in DTYPE_NAMES else None
    return TensorDescription(name=name.strip(), shape=" ".join(words), dtype=dtype, layouts=layouts, values=values)

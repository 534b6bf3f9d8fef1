"""Running a torch reference in float64, whatever precision it was written for.

Decides how casts inside a reference are read: a cast to float16, bfloat16 or float32 is an implementation detail of
working precision and is lifted to float64; casts to integers, bool and float8 are meaning and stay. A Python number is
float64 only in writing: where it meets a working precision it is rounded to float32, which is what torch computes with.
Random numbers are drawn as written and then lifted: another format would take others from the generator.
Deliberately does not judge whether lifting is sensible for an operator: `quantize` kinds never come here.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, Protocol

import torch
from torch.utils._python_dispatch import TorchDispatchMode

from opsdebug_ci.errors import ReferenceFaultError

LIFTED_DTYPES = {
    torch.float16: torch.float64,
    torch.bfloat16: torch.float64,
    torch.float32: torch.float64,
    torch.complex32: torch.complex128,
    torch.complex64: torch.complex128,
}
"""Working precisions and what they become; every other dtype is left alone."""


_CONSTANT = torch.float32
"""Format in which torch computes with a Python number that meets one of LIFTED_DTYPES (its `opmath` type)."""

_NARROW_MARK = "opsdebug_was_narrow"
"""Attribute of a tensor that `widen` made out of a narrower one: the dtype it had."""


_DRAWN_WHERE = frozenset({"rand", "randn", "rand_like", "randn_like"})
"""Calls that make random numbers in the default dtype or in that of their argument, by name."""

_DRAWN_INTO = frozenset({"cauchy_", "exponential_", "log_normal_", "normal_", "uniform_"})
"""Calls that fill their first argument with random numbers of its dtype."""


_UNDECLARED_WRITES = {"native_batch_norm": (3, 4)}
"""Arguments a call writes although its schema does not say so: running statistics."""


class NodeObserver(Protocol):
    """Sees every ATen call of a lifted run, with its arguments as they were before, and may replace its result."""

    def __call__(self, func: Any, args: tuple[Any, ...], kwargs: dict[str, Any], result: Any) -> Any: ...


class LiftedMode(TorchDispatchMode):  # type: ignore[no-untyped-call]  # torch types its metaclass hook partly
    """Dispatch mode that replaces working precisions by float64 in every ATen call below autograd."""

    def __init__(self, observer: NodeObserver | None = None, written_for: torch.dtype = torch.float32) -> None:
        """Args: who is shown every call; the default dtype the block was written for."""
        super().__init__()  # type: ignore[no-untyped-call]  # as above
        self._observer = observer
        self._narrow: torch.dtype | None = None
        self._written_for = written_for

    @classmethod
    def _should_skip_dynamo(cls) -> bool:
        # NOTE: True makes torch import its compiler at the first call, 1.5 s that the first case would be charged for.
        return False

    def __torch_dispatch__(
        self, func: Any, types: Any, args: tuple[Any, ...] = (), kwargs: dict[str, Any] | None = None
    ) -> Any:
        if func is torch.ops.aten.view.dtype and args[0].is_floating_point():
            raise ReferenceFaultError("the torch reference reinterprets float bits, so it means nothing in float64")
        # Everything computed from a widened argument had its precision; one such argument speaks for the whole run.
        self._narrow = self._narrow or next((getattr(v, _NARROW_MARK) for v in args if hasattr(v, _NARROW_MARK)), None)
        if self._narrow:
            args = _mapped(_rounded_constant, args)
        if func.overloadpacket.__name__ in _DRAWN_WHERE | _DRAWN_INTO:
            result = _lift(_drawn(func, self._narrow or self._written_for, args, kwargs or {}))
            return result if self._observer is None else self._observer(func, args, kwargs or {}, result)
        wide = {name: _mapped(_lift_dtype, value) for name, value in (kwargs or {}).items()}
        if _writes(func):
            before = args if self._observer is None else _copied_where_written(func, args)
            written = _mapped(_lift_dtype, args)
            result = func(*written, **wide)
            if self._observer is None or isinstance(result, torch.Tensor):
                return result if self._observer is None else self._observer(func, before, wide, result)
            return self._observed_with_state(func, before, written, wide, result)
        # A constant the reference holds in a working precision meets float64 arguments.
        before = _mapped(_lift, args)
        result = _mapped(_lift, func(*before, **wide))
        return result if self._observer is None else self._observer(func, before, wide, result)

    def _observed_with_state(
        self, func: Any, before: tuple[Any, ...], written: tuple[Any, ...], kwargs: dict[str, Any], result: Any
    ) -> Any:
        """A call that returns results and updates arguments besides (running statistics): they count as results too."""
        results = result if isinstance(result, (tuple, list)) else ()
        state = [v for v, w in zip(written, _written(func, written), strict=True) if w and isinstance(v, torch.Tensor)]
        observed = self._observer(func, before, kwargs, (*results, *state)) if self._observer else ()
        # An observer that alters the results may know nothing of the state, and then leaves it.
        for value, seen in zip(state, observed[len(results) :], strict=False):
            if seen is not value:
                value.copy_(seen)
        return type(result)(observed[: len(results)]) if results else result


class ObservedMode(TorchDispatchMode):  # type: ignore[no-untyped-call]  # torch types its metaclass hook partly
    """Dispatch mode that shows every ATen call below autograd to an observer, at the precision it is written for."""

    def __init__(self, observer: NodeObserver | None) -> None:
        super().__init__()  # type: ignore[no-untyped-call]  # as above
        self._observer = observer

    @classmethod
    def _should_skip_dynamo(cls) -> bool:
        return False  # NOTE: as in LiftedMode

    def __torch_dispatch__(
        self, func: Any, types: Any, args: tuple[Any, ...] = (), kwargs: dict[str, Any] | None = None
    ) -> Any:
        before = _copied_where_written(func, args) if _writes(func) and self._observer is not None else args
        result = func(*args, **(kwargs or {}))
        return result if self._observer is None else self._observer(func, before, kwargs or {}, result)


@contextmanager
def lifted(observer: NodeObserver | None = None) -> Iterator[None]:
    """Run the block with float64 as default dtype, lifted casts, and fused attention written out.

    Attention is taken apart (math backend) so that each of its steps is visible to `observer`.
    """
    default = torch.get_default_dtype()
    mode = LiftedMode(observer, default)
    torch.set_default_dtype(torch.float64)
    try:
        with torch.no_grad(), torch.nn.attention.sdpa_kernel(torch.nn.attention.SDPBackend.MATH), mode:
            yield
    finally:
        torch.set_default_dtype(default)


def widen(value: Any) -> Any:
    """`value` in float64 (complex128) when it is a tensor of a narrower float (complex) dtype, else itself.

    Widening is exact. The strides are kept, gaps and repeated elements included, so that a reference meets the same
    view.
    """
    if not isinstance(value, torch.Tensor) or not (value.is_floating_point() or value.is_complex()):
        return value
    dtype = torch.complex128 if value.is_complex() else torch.float64
    if value.dtype is dtype:
        return value.detach()
    if value.numel() == 0 and value.layout is torch.strided:
        return torch.empty_strided(value.shape, value.stride(), dtype=dtype, device=value.device)
    wide = _widened(value, dtype) if value.layout is torch.strided else value.detach().to(dtype)
    setattr(wide, _NARROW_MARK, value.dtype)  # NOTE: read by LiftedMode, the only thing between here and the reference
    return wide


def _widened(value: torch.Tensor, dtype: torch.dtype) -> torch.Tensor:
    span = 1 + sum((size - 1) * stride for size, stride in zip(value.shape, value.stride(), strict=True))
    covered = value.detach().as_strided((span,), (1,), value.storage_offset())
    return covered.to(dtype).as_strided(value.shape, value.stride())


def call_lifted(call: Callable[[], Any], observer: NodeObserver | None = None) -> Any:
    """Result of `call()` in a lifted run. The caller widens the arguments."""
    with lifted(observer):
        return call()


def _drawn(func: Any, narrow: torch.dtype, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """Random numbers of the format they are drawn in where the reference runs as written, `narrow` being its own."""
    name = func.overloadpacket.__name__
    if name in _DRAWN_INTO:
        into = args[0]
        if into.dtype is torch.float64 and narrow is not torch.float64:
            into.copy_(func(torch.empty_like(into, dtype=narrow), *args[1:], **kwargs))
            return into
        return func(*args, **kwargs)
    asked = kwargs.get("dtype") or (args[0].dtype if name.endswith("_like") else torch.float64)
    return func(*args, **{**kwargs, "dtype": narrow if asked is torch.float64 else asked})


def _rounded_constant(value: Any) -> Any:
    """A Python float as float32 has it; itself where that overflows, and anything else as it is.

    The machine epsilon of float64 stands for float32's: `rms_norm` without eps, say, asks the format it computes in.
    """
    if not isinstance(value, float):
        return value
    if value == torch.finfo(torch.float64).eps:
        return torch.finfo(_CONSTANT).eps
    rounded = torch.tensor(value, dtype=_CONSTANT).item()
    return rounded if math.isfinite(rounded) else value


def _lift_dtype(value: Any) -> Any:
    return LIFTED_DTYPES.get(value, value) if isinstance(value, torch.dtype) else value


def _lift(value: Any) -> Any:
    if isinstance(value, torch.Tensor) and value.dtype in LIFTED_DTYPES:
        return value.to(LIFTED_DTYPES[value.dtype])
    return _lift_dtype(value)


def _mapped(change: Callable[[Any], Any], value: Any) -> Any:
    """`change` of every leaf. ATen calls know lists and tuples only, so that a tree of any kind is not looked for."""
    if type(value) in (list, tuple):
        return type(value)(_mapped(change, each) for each in value)
    return change(value)


def _writes(func: Any) -> bool:
    return bool(func._schema.is_mutable) or func.overloadpacket.__name__ in _UNDECLARED_WRITES


def _written(func: Any, args: tuple[Any, ...]) -> list[bool]:
    """Which positional arguments the call writes."""
    undeclared = _UNDECLARED_WRITES.get(func.overloadpacket.__name__, ())
    declared = func._schema.arguments[: len(args)]
    return [argument.is_write or position in undeclared for position, argument in enumerate(declared)]


def _copied_where_written(func: Any, args: tuple[Any, ...]) -> tuple[Any, ...]:
    """Arguments as the observer should see them: an in-place call overwrites its own."""
    return tuple(
        value.clone() if overwritten and isinstance(value, torch.Tensor) else value
        for value, overwritten in zip(args, _written(func, args), strict=True)
    )

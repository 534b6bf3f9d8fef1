"""Triton's interpreter, mended until its values are those of a compiled kernel.

The interpreter keeps bfloat16 and float8 as bit patterns in unsigned numpy arrays. It truncates what it converts to
them, computes on the patterns, hands `float` arguments over as Python numbers, reduces element by element in Python,
and has no libdevice. Each mending replaces one thing by the language's own definition, and what it does not find (it
is tried with Triton 3.2 to 3.9) it leaves alone: `unmended` says so.

Deliberately imports no Triton: mends the interpreter when the user's code loads it, and only in this process.
"""

from __future__ import annotations

import dis
import functools
import importlib.util
import math
import sys
from collections.abc import Callable
from functools import partial
from importlib.abc import MetaPathFinder
from importlib.machinery import ModuleSpec
from types import FunctionType, ModuleType, SimpleNamespace
from typing import Any, final

import numpy as np

from opsdebug_ci.errors import EnvironmentLimitError
from opsdebug_ci.numerics.bit_patterns import FLOAT8, decode, encode

INTERPRETER = "triton.runtime.interpreter"
"""Module that is loaded once a kernel is decorated for the interpreter."""

PATTERNS = frozenset({"bf16", *FLOAT8})
"""Formats that the interpreter keeps as bit patterns."""

ROUNDED = (
    *("fadd", "fsub", "fmul", "fdiv", "precise_divf", "approx_divf", "frem", "fneg", "clampf"),
    *("minimumf", "maximumf", "minnumf", "maxnumf", "floor", "ceil", "exp", "exp2", "log", "log2", "sin", "cos"),
    *("sqrt", "precise_sqrt", "rsqrt", "erf"),
)
"""Arithmetic of the interpreter's builder whose result has the format of its operands."""

COMPARISONS = tuple(f"fcmp{order}{sign}" for order in "OU" for sign in ("LT", "GT", "LE", "GE", "EQ", "NE"))
"""Comparisons of its builder."""

LIBDEVICE: dict[str, Any] = {
    **{name: getattr(np, name) for name in ("cbrt", "ceil", "copysign", "cos", "cosh", "exp", "exp2", "expm1", "fabs")},
    **{name: getattr(np, name) for name in ("floor", "fmax", "fmin", "fmod", "hypot", "log", "log10", "log1p", "log2")},
    **{name: getattr(np, name) for name in ("nextafter", "rint", "sin", "sinh", "sqrt", "tan", "tanh", "trunc")},
    **{name: np.vectorize(getattr(math, name), otypes=[float]) for name in ("erf", "erfc")},
    **{f"a{name}": getattr(np, f"arc{name}") for name in ("cos", "cosh", "sin", "sinh", "tan", "tanh", "tan2")},
    "pow": np.power,
    "powi": np.power,
    "abs": np.abs,
    "nearbyint": np.rint,
    "rsqrt": lambda x: 1 / np.sqrt(x),
    "isnan": np.isnan,
    "isinf": np.isinf,
    "finite": np.isfinite,
    "isfinite": np.isfinite,
    "signbit": np.signbit,
    "round": lambda x: np.trunc(x) + np.trunc((x - np.trunc(x)) * 2),
    "sinpi": lambda x: np.sin(np.pi * np.fmod(x, 2)),
    "cospi": lambda x: np.cos(np.pi * np.fmod(x, 2)),
    "exp10": lambda x: np.power(10.0, x),
}
"""Functions of CUDA's libdevice (libdevice user's guide) by what computes them in float64."""

DRIVERS = ("triton/runtime/driver.py", "triton/backends/", "torch/cuda/__init__.py", "torch/accelerator/")
"""Where it is found that a machine has no accelerator."""

unmended: list[str] = []
"""What was looked for in the interpreter and not found."""

_launches = 0


def launches() -> int:
    """Return how many kernels the interpreter has run in this process."""
    return _launches


def mend_when_imported() -> None:
    """Mend the interpreter: at once where it is loaded already, else as soon as it is."""
    module = sys.modules.get(INTERPRETER)
    if module is not None:
        mend(module)
    elif not any(isinstance(finder, _MendingFinder) for finder in sys.meta_path):
        sys.meta_path.insert(0, _MendingFinder())


@final
class _MendingFinder(MetaPathFinder):
    """Finds the interpreter as Python would, once, and has it mended after it was loaded."""

    def find_spec(self, fullname: str, path: Any, target: Any = None) -> ModuleSpec | None:
        del path, target
        if fullname != INTERPRETER:
            return None
        sys.meta_path.remove(self)
        spec = importlib.util.find_spec(fullname)
        if spec is not None and spec.loader is not None:
            load = spec.loader.exec_module

            def load_and_mend(module: ModuleType) -> None:
                load(module)
                mend(module)

            setattr(spec.loader, "exec_module", load_and_mend)  # noqa: B010 - a method, to mypy
        return spec


def mend(module: ModuleType) -> None:
    """Apply every mending to the interpreter's `module`, once."""
    if vars(module).get("_mended_by_opsdebug"):
        return
    vars(module)["_mended_by_opsdebug"] = True
    for mending in (
        _mend_conversions,
        _mend_arithmetic,
        _mend_atomics,
        _mend_reductions,
        _mend_scalars,
        _mend_calls,
        _mend_libdevice,
    ):
        try:
            mending(module)
        except AttributeError as missing:  # noqa: PERF203 - a few times in a process
            unmended.append(f"{mending.__name__.removeprefix('_mend_')}: {missing}")


def limit_met(error: BaseException) -> str | None:
    """Why `error` is a limit of this machine and no fault of the operator; None where it is not.

    Limits are what the interpreter says it does not support or has no function for, and a driver looked for where
    there is none.
    """
    while error.__cause__ is not None:
        error = error.__cause__
    innermost = error.__traceback__
    while innermost is not None and innermost.tb_next is not None:
        innermost = innermost.tb_next
    file = "" if innermost is None else innermost.tb_frame.f_code.co_filename.replace("\\", "/")
    text = str(error).partition("\n")[0][:200]
    if any(place in file for place in DRIVERS) and isinstance(error, (RuntimeError, AssertionError)):
        return f"limit of this machine: no accelerator driver ({text})"
    builder = vars(sys.modules.get(INTERPRETER, ModuleType(""))).get("InterpreterBuilder")
    if builder is None:
        return None
    lacks = isinstance(error, AttributeError) and isinstance(error.obj, builder)
    refuses = file.endswith("triton/runtime/interpreter.py") and (
        isinstance(error, NotImplementedError) or text.startswith("unsupported ")
    )
    ours = file == __file__ and isinstance(error, EnvironmentLimitError)
    return f"limit of this machine: Triton's interpreter cannot run it ({text})" if lacks or refuses or ours else None


def _mend_conversions(module: Any) -> None:
    """Every cast rounds once, to nearest even; it used to truncate, and to take integers for bit patterns."""
    handle, builder = module.TensorHandle, module.InterpreterBuilder
    direct, conversion, of_kind = builder.cast_impl, module._convert_float, module._get_np_dtype
    known: dict[str, Any] = {}
    toward_zero = module._ir.ROUNDING_MODE.RTZ

    def types(kind: Any) -> Any:
        found = known.get(kind.name)
        if found is None:  # it would build its table at every call
            found = known[kind.name] = of_kind(kind)
        return found

    def convert_float(data: Any, source: Any, target: Any, rounding_mode: Any) -> Any:
        if "fp8e4b15" in (source.name, target.name):
            return conversion(data, source, target, rounding_mode)
        wide = decode(data, source.name)
        return encode(wide, target.name, types(target), toward_zero=rounding_mode == toward_zero)

    def cast(self: Any, source: Any, target: Any) -> Any:
        formats = {source.dtype.scalar.name, target.scalar.name}
        if not formats & PATTERNS:
            return direct(self, source, target)
        data = source.data if source.data.dtype == np.bool_ else decode(source.data, source.dtype.scalar.name)
        return handle(encode(data, target.scalar.name, types(target.scalar)), target.scalar)

    def convert(_: Any, source: Any, target: Any, rounding_mode: Any) -> Any:
        data = convert_float(source.data, source.dtype.scalar, target.scalar, rounding_mode)
        return handle(data.view(types(target.scalar)), target.scalar)

    module._convert_float, module._get_np_dtype = convert_float, types
    builder.cast_impl = cast
    builder.create_fp_to_fp = convert
    language = module.tl
    builder.get_bf16 = lambda _, value: handle(encode(np.array([value]), "bf16", np.uint16), language.bfloat16)


def _fused(x: Any, y: Any, z: Any) -> Any:
    """x * y + z in float64, rounded to odd, so that rounding to any narrower format errs once (as in `encode`)."""
    product = np.multiply(x, y, dtype=np.float64)
    total = product + z
    share = total - product
    lost = (product - (total - share)) + (z - share)  # TwoSum (Knuth, TAOCP 2, 4.2.2)
    odd = np.where(np.sign(lost) == np.sign(total), total, np.nextafter(total, 0))
    sticky = (odd.view(np.int64) | 1).view(np.float64)
    return np.where((lost != 0) & np.isfinite(total), sticky, total)


def _mend_arithmetic(module: Any) -> None:  # noqa: C901 - a dozen one-line functions that replace methods
    """bfloat16 is computed in float32 and rounded once; a comparison is a truth value, whatever it compares.

    Rounding twice is innocent there: 24 >= 2 * 8 + 2 (Figueroa, "When is double rounding innocuous?", 1995).
    """
    builder, handle, language = module.InterpreterBuilder, module.TensorHandle, module.tl

    def widened(value: Any) -> Any:
        if not isinstance(value, handle) or value.dtype.scalar.name not in PATTERNS:
            return value
        return handle(decode(value.data, value.dtype.scalar.name), language.float32)

    def wide(method: Any, finish: Callable[[Any, Any], Any]) -> Any:
        @functools.wraps(method)
        def create(self: Any, *operands: Any) -> Any:
            first = operands[0].dtype.scalar
            if first.name not in PATTERNS:
                return finish(method(self, *operands), None)
            return finish(method(self, *map(widened, operands)), first)

        return create

    def rounded(result: Any, kind: Any) -> Any:
        return result if kind is None else handle(encode(result.data, kind.name, result.data.dtype), kind)

    def truth(result: Any, _: Any) -> Any:
        return handle(result.data.astype(np.bool_), language.int1)

    for name, function in (("minnumf", np.fmin), ("maxnumf", np.fmax)):  # older versions let NaN through
        setattr(builder, f"create_{name}", lambda self, a, b, op=function: self.binary_op(a, b, op))
    for name in ROUNDED:
        method = vars(builder).get(f"create_{name}")
        if method is not None:
            setattr(builder, f"create_{name}", wide(method, rounded))
    for name in COMPARISONS:
        method = vars(builder).get(f"create_{name}")
        if method is not None:
            setattr(builder, f"create_{name}", wide(method, truth))
    direct = builder.create_fma

    def fma(self: Any, x: Any, y: Any, z: Any) -> Any:
        if z.data.dtype == np.float64:
            return direct(self, x, y, z)
        exact = _fused(*(widened(value).data for value in (x, y, z)))
        return handle(encode(exact, z.dtype.scalar.name, z.data.dtype), z.dtype.scalar)

    builder.create_fma = fma
    builder.create_dot = wide(builder.create_dot, lambda result, _: result)


def _mend_atomics(module: Any) -> None:
    """Atomic sums of bfloat16; the interpreter has none. Equal addresses one after the other, as they stand."""
    builder, handle, memory = module.InterpreterBuilder, module.TensorHandle, module._interpreter
    direct = builder.create_atomic_rmw
    adding = module._ir.ATOMIC_OP.FADD

    def atomic(self: Any, operation: Any, pointer: Any, value: Any, mask: Any, *order: Any) -> Any:
        if value.dtype.scalar.name != "bf16" or operation != adding:
            return direct(self, operation, pointer, value, mask, *order)
        addresses = np.broadcast_to(pointer.data, value.data.shape).ravel()
        left = np.flatnonzero(np.broadcast_to(mask.data, value.data.shape))
        before = np.zeros(value.data.size, dtype=np.uint16)
        while left.size:
            now = left[np.unique(addresses[left], return_index=True)[1]]
            everywhere = np.ones(now.size, dtype=np.bool_)
            old = memory.load(addresses[now], everywhere, before[now], before.dtype)
            before[now] = old
            kind = value.dtype.scalar
            new = self.create_fadd(handle(old, kind), handle(value.data.ravel()[now], kind))
            memory.store(addresses[now], new.data, everywhere)
            left = np.setdiff1d(left, now)
        return handle(before.reshape(value.data.shape), value.dtype.scalar)

    builder.create_atomic_rmw = atomic


def _combine(self: Any, kinds: list[Any], left: list[Any], right: list[Any]) -> list[Any]:
    """Combine two lists of arrays by the function of a reduction or scan `self`, as its language does."""
    operands = [self.to_tensor(data, kind) for data, kind in zip(left + right, kinds + kinds, strict=True)]
    made = self.combine_fn.fn(*operands)
    made = made if isinstance(made, tuple) else (made,)
    found = [value.handle.data if isinstance(value, type(operands[0])) else value for value in made]
    return [np.broadcast_to(v, a.shape).astype(a.dtype, copy=False) for v, a in zip(found, left, strict=True)]


def _arithmetic(ufunc: Any, kind: Any, left: list[Any], right: list[Any]) -> list[Any]:
    """Combine two arrays of Triton type `kind` by a numpy function, rounding once."""
    wide = ufunc(decode(left[0], kind.name), decode(right[0], kind.name))
    return [encode(wide, kind.name, left[0].dtype)]


def _tree(self: Any, values: Any, step: Any) -> Any:
    """Reduce tensors along the axis of `self`, neighbours first, so that the order is kept."""
    shape = values[0].handle.data.shape
    data = [v.handle.data.reshape(-1) if self.axis is None else v.handle.data for v in values]
    axis = 0 if self.axis is None else self.axis % len(shape)
    data = [np.moveaxis(array, axis, -1) for array in data]
    while data[0].shape[-1] > 1:
        data = step([a[..., 0::2] for a in data], [a[..., 1::2] for a in data])
    kept = (1,) * len(shape) if self.axis is None else (*shape[:axis], 1, *shape[axis + 1 :])
    data = [array.reshape(kept) if self.keep_dims else array[..., 0] for array in data]
    return [self.to_tensor(a if a.shape else a.item(), v.dtype) for a, v in zip(data, values, strict=True)]


def _ladder(self: Any, values: Any, step: Any) -> Any:
    """Scan tensors along the axis of `self` in a logarithm of steps (Hillis and Steele, 1986)."""
    data = [value.handle.data for value in values]
    axis = self.axis % data[0].ndim
    place = np.arange(data[0].shape[axis]).reshape([-1 if d == axis else 1 for d in range(data[0].ndim)])
    for distance in (1 << k for k in range((place.size - 1).bit_length())):
        made = step([np.roll(array, distance, axis) for array in data], data)
        data = [np.where(place < distance, a, b) for a, b in zip(data, made, strict=True)]
    return [self.to_tensor(array, value.dtype) for array, value in zip(data, values, strict=True)]


def _mend_reductions(module: Any) -> None:
    """Reductions and scans combine whole halves, in a tree that keeps the order and rounds at every step.

    The interpreter took sums of bit patterns, lost all that a step rounds away, failed on a row of NaN, and called a
    combining function of the user's once per element.
    """
    language, reduce, scan = module.tl, module.ReduceOps, module.ScanOps

    def general(direct: Any, climb: Any) -> Any:
        def create(self: Any, values: Any) -> Any:
            if _branches(self.combine_fn.fn):
                return direct(self, values)
            return climb(self, values, partial(_combine, self, [value.dtype for value in values]))

        return create

    def of_floats(direct: Any, climb: Any, ufunc: Any) -> Any:
        def create(self: Any, value: Any) -> Any:
            if not value.dtype.is_floating():
                return direct(self, value)
            found = climb(self, (value,), partial(_arithmetic, ufunc, value.dtype))
            return found if climb is _ladder else found[0]

        return create

    def extreme(self: Any, value: Any, val_reduce_op: Any, idx_reduce_op: Any = None) -> Any:
        value = value[0] if isinstance(value, tuple) else value
        data = decode(value.handle.data, value.dtype.name)
        pick = np.fmax if val_reduce_op in (np.nanmax, np.max) else np.fmin
        best = pick.reduce(data, axis=self.axis, keepdims=True)
        kept = best if self.keep_dims else np.squeeze(best, self.axis)
        found = self.to_tensor(encode(kept, value.dtype.name, value.handle.data.dtype), value.dtype)
        if idx_reduce_op is None:
            return found
        where = np.argmax(data == best, axis=self.axis, keepdims=self.keep_dims)
        return found, self.to_tensor(where, language.int32)

    reduce.generic_reduce, scan.generic_scan = (
        general(reduce.generic_reduce, _tree),
        general(scan.generic_scan, _ladder),
    )
    reduce.sum, reduce.min_max = of_floats(reduce.sum, _tree, np.add), extreme
    scan.cumsum = of_floats(scan.cumsum, _ladder, np.add)
    scan.cumprod = of_floats(scan.cumprod, _ladder, np.multiply)


@functools.cache
def _branches(function: FunctionType) -> bool:
    """Whether what `function` does depends on a value, so that it cannot be called on many at once."""
    return any("JUMP" in step.opname and "IF" in step.opname for step in dis.get_instructions(function))


def _mend_scalars(module: Any) -> None:
    """A `float` argument is a float32 of the kernel, which has `.to` and widens bfloat16 as it does on a GPU."""
    direct = module._implicit_cvt
    handle, language = module.TensorHandle, module.tl

    def convert(value: Any) -> Any:
        if isinstance(value, float):
            return language.tensor(handle(np.array([value], dtype=np.float32), language.float32), language.float32)
        return direct(value)

    module._implicit_cvt = convert


def _mend_calls(module: Any) -> None:  # noqa: C901 - as above
    """A launch puts the language into interpreted form once, not with every function it calls.

    Computes with numpy's warnings off: NaN and overflow in a kernel are values.
    """
    language, executor = module.tl, module.GridExecutor
    patch, launch = module._patch_lang, executor.__call__
    state = SimpleNamespace(active=False, changes=None)

    def patched(function: Any) -> Any:
        scope = getattr(module, "_LangPatchScope", SimpleNamespace)()
        if state.active:
            return scope
        if not any(value is language or value is language.core for value in function.__globals__.values()):
            return patch(function)
        state.active = True
        if state.changes is None:
            scopes = [patch(SimpleNamespace(__globals__={"tl": which})) for which in (language, language.core)]
            _patch_libdevice(module, scopes[1:] if scopes[1] is not None else [])
            if scopes[1] is None:  # older versions never take it back
                return None
            made = [change for each in scopes for change in each._changes]
            state.changes = {(id(owner), name): (owner, name, vars(owner)[name]) for owner, name, _ in made}
            for each in reversed(scopes):
                each.restore()
        for owner, name, value in state.changes.values():
            scope.set_attr(owner, name, value)
        restore = scope.restore

        def restore_all() -> None:
            restore()
            state.active = False

        scope.restore = restore_all
        return scope

    def launched(self: Any, *arguments: Any, **options: Any) -> Any:
        global _launches  # noqa: PLW0603 - a count of this process
        _launches += 1
        if unmended:
            raise EnvironmentLimitError(f"cannot be mended: {'; '.join(unmended)}")
        with np.errstate(all="ignore"):
            return launch(self, *arguments, **options)

    module._patch_lang = patched
    executor.__call__ = launched


def _mend_libdevice(module: Any) -> None:
    """Functions of CUDA's libdevice, which the interpreter has not, computed in float64 and rounded."""
    handle, types = module.TensorHandle, module._get_np_dtype

    def extern(_: Any, __: str, ___: str, symbol: str, operands: list[Any], kind: Any, *____: Any) -> Any:
        name = symbol.removeprefix("__nv_").removeprefix("fast_").removesuffix("_rn")
        function = LIBDEVICE.get(name, LIBDEVICE.get(name[:-1]))  # __nv_tanhf is tanh of float32
        if function is None:
            raise EnvironmentLimitError(f"no `{symbol}` in interpreter mode")
        wide = function(*(operand.data.astype(np.float64) for operand in operands))
        return handle(np.asarray(wide).astype(types(kind.scalar)), kind.scalar)

    module.InterpreterBuilder.create_extern_elementwise = extern


def _patch_libdevice(module: Any, scope: list[Any]) -> None:
    """Have `libdevice.f`, which only the compiler fills, call CUDA's, and that the interpreter's builder."""
    libdevice = sys.modules.get("triton.language.extra.cuda.libdevice")
    generic = sys.modules.get("triton.language.extra.libdevice")
    if libdevice is None:
        return
    module._patch_builtin(libdevice, module.interpreter_builder, *scope)
    for name, stub in list(vars(generic).items()) if generic is not None else []:
        if isinstance(stub, FunctionType) and hasattr(libdevice, name) and not stub.__code__.co_freevars:
            space: dict[str, Any] = {}
            exec(f"def {name}(*arguments): return _libdevice.{name}(*arguments)", space)  # noqa: S102 - their own name
            stub.__globals__["_libdevice"] = libdevice
            stub.__code__ = space[name].__code__

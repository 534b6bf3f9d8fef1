"""Every torch call and every Triton launch of a block shown to a watcher, forward and backward, without edits.

Decides what is a node and what it is called: `scope/name #k`, the scope being the custom operators it happens in and,
in a backward pass, the step being differentiated; `#k` from the second of a name on. Calls inside custom operators,
those written in C++ included, are seen by dispatching them again for the device of their arguments.
"""

from __future__ import annotations

import functools
import sys
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from typing import Any, Protocol

import torch
from torch.utils._python_dispatch import TorchDispatchMode

from opsdebug_ci.numerics.custom_calls import called_inside, device_inside
from opsdebug_ci.trace.nodes import Node, leaves, node_of, tensors_written

KERNELS = (("triton.runtime.interpreter", "InterpretedFunction"), ("triton.runtime.jit", "JITFunction"))
"""Classes of Triton whose `run` launches a kernel, by module."""


class NodeWatcher(Protocol):
    """Is shown every node. What it calls itself is not shown to it."""

    def before(self, name: str, node: Node, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """What to remember of a call's arguments before it is made; whatever this returns, `after` is given."""

    def after(self, name: str, node: Node, remembered: Any, made: list[Any]) -> None:
        """A call was made; what it returned, or wrote where it returns nothing."""

    def launching(self, tensors: list[torch.Tensor]) -> Any:
        """As `before`, of a kernel that may read and write any of these."""

    def launched(self, name: str, remembered: Any, tensors: list[torch.Tensor]) -> None:
        """As `after`."""


class Interception(TorchDispatchMode):  # type: ignore[no-untyped-call]  # torch types its metaclass hook partly
    """Context in which a watcher is shown every node of this thread."""

    def __init__(self, watcher: NodeWatcher) -> None:
        super().__init__()  # type: ignore[no-untyped-call]  # as above
        self._watcher = watcher
        self._scope: tuple[str, ...] = ()
        self._named: dict[str, int] = {}
        self._deaf = False
        self._kernels = ExitStack()
        self._depth = 0

    @classmethod
    def _should_skip_dynamo(cls) -> bool:
        # NOTE: True makes torch import its compiler at the first call, 1.5 s that the first case would be charged for.
        return False

    def __enter__(self) -> Interception:
        if self._depth == 0:
            self._kernels.enter_context(launches_through(self._launch))
        self._depth += 1
        super().__enter__()  # type: ignore[no-untyped-call]  # as above
        return self

    def __exit__(self, *raised: Any) -> None:
        super().__exit__(*raised)  # type: ignore[no-untyped-call]  # as above
        self._depth -= 1
        if self._depth == 0:
            self._kernels.close()

    def __torch_dispatch__(
        self, func: Any, types: Any, args: tuple[Any, ...] = (), kwargs: dict[str, Any] | None = None
    ) -> Any:
        kwargs = kwargs or {}
        if self._deaf or not isinstance(func, torch._ops.OpOverload):
            return func(*args, **kwargs)
        node = node_of(func)
        name = self._name(node.name)
        remembered = self._watcher.before(name, node, args, kwargs)
        result = self._inside(func, name, args, kwargs) if node.custom else func(*args, **kwargs)
        made = [result] if result is not None else list(tensors_written(node, args, kwargs))
        self._watcher.after(name, node, remembered, made)
        return result

    def _inside(self, func: Any, name: str, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """A custom operator's result, its own torch calls shown too where it works on plain tensors of one device."""
        device = device_inside(func, args, kwargs)
        if device is None:
            return func(*args, **kwargs)
        outer, self._scope = self._scope, (*self._scope, name.rsplit("/", 1)[-1])
        try:
            return called_inside(self, func, device, args, kwargs)
        finally:
            self._scope = outer

    def _name(self, base: str) -> str:
        gradient = torch._C._current_autograd_node()
        if gradient is not None and not self._scope:
            base = f"{gradient.name()}/{base}"
        elif self._scope:
            base = "/".join((*self._scope, base))
        count = self._named[base] = self._named.get(base, 0) + 1
        return base if count == 1 else f"{base} #{count}"

    def _launch(self, kernel: str, values: list[Any], run: Callable[[], Any]) -> Any:
        if self._deaf:
            return run()
        name = self._name(kernel)
        tensors = [value for value in values if isinstance(value, torch.Tensor)]
        self._deaf = True  # neither what the watcher calls nor what hands arguments over is a step of the operator
        try:
            remembered = self._watcher.launching(tensors)
            result = run()
            self._watcher.launched(name, remembered, tensors)
        finally:
            self._deaf = False
        return result


@contextmanager
def launches_through(launch: Callable[[str, list[Any], Callable[[], Any]], Any]) -> Iterator[None]:
    """Hand every Triton launch of this block to `launch`: kernel, arguments, and what launches it.

    Nothing is handed over where Triton was never imported.
    """
    classes = [getattr(sys.modules[module], name, None) for module, name in KERNELS if module in sys.modules]
    originals = [(kernel, kernel.run) for kernel in classes if kernel is not None]
    for kernel, run in originals:
        kernel.run = _wrapped(run, launch)
    try:
        yield
    finally:
        for kernel, run in originals:
            kernel.run = run


def _wrapped(run: Callable[..., Any], launch: Callable[[str, list[Any], Callable[[], Any]], Any]) -> Callable[..., Any]:
    @functools.wraps(run)
    def watched(kernel: Any, *args: Any, **options: Any) -> Any:
        if options.get("warmup"):
            return run(kernel, *args, **options)
        given = leaves([*args, *options.values()])
        # A tensor descriptor is no tensor but has one.
        tensors = [value if isinstance(value, torch.Tensor) else getattr(value, "base", None) for value in given]
        name = str(getattr(kernel, "__name__", "kernel"))
        return launch(name, tensors, lambda: run(kernel, *args, **options))

    return watched

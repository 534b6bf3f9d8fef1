"""Custom operators, looked into: the torch calls inside them reach the dispatch mode that watches, as any other call.

A mode sees a custom operator as one call. Sent on to the kernel of its device with the mode entered again, what that
kernel calls comes back to the mode, in C++ as in Python. That skips nothing that has not been run: modes come after
autograd. Decides which calls that works for; deliberately not what is made of the calls inside.
"""

from __future__ import annotations

from contextlib import AbstractContextManager
from typing import Any

import torch
from torch._C import DispatchKey, DispatchKeySet
from torch.utils._pytree import tree_leaves

FRAMEWORK = frozenset({"aten", "prim", "prims"})
"""Namespaces of the framework's own operators, whose kernels are not looked into."""


def device_inside(func: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> torch.device | None:
    """The device whose kernel of a custom operator can be looked into; None: it is none, or cannot be.

    It can where its tensors are plain ones, all on one device, and a kernel is registered for that.
    """
    if not isinstance(func, torch._ops.OpOverload) or func.namespace in FRAMEWORK:
        return None
    tensors = [leaf for leaf in tree_leaves((args, kwargs)) if isinstance(leaf, torch.Tensor)]
    devices = {tensor.device.type for tensor in tensors}
    if len(devices) != 1 or not all(map(_is_plain, tensors)):
        return None
    schema = func._schema
    name = schema.name + (f".{schema.overload_name}" if schema.overload_name else "")
    key = torch._C._dispatch_key_for_device(tensors[0].device.type)
    registered = torch._C._dispatch_has_computed_kernel_for_dispatch_key(name, key)
    return tensors[0].device if registered else None


def called_inside(
    mode: AbstractContextManager[Any], func: Any, device: torch.device, args: tuple[Any, ...], kwargs: dict[str, Any]
) -> Any:
    """The result of a call for which `device_inside` names `device`, everything in it seen by `mode`."""
    key = getattr(DispatchKey, torch._C._dispatch_key_for_device(device.type))
    with mode:
        return func.redispatch(DispatchKeySet(key), *args, **kwargs)


def _is_plain(tensor: torch.Tensor) -> bool:
    ordinary = type(tensor) in (torch.Tensor, torch.nn.Parameter)
    return ordinary and tensor.layout is torch.strided and not tensor.is_quantized

"""Tensors and arrays inside plain values: an argument may be a list, tuple or dict of them.

Decides how deep a launch's copies and byte comparisons look. Deliberately stops at other objects: a module or a
dataclass passed as a plain value is the operator's own, shared by all launches.
"""

from __future__ import annotations

import copy
import random
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import torch
from torch.utils._pytree import keystr, tree_flatten_with_path, tree_map


def map_leaves(value: Any, change: Callable[[Any], Any]) -> Any:
    """`value` rebuilt with `change` of every leaf: of everything that is no list, tuple, dict or kin of theirs."""
    return tree_map(change, value)


def copied_generator(value: Any) -> Any:
    """A generator of random numbers that draws what `value` would, which no launch moves on; else `value` itself."""
    generators = (torch.Generator, np.random.Generator, np.random.RandomState, random.Random)
    return copy.deepcopy(value) if isinstance(value, generators) else value


def strided_tensors(name: str, value: Any) -> Iterator[tuple[str, torch.Tensor]]:
    """Tensors of an argument whose bytes can be compared, each by its place, e.g. `xs[0]`; arrays too."""
    for path, leaf in tree_flatten_with_path(value)[0]:
        if isinstance(leaf, torch.Tensor) and has_bytes(leaf):
            yield name + keystr(path), leaf
        elif isinstance(leaf, np.ndarray) and is_plain_memory(leaf) and leaf.flags.writeable:
            yield name + keystr(path), _of_array(leaf)


def containers(name: str, value: Any) -> Iterator[tuple[str, list[Any] | dict[Any, Any]]]:
    """Lists and dicts in an argument, itself included, each by its place: an operator may change their items."""
    if type(value) in (list, dict):
        yield name, value
    if type(value) in (list, tuple):
        for position, item in enumerate(value):
            yield from containers(f"{name}[{position}]", item)
    elif type(value) is dict:
        for key, item in value.items():
            yield from containers(f"{name}[{key!r}]", item)


def is_plain_memory(array: np.ndarray[Any, Any]) -> bool:
    """Whether the elements lie side by side, as bytes."""
    return array.dtype != object and bool(array.flags.c_contiguous or array.flags.f_contiguous)


def _of_array(array: np.ndarray[Any, Any]) -> torch.Tensor:
    """Its memory in one dimension; as bytes where torch has no such dtype."""
    flat = array.ravel(order="K")
    try:
        return torch.from_numpy(flat)
    except (TypeError, ValueError):
        return torch.from_numpy(flat.view(np.uint8))


def has_bytes(tensor: torch.Tensor) -> bool:
    """Whether the elements lie at strides in a storage of bytes."""
    return tensor.layout is torch.strided and tensor.device.type != "meta" and not tensor.is_quantized

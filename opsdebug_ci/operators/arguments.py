"""The arguments of one launch, by name and in order."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any

import torch
from torch.utils._pytree import keystr, tree_flatten_with_path, tree_map_with_path

from opsdebug_ci.errors import DeclarationError


def leaves(name: str, value: Any) -> list[tuple[str, Any]]:
    """What lies inside lists, tuples and dicts, each by its place, e.g. `xs[0]`; the value itself when it is none."""
    return [(name + keystr(path), leaf) for path, leaf in tree_flatten_with_path(value)[0]]


@dataclass(frozen=True, slots=True, kw_only=True)
class Arguments:
    """Named arguments in call order. Holds live tensors, so it never leaves the worker."""

    names: tuple[str, ...]
    """One name per value."""

    values: tuple[Any, ...]
    """Tensors, numbers and plain values, or lists, tuples and dicts of them."""

    by_keyword: bool = False
    """Call with keywords, as when an input callable returned a mapping."""

    def call(self, function: Callable[..., Any]) -> Any:
        """Call `function` with these arguments."""
        if self.by_keyword:
            return function(**dict(zip(self.names, self.values, strict=True)))
        return function(*self.values)

    def items(self) -> list[tuple[str, Any]]:
        """Name and value, in call order."""
        return list(zip(self.names, self.values, strict=True))

    def leaves(self) -> list[tuple[str, Any]]:
        """As `items`, with what lies inside lists, tuples and dicts in their place."""
        return [leaf for name, value in self.items() for leaf in leaves(name, value)]

    def map(self, change: Callable[[str, Any], Any]) -> Arguments:
        """The same arguments with every leaf replaced by `change(place, leaf)`; the place of one that is an argument is
        its name."""
        changed = (
            tree_map_with_path(lambda path, leaf, name=name: change(name + keystr(path), leaf), value)
            for name, value in self.items()
        )
        return replace(self, values=tuple(changed))

    def name_of(self, which: str | int) -> str:
        """Name of an argument given by name or position. Raises DeclarationError when there is none such."""
        if isinstance(which, int) and -len(self.names) <= which < len(self.names):
            return self.names[which]
        if isinstance(which, str) and which in self.names:
            return which
        raise DeclarationError(f"the contract names argument {which!r}; the arguments are {', '.join(self.names)}")

    def __getitem__(self, which: str | int) -> Any:
        return self.values[self.names.index(self.name_of(which))]

    @staticmethod
    def of_sequence(values: tuple[Any, ...], names: tuple[str, ...]) -> Arguments:
        """Positional arguments; missing names become `arg<i>`."""
        padded = (*names[: len(values)], *(f"arg{i}" for i in range(len(names), len(values))))
        return Arguments(names=padded, values=values)

    @staticmethod
    def of_mapping(values: Mapping[str, Any]) -> Arguments:
        """Keyword arguments."""
        return Arguments(names=tuple(values), values=tuple(values.values()), by_keyword=True)


def emptied(value: Any) -> Any:
    """A list or tuple of tensors, or a dict of some, whose last has no elements; anything else as it is."""
    if isinstance(value, dict):
        made = {key: emptied(each) for key, each in value.items()}
        return made if any(made[key] is not each for key, each in value.items()) else value
    tensors = type(value) in (list, tuple) and len(value) > 1 and all(isinstance(each, torch.Tensor) for each in value)
    if not tensors or value[-1].ndim == 0 or value[-1].layout is not torch.strided:
        return value
    return type(value)((*value[:-1], value[-1][:0].clone()))

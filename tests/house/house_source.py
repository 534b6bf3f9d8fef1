"""The package's own source, parsed once, and what the tests ask of it."""

from __future__ import annotations

import ast
import textwrap
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Union

import opsdebug_ci

ROOT = Path(__file__).parents[2]
PACKAGE = Path(opsdebug_ci.__file__).parent

Function = Union[ast.FunctionDef, ast.AsyncFunctionDef]


@dataclass(frozen=True, slots=True, kw_only=True)
class Module:
    """One source file."""

    name: str
    """Dotted name below the package; empty for the package itself."""

    text: str
    """Its text."""

    tree: ast.Module
    """Its syntax tree."""

    def classes(self) -> Iterator[ast.ClassDef]:
        return (node for node in ast.walk(self.tree) if isinstance(node, ast.ClassDef))

    def functions(self) -> Iterator[Function]:
        return (node for node in ast.walk(self.tree) if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)))


def module(source: str, name: str = "planted") -> Module:
    """A module from an indented literal."""
    text = textwrap.dedent(source).lstrip("\n")
    return Module(name=name, text=text, tree=ast.parse(text))


@cache
def modules() -> tuple[Module, ...]:
    """Every module of the package."""
    return tuple(_read(path) for path in sorted(PACKAGE.rglob("*.py")))


def _read(path: Path) -> Module:
    parts = path.relative_to(PACKAGE).with_suffix("").parts
    name = ".".join(part for part in parts if part != "__init__")
    text = path.read_text(encoding="utf-8")
    return Module(name=name, text=text, tree=ast.parse(text))


def length(node: Function) -> int:
    """Lines from `def` to the last statement."""
    return (node.end_lineno or node.lineno) - node.lineno + 1


def decorators(node: Function | ast.ClassDef) -> list[str]:
    return [ast.unparse(decorator) for decorator in node.decorator_list]


def dataclass_decorator(node: ast.ClassDef) -> str | None:
    """`dataclass(...)` as written, or None for another class."""
    return next((text for text in decorators(node) if text.split("(")[0].split(".")[-1] == "dataclass"), None)

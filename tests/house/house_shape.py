"""What the style asks of a module's shape; each check returns a line per offence, `module: what`."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from house_source import Function, Module, dataclass_decorator, decorators, length

MODULE_LINES = 500
FUNCTION_LINES = 60
WANTED_OF_DATACLASSES = ("frozen=True", "slots=True", "kw_only=True")


def too_long_module(module: Module) -> list[str]:
    lines = len(module.text.splitlines())
    return [f"{module.name}: {lines} lines"] if lines > MODULE_LINES else []


def too_long_functions(module: Module) -> list[str]:
    return [f"{module.name}.{f.name}: {length(f)} lines" for f in module.functions() if length(f) > FUNCTION_LINES]


def undocumented(module: Module, inherited: frozenset[str] = frozenset()) -> list[str]:
    """Public modules, classes and functions without docstring; a method is documented where its interface is."""
    missing = [] if ast.get_docstring(module.tree) else [module.name]
    return missing + [f"{module.name}.{name}" for name in _undocumented(module.tree, "", inherited)]


def interface_methods(module: Module) -> Iterator[str]:
    """Documented methods of the abstract classes and protocols defined here."""
    for node in module.classes():
        if {ast.unparse(base) for base in node.bases} & {"ABC", "Protocol"}:
            yield from (child.name for child in _members(node) if ast.get_docstring(child))


def loose_dataclasses(module: Module) -> list[str]:
    """Dataclasses that are not frozen, slotted and keyword-only."""
    return [
        f"{module.name}.{node.name}"
        for node in module.classes()
        if (decorator := dataclass_decorator(node)) and not all(word in decorator for word in WANTED_OF_DATACLASSES)
    ]


def _undocumented(node: ast.AST, path: str, inherited: frozenset[str]) -> Iterator[str]:
    for child in _members(node):
        if child.name.startswith("_") or "overload" in decorators(child):
            continue
        in_class = isinstance(node, ast.ClassDef)
        if not ast.get_docstring(child) and not (in_class and child.name in inherited):
            yield path + child.name
        if isinstance(child, ast.ClassDef):
            yield from _undocumented(child, f"{path}{child.name}.", inherited)


def _members(node: ast.AST) -> Iterator[Function | ast.ClassDef]:
    kinds = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)
    return (child for child in ast.iter_child_nodes(node) if isinstance(child, kinds))


def _is_class_variable(statement: ast.AnnAssign) -> bool:
    return ast.unparse(statement.annotation).startswith("ClassVar")


def _is_text(statement: ast.stmt | None) -> bool:
    return (
        isinstance(statement, ast.Expr)
        and isinstance(statement.value, ast.Constant)
        and isinstance(statement.value.value, str)
    )

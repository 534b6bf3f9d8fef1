"""What the style asks of a module's conduct; each check returns a line per offence."""

from __future__ import annotations

import ast
import re
from collections.abc import Collection, Iterator

from house_source import Module

from opsdebug_ci import errors

OUTPUT_CALLS = frozenset(
    {"print", "exit", "quit", "sys.exit", "os._exit", "sys.stdout.write", "sys.stderr.write", "click.echo"}
)
"""Ways to print or to end the process."""

ERRORS = frozenset(name for name, value in vars(errors).items() if isinstance(value, type))
"""Names of the classes in the error tree, `Unsupported` included."""

_IGNORE = re.compile(r"#\s*(?:type:\s*ignore(?:\[[^\]]*\])?|noqa(?::\s*[A-Z0-9, ]*[A-Z0-9])?)(?P<rest>.*)$")
_REASON = re.compile(r"\s*(?:#|-)\s+\S+\s+\S+")
_OPEN_WORK = re.compile(r"#.*\b(TODO|FIXME|XXX)\b")
_DEVELOPMENT_PATH = re.compile(r"""(?<![\w.])/(?:root|home/(?!runner\b)\w+|Users/\w+)\b""")


def ignores(module: Module) -> list[str]:
    """Every `type: ignore` and `noqa`, with what stands after it."""
    return [f"{module.name}:{line}: {match['rest'].strip()}" for line, match in _ignores(module)]


def unreasoned_ignores(module: Module) -> list[str]:
    """Those without a reason of at least two words after them."""
    return [f"{module.name}:{line}" for line, match in _ignores(module) if not _REASON.match(match["rest"])]


def open_work(module: Module) -> list[str]:
    return [f"{module.name}:{n}" for n, line in enumerate(module.text.splitlines(), 1) if _OPEN_WORK.search(line)]


def bare_excepts(module: Module) -> list[str]:
    nodes = ast.walk(module.tree)
    return [f"{module.name}:{n.lineno}" for n in nodes if isinstance(n, ast.ExceptHandler) and n.type is None]


def broad_excepts(module: Module) -> list[str]:
    """Handlers of `Exception` or `BaseException` that do not pass it on, one entry per handler, by module."""
    handlers = (node for node in ast.walk(module.tree) if isinstance(node, ast.ExceptHandler) and node.type is not None)
    return [
        module.name
        for handler in handlers
        if {"Exception", "BaseException"} & _names(handler.type) and not _passes_on(handler)
    ]


def output(module: Module) -> list[str]:
    """Calls that print or exit, and `raise SystemExit`."""
    calls = [n for n in ast.walk(module.tree) if isinstance(n, ast.Call) and ast.unparse(n.func) in OUTPUT_CALLS]
    raised = [n for n in ast.walk(module.tree) if isinstance(n, ast.Raise) and n.exc and "SystemExit" in _names(n.exc)]
    return [f"{module.name}:{node.lineno}" for node in (*calls, *raised)]


def development_paths(text: str) -> list[str]:
    """Absolute paths of the machine somebody developed on."""
    return [match[0] for match in _DEVELOPMENT_PATH.finditer(text)]


def foreign_errors(module: Module, allowed: Collection[str] = ()) -> list[str]:
    """Raised classes that are neither in the error tree nor allowed."""
    raised = (name for name, _ in _raised(module))
    return [f"{module.name}: {name}" for name in raised if name not in ERRORS and name not in allowed]


def silent_errors(module: Module) -> list[str]:
    """Errors of the tree raised without a message."""
    ours = ((name, call) for name, call in _raised(module) if name in ERRORS)
    return [f"{module.name}: {name}" for name, call in ours if call is None or not call.args]


def _raised(module: Module) -> Iterator[tuple[str, ast.Call | None]]:
    """Class and call of every `raise Name(...)`; what is raised from a variable or a function was made elsewhere."""
    for node in ast.walk(module.tree):
        if not isinstance(node, ast.Raise) or node.exc is None:
            continue
        call = node.exc if isinstance(node.exc, ast.Call) else None
        name = ast.unparse(call.func if call else node.exc).split(".")[-1]
        if name[:1].isupper():
            yield name, call


def _ignores(module: Module) -> Iterator[tuple[int, re.Match[str]]]:
    for number, line in enumerate(module.text.splitlines(), 1):
        match = _IGNORE.search(line)
        if match:
            yield number, match


def _passes_on(handler: ast.ExceptHandler) -> bool:
    last = handler.body[-1]
    return isinstance(last, ast.Raise) and last.exc is None


def _names(node: ast.AST) -> set[str]:
    return {child.id for child in ast.walk(node) if isinstance(child, ast.Name)}

"""Which project files a module's behaviour can depend on.

Decides by reading imports, in every scope of every file, and following those that lie under the project's root. An
environment inside the root (`.venv`) is not the project's. Compiled modules are listed and not read. Files reached in
any other way are not found; planning therefore runs everything when an unknown file changed.
"""

from __future__ import annotations

import ast
import os
import sys
import sysconfig
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType

INSTALLED = frozenset({"site-packages", "dist-packages"})
"""Directories package installers own."""

PACKAGE = Path(__file__).resolve().parents[1]
"""This program, which is the same in every tree it looks at."""

_LIBRARIES = tuple(sysconfig.get_path(name) for name in ("stdlib", "platstdlib", "purelib", "platlib"))

SOURCE_SUFFIXES = (".py", ".pyw")
"""Files Python itself compiles."""


def source_files(module: ModuleType, root: Path) -> tuple[str, ...]:
    """Files under `root`, relative to it in POSIX form, that `module` imports directly or not, itself included.

    A module outside `root` is listed with its absolute path and not followed.
    """
    start = _file_of(module)
    if start is None:
        return ()
    if not is_own(start, root):
        return (start.as_posix(),)
    seen: dict[Path, None] = {}
    waiting = [(start, module.__name__)]
    while waiting:
        path, name = waiting.pop()
        if path in seen:
            continue
        seen[path] = None
        waiting += [
            (found, imported)
            for imported in _imported_names(path, name)
            if (found := _file_of(sys.modules.get(imported))) is not None and is_own(found, root)
        ]
    return tuple(sorted(path.relative_to(root).as_posix() for path in seen))


def outside_files(root: Path) -> tuple[str, ...]:
    """Files of all modules and torch libraries in this process that are not under `root`, installed, or this program's.

    An editable install or a path variable leads to such files. What is imported only once an operator runs is not seen.
    """
    installed = tuple(f"{Path(place).resolve()}{os.sep}" for place in _LIBRARIES)
    names = [getattr(module, "__file__", None) for module in list(sys.modules.values())]
    found = {
        Path(name).resolve() for name in (*names, *_torch_libraries()) if isinstance(name, str) and os.path.isabs(name)
    }
    return tuple(
        sorted(
            path.as_posix()
            for path in found
            if INSTALLED.isdisjoint(path.parts)
            and not str(path).startswith(installed)
            and not path.is_relative_to(PACKAGE)
            and not path.is_relative_to(root)
        )
    )


def installed_files(root: Path) -> tuple[str, ...]:
    """Files of installed packages in this process: of each package the outermost, and libraries that torch loaded.

    This program's are left out. What is imported only once an operator runs is not seen.
    """
    found: set[Path] = {Path(name).resolve() for name in _torch_libraries() if os.path.isabs(name)}
    for name, module in list(sys.modules.items()):
        above = _file_of(sys.modules.get(name.rpartition(".")[0]))
        path = _file_of(module)
        if path is not None and (above is None or not _is_installed(above, root)):
            found.add(path)
    return tuple(
        sorted(path.as_posix() for path in found if _is_installed(path, root) and not path.is_relative_to(PACKAGE))
    )


def _is_installed(path: Path, root: Path) -> bool:
    parts = path.relative_to(root).parts if path.is_relative_to(root) else path.parts
    return not INSTALLED.isdisjoint(parts)


def _torch_libraries() -> tuple[str, ...]:
    """What `torch.ops.load_library` loaded."""
    ops = getattr(sys.modules.get("torch"), "ops", None)
    return tuple(getattr(ops, "loaded_libraries", ()))


def _file_of(module: ModuleType | None) -> Path | None:
    name = getattr(module, "__file__", None)
    return Path(name).resolve() if isinstance(name, str) and name else None


def is_own(path: Path, root: Path) -> bool:
    """Whether a file lies under the root and in no environment's package directory there."""
    return path.is_relative_to(root) and INSTALLED.isdisjoint(path.relative_to(root).parts)


def _imported_names(path: Path, module: str) -> Iterator[str]:
    if path.suffix not in SOURCE_SUFFIXES:
        return
    package = module if path.name == "__init__.py" else module.rpartition(".")[0]
    for node in ast.walk(ast.parse(path.read_bytes())):
        if isinstance(node, ast.Import):
            for alias in node.names:
                yield from _prefixes(alias.name)
        elif isinstance(node, ast.ImportFrom):
            base = _absolute(node, package)
            yield from _prefixes(base)
            yield from (f"{base}.{alias.name}" for alias in node.names)


def _absolute(node: ast.ImportFrom, package: str) -> str:
    if not node.level:
        return node.module or ""
    parts = package.split(".")
    parents = parts[: len(parts) - node.level + 1]
    return ".".join([*parents, *([node.module] if node.module else [])])


def _prefixes(name: str) -> Iterator[str]:
    """A package's `__init__` files run before the module itself."""
    parts = name.split(".")
    yield from (".".join(parts[: count + 1]) for count in range(len(parts)))

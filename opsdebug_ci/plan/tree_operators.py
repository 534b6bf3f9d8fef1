"""Which operators a tree of another commit has, by its own configuration.

Decides that only its list of operators counts: every option comes from the head. A list given on the command line, or
by an absolute path, holds for all commits.
"""

from __future__ import annotations

from pathlib import Path

from opsdebug_ci.errors import ConfigurationError
from opsdebug_ci.plan.configuration import Configuration
from opsdebug_ci.plan.source import OWN_FILE, SHARED_FILE, Source, read_source


def operators_of_tree(
    root: Path, configuration: Configuration, *, home: Path, top: Path
) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Files or modules to search in a tree, and what a reader must know about them.

    Args:
        root: what the configuration's directory is in the tree.
        configuration: the head's.
        home: top of the head's work tree.
        top: top of the tree.
    """
    mine = tuple(_moved(name, home, top) for name in configuration.operators)
    file = configuration.file
    if file is None or _listed(_source(file)) != configuration.operators:
        return mine, ()
    for name in dict.fromkeys((file.name, OWN_FILE, SHARED_FILE)):
        source = _source(root / name)
        if source is not None:
            listed = tuple(_moved(item, home, top) for item in _listed(source))
            return (listed, ()) if listed else (mine, (f"{name} of that commit lists no operators: taken as now",))
    return mine, ("that commit has no configuration: its operators are looked for where they are now",)


def _source(path: Path) -> Source | None:
    if not path.is_file():
        return None
    try:
        return read_source(path, path.parent)
    except ConfigurationError:  # without our table, or not readable: as good as none
        return None


def _listed(source: Source | None) -> tuple[str, ...]:
    found = None if source is None else source.table.get("operators")
    items = [found] if isinstance(found, str) else found
    if not isinstance(items, list):
        return ()
    return tuple(dict.fromkeys(item.strip() for item in items if isinstance(item, str) and item.strip()))


def _moved(name: str, home: Path, top: Path) -> str:
    """`name`, or its counterpart where it is an absolute path in the head's work tree."""
    path = Path(name)
    if not path.is_absolute() or not path.resolve().is_relative_to(home) or path.resolve().is_relative_to(top):
        return name
    return str(top / path.resolve().relative_to(home))

"""Files that set a repository up: a workflow for pull requests, a configuration, a first operator.

Decides their content and place. Deliberately writes nothing: `opsdebug init` does, and asks before it replaces.
"""

from __future__ import annotations

from dataclasses import dataclass
from importlib.resources import files

TEMPLATES: tuple[tuple[str, str], ...] = (
    (".github/workflows/opsdebug.yml", "pull-request.yml"),
    ("opsdebug.toml", "opsdebug.toml"),
    ("opsdebug_operators.py", "opsdebug_operators.py.txt"),
)
"""Path in the repository, and name of the template."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ScaffoldFile:
    """One file to write."""

    path: str
    """POSIX path relative to the root of the repository."""

    text: str
    """Content."""


def scaffold() -> tuple[ScaffoldFile, ...]:
    """Every file, in the order they are written."""
    templates = files("opsdebug_ci.github") / "templates"
    return tuple(
        ScaffoldFile(path=path, text=(templates / name).read_text(encoding="utf-8")) for path, name in TEMPLATES
    )

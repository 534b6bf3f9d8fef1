"""Files that set a repository up: workflows, a configuration, a first operator.

Decides their content and place. Deliberately writes nothing: `opsdebug init` does, and asks before it replaces.

In a template `<<name>>` stands for a word, and a line that is nothing but `# <<name>>` for lines, each of which is
indented like it; where there are none, the line goes, and so does an empty line behind it.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from importlib.resources import files

from opsdebug_ci.errors import InternalError
from opsdebug_ci.github.recipe import Recipe, Workflow, lines_of

WORKFLOWS: Mapping[Workflow, str] = {
    Workflow.PULL_REQUEST: "opsdebug.yml",
    Workflow.REPORT: "opsdebug-report.yml",
    Workflow.NIGHTLY: "opsdebug-nightly.yml",
    Workflow.RELEASE: "opsdebug-release.yml",
    Workflow.ACCEPT: "opsdebug-accept.yml",
}
"""Name of the template, which is also the file's."""

START: tuple[tuple[str, str], ...] = (
    ("opsdebug.toml", "opsdebug.toml"),
    ("opsdebug_operators.py", "opsdebug_operators.py.txt"),
)
"""Path in the repository, and name of the template, of what stands beside the workflows."""

_BLOCK = re.compile(r"^( *)# <<([a-z-]+)>>\n(\n?)", re.MULTILINE)
_WORD = re.compile(r"<<([a-z-]+)>>")


@dataclass(frozen=True, slots=True, kw_only=True)
class ScaffoldFile:
    """One file to write."""

    path: str
    """POSIX path relative to the root of the repository."""

    text: str
    """Content."""


def scaffold(recipe: Recipe | None = None) -> tuple[ScaffoldFile, ...]:
    """Every file, in the order they are written.

    Raises:
        UsageError: a value of the recipe cannot stand in a workflow.
    """
    recipe = recipe or Recipe()
    values = lines_of(recipe)
    workflows = tuple(
        ScaffoldFile(path=f".github/workflows/{WORKFLOWS[workflow]}", text=fill(template(WORKFLOWS[workflow]), values))
        for workflow in Workflow
        if workflow in recipe.workflows
    )
    return workflows + tuple(ScaffoldFile(path=path, text=template(name)) for path, name in START)


def template(name: str) -> str:
    """The text of a template."""
    return (files("opsdebug_ci.github") / "templates" / name).read_text(encoding="utf-8")


def fill(text: str, values: Mapping[str, str]) -> str:
    """`text` with every name replaced.

    Raises:
        InternalError: it holds a name that has no value.
    """
    missing = {name for name in _WORD.findall(text) if name not in values}
    if missing:
        raise InternalError(f"a template holds {sorted(missing)}; wanted names of {sorted(values)}")

    def block(match: re.Match[str]) -> str:
        lines = values[match[2]].splitlines()
        return "".join(f"{match[1]}{line}\n" if line else "\n" for line in lines) + (match[3] if lines else "")

    return _WORD.sub(lambda match: values[match[1]], _BLOCK.sub(block, text))

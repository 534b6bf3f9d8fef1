"""`opsdebug init`: the files a repository needs to start with.

Decides to write all of them or none: a file that is there already is never replaced unasked.
"""

from __future__ import annotations

from pathlib import Path

from opsdebug_ci.errors import UsageError
from opsdebug_ci.github.recipe import Recipe
from opsdebug_ci.github.scaffold import scaffold


def initialise(directory: Path, recipe: Recipe | None = None, *, force: bool) -> tuple[Path, ...]:
    """Write the scaffold into `directory`; returns the files written.

    Raises:
        UsageError: some of them exist and `force` was not given, the directory cannot be written, or a value of the
            recipe cannot stand in a workflow.
    """
    planned = [(directory / file.path, file.text) for file in scaffold(recipe)]
    existing = [path for path, _ in planned if path.exists()]
    if existing and not force:
        names = ", ".join(path.relative_to(directory).as_posix() for path in existing)
        raise UsageError(
            f"`init` would replace {names} in {directory}; wanted none of them to exist",
            next_step="move them away, or use --force to replace them",
        )
    try:
        for path, text in planned:
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text, encoding="utf-8")
    except OSError as error:
        raise UsageError(
            f"`init` cannot write {error.filename}: got {error.strerror}; wanted a directory this user can write",
            next_step="opsdebug init DIRECTORY",
        ) from error
    return tuple(path for path, _ in planned)

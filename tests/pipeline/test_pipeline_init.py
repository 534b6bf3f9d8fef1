"""`init` writes all of its files or none."""

from __future__ import annotations

from pathlib import Path

import pytest

from opsdebug_ci.errors import UsageError
from opsdebug_ci.github.recipe import Recipe, Workflow
from opsdebug_ci.github.scaffold import scaffold
from opsdebug_ci.pipeline.init import initialise


def contents(directory: Path) -> dict[str, str]:
    files = (path for path in directory.rglob("*") if path.is_file())
    return {path.relative_to(directory).as_posix(): path.read_text() for path in files}


def test_a_new_directory_gets_every_file(tmp_path: Path) -> None:
    written = initialise(tmp_path / "new" / "project", force=False)
    assert [path.relative_to(tmp_path).as_posix() for path in written] == [
        "new/project/.github/workflows/opsdebug.yml",
        "new/project/.github/workflows/opsdebug-report.yml",
        "new/project/.github/workflows/opsdebug-nightly.yml",
        "new/project/.github/workflows/opsdebug-release.yml",
        "new/project/.github/workflows/opsdebug-accept.yml",
        "new/project/opsdebug.toml",
        "new/project/opsdebug_operators.py",
    ]
    assert contents(tmp_path / "new" / "project") == {file.path: file.text for file in scaffold()}


def test_what_is_asked_for_is_written(tmp_path: Path) -> None:
    recipe = Recipe(workflows=(Workflow.RELEASE,), shards=2)
    initialise(tmp_path, recipe, force=False)
    assert contents(tmp_path) == {file.path: file.text for file in scaffold(recipe)}
    assert 'shard: ["1/2", "2/2"]' in (tmp_path / ".github/workflows/opsdebug-release.yml").read_text()


def test_nothing_is_written_when_a_value_cannot_be(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="`--shards` is '0'"):
        initialise(tmp_path, Recipe(shards=0), force=True)
    assert contents(tmp_path) == {}


def test_one_file_that_exists_keeps_all_from_being_written(tmp_path: Path) -> None:
    (tmp_path / "opsdebug_operators.py").write_text("mine")
    with pytest.raises(UsageError, match=r"would replace opsdebug_operators.py in .*; wanted none of them to exist"):
        initialise(tmp_path, force=False)
    assert contents(tmp_path) == {"opsdebug_operators.py": "mine"}
    initialise(tmp_path, force=True)
    assert contents(tmp_path) == {file.path: file.text for file in scaffold()}


def test_a_place_that_cannot_be_written_is_named(tmp_path: Path) -> None:
    (tmp_path / ".github").write_text("a file where a directory is to be")
    with pytest.raises(UsageError) as refusal:
        initialise(tmp_path, force=False)
    assert str(refusal.value) == (
        f"`init` cannot write {tmp_path}/.github/workflows: got Not a directory; wanted a directory this user can write"
        "\n  next: opsdebug init DIRECTORY"
    )

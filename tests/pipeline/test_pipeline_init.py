"""`init` writes all of its files or none."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from opsdebug_ci.errors import UsageError
from opsdebug_ci.execution.interpreter import PYTHON_WANTED
from opsdebug_ci.github.recipe import NEWEST, OLDEST_CONTROL, OLDEST_WORKER, Recipe, Workflow
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


@pytest.mark.parametrize(
    "python",
    [
        *("3.9", "3.9.18", "3.6", "3.15", "3.99", "3", "2.7", "4.0", "3.x", "3.12t", "3.13-dev", "3.100"),
        *("python3.9", "/usr/bin/python2.7", "python2", "../venv/bin/python3.8", "python3.15"),
    ],
)
def test_a_version_that_operators_cannot_run_in_is_refused(tmp_path: Path, python: str) -> None:
    with pytest.raises(UsageError) as refusal:
        initialise(tmp_path, Recipe(python=python), force=False)
    assert str(refusal.value) == (
        f"`--python` is '{python}'; wanted a version from 3.10 to 3.14, or the name or path of an interpreter that is "
        "one\n  next: opsdebug init --help"
    )
    assert contents(tmp_path) == {}


@pytest.mark.parametrize(
    "python",
    [
        *("3.10", "3.11", "3.12.7", "3.14"),
        *("python", "python3", "python3.10", "/opt/3.9/bin/python3", "~/venv/bin/python3.13", "pypy"),
    ],
)
def test_every_other_is_written(tmp_path: Path, python: str) -> None:
    initialise(tmp_path, Recipe(python=python), force=False)
    assert python in (tmp_path / ".github/workflows/opsdebug.yml").read_text()


def test_versions_are_those_of_the_set_up_and_of_the_workers() -> None:
    """The set-up knows the newest by name, and the package its oldest."""
    root = Path(__file__).parents[2]
    set_up = (root / ".github/action/bootstrap.sh").read_text()
    known = {int(minor) for minor in re.findall(r"\bpython3\.(\d+)\b", set_up)}
    assert known == set(range(OLDEST_CONTROL, NEWEST + 1))
    assert f"sys.version_info < (3, {OLDEST_CONTROL})" in set_up
    assert f'requires-python = ">=3.{OLDEST_CONTROL}"' in (root / "pyproject.toml").read_text()
    assert PYTHON_WANTED == (3, OLDEST_WORKER)

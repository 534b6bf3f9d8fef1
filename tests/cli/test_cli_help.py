"""Help: light, complete, and the same in the documentation."""

from __future__ import annotations

import re
import sys
from pathlib import Path

import pytest
from cli_notation import SCRIPT, opsdebug

from opsdebug_ci import __version__
from opsdebug_ci.cli.commands import COMMANDS
from opsdebug_ci.cli.help_page import main, render

PAGE = Path(__file__).parents[2] / "docs" / "help.txt"

HEAVY = {"duckdb", "github", "mpmath", "msgspec", "numpy", "pyarrow", "rich", "torch"}
"""Libraries that `--help` has no use for."""

SPELLINGS = ([str(SCRIPT)], [str(SCRIPT.with_name("ops-debug"))], [sys.executable, "-m", "opsdebug_ci"])


def imported(log: str) -> set[str]:
    """Top-level packages in the log of `-X importtime`."""
    return {name.partition(".")[0] for name in re.findall(r"\|\s+([\w.]+)$", log, re.MULTILINE)}


def test_help_imports_nothing_heavy(tmp_path: Path) -> None:
    ended = opsdebug("--help", at=tmp_path, words=[sys.executable, "-X", "importtime", "-m", "opsdebug_ci"])
    assert ended.code == 0
    assert "click" in imported(ended.err)
    assert imported(ended.err) & HEAVY == set()


def test_sql_imports_no_torch_and_no_github(tmp_path: Path) -> None:
    words = [sys.executable, "-X", "importtime", "-m", "opsdebug_ci"]
    ended = opsdebug("sql", "select 1", "--store", "nowhere", at=tmp_path, words=words)
    assert "duckdb" in imported(ended.err)
    assert imported(ended.err) & {"torch", "github", "rich"} == set()


@pytest.mark.parametrize("words", SPELLINGS, ids=("opsdebug", "ops-debug", "module"))
def test_every_spelling_is_the_same_program(words: list[str], tmp_path: Path) -> None:
    ended = opsdebug("--version", at=tmp_path, words=words)
    assert (ended.code, ended.out, ended.err) == (0, f"opsdebug, version {__version__}\n", "")


@pytest.mark.parametrize("command", COMMANDS)
def test_every_command_has_help(command: str, tmp_path: Path) -> None:
    ended = opsdebug(command, "--help", at=tmp_path)
    assert (ended.code, ended.err) == (0, "")
    assert ended.out.startswith(f"Usage: opsdebug {command} [OPTIONS]")


def test_the_page_is_the_help_of_this_program(tmp_path: Path) -> None:
    assert PAGE.read_text() == render()
    main([str(tmp_path / "help.txt")])
    assert (tmp_path / "help.txt").read_text() == render()


def test_the_page_has_every_command() -> None:
    assert re.findall(r"^Usage: opsdebug (\w+) ", render(), re.MULTILINE) == list(COMMANDS)

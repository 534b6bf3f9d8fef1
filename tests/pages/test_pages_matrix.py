"""Stray loops in C under every mode: which ones the processor stops, in processes of their own."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from opsdebug_ci.catalogue.compiler import FLAGS, compiler_command
from opsdebug_ci.errors import EnvironmentLimitError
from opsdebug_ci.guard.pages import unavailable_reason

HERE = Path(__file__).parent

DIES = {
    "clean": "",
    "over_write": "tail tail_readable",
    "far_write": "tail tail_readable",
    "over_read": "tail",
    "unused_read": "tail",
    "copy_back": "tail tail_readable",
    "add_zero": "tail tail_readable",
    "under_write": "head head_readable",
    "under_read": "head",
    "mutates": "inputs_readable",
    "same_value": "inputs_readable",
    "aligned_only": "tail tail_readable inputs_readable",
    "own empty": "tail tail_readable",
    "own zeros": "tail tail_readable",
    "own clean": "",
    "custom": "tail tail_readable",
    "contiguous": "tail",
    "open over_write": "",
    "open aligned_only": "tail",
    "sixteen aligned_only": "",
    "sixteen far_write": "tail_readable",
}
"""Loop, or loop and where its output comes from -> modes in which it dies."""


@pytest.fixture(scope="module")
def found(tmp_path_factory: pytest.TempPathFactory) -> dict[str, list[str]]:
    if unavailable_reason() is not None:
        pytest.skip(f"no pages can be watched here: {unavailable_reason()}")
    try:
        compiler = compiler_command()
    except EnvironmentLimitError as missing:
        pytest.skip(str(missing))
    library = tmp_path_factory.mktemp("strays") / "strays.so"
    subprocess.run([*compiler, *FLAGS, str(HERE / "pages_strays.c"), "-o", str(library)], check=True, timeout=60)
    done = subprocess.run(
        [sys.executable, str(HERE / "pages_children.py"), str(library)],
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


@pytest.mark.parametrize("name", DIES)
def test_the_processor_stops_what_a_mode_forbids(found: dict[str, list[str]], name: str) -> None:
    assert " ".join(found[name]) == DIES[name]


def test_every_loop_was_launched(found: dict[str, list[str]]) -> None:
    assert list(found) == list(DIES)

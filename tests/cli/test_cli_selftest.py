"""`opsdebug selftest` from the command line: a crash and a hang for real, and mistakes."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from cli_notation import opsdebug


def test_a_name_nobody_knows_is_a_mistake(tmp_path: Path) -> None:
    ended = opsdebug("selftest", "--only", "unheard_of", at=tmp_path)
    assert (ended.code, ended.out) == (2, "")
    assert "`--only` has `unheard_of`, which no planted defect and no built-in operator matches" in ended.err


def test_a_seed_that_is_none_is_a_mistake(tmp_path: Path) -> None:
    ended = opsdebug("selftest", "--seed", "many", at=tmp_path)
    assert ended.code == 2
    assert "`--seed` has `many`" in ended.err


@pytest.mark.slow
def test_operators_that_crash_and_hang_are_caught_and_named(tmp_path: Path) -> None:
    ended = opsdebug("selftest", "--only", "crash", "--only", "hang", "--seed", "3", "--json", at=tmp_path)
    document = json.loads(ended.out)
    assert (ended.code, document["schema"], document["verdict"]) == (0, "opsdebug.selftest/1", "pass")
    named = {defect["name"]: defect["found"][0]["cause"] for defect in document["defects"]}
    assert named == {"crash": "crash_segfault", "hang": "hang"}
    assert document["false_alarms"]["count"] == 0
    assert document["false_alarms"]["of"] > 10

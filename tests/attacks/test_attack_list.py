"""The list of attacks against the tests that try them, and against the page that shows both."""

from __future__ import annotations

import re

import pytest
from attack_list import ATTACKS
from attack_page import modules, render, trials, updated
from hostile_job import ROOT

PAGE = (ROOT / "docs/attacks.md").read_text(encoding="utf-8")
ROWS = [attack.row for attack in ATTACKS]
TRIALS = trials()


def test_there_are_35_rows_in_order() -> None:
    assert [f"A{number}" for number in range(1, 36)] == ROWS


@pytest.mark.parametrize("row", ROWS)
def test_every_row_is_tried_and_has_a_harmless_twin(row: str) -> None:
    assert sum(one.variants for one in TRIALS if one.row == row and not one.harmless) >= 1
    assert sum(one.variants for one in TRIALS if one.row == row and one.harmless) >= 1


def test_no_test_is_of_a_row_that_is_none() -> None:
    assert {one.row for one in TRIALS} == set(ROWS)


def test_every_test_is_of_a_row() -> None:
    marked = {(one.module, one.name) for one in TRIALS}
    tests = {(module.__name__, name) for module in modules() for name in vars(module) if name.startswith("test_")}
    assert tests - marked == set()


def test_variants_are_counted_as_they_are_run(request: pytest.FixtureRequest) -> None:
    """Against what pytest collected of this very run, where it collected whole modules."""
    counted = {(one.module, one.name): one.variants for one in TRIALS}
    run: dict[tuple[str, str], int] = {}
    for item in request.session.items:
        key = (item.path.stem, item.name.split("[")[0])
        run[key] = run.get(key, 0) + 1
    assert all(count <= counted[key] for key, count in run.items() if key in counted)


def test_the_page_is_made_of_the_list() -> None:
    assert updated(PAGE) == PAGE


def test_a_page_that_disagrees_is_found() -> None:
    altered = re.sub(r"\| A13 \|.*\n", "", PAGE)
    assert altered != PAGE
    assert updated(altered) == PAGE


def test_every_row_is_one_line_of_the_table() -> None:
    lines = [line for line in render().splitlines() if line.startswith("| A")]
    assert [line.split(" | ")[0] for line in lines] == [f"| {row}" for row in ROWS]
    assert {line.count(" | ") for line in lines} == {5}

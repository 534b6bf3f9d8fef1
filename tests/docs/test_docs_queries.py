"""docs/queries.md: every query is asked of the example store, and answers what the page says."""

from __future__ import annotations

from pathlib import Path

import pytest
from example_store import answered, fill, questions, updated

PAGE = (Path(__file__).parents[2] / "docs/queries.md").read_text(encoding="utf-8")


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Path:
    directory = tmp_path_factory.mktemp("example")
    fill(directory)
    return directory


def test_there_are_ten(place: Path) -> None:
    assert len(questions(PAGE)) == 10
    assert PAGE.count("```sql\n") == PAGE.count("```text\n") == PAGE.count("\n## ") == 10


@pytest.mark.parametrize("number", range(10))
def test_a_query_answers_what_the_page_says(place: Path, number: int) -> None:
    sql = questions(PAGE)[number]
    assert f"```sql\n{sql}```\n\n```text\n{answered(place, sql)}```\n" in PAGE


@pytest.mark.parametrize("number", range(10))
def test_every_answer_has_rows(place: Path, number: int) -> None:
    assert "(0 rows)" not in answered(place, questions(PAGE)[number])


def test_an_answer_that_is_wrong_is_found(place: Path) -> None:
    altered = PAGE.replace("\n(2 rows)", "\n(3 rows)", 1)
    assert altered != PAGE
    assert updated(altered, place) == PAGE

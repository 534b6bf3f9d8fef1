"""Documents that point at something which exists."""

from __future__ import annotations

from pathlib import Path

import pytest
from house_pages import anchors, dead_links, listed_documents, pages, unknown_names
from house_source import ROOT

README = (ROOT / "README.md").read_text(encoding="utf-8")
ARCHITECTURE = (ROOT / "ARCHITECTURE.md").read_text(encoding="utf-8")
CONTRIBUTING = (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8")


@pytest.mark.parametrize("page", pages(), ids=lambda page: str(page.relative_to(ROOT)))
def test_every_link_and_file_name_leads_somewhere(page: Path) -> None:
    assert dead_links(page.read_text(encoding="utf-8"), page.parent) == []


@pytest.mark.parametrize("text", [ARCHITECTURE, CONTRIBUTING], ids=["ARCHITECTURE.md", "CONTRIBUTING.md"])
def test_the_map_and_the_guide_name_only_what_exists(text: str) -> None:
    assert unknown_names(text) == []


def test_the_architecture_stays_short() -> None:
    assert len(ARCHITECTURE.splitlines()) <= 150


def test_the_table_of_documents_is_complete() -> None:
    documents = {f"docs/{path.name}" for path in (ROOT / "docs").iterdir() if path.suffix in (".md", ".txt")}
    assert listed_documents(README) == documents | {"ARCHITECTURE.md", "CONTRIBUTING.md"}


def test_links_that_lead_somewhere_are_left_alone(tmp_path: Path) -> None:
    (tmp_path / "other.md").write_text("# A title: of `it`\n")
    text = "# Here\n[a](other.md) [b](other.md#a-title-of-it) [c](#here) [d](https://host/x) docs/errors.md\n"
    assert dead_links(text, tmp_path) == []


@pytest.mark.parametrize("text", ["[a](gone.md)", "[a](#gone)", "[a](here.md#gone)", "`docs/gone.md`", "see docs/x."])
def test_a_dead_link_is_found(text: str, tmp_path: Path) -> None:
    (tmp_path / "here.md").write_text("# Here\n")
    assert len(dead_links(text, tmp_path)) == 1


@pytest.mark.parametrize(
    "text",
    ["`Case`", "`errors`", "`numerics.comparison`", "`judge.rules`", "`run_case`", "`fail`", "`a b`", "`--json`"],
)
def test_a_name_of_ours_is_left_alone(text: str) -> None:
    assert unknown_names(text) == []


@pytest.mark.parametrize(
    "text", ["`Kase`", "`numerics.comparision`", "`judge.gone`", "`run_kase()`", "`Operator.gone`"]
)
def test_a_dead_name_is_found(text: str) -> None:
    assert len(unknown_names(text)) == 1


def test_a_table_of_documents_is_read() -> None:
    assert listed_documents("| page | about |\n|---|---|\n| [docs/a.md](docs/a.md) | it |\n") == {"docs/a.md"}


def test_anchors_are_those_of_headings() -> None:
    assert anchors("# One Two\n## `x`: y\n```\n# no heading\n```\n") == {"one-two", "x-y"}

"""The error tree: a stable code for every class, a heading in the documentation for every code."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from opsdebug_ci import errors
from opsdebug_ci.errors import InternalError, OpsdebugError, Unsupported, UsageError

PAGE = (Path(__file__).parents[2] / "docs/errors.md").read_text(encoding="utf-8")
CLASSES = [value for value in vars(errors).values() if isinstance(value, type) and issubclass(value, OpsdebugError)]

CODES = """
opsdebug 70, usage 2, configuration 2, declaration 2, discovery 2, environment 3, store 3, store-format 2,
store-unreachable 3, store-damaged 3, query 2, shape-mismatch 70, inputs 4, bundle 2, reference 4, worker 3,
github 3, github-refused 3, github-unreachable 3, github-ambiguous 3, github-answer 3, artifact 2, internal 70
"""


def test_codes_and_exit_codes_never_change() -> None:
    assert [f"{cls.code} {cls.exit_code}" for cls in CLASSES] == [item.strip() for item in CODES.split(",")]


def test_every_class_states_its_own_code() -> None:
    assert all("code" in vars(cls) for cls in CLASSES)
    assert len({cls.code for cls in CLASSES}) == len(CLASSES)


def test_the_page_has_one_heading_per_code() -> None:
    assert re.findall(r"^## (.+)$", PAGE, flags=re.MULTILINE) == [cls.code for cls in CLASSES]


@pytest.mark.parametrize("cls", CLASSES, ids=lambda cls: cls.code)
def test_a_section_says_what_it_means_and_what_to_do(cls: type[OpsdebugError]) -> None:
    section = PAGE.split(f"\n## {cls.code}\n")[1].split("\n## ")[0]
    assert re.search(rf"Exit\s+code {cls.exit_code}\.", section)
    assert "\nTypical message:" in section
    assert "\nWhat to do:" in section


def test_a_message_ends_with_the_next_step() -> None:
    assert str(UsageError("`x` is 1; wanted 2", next_step="write 2")) == "`x` is 1; wanted 2\n  next: write 2"
    assert str(UsageError("`x` is 1; wanted 2")) == "`x` is 1; wanted 2"


def test_a_fault_of_ours_says_so() -> None:
    assert str(InternalError("no cases", next_step="report it")) == "internal error: no cases\n  next: report it"


def test_unsupported_is_no_error_of_ours() -> None:
    assert not issubclass(Unsupported, OpsdebugError)

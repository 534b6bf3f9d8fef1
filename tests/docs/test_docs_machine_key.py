"""The page about the history lists every fact of a machine as the key is made of them."""

from __future__ import annotations

from pathlib import Path

import opsdebug_ci
from opsdebug_ci.model.comparability import FACTS

PAGE = Path(opsdebug_ci.__file__).parents[1] / "docs" / "history.md"


def test_the_table_of_facts_is_that_of_the_key() -> None:
    section = PAGE.read_text(encoding="utf-8").partition("\n## The machine key\n")[2].partition("\n## ")[0]
    rows = [tuple(line.strip("| ").split(" | ")) for line in section.splitlines() if line.startswith("| ")]
    assert rows == [
        ("fact", "in the key", "why"),
        *((fact.name, "yes" if fact.in_key else "no", fact.why) for fact in FACTS),
    ]

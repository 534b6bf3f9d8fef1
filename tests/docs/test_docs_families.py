"""The page about declarations lists every family of values as the generator has them."""

from __future__ import annotations

from pathlib import Path

import opsdebug_ci
from opsdebug_ci.model import FAMILY_TRAITS, Kind

PAGE = Path(opsdebug_ci.__file__).parents[1] / "docs" / "operators.md"


def test_the_table_of_families_is_that_of_the_code() -> None:
    section = PAGE.read_text(encoding="utf-8").partition("\n## Families of values\n")[2].partition("\n## ")[0]
    rows = [line for line in section.splitlines() if line.startswith("| ")]
    assert rows[1:] == [
        f"| `{family}` | {traits.summary} | {', '.join(str(kind) for kind in Kind if kind in traits.shows) or '-'} |"
        for family, traits in FAMILY_TRAITS.items()
    ]

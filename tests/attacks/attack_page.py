"""docs/attacks.md, made of the list of attacks and of the tests that try them.

`python tests/attacks/attack_page.py docs/attacks.md` rewrites the part of the page between its two marks.
"""

from __future__ import annotations

import importlib
import math
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType

import pytest

HERE = Path(__file__).parent
sys.path[:0] = [str(HERE), str(HERE.parent), str(HERE.parents[1])]

from attack_list import ATTACKS, Attack  # noqa: E402 - run as a script, this file finds its neighbours itself

BEGIN = "<!-- generated from tests/attacks: begin -->"
END = "<!-- generated from tests/attacks: end -->"


@dataclass(frozen=True, slots=True, kw_only=True)
class Trial:
    """A test that tries an attack, or does the harmless thing beside it."""

    row: str
    """Which attack."""

    module: str
    """Where the test is."""

    name: str
    """What it is called."""

    harmless: bool
    """It is the twin."""

    variants: int
    """How often it is run, each time with something else."""


def modules() -> list[ModuleType]:
    """The modules with tests of attacks."""
    return [importlib.import_module(path.stem) for path in sorted(HERE.glob("test_attacks_*.py"))]


def trials() -> list[Trial]:
    """Every test that carries a row."""
    return [trial for module in modules() for trial in _trials(module)]


def _trials(module: ModuleType) -> Iterator[Trial]:
    for name, function in vars(module).items():
        marks: list[pytest.Mark] = getattr(function, "pytestmark", []) if name.startswith("test_") else []
        tables = [mark for mark in marks if mark.name == "parametrize"]
        variants = math.prod(
            len(table.args[1] if len(table.args) > 1 else table.kwargs["argvalues"]) for table in tables
        )
        for mark in marks:
            if mark.name in ("attack", "attack_twin"):
                yield Trial(
                    row=mark.args[0],
                    module=module.__name__,
                    name=name,
                    harmless=mark.name == "attack_twin",
                    variants=variants,
                )


def render() -> str:
    """Everything between the marks."""
    found = trials()
    head = ["| | tried | wanted, and seen | attacks | twins | tests |", "|---|---|---|---:|---:|---|"]
    lines = [*head, *(_line(attack, [one for one in found if one.row == attack.row]) for attack in ATTACKS)]
    attacks, twins = (sum(one.variants for one in found if one.harmless is kind) for kind in (False, True))
    return "\n".join([*lines, "", f"{attacks} attacks and {twins} harmless twins."])


def _line(attack: Attack, found: list[Trial]) -> str:
    counts = (str(sum(one.variants for one in found if one.harmless is kind)) for kind in (False, True))
    places = ", ".join(f"`{name.removeprefix('test_attacks_')}`" for name in sorted({one.module for one in found}))
    return f"| {' | '.join((attack.row, attack.tried, attack.wanted, *counts, places))} |"


def updated(page: str) -> str:
    """The page with what is between its marks rendered anew."""
    before, begin, rest = page.partition(BEGIN)
    _, end, after = rest.partition(END)
    if not begin or not end:
        raise SystemExit(f"the page has no lines `{BEGIN}` and `{END}`; wanted both, in this order")
    return f"{before}{BEGIN}\n\n{render()}\n\n{END}{after}"


if __name__ == "__main__":
    place = Path(sys.argv[1])
    place.write_text(updated(place.read_text(encoding="utf-8")), encoding="utf-8", newline="\n")

"""docs/causes.md against the vocabulary and the rules: a section for what is named, a line for the rest."""

from __future__ import annotations

import ast
import copy
import re
import shlex
from pathlib import Path

import pytest

import opsdebug_ci
from opsdebug_ci.cli import profile, run
from opsdebug_ci.model.vocabulary import Cause
from opsdebug_ci.numerics.variants.explanation import COMPLETE
from opsdebug_ci.pipeline.causes import PASSING
from opsdebug_ci.plan import parse_axes
from opsdebug_ci.worker import explaining, investigation
from opsdebug_ci.worker.probes import PROBES

PACKAGE = Path(opsdebug_ci.__file__).parent
PAGE = (PACKAGE.parent / "docs/causes.md").read_text(encoding="utf-8")
SECTIONS = re.findall(r"^## `(\w+)`$", PAGE, flags=re.MULTILINE)
LINES = re.findall(r"^\| `(\w+)` \| \S.* \|$", PAGE.split("\n## Not named yet\n")[1], flags=re.MULTILINE)
RULES = ("judge/rules", "numerics/patterns", "numerics/variants", "worker/probes", "regress")
COMMANDS = {"run": run.command, "profile": profile.command}
LABELS = ["What", "Why", "Limits", "Confirm", "Remedy"]


def named_by_the_rules() -> set[str]:
    """Every `Cause.X` in the source of the rules, of the judge and of the worker side."""
    sources = [path for folder in RULES for path in (PACKAGE / folder).glob("*.py")]
    trees = [ast.parse(path.read_text(encoding="utf-8")) for path in sources]
    members = (node for tree in trees for node in ast.walk(tree) if isinstance(node, ast.Attribute))
    return {str(Cause[node.attr]) for node in members if ast.unparse(node.value) == "Cause"}


def section(cause: str) -> str:
    return PAGE.split(f"\n## `{cause}`\n")[1].split("\n## ")[0]


def test_the_rules_name_some() -> None:
    assert {"exception", "oob_write", "unknown"} <= named_by_the_rules()


def test_every_cause_has_exactly_one_entry() -> None:
    assert sorted(SECTIONS + LINES) == sorted(str(cause) for cause in Cause)


def test_sections_are_those_the_rules_can_name() -> None:
    assert set(SECTIONS) == named_by_the_rules()


def test_the_rest_stands_in_the_order_of_the_vocabulary() -> None:
    assert [str(cause) for cause in Cause if str(cause) not in SECTIONS] == LINES


@pytest.mark.parametrize("cause", SECTIONS)
def test_a_section_says_everything_in_order(cause: str) -> None:
    text = section(cause)
    assert re.findall(r"^\*\*(\w+)\.\*\* \S", text, flags=re.MULTILINE) == LABELS
    assert re.search("`opsdebug (run|profile) OP", text.split("**Confirm.**")[1].split("**Remedy.**")[0])


@pytest.mark.parametrize("cause", SECTIONS)
def test_a_remedy_shows_before_and_after(cause: str) -> None:
    blocks = re.findall(r"^```(\w+)\n(.*?)^```$", section(cause), flags=re.MULTILINE | re.DOTALL)
    openings = [text.splitlines()[0].strip("#/* ") for _, text in blocks]
    assert openings == ["before", "after"]
    assert blocks[0][1].splitlines()[1:] != blocks[1][1].splitlines()[1:]


def commands() -> list[str]:
    return re.findall(rf"`opsdebug ((?:{'|'.join(COMMANDS)}) [^`]+)`", PAGE)


@pytest.mark.parametrize("typed", commands())
def test_a_command_is_one_the_command_line_understands(typed: str) -> None:
    name, *words = shlex.split(typed)
    context = copy.copy(COMMANDS[name]).make_context(name, words)  # a command keeps the help option it makes here
    axes = {name: context.params[name] for name in ("dims", "dtype", "seed", "inputs", "layout")}
    assert context.params["operators"] == ("OP",)
    parse_axes(**axes)


def test_the_probes_are_listed_in_their_order() -> None:
    told = PAGE.split("\n## How a cause is found\n")[1].split("\n## ")[0]
    listed = re.findall(r"^\| `(\w+)` \| .*\?[^|]* \|$", told, flags=re.MULTILINE)
    assert listed == [probe.__name__ for probe in PROBES]


def test_the_times_and_limits_are_those_of_the_code() -> None:
    told = " ".join(PAGE.split("\n## How a cause is found\n")[1].split("\n## ")[0].split())
    for number, sentence in (
        (explaining.TESTED, "up to {:g} of the failing ones"),
        (PASSING, "beside up to {:g} that pass"),
        (investigation.CASE_S, "A lead may cost {:g} s"),
        (investigation.OPERATOR_S, "an operator {:g} s, counted in launches"),
        (investigation.SETTLED, "while no hypothesis of confidence {:g}"),
        (investigation.LEAST_BITS, "An alteration needs {:g} bits"),
        (investigation.CONDITIONAL_BITS, "give {:g} bits"),
        (investigation.REFUTED, "keeps {:g} of its confidence"),
        (investigation.CORROBORATED, "to at most {:g} unless"),
        (COMPLETE, "from {:g} on it counts as all"),
    ):
        assert sentence.format(number) in told


def test_the_evidence_of_an_alteration_is_all_explained() -> None:
    told = PAGE.split("\n## How a cause is found\n")[1].split("\n## ")[0]
    tree = ast.parse((PACKAGE / "worker/probes/altered_reference.py").read_text(encoding="utf-8"))
    given = next(node for node in ast.walk(tree) if isinstance(node, ast.Dict) and len(node.keys) > 2)
    keys = [key.value for key in given.keys if isinstance(key, ast.Constant)]
    assert "alteration" in keys
    assert [key for key in keys if f"`{key}`" not in told] == []

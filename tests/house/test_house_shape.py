"""Sizes, docstrings and dataclasses of every module, and the places where the style is broken knowingly."""

from __future__ import annotations

import pytest
from house_shape import (
    interface_methods,
    loose_dataclasses,
    too_long_functions,
    too_long_module,
    undocumented,
)
from house_source import ROOT, Module, module, modules

DOCUMENTED_BY_CLICK = frozenset({"list_commands", "get_command", "format_commands"})
"""Methods of `click.Group` that `cli.commands.LazyGroup` replaces."""

LOOSE_DATACLASSES = {
    "model.contract.Contract": "a promise is read in a declaration; positions are never used, but slots and frozen are",
    "model.contract.Cost": "users write Cost(flops, bytes)",
    "inputs.generator.Stream": "one field, its key",
    "numerics.noise._SumErrors": "a memory of sizes, filled while noise is drawn",
    "pipeline.experiment.Records": "a memory of launches, filled while they are made",
    "worker.investigation._Tested": "filled while a hypothesis is tested, and dies with the search",
    "worker.isolation._Setting": "a table of pairs, read and write",
    "worker.refusals._Trial": "filled while the operator runs, and dies with it",
    "worker.references.ReferenceAnswers": "filled while references are asked one by one, and dies with the case",
}
"""Dataclasses that are not frozen, slotted and keyword-only, and why."""


def each(check: object, *arguments: object) -> list[str]:
    assert callable(check)
    return [offence for one in modules() for offence in check(one, *arguments)]


def interfaces() -> frozenset[str]:
    return frozenset(name for one in modules() for name in interface_methods(one)) | DOCUMENTED_BY_CLICK


def test_there_is_a_package_to_look_at() -> None:
    assert len(modules()) > 200
    assert {"", "errors", "model.case", "cli", "judge.rules"} <= {one.name for one in modules()}


def test_modules_are_short() -> None:
    assert each(too_long_module) == []


def test_functions_are_short() -> None:
    assert each(too_long_functions) == []


def test_everything_public_is_documented() -> None:
    assert each(undocumented, interfaces()) == []


def test_records_are_frozen_slotted_and_keyword_only() -> None:
    assert sorted(each(loose_dataclasses)) == sorted(LOOSE_DATACLASSES)


def test_contributing_lists_the_loose_records() -> None:
    listed = (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8").split("### Where we break it, knowingly")[1]
    assert [name for name in LOOSE_DATACLASSES if f"`{name.rsplit('.', 1)[1]}`" not in listed] == []


CLEAN = module('''
    """A module."""

    from dataclasses import dataclass
    from typing import ClassVar, Protocol

    class Reader(Protocol):
        """Reads."""

        def read(self) -> str:
            """The text."""

    @dataclass(frozen=True, slots=True, kw_only=True)
    class Text:
        """A text."""

        code: ClassVar[str] = "text"

        text: str
        """Its text."""

        def read(self) -> str:
            return self.text

        def _hidden(self) -> None:
            return None

    def length(text: Text) -> int:
        """Its length."""
        def inner() -> int:
            return len(text.text)
        return inner()
''')


def replaced(old: str, new: str) -> Module:
    assert CLEAN.text.count(old) == 1
    return module(CLEAN.text.replace(old, new))


def test_a_clean_module_is_left_alone() -> None:
    assert list(interface_methods(CLEAN)) == ["read"]
    assert undocumented(CLEAN, frozenset({"read"})) == []
    assert loose_dataclasses(CLEAN) == []
    assert too_long_module(CLEAN) == too_long_functions(CLEAN) == []


@pytest.mark.parametrize(
    ("docstring", "offence"),
    [
        ("A module.", "planted"),
        ("A text.", "planted.Text"),
        ("Its length.", "planted.length"),
        ("The text.", "planted.Reader.read"),
    ],
)
def test_a_missing_docstring_is_found(docstring: str, offence: str) -> None:
    assert offence in undocumented(replaced(f'"""{docstring}"""', "..."))


def test_a_method_without_interface_needs_its_own_docstring() -> None:
    assert undocumented(CLEAN) == ["planted.Text.read"]


@pytest.mark.parametrize("lost", ["frozen=True, ", "slots=True, ", ", kw_only=True"])
def test_a_loose_dataclass_is_found(lost: str) -> None:
    assert loose_dataclasses(replaced(lost, "")) == ["planted.Text"]


def test_a_bare_dataclass_is_found() -> None:
    assert loose_dataclasses(replaced("(frozen=True, slots=True, kw_only=True)", "")) == ["planted.Text"]


@pytest.mark.parametrize(("lines", "offences"), [(60, 0), (61, 1)])
def test_a_function_over_the_limit_is_found(lines: int, offences: int) -> None:
    assert len(too_long_functions(module("def f():\n" + "    f()\n" * (lines - 1)))) == offences


@pytest.mark.parametrize(("lines", "offences"), [(500, 0), (501, 1)])
def test_a_module_over_the_limit_is_found(lines: int, offences: int) -> None:
    assert len(too_long_module(module("x = 1\n" * lines))) == offences

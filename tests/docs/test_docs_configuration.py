"""docs/configuration.md against the code: keys, defaults, examples, and which keys nothing uses yet."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

import opsdebug_ci
from opsdebug_ci.plan.configuration import Configuration, load_configuration
from opsdebug_ci.plan.quantity import BYTES_PER_UNIT, SECONDS_PER_UNIT
from opsdebug_ci.plan.setting import SETTINGS, Peaks, Scoped, Setting

PACKAGE = Path(opsdebug_ci.__file__).parent
PAGE = (PACKAGE.parent / "docs/configuration.md").read_text(encoding="utf-8")
ROWS = re.findall(r"^\| \[`([\w.]+)`\]\(#(\w+)\) \| (\S+) \| (.+?) \| (.+?) \|$", PAGE, flags=re.MULTILINE)
ABSENT = (None, (), Scoped(default=None), Peaks())
"""Defaults that stand for "not given"; the page says in words what then happens."""


def example(key: str) -> str:
    section = PAGE.split(f"\n## `{key}`\n")[1].split("\n## ")[0]
    blocks = re.findall(r"^```toml\n(.*?)^```$", section, flags=re.MULTILINE | re.DOTALL)
    assert len(blocks) == 1, "one example a key"
    return str(blocks[0])


def loaded(text: str, directory: Path) -> Configuration:
    (directory / "opsdebug.toml").write_text(text)
    return load_configuration(directory, operators_required=False)


def test_the_table_has_every_key_in_order() -> None:
    assert [key for key, *_ in ROWS] == [setting.key for setting in SETTINGS]


def test_every_key_has_a_section_its_row_leads_to() -> None:
    assert re.findall(r"^## `([\w.]+)`$", PAGE, flags=re.MULTILINE) == [setting.key for setting in SETTINGS]
    assert [anchor for _, anchor, *_ in ROWS] == [setting.key.replace(".", "") for setting in SETTINGS]


@pytest.mark.parametrize("setting", SETTINGS, ids=lambda setting: setting.key)
def test_the_default_is_the_one_of_the_code(setting: Setting, tmp_path: Path) -> None:
    default = getattr(Configuration(root=tmp_path), setting.field)
    shown = next(row[2] for row in ROWS if row[0] == setting.key)
    if shown == "none":
        assert default in ABSENT
    else:
        assert getattr(loaded(f"{setting.key} = {shown.strip('`')}", tmp_path), setting.field) == default


@pytest.mark.parametrize("setting", SETTINGS, ids=lambda setting: setting.key)
def test_the_example_sets_its_key_and_nothing_else(setting: Setting, tmp_path: Path) -> None:
    given, plain = loaded(example(setting.key), tmp_path), Configuration(root=tmp_path)
    differing = [s.key for s in SETTINGS if getattr(given, s.field) != getattr(plain, s.field)]
    assert differing == [setting.key]


def test_the_examples_together_are_one_configuration(tmp_path: Path) -> None:
    loaded("".join(example(setting.key) for setting in SETTINGS), tmp_path)


@pytest.mark.parametrize("key", ["performance", "gate", "bundle.values"])
def test_the_accepted_words_are_all_there_are(key: str, tmp_path: Path) -> None:
    words = re.findall(r"`(\w+)`", next(row[3] for row in ROWS if row[0] == key))
    spelled = [word if word in ("true", "false") else f'"{word}"' for word in words]
    values = {str(getattr(loaded(f"{key} = {text}", tmp_path), key.replace(".", "_"))).lower() for text in spelled}
    assert values == set(words)


def test_the_units_are_all_there_are() -> None:
    sentence = PAGE.split("A duration is ")[1].split("Both are")[0]
    assert re.findall(r"`(\w+)`", sentence) == [*SECONDS_PER_UNIT, *BYTES_PER_UNIT]


def test_a_key_is_called_unused_exactly_when_nothing_reads_it() -> None:
    """Read from what holds a `Configuration`: other values have fields of the same names."""
    sources = "".join(path.read_text(encoding="utf-8") for path in PACKAGE.rglob("*.py"))
    unused = {s.key for s in SETTINGS if not re.search(rf"\b(configuration|settings)\.{s.field}\b", sources)}
    assert {key for key, *_, meaning in ROWS if "not used yet" in meaning} == unused
    assert {
        s.key for s in SETTINGS if "Not used yet." in PAGE.split(f"\n## `{s.key}`\n")[1].split("\n## ")[0]
    } == unused


def test_the_action_has_inputs_of_the_same_names() -> None:
    inputs = re.findall(r"^  ([\w-]+):$", (PACKAGE.parent / "action.yml").read_text(), flags=re.MULTILINE)
    assert {"operators", "python", "gate", "store", "timeout", "budget"} <= set(inputs) & {s.key for s in SETTINGS}

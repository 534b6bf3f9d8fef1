"""The code blocks of the documents: every one compiles, and the operators of docs/operators.md are really run."""

from __future__ import annotations

import ast
import dataclasses
import inspect
import json
import re
import subprocess
import sys
from pathlib import Path

import pytest

import opsdebug_ci
from opsdebug_ci import Contract, Operator, tensor
from opsdebug_ci.model.argument import DECLARABLE_LAYOUTS
from opsdebug_ci.model.contract import ALLOWANCES
from opsdebug_ci.model.dtype import DTYPE_NAMES
from opsdebug_ci.model.vocabulary import Kind, ReferenceKind, ValueDomain
from opsdebug_ci.plan.configuration import load_configuration

PACKAGE = Path(opsdebug_ci.__file__).parent
ROOT = PACKAGE.parent
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))]
OPERATORS = (ROOT / "docs/operators.md").read_text(encoding="utf-8")


def blocks(text: str, language: str) -> list[str]:
    return re.findall(rf"^```{language}\n(.*?)^```$", text, flags=re.MULTILINE | re.DOTALL)


def block_parameters(language: str) -> list[object]:
    return [
        pytest.param(block, id=f"{page.name}-{number}")
        for page in PAGES
        for number, block in enumerate(blocks(page.read_text(encoding="utf-8"), language), start=1)
    ]


@pytest.mark.parametrize("block", block_parameters("python"))
def test_python_compiles_and_imports_only_public_names(block: str) -> None:
    # A block may be the inside of a function, as in a remedy.
    body = ast.parse("def block():\n" + "".join(f"    {line}\n" for line in block.splitlines())).body
    imports = (node for node in ast.walk(body[0]) if isinstance(node, ast.ImportFrom) and node.module == "opsdebug_ci")
    assert {alias.name for node in imports for alias in node.names} <= set(opsdebug_ci.__all__)
    assert compile(ast.Module(body=body, type_ignores=[]), "<block>", "exec")


def test_there_are_blocks_to_compile() -> None:
    assert {"README.md-1", "operators.md-12", "causes.md-34"} <= {p.id for p in block_parameters("python")}


@pytest.mark.parametrize("block", block_parameters("toml"))
def test_toml_is_a_configuration(block: str, tmp_path: Path) -> None:
    (tmp_path / "opsdebug.toml").write_text(block)
    load_configuration(tmp_path, operators_required=False)


EVERYDAY = ("--layout", "contiguous", "--inputs", "normal")
"""Axes of declared inputs, so that one seed is enough; an operator with an input callable has none of them."""


def passing(directory: Path, *arguments: str) -> set[str]:
    """Operators of the page with at least one pass and no verdict but pass and skipped."""
    (directory / "opsdebug_operators.py").write_text("\n\n".join(blocks(OPERATORS, "python")), encoding="utf-8")
    (directory / "opsdebug.toml").write_text(blocks(OPERATORS, "toml")[0], encoding="utf-8")
    command = [sys.executable, "-m", "opsdebug_ci", "run", *arguments, "--seed", "0", "--json"]
    done = subprocess.run(command, cwd=directory, capture_output=True, text=True, check=False, timeout=240)
    assert done.returncode == 0, done.stderr
    verdicts = {(o["case"]["operator"], o["verdict"]) for o in json.loads(done.stdout)["observations"]}
    assert {verdict for _, verdict in verdicts} <= {"pass", "skipped"}
    return {operator for operator, verdict in verdicts if verdict == "pass"}


@pytest.mark.slow
def test_the_operators_of_the_page_run_and_pass(tmp_path: Path) -> None:
    decorated = re.findall(r"^@operator.*?^def (\w+)", OPERATORS, flags=re.MULTILINE | re.DOTALL)
    assert len(decorated) == 11
    ran = passing(tmp_path, *EVERYDAY) | passing(tmp_path, "substitute")
    assert ran == {*decorated, "logistic", "soft_plus", "momentum"}


def table(heading: str) -> list[list[str]]:
    section = OPERATORS.split(f"\n## {heading}\n")[1].split("\n## ")[0]
    return [line.strip("| ").split(" | ") for line in re.findall(r"^\| `.*$", section, flags=re.MULTILINE)]


def words(text: str) -> list[str]:
    return re.findall(r"`(\w+)`", text)


def test_every_promise_has_its_row_with_its_default() -> None:
    rows = {row[0].strip("`"): ast.literal_eval(row[1].strip("`")) for row in table("The contract")}
    assert rows == {field.name: field.default for field in dataclasses.fields(Contract)}


def test_every_allowance_is_explained() -> None:
    row = next(row for row in table("The contract") if row[0] == "`allow`")
    assert words(row[2]) == list(ALLOWANCES)


def test_every_kind_and_reference_has_its_row() -> None:
    assert {word for row in table("Outputs and kinds") for word in words(row[0])} == {str(kind) for kind in Kind}
    assert [row[0].strip("`") for row in table("References")] == [str(kind) for kind in ReferenceKind]


@pytest.mark.parametrize(
    ("item", "wanted"),
    [("dtype", DTYPE_NAMES), ("layouts", DECLARABLE_LAYOUTS), ("values", tuple(ValueDomain))],
    ids=["dtype", "layouts", "values"],
)
def test_every_word_a_tensor_accepts_is_named(item: str, wanted: tuple[str, ...]) -> None:
    text = OPERATORS.split(f"\n- **{item}**: ")[1].split("\n- **")[0].split("\n\n")[0]
    named = words(text.split("`dtypes`: ")[-1])
    assert named == [str(word) for word in wanted]


def test_the_signatures_are_those_of_the_code() -> None:
    flat = " ".join(OPERATORS.split())
    for function, first in ((Operator.__init__, "Operator(name"), (tensor, "tensor(shape")):
        parameters = [p for name, p in inspect.signature(function).parameters.items() if name != "self"]
        spelled = ", ".join(str(p.replace(annotation=p.empty)) for p in parameters).replace("'", '"')
        shown = flat[flat.index(f"`{first}") :].split("(", 1)[1].split(")`")[0].replace("*, ", "")
        assert shown == spelled


def test_what_is_called_unchecked_is_read_by_nothing() -> None:
    sources = "".join(path.read_text(encoding="utf-8") for path in PACKAGE.rglob("*.py") if path.name != "contract.py")
    fields = [field.name for field in dataclasses.fields(Contract)]
    unread = [name for name in fields if not re.search(rf"\.{name}\b", sources)]
    assert [row[0].strip("`") for row in table("The contract") if "not checked yet" in row[2]] == unread

"""`opsdebug attribute` and `opsdebug trace` in real processes: choice of the case, exit codes, documents."""

from __future__ import annotations

import json
from pathlib import Path

import jsonschema
import pytest
from cli_notation import BODIES, EVERYDAY, Ended, await_none_in, opsdebug, project

SCHEMAS = Path(__file__).parents[2] / "docs" / "schema"

MORE = """

@operator(kind="elementwise", x=tensor("N"), dims={"N": 4})
def sums(x):
    return x + x.sum()


@sums.reference("torch")
def _(x):
    return x + x.sum()


@operator(kind="elementwise", x=tensor("A B"), dims={"A": 3, "B": 40})
def branchy(x):
    return torch.where(x > 0.5, 2.001 * x, 2 * x)


@branchy.reference("torch")
def _(x):
    return 2 * x
"""


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Path:
    directory = project(tmp_path_factory.mktemp("inquiry") / "project", *BODIES)
    with (directory / "kernels.py").open("a") as module:
        module.write(MORE)
    return directory


BRANCHY = ("branchy", "--dims", "A=3,B=40", "--seed", "0", "--inputs", "normal", "--layout", "contiguous")


def checked(ended: Ended, schema: str) -> dict:
    document = json.loads(ended.out)
    jsonschema.Draft202012Validator(json.loads((SCHEMAS / f"{schema}.json").read_text())).validate(document)
    assert (document["schema"], document["exit_code"]) == (schema.replace(".1", "/1"), ended.code)
    return document


def test_attribute_answers_in_json_with_the_split(place: Path) -> None:
    ended = opsdebug("attribute", *BRANCHY, "--range", "[-1, 0..9]", "--json", at=place)
    assert ended.code == 0
    document = checked(ended, "opsdebug.attribute.1")
    assert document["subject"]["chosen"] == "the only case that fails"
    best = document["reading"]["splits"][0]
    assert (best["feature"], best["relation"], best["balanced_accuracy"]) == ("x", ">", 1.0)
    assert document["reading"]["region"] == [{"first": 2, "last": 2}, {"first": 0, "last": 9}]
    assert document["next"][-1].startswith("opsdebug trace branchy --dims A=3,B=40")


def test_the_first_failing_case_whose_output_has_the_region_is_chosen(place: Path) -> None:
    ended = opsdebug("attribute", "branchy", "--attribute_range", "[2, 39]", "--inputs", "normal", "--json", at=place)
    document = checked(ended, "opsdebug.attribute.1")
    assert document["subject"]["chosen"].startswith("the first of ")
    assert document["reading"]["shape"] == [3, 40]


def test_the_next_commands_of_an_attribution_work(place: Path) -> None:
    ended = opsdebug("attribute", *BRANCHY, at=place)
    assert ended.out.startswith("ATTRIBUTE: bad where x > 0.")
    command = ended.out.splitlines()[-1].removeprefix("next: opsdebug ").split()
    again = opsdebug(*command, at=place)
    assert (command[0], again.code) == ("trace", 0)
    assert again.out.startswith("TRACE: output `out0`: error jumps to ")
    assert "note: no checkpoints: mark a step with" in again.out


@pytest.mark.parametrize(
    ("region", "said"),
    [
        ("[0]", "`--range` has 1 entry; wanted one for each of the 2 axes of output `out0`"),
        ("[3, 0]", "which has shape [3, 40]"),
        ("[0, x]", "`--range` has `x`; wanted an index `i`"),
    ],
)
def test_a_range_that_does_not_fit_is_one_clear_message(region: str, said: str, place: Path) -> None:
    ended = opsdebug("attribute", *BRANCHY, "--range", region, at=place)
    assert (ended.code, ended.out) == (2, "")
    assert said in ended.err
    assert "Traceback" not in ended.err


@pytest.mark.parametrize(
    ("words", "said"),
    [
        ((), "no operators are named; wanted one"),
        (("branchy", "--operator", "twice"), "2 operators are named; wanted one"),
        (("*",), "stands for"),
        (("branchi",), "did you mean `branchy`?"),
        ((*BRANCHY, "--output", "y"), "`--output` is `y`; the operator's outputs are `out0`"),
    ],
)
def test_a_mistake_is_told(words: tuple[str, ...], said: str, place: Path) -> None:
    ended = opsdebug("attribute", *words, at=place)
    assert (ended.code, ended.out) == (2, "")
    assert said in ended.err


@pytest.mark.parametrize("command", ["attribute", "trace"])
@pytest.mark.parametrize(("operator", "said"), [("segfaults", "SIGSEGV"), ("leaves", "exit with status 7")])
def test_an_operator_that_dies_is_reported_as_run_does(command: str, operator: str, said: str, place: Path) -> None:
    ended = opsdebug(command, operator, *EVERYDAY, "--json", at=place)
    document = checked(ended, f"opsdebug.{command}.1")
    assert (ended.code, document["subject"]["verdict"]) == (1, "crash")
    assert said in document["conclusion"][0]
    assert document["next"][0].startswith(f"opsdebug run {operator}")
    assert await_none_in(place) == []


def test_a_right_operator_is_said_to_have_nothing_bad(place: Path) -> None:
    attributed = opsdebug("attribute", "sums", *EVERYDAY, at=place)
    traced = opsdebug("trace", "sums", *EVERYDAY, "--checkpoint_mode", "all", "--bisect", "--json", at=place)
    assert attributed.code == traced.code == 0
    assert attributed.out.startswith("ATTRIBUTE: no element of `out0` is bad, in the region or outside it\n")
    document = checked(traced, "opsdebug.trace.1")
    assert document["first_bad"] is None
    assert (document["bisections"], document["notes"][0]) == ([], "nothing to bisect: every output is right")
    assert [(step["name"], step["zone"]) for step in document["steps"]] == [
        ("sum", "green"),
        ("add", "green"),
        ("out0", "green"),
    ]


def test_health_by_the_command_line(place: Path) -> None:
    ended = opsdebug("trace", "sums", *EVERYDAY[:-4], "--inputs", "specials", "--checkpoint-mode", "health", at=place)
    assert ended.code == 0
    assert "steps unhealthy" in ended.out

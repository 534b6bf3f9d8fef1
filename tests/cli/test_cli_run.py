"""`opsdebug run` over operators that are right, wrong, deadly, endless and greedy."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import jsonschema
import pytest
from cli_notation import BODIES, CONFIGURATION, EVERYDAY, VERDICTS, Ended, await_none_in, opsdebug, project

SCHEMA = Path(__file__).parents[2] / "docs" / "schema" / "opsdebug.run.1.json"

LIMITS = CONFIGURATION + 'memory = "512 MiB"\n'


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return project(tmp_path_factory.mktemp("run") / "project", *BODIES, configuration=LIMITS)


@pytest.fixture(scope="module")
def everything(place: Path) -> Ended:
    """Every operator once, in one run."""
    return opsdebug("run", *EVERYDAY, *VERDICTS, "--timeout", "8", "--json", at=place)


def cases_of(ended: Ended) -> list[dict[str, Any]]:
    return [observation["case"] for observation in json.loads(ended.out)["observations"]]


def test_each_operator_gets_its_own_verdict_and_the_rest_goes_on(everything: Ended, place: Path) -> None:
    observations = json.loads(everything.out)["observations"]
    assert {observation["case"]["operator"]: observation["verdict"] for observation in observations} == {
        "twice": "pass",
        "wrong": "fail",
        "segfaults": "crash",
        "leaves": "crash",
        "hangs": "timeout",
        "hoards": "crash",
        "misshapen": "fail",
        "spared": "pass",
        "leaves_a_trace": "pass",
    }
    assert everything.code == 1
    assert await_none_in(place) == []


def test_each_death_says_how(everything: Ended) -> None:
    found = {o["case"]["operator"]: o["findings"] for o in json.loads(everything.out)["observations"]}
    assert {name: found[name][0]["cause"] for name in ("segfaults", "leaves", "hangs")} == {
        "segfaults": "crash_segfault",
        "leaves": "crash_segfault",
        "hangs": "hang",
    }
    assert "SIGSEGV" in found["segfaults"][0]["statement"]
    assert "exit with status 7" in found["leaves"][0]["statement"]
    assert "stopped after 8 s" in found["hangs"][0]["statement"]
    assert "of at most 537 MB" in found["hoards"][0]["statement"]


def test_json_is_one_document_of_the_committed_schema(everything: Ended) -> None:
    assert everything.out.count("\n") == 1
    document = json.loads(everything.out)
    jsonschema.Draft202012Validator(json.loads(SCHEMA.read_text())).validate(document)
    assert document["schema"] == "opsdebug.run/1"
    assert document["summary"]["exit_code"] == everything.code


def test_logs_go_to_standard_error(everything: Ended) -> None:
    total = len(BODIES)
    assert everything.err.splitlines()[0] == f"{total} cases"
    assert everything.err.splitlines()[-1] == f"{total}/{total} cases, 6 in trouble"


def test_options_fix_their_axes(place: Path) -> None:
    axes = ("--dims", "N=5", "--dtype", "float32", "--seed", "3,4", "--inputs", "uniform", "--layout", "contiguous")
    ended = opsdebug("run", "twice", *axes, "--json", at=place)
    assert ended.code == 0
    assert [(c["dims"], c["dtype"], c["layout"], c["inputs"], c["seed"]) for c in cases_of(ended)] == [
        ({"N": 5}, "float32", "contiguous", "uniform", 3),
        ({"N": 5}, "float32", "contiguous", "uniform", 4),
    ]


def test_the_spellings_of_the_field_and_a_glob(place: Path) -> None:
    words = ("--operator_name", "wr*", "--verifier_mode", "reference_torch", "--repeat", "3")
    ended = opsdebug("run", *words, *EVERYDAY, *VERDICTS, "--json", at=place)
    (observation,) = json.loads(ended.out)["observations"]
    assert (ended.code, observation["case"]["operator"], observation["reference"]["used"]) == (1, "wrong", "torch")


def test_a_repeat_finds_what_one_launch_cannot(tmp_path: Path) -> None:
    project(tmp_path, "twice")
    restless = """
launches = 0


@operator(kind="elementwise", x=tensor("N"), dims={"N": 4})
def restless(x):
    global launches
    launches += 1
    return x + x if launches < 12 else x + x + 1e-30 * x + 1e-7 * x


@restless.reference("torch")
def _(x):
    return 2 * x
"""
    with (tmp_path / "kernels.py").open("a") as module:
        module.write(restless)
    once = opsdebug("run", "restless", *EVERYDAY, "--json", at=tmp_path)
    often = opsdebug("run", "restless", *EVERYDAY, *VERDICTS, "--repeat", "16", "--json", at=tmp_path)
    assert (once.code, often.code) == (0, 1)
    (observation,) = json.loads(often.out)["observations"]
    assert observation["findings"][0]["cause"] == "nondeterminism_race"


@pytest.mark.parametrize(("flags", "shown"), [((), False), (("-vv",), True)])
def test_more_detail_shows_every_case(flags: tuple[str, ...], shown: bool, place: Path) -> None:
    ended = opsdebug("run", "twice", *EVERYDAY, *flags, at=place)
    assert ended.code == 0
    assert ended.out.startswith("PASS: 0 of 1 case of 1 operator failed; 1 pass\n")
    assert ("PASS twice[N=4 float32 contiguous normal seed=0 cpu]" in ended.out) is shown
    assert ended.out.endswith("\nnext: opsdebug ci --stage smoke\n")


def test_a_worker_does_not_import_the_compiler_of_torch(place: Path) -> None:
    """That takes seconds, and watching an operator's memory would import it."""
    ended = opsdebug("run", "spared", *EVERYDAY, "--repeat", "3", at=place)
    assert (ended.code, ended.out.splitlines()[0]) == (0, "PASS: 0 of 1 case of 1 operator failed; 1 pass")


def test_a_failing_case_is_shown_in_full_and_its_command_fails_again(place: Path) -> None:
    ended = opsdebug("run", "wrong", *EVERYDAY, *VERDICTS, "-v", at=place)
    assert "FAIL wrong[N=4 float32 contiguous normal seed=0 cpu]" in ended.out
    command = ended.out.splitlines()[-1].removeprefix("next: opsdebug ").split()
    again = opsdebug(*command, *VERDICTS, "--json", at=place)
    assert again.code == 1
    (case,) = cases_of(again)
    assert case["name"] == "wrong[N=4 float32 contiguous normal seed=0 cpu]"

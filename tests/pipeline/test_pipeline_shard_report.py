"""What a job leaves for the one that tells: its run or its error, in a file that the reader of artifacts takes."""

from __future__ import annotations

import json
import os
import stat
import sys
from dataclasses import replace
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parents[1] / "judge"))

from shard_notation import HEAD, cases, run_of

from opsdebug_ci.errors import EnvironmentLimitError
from opsdebug_ci.github.artifacts.naming import parse
from opsdebug_ci.github.artifacts.shard_json import check_claims, read_shard
from opsdebug_ci.github.event import Event
from opsdebug_ci.github.inputs import Part
from opsdebug_ci.github.runner import read_runner
from opsdebug_ci.model.document import OperatorSource
from opsdebug_ci.model.shard import SHARD_FILE, ShardDocument
from opsdebug_ci.pipeline.shard_report import Ending, bundle_directory, leave_shard, shard_report, write_shard

PART = Part(suite="gpu", shard=2, shards=3, stage="smoke")
EVENT = Event(name="pull_request", repository="o/r", pull_request=7, head_commit=HEAD)
JOB = {"GITHUB_RUN_ID": "77", "GITHUB_RUN_ATTEMPT": "4"}


def sources(*files: str) -> tuple[OperatorSource, ...]:
    return tuple(OperatorSource(operator=f"op{number}", file=file, line=3) for number, file in enumerate(files))


def report(
    ending: Ending, environ: dict[str, str] = JOB, workspace: Path = Path("/srv/r")
) -> tuple[str, ShardDocument]:
    made = shard_report(ending, part=PART, event=EVENT, environ=environ, workspace=workspace)
    return made.name, read_shard(made.data)


def test_a_run_is_left_with_what_the_runner_says_of_the_job() -> None:
    run = run_of(cases("gelu:pass gelu:fail"))
    name, shard = report(Ending(exit_code=1, document=run))
    assert name == "opsdebug-v1-gpu-a4-s2of3"
    assert shard.run == run and (shard.stage, shard.error) == ("smoke", "")
    told = parse(name)
    assert told is not None
    claims = {"suite": told.suite, "attempt": told.attempt, "shard": told.shard, "shards": told.shards}
    assert check_claims(shard, repository="o/r", ci_run=77, head_commit=HEAD, **claims) == ""


@pytest.mark.parametrize("exit_code", [2, 3, 70])
def test_a_stage_without_a_run_leaves_why(exit_code: int) -> None:
    name, shard = report(Ending(exit_code=exit_code, document=None, error="no\n::error::torch\x1b[31m \u202ehere"))
    assert (shard.run, shard.exit_code, shard.error) == (None, exit_code, "no ::error::torch[31m here")
    assert name == "opsdebug-v1-gpu-a4-s2of3"


def test_a_long_error_is_cut_and_an_empty_one_is_named() -> None:
    assert len(report(Ending(exit_code=2, document=None, error="x" * 9_999))[1].error) == 2_000
    assert report(Ending(exit_code=2, document=None))[1].error == "the stage ended without a word"


def test_text_cannot_break_out_of_the_file() -> None:
    text = '", "exit_code": 0, "run": null} \ud800 \u2028'
    _, shard = report(Ending(exit_code=2, document=None, error=text))
    assert (shard.exit_code, shard.error) == (2, '", "exit_code": 0, "run": null}')
    run = replace(run_of(cases("gelu:pass")), notes=(text,))
    assert report(Ending(exit_code=0, document=run))[1].run.notes == (text.replace("\ud800", "\ufffd"),)


@pytest.mark.parametrize(
    ("file", "shown"),
    [
        ("/srv/r/kernels/gelu.py", "kernels/gelu.py"),
        ("/srv/r/a/../gelu.py", None),
        ("/usr/lib/python3/gelu.py", None),
        ("/srv/r2/gelu.py", None),
        ("kernels/gelu.py", "kernels/gelu.py"),
        ("../gelu.py", None),
        ("/srv/r/a\n::error::/gelu.py", None),
    ],
)
def test_only_sources_in_the_repository_are_named_by_their_path_in_it(file: str, shown: str | None) -> None:
    run = replace(run_of(cases("gelu:pass")), sources=sources(file))
    _, shard = report(Ending(exit_code=0, document=run))
    assert [source.file for source in shard.run.sources] == ([] if shown is None else [shown])


@pytest.mark.parametrize("attempt", ["", "0", "x", "\u0661", "9" * 30])
def test_an_attempt_that_is_none_is_the_first(attempt: str) -> None:
    name, shard = report(Ending(exit_code=2, document=None), {"GITHUB_RUN_ATTEMPT": attempt, "GITHUB_RUN_ID": "x"})
    assert (name, shard.attempt, shard.ci_run) == ("opsdebug-v1-gpu-a1-s2of3", 1, 0)


def test_it_is_written_alone_into_a_directory_of_its_own(tmp_path: Path) -> None:
    made = shard_report(Ending(exit_code=2, document=None), part=PART, event=EVENT, environ=JOB, workspace=tmp_path)
    first, second = write_shard(made, tmp_path), write_shard(made, tmp_path)
    assert first != second and first.parent == second.parent == tmp_path
    assert [path.name for path in first.iterdir()] == [SHARD_FILE]
    assert (first / SHARD_FILE).read_bytes() == made.data
    assert stat.S_ISREG((first / SHARD_FILE).lstat().st_mode)


def test_a_place_that_cannot_be_written_is_told(tmp_path: Path) -> None:
    made = shard_report(Ending(exit_code=2, document=None), part=PART, event=EVENT, environ=JOB, workspace=tmp_path)
    with pytest.raises(EnvironmentLimitError, match="`RUNNER_TEMP` is"):
        write_shard(made, tmp_path / "gone")


def environment(root: Path, **inputs: str) -> dict[str, str]:
    """A job of a pull request."""
    event = {
        "pull_request": {"number": 7, "head": {"sha": HEAD, "repo": {"full_name": "o/r"}}, "base": {"sha": HEAD}},
        "repository": {"default_branch": "main"},
    }
    (root / "event.json").write_text(json.dumps(event), encoding="utf-8")
    return {
        "GITHUB_EVENT_NAME": "pull_request",
        "GITHUB_EVENT_PATH": str(root / "event.json"),
        "GITHUB_REPOSITORY": "o/r",
        "GITHUB_WORKSPACE": str(root),
        "RUNNER_TEMP": str(root),
        **JOB,
        **{f"OPSDEBUG_INPUT_{name.upper()}": value for name, value in inputs.items()},
    }


def test_a_job_leaves_it_whatever_became_of_its_stage(tmp_path: Path) -> None:
    environ = environment(tmp_path, stage="full", shard="2/2")
    left = leave_shard(Ending(exit_code=3, document=None, error="no torch"), environ, read_runner(environ))
    assert left is not None
    shard = read_shard((left.directory / SHARD_FILE).read_bytes())
    assert (left.name, shard.stage, shard.error) == ("opsdebug-v1-a4-s2of2", "full", "no torch")
    assert (shard.head_commit, shard.repository) == (HEAD, "o/r")


def test_a_job_whose_event_cannot_be_read_leaves_its_error(tmp_path: Path) -> None:
    environ = environment(tmp_path)
    os.remove(tmp_path / "event.json")
    left = leave_shard(Ending(exit_code=3, document=None, error="no event"), environ, read_runner(environ))
    assert left is not None
    assert read_shard((left.directory / SHARD_FILE).read_bytes()).head_commit == ""


@pytest.mark.parametrize("inputs", [{"push": "kept"}, {"publish": "true"}])
def test_a_job_that_runs_no_stage_leaves_nothing(tmp_path: Path, inputs: dict[str, str]) -> None:
    environ = environment(tmp_path, **inputs)
    assert leave_shard(Ending(exit_code=0, document=None), environ, read_runner(environ)) is None
    assert [path.name for path in tmp_path.iterdir()] == ["event.json"]


def test_where_bundles_are(tmp_path: Path) -> None:
    assert bundle_directory(tmp_path) is None
    place = tmp_path / ".opsdebug" / "bundles" / "ab"
    place.mkdir(parents=True)
    (place / "notes.txt").write_text("no bundle")
    assert bundle_directory(tmp_path) is None
    (place / f"{'ab' * 32}.opsbundle").write_bytes(b"x")
    assert bundle_directory(tmp_path) == tmp_path / ".opsdebug" / "bundles"

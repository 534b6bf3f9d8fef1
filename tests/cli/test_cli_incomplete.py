"""Answers that are stale or lack something say so on standard error, and with exit code 4."""

from __future__ import annotations

import json
import shutil
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parents[1] / "store"))

from branch_remotes import BRANCH, Forge
from store_documents import run_document

from opsdebug_ci.cli import outcome
from opsdebug_ci.store.places.backends import open_store

Told = Callable[..., tuple[int, str, str]]

COUNT = "select count(*) from runs"

QUESTIONS = (("sql", COUNT), ("sql",), ("baselines", "ls"), ("baselines", "show"), ("baselines", "show", "r2"))


@pytest.fixture
def told(monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> Told:
    """Exit code, output and complaints of a command in a directory of its own, outside CI."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("OPSDEBUG_CACHE", str(tmp_path / "cache"))
    for name in ("GITHUB_EVENT_NAME", "GITHUB_EVENT_PATH", "GITHUB_REF"):
        monkeypatch.delenv(name, raising=False)

    def ended(*words: str) -> tuple[int, str, str]:
        code = outcome(list(words))
        found = capsys.readouterr()
        return code, found.out, found.err

    return ended


@pytest.fixture
def damaged(tmp_path: Path) -> str:
    """Three runs, of which the file of one in table `runs` is damaged; its path."""
    store = open_store(tmp_path / "baselines")
    for number in (1, 2, 3):
        store.append(run_document("add:pass gelu:fail/f1", f"r{number}", day=f"2025-11-0{number}"))
    path = "runs/date=2025-11-03/r3.parquet"
    (tmp_path / "baselines" / path).write_bytes(b"nothing")
    return path


def test_the_copy_of_last_time_is_not_taken_for_the_store(told: Told, tmp_path: Path) -> None:
    forge = Forge(tmp_path)
    location = ("--store", f"branch:{BRANCH}@{forge.url}")
    for number in (1, 2):
        open_store(location[1], root=tmp_path).append(run_document("add:pass", f"r{number}", day="2025-11-01"))
    asked = (("sql", COUNT), ("baselines", "ls"))
    now = [told(*words, *location) for words in asked]
    assert [(code, err) for code, _, err in now] == [(0, "")] * len(asked)
    shutil.move(forge.path, tmp_path / "away.git")
    for words, (_, out, _) in zip(asked, now, strict=True):
        code, stale, err = told(*words, *location)
        assert (code, err.count("could not be reached")) == (4, 1), words
        assert "answering from the copy of 2" in err
        assert stale.splitlines()[0] == out.splitlines()[0]


def test_a_damaged_run_is_named_by_all_who_would_count_it(told: Told, damaged: str) -> None:
    for words in QUESTIONS:
        code, out, err = told(*words)
        assert (code, err.count(f"`{damaged}` has no column `id`") + err.count(f"`{damaged}` is not Parquet")) == (4, 1)
        assert "opsdebug baselines verify" in out + err
        assert "next: opsdebug ci" not in out
    code, out, _ = told("baselines", "ls", "--json")
    document = json.loads(out)
    assert (code, document["complete"], len(document["runs"]), len(document["notes"])) == (4, False, 2, 1)


def test_a_store_of_damaged_runs_is_not_empty(told: Told, tmp_path: Path) -> None:
    for number in (1, 2, 3):
        open_store(tmp_path / "baselines").append(run_document("add:pass", f"r{number}", day=f"2025-11-0{number}"))
    for path in (tmp_path / "baselines" / "runs").glob("*/*.parquet"):
        path.write_bytes(b"nothing")
    code, out, err = told("baselines", "ls")
    assert (code, out.splitlines()[0], out.splitlines()[-1]) == (
        4,
        "no run that can be read",
        "next: opsdebug baselines verify",
    )
    assert err.count("is left out") == 3
    code, out, err = told("baselines", "show", "r3")
    assert (code, out, err.count("cannot read `runs/date=2025-11-01/r1.parquet`")) == (3, "", 1)
    assert "next: `opsdebug baselines verify`" in err
    code, out, err = told("report", "text")
    assert (code, out) == (3, "")
    assert err.count("cannot read `runs/date=2025-11-01/r1.parquet`") == 1


def test_the_newest_run_is_reported_without_a_damaged_one(told: Told, damaged: str) -> None:
    code, out, err = told("report", "text")
    assert (code, err) == (told("report", "text", "--run", "r2")[0], "")
    assert out == told("report", "text", "--run", "r2")[1]


def test_a_store_without_runs_is_empty(told: Told, tmp_path: Path) -> None:
    (tmp_path / "baselines").mkdir()
    (tmp_path / "baselines" / "opsdebug-store.json").write_text('{"format_version": 2}')
    code, out, err = told("baselines", "ls")
    assert (code, out.splitlines()[0], out.splitlines()[-1], err) == (
        0,
        "no run",
        "next: opsdebug ci --stage smoke",
        "",
    )


def test_what_would_go_says_what_could_not_be_read(told: Told, damaged: str) -> None:
    code, out, err = told("baselines", "prune", "--keep-runs", "1", "--dry-run")
    assert (code, out.splitlines()[0]) == (4, "1 run and 0 bundles would go")
    assert err.count(damaged) == 1

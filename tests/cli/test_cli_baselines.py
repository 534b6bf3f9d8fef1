"""`opsdebug baselines`: what it says, what it refuses, and that jobs of pull requests change nothing."""

from __future__ import annotations

import hashlib
import json
import re
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parents[1] / "store"))

from store_documents import CALIBRATION, run_document
from store_packs import with_bundle

from opsdebug_ci.cli import outcome
from opsdebug_ci.model.baselines import BASELINES_SCHEMA, BaselinesDocument
from opsdebug_ci.model.wire import from_json
from opsdebug_ci.store.places.backends import open_store

Told = Callable[..., tuple[int, str, str]]


@pytest.fixture
def at(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The current directory, outside CI, with a store of three runs in `baselines`."""
    monkeypatch.chdir(tmp_path)
    for name in ("GITHUB_EVENT_NAME", "GITHUB_EVENT_PATH", "GITHUB_REF"):
        monkeypatch.delenv(name, raising=False)
    store = open_store(tmp_path / "baselines")
    facts = {"commit": "c" * 40, "event": "push", "branch": "main", "attempt": 1}
    for name, day in (("r1", "11-01"), ("r2", "11-02"), ("r3", "11-03")):
        run = run_document("add:pass gelu:fail/f1", name, day=f"2026-{day}", **facts)
        named, data = with_bundle(run, name, "gelu")
        store.append(named, [CALIBRATION], bundles=[data])
    return tmp_path


@pytest.fixture
def told(at: Path, capsys: pytest.CaptureFixture[str]) -> Told:
    """Exit code, output and complaints of a command, without what is not ours to promise."""

    def ended(*words: str) -> tuple[int, str, str]:
        code = outcome(["baselines", *words])
        found = capsys.readouterr()
        return code, scrub(found.out, at), scrub(found.err, at)

    return ended


def scrub(text: str, place: Path) -> str:
    text = re.sub(r" +[\d.]+ KiB", " SIZE", text.replace(str(place), "HERE"))
    return re.sub(r"pack-\d{8}-[0-9a-f]{8}", "PACK", text)


def state(place: Path) -> str:
    """Hash of every file below, and of its name."""
    found = hashlib.sha256()
    for path in sorted(place.rglob("*")):
        found.update(f"{path}\0".encode() + (path.read_bytes() if path.is_file() else b""))
    return found.hexdigest()


def test_runs_are_listed_newest_first(told: Told) -> None:
    assert told("ls", "--limit", "2") == (
        0,
        """\
run  started (UTC)     stage  commit        event  verdict  machine  cases  failed
r3   2026-11-03 10:20  smoke  cccccccccccc  push   fail     m1           2       0
r2   2026-11-02 10:20  smoke  cccccccccccc  push   fail     m1           2       0
and 1 older

store HERE/baselines: 3 runs in 12 files (0 packs), SIZE; 3 bundles, 60 B; format 2
next: opsdebug baselines show r3
""",
        "",
    )


def test_the_store_is_shown_in_numbers(told: Told) -> None:
    assert told("show") == (
        0,
        """\
store HERE/baselines: 3 runs in 12 files (0 packs), SIZE; 3 bundles, 60 B; format 2

table         files       size
accuracy          3 SIZE
calibrations      3 SIZE
failures          3 SIZE
runs              3 SIZE
next: opsdebug baselines ls
""",
        "",
    )


def test_a_run_is_shown_with_where_it_lies(told: Told) -> None:
    shown = """\
run      r1
started  2026-11-01 10:20:30 (UTC)
stage    smoke
commit   cccccccccccccccccccccccccccccccccccccccc
branch   main
event    push, attempt 1
machine  m1
verdict  fail
cases    2, 0 failed
stored   5 rows, SIZE, in files of its own
next: opsdebug report text --run r1
"""
    assert told("show", "r1") == (0, shown, "")
    assert told("compact", "--fewest", "3") == (0, "3 runs packed in 1 pack: 12 files before, 4 now\n", "")
    assert told("show", "r1") == (0, shown.replace("in files of its own", "in pack PACK-0000"), "")


@pytest.mark.parametrize("words", [("ls",), ("show",), ("show", "r2")])
def test_the_document_has_its_schema(words: tuple[str, ...], told: Told) -> None:
    code, out, err = told(*words, "--json")
    document = from_json(json.loads(out), BaselinesDocument)
    assert (code, err, out.count("\n")) == (0, "", 1)
    assert (document.schema, document.run_count, document.packs, document.bundles) == (BASELINES_SCHEMA, 3, 0, 3)
    assert [run.id for run in document.runs] == {"ls": ["r3", "r2", "r1"], "show": []}.get(" ".join(words), ["r2"])


def test_it_is_looked_after(told: Told) -> None:
    whole = "store HERE/baselines is whole: 3 runs, 18 rows in 12 files, 3 bundles\n"
    assert told("verify") == (0, whole, "")
    assert told("pull") == (0, "3 runs of HERE/baselines in HERE/baselines\nnext: opsdebug sql\n", "")
    assert told("compact") == (
        0,
        "nothing to pack: no month has 10 runs with files of their own; 12 files\n",
        "",
    )
    would = (
        "2 runs and 2 bundles would go\n"
        "  run r1, 2026-11-01 10:20 UTC, smoke, cccccccccccc, SIZE\n"
        "  run r2, 2026-11-02 10:20 UTC, smoke, cccccccccccc, SIZE\n"
        "  bundle 6c7da2e04158\n  bundle b6eab448bfab\n"
    )
    assert told("prune", "--keep-runs", "1", "--dry-run") == (0, would, "")
    assert told("verify") == (0, whole, "")
    sent = "3 runs and 3 bundles sent from baselines to other\nnext: opsdebug baselines ls --store other\n"
    assert told("push", "--from", "baselines", "--store", "other") == (0, sent, "")
    again = sent.replace("3 ", "0 ").replace(" other\n", " other; 3 were there already\n", 1)
    assert told("push", "--from", "baselines", "--store", "other") == (0, again, "")
    assert told("prune", "--keep-runs", "1") == (0, "2 runs and 2 bundles removed\n", "")
    assert told("prune", "--older-than", "1d") == (
        0,
        "0 runs and 0 bundles removed; 1 run beyond the limit stays: the newest of a stage and machine, or the last "
        "that saw an open cause\n",
        "",
    )


def test_what_is_not_sent_is_counted(told: Told, at: Path) -> None:
    kept = open_store(at / "kept")
    lacking, _ = with_bundle(run_document("gelu:fail/f1", "mine"), "not here")
    kept.append(lacking)
    kept.append(run_document("add:pass", "theirs", event="pull_request", pull_request=7))
    code, out, err = told("push", "--from", "kept", "--store", "other")
    assert (code, out.splitlines()[0], err) == (
        0,
        "1 run and 0 bundles sent from kept to other; 1 run not of the default branch left out; "
        "1 bundle that they name not there",
        "",
    )


def test_damage_is_told_by_everyone_who_meets_it(told: Told, at: Path) -> None:
    path = at / "baselines" / "accuracy" / "date=2026-11-02" / "r2.parquet"
    path.write_bytes(b"nothing")
    found = "accuracy/date=2026-11-02/r2.parquet has 7 bytes;"
    code, out, _ = told("verify")
    assert (code, out.splitlines()[0]) == (
        1,
        "store HERE/baselines is damaged in 1 place: 3 runs, 16 rows in 11 files, 3 bundles",
    )
    code, out, err = told("compact", "--fewest", "2")
    assert (code, out) == (4, "2 runs packed in 1 pack: 12 files before, 8 now\n")
    assert err.startswith(f"left as it is: {found}")
    code, out, err = told("push", "--from", "baselines", "--store", "other")
    assert (code, out) == (
        4,
        "2 runs and 2 bundles sent from baselines to other\nnext: opsdebug baselines ls --store other\n",
    )
    assert err.startswith(found)


@pytest.mark.parametrize(
    ("words", "code", "error"),
    [
        (("show", "r"), 2, "3 stored runs with an id that begins with `r`: r3, r2, r1; wanted one"),
        (("show", "x"), 2, "no stored run with an id that begins with `x`; wanted one"),
        (("prune",), 2, "`baselines prune` has no limit; wanted what may stay"),
        (("prune", "--older-than", "soon"), 2, "`--older-than` is `soon`; wanted a number of days or weeks"),
        (("prune", "--max-size", "much"), 2, "`--max-size` is `much`; wanted memory above 0"),
        (("prune", "--keep-runs", "0"), 2, "Invalid value for '--keep-runs': 0 is not in the range x>=1."),
        (("compact", "--fewest", "1"), 2, "Invalid value for '--fewest': 1 is not in the range x>=2."),
        (("push",), 2, "Missing option '--from'."),
        (("push", "--from", "nowhere"), 2, "Invalid value for '--from': Directory 'nowhere' does not exist."),
        (("push", "--from", "baselines"), 2, "`--from baselines` is the store itself; wanted another directory"),
        (
            ("push", "--from", "empty"),
            2,
            "`--from empty` holds no store; wanted a directory that `opsdebug ci",
        ),
        (("ls", "--store", "s3:/bucket/x"), 2, "two slashes and a bucket must follow the first colon; wanted `s3://"),
        (("ls", "--store", "nowhere"), 3, "no store at `nowhere`: there is no such directory"),
        (("compact", "--store", "nowhere"), 3, "no store at `nowhere`: there is no such directory"),
        (("ls", "--store", "ftp://x"), 2, "`store` is `ftp://x`: a `ftp:` store is not known"),
    ],
)
def test_a_mistake_is_one_clear_error(words: tuple[str, ...], code: int, error: str, told: Told, at: Path) -> None:
    (at / "empty").mkdir()
    before = state(at)
    got, out, err = told(*words)
    assert (got, out) == (code, "")
    assert err.count(error) == 1
    assert "Traceback" not in err
    assert state(at) == before


REFUSED = {
    "push": ("--from", "apart"),
    "compact": ("--fewest", "2"),
    "prune": ("--keep-runs", "1"),
    "import": ("benchmark.json",),
    "accept": ("f1", "--reason", "I say so"),
}


@pytest.mark.parametrize("doing", REFUSED)
@pytest.mark.parametrize("event", ["pull_request", "pull_request_target", "merge_group", "push"])
def test_no_job_but_of_the_default_branch_changes_anything(
    doing: str, event: str, told: Told, at: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    open_store(at / "apart").append(run_document("add:pass", "other"))
    (at / "benchmark.json").write_text("{}")
    payload = {
        "pull_request": {"number": 7, "head": {"sha": "a" * 40}, "base": {"sha": "b" * 40, "ref": "main"}},
        "merge_group": {"head_sha": "a" * 40, "base_sha": "b" * 40, "base_ref": "refs/heads/main"},
    }
    said = {"pull_request_target": "pull_request"}.get(event, event)
    shown = {said: payload[said]} if said in payload else {}
    (at / "event.json").write_text(json.dumps({**shown, "repository": {"default_branch": "main"}}))
    monkeypatch.setenv("GITHUB_EVENT_NAME", event)
    monkeypatch.setenv("GITHUB_EVENT_PATH", str(at / "event.json"))
    monkeypatch.setenv("GITHUB_REF", "refs/heads/a-branch")
    before = state(at)
    code, out, err = told(doing, *REFUSED[doing])
    assert (code, out) == (2, "")
    assert (
        f"in a job of event `{event}` on `a-branch`; wanted a push, schedule or workflow_dispatch of the default branch"
        in err
    )
    assert state(at) == before


def test_a_job_of_the_default_branch_may(told: Told, at: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (at / "event.json").write_text(json.dumps({"repository": {"default_branch": "main"}}))
    monkeypatch.setenv("GITHUB_EVENT_NAME", "schedule")
    monkeypatch.setenv("GITHUB_EVENT_PATH", str(at / "event.json"))
    monkeypatch.setenv("GITHUB_REF", "refs/heads/main")
    assert told("compact", "--fewest", "2")[0] == 0

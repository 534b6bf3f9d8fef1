"""Files that are no history, or a hostile one: one clear error, or left out and counted, and never anything else."""

from __future__ import annotations

import json
from collections import Counter
from datetime import datetime, timedelta, timezone
from pathlib import Path
from typing import Any

import pytest

from opsdebug_ci.errors import UsageError
from opsdebug_ci.store.imports import source_text
from opsdebug_ci.store.imports.history import LeftOut
from opsdebug_ci.store.imports.registry import read_history

COMMIT = "440be9702bcf17a9e5388dd0eb064d97a25ef575"
OTHER = "5c9df4dd1ae429bb5ac1f89e9854542b925aa899"
TIME = "2026-11-30T08:00:00"


def pytest_file(stats: object = None, **changes: object) -> dict[str, Any]:
    """A file of pytest-benchmark with one benchmark."""
    times = {"min": 1e-6, "median": 2e-6, "mean": 3e-6, "stddev": 0.0, "rounds": 3, "iterations": 1}
    one = {"name": "a", "fullname": "t.py::a", "params": None, "stats": times if stats is None else stats}
    whole = {"machine_info": {}, "commit_info": {"id": COMMIT}, "benchmarks": [one], "datetime": TIME, "version": "5"}
    return {**whole, **changes}


def asv_file(**changes: object) -> dict[str, Any]:
    whole = {"commit_hash": COMMIT, "date": 1e12, "results": {"time_a": [[1e-6], []]}, "version": 2}
    return {**whole, "result_columns": ["result", "params"], **changes}


def google_file(*entries: dict[str, Any], **context: object) -> dict[str, Any]:
    found = entries or ({"name": "a", "run_type": "iteration", "real_time": 5.0, "time_unit": "ns"},)
    return {"context": {"date": TIME, "git_sha": COMMIT, **context}, "benchmarks": list(found)}


def action_file(*benches: dict[str, Any], **entry: object) -> dict[str, Any]:
    found = benches or ({"name": "a", "value": 5, "unit": "ns/iter"},)
    one = {"commit": {"id": COMMIT}, "date": 1e12, "tool": "cargo", "benches": list(found), **entry}
    return {"entries": {"S": [one]}}


def write(place: Path, document: object) -> Path:
    path = place / "history.json"
    path.write_text(document if isinstance(document, str) else json.dumps(document))
    return path


WRONG_TEXTS = {
    "empty": ("", "got `Expecting value` at line 1, column 1; wanted JSON"),
    "cut off": ('{"a":\n[1,', "at line 2, column 4; wanted JSON"),
    "deep": ("[" * 1_000_000, "nested too deep"),
    "deep objects": ('{"a":' * 1_000_000, "nested too deep"),
    "a number without end": ('{"a":' + "9" * 5000 + "}", "a number that is none"),
    "a script": ("alert(1); window.BENCHMARK_DATA = {}", "at line 1, column 1"),
    "code in the data": ("window.BENCHMARK_DATA = {a: alert(1)}", "at line 1"),
    "code behind the data": ("window.BENCHMARK_DATA = {}\nalert(1)", "at line 2, column 1"),
    "a list": ("[]", "keys of no format that is understood"),
    "another document": ('{"benchmarks": []}', "keys of no format that is understood"),
}


@pytest.mark.parametrize(("text", "said"), WRONG_TEXTS.values(), ids=WRONG_TEXTS)
def test_what_is_no_history_is_refused(text: str, said: str, tmp_path: Path) -> None:
    with pytest.raises(UsageError) as raised:
        read_history(write(tmp_path, text))
    assert said in str(raised.value)
    assert len(str(raised.value)) < 700
    assert "next: " in str(raised.value)


def test_what_cannot_be_read_is_refused(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="No such file"):
        read_history(tmp_path / "gone.json")
    with pytest.raises(UsageError, match="a directory without results"):
        read_history(tmp_path)
    latin = tmp_path / "latin.json"
    latin.write_bytes(b'{"a": "\xe9"}')
    with pytest.raises(UsageError, match="no UTF-8 at position 7"):
        read_history(latin)


def test_too_large_a_file_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = write(tmp_path, pytest_file())
    monkeypatch.setattr(source_text, "MOST_BYTES", path.stat().st_size)
    assert len(read_history(path).runs) == 1
    monkeypatch.setattr(source_text, "MOST_BYTES", path.stat().st_size - 1)
    with pytest.raises(UsageError, match="more than"):
        read_history(path)


WRONG_TYPES = {
    "a time as text": (pytest_file({"min": "1"}), "$.benchmarks[0].stats.min"),
    "a time beyond float64": (pytest_file({"min": 10**400}), "$.benchmarks[0].stats.min"),
    "benchmarks as an object": (pytest_file(benchmarks={}), "$.benchmarks"),
    "no date": (pytest_file(datetime=""), "at `datetime`"),
    "a date before ours": (pytest_file(datetime="1960-01-01T00:00:00"), "at `datetime`"),
    "a commit that is none": (pytest_file(commit_info={"id": "x'; drop table runs"}), "at `commit_info.id`"),
    "asv of the future": (asv_file(version=3), "version 3 of asv's results"),
    "asv without a commit": ({**asv_file(), "commit_hash": 5}, "$.commit_hash"),
    "asv with a date that is none": (asv_file(date=1e300), "at `date`"),
    "asv with a negative date": (asv_file(date=-1), "at `date`"),
    "asv with NaN as date": (json.dumps(asv_file(date=float("nan"))), "at `date`"),
    "asv with a row that is none": (asv_file(results={"time_a": 5}), "benchmark `time_a`"),
    "asv with text as a result": (asv_file(results={"time_a": [["x"]]}), "benchmark `time_a`"),
    "google with a time as text": (google_file({"name": "a", "real_time": "5"}), "$.benchmarks[0].real_time"),
    "google without a date": (google_file(date=5), "at `context.date`"),
    "an action's entry without a commit": (action_file(commit={}), "$.entries[...][0].commit"),
    "an action's entry with a commit that is none": (action_file(commit={"id": "HEAD"}), "['S'][0].commit.id"),
    "an action's value as text": (action_file({"name": "a", "value": "5", "unit": "ns"}), "benches[0].value"),
}


@pytest.mark.parametrize(("document", "said"), WRONG_TYPES.values(), ids=WRONG_TYPES)
def test_what_has_another_type_is_refused_with_its_place(document: object, said: str, tmp_path: Path) -> None:
    with pytest.raises(UsageError) as raised:
        read_history(write(tmp_path, document))
    assert said in str(raised.value)
    assert "history.json" in str(raised.value)


NO_TIMES = {
    "zero": (pytest_file({"min": 0.0, "median": 0, "mean": 0}), LeftOut.NO_NUMBER),
    "negative": (pytest_file({"min": -1e-6, "median": -1, "mean": -1}), LeftOut.NO_NUMBER),
    "NaN": (pytest_file({"min": float("nan")}), LeftOut.NO_NUMBER),
    "infinite": (pytest_file({"mean": float("inf")}), LeftOut.NO_NUMBER),
    "thirty-five years": (pytest_file({"mean": 1.1e9}), LeftOut.NO_NUMBER),
    "no numbers": (pytest_file({}), LeftOut.NO_NUMBER),
    "asv: NaN": (asv_file(results={"time_a": [[float("nan")], []]}), LeftOut.FAILED),
    "asv: infinite": (asv_file(results={"time_a": [[float("inf")], []]}), LeftOut.NO_NUMBER),
    "asv: null": (asv_file(results={"time_a": [None, []]}), LeftOut.FAILED),
    "asv: an empty row": (asv_file(results={"time_a": []}), LeftOut.FAILED),
    "asv: memory": (asv_file(results={"a.peakmem_time": [[5], []]}), LeftOut.NOT_A_TIME),
    "asv: anything tracked": (asv_file(results={"track_a": [[{"x": "y"}], []]}), LeftOut.NOT_A_TIME),
    "google: negative": (google_file({"name": "a", "run_type": "iteration", "real_time": -5.0}), LeftOut.NO_NUMBER),
    "google: failed": (google_file({"name": "a", "run_type": "iteration", "error_occurred": True}), LeftOut.FAILED),
    "google: skipped": (google_file({"name": "a", "run_type": "iteration", "skipped": True}), LeftOut.FAILED),
    "google: another unit": (
        google_file({"name": "a", "run_type": "iteration", "real_time": 5.0, "time_unit": "furlong"}),
        LeftOut.NOT_A_TIME,
    ),
    "action: bytes": (action_file({"name": "a", "value": 5, "unit": "bytes/iter"}), LeftOut.NOT_A_TIME),
    "action: a rate of another tool": (action_file({"name": "a", "value": 5, "unit": "iter/sec"}), LeftOut.NOT_A_TIME),
    "action: null": (action_file({"name": "a", "value": None, "unit": "ns"}), LeftOut.FAILED),
    "action: no calls a second": (
        action_file({"name": "a", "value": 0, "unit": "iter/sec"}, tool="pytest"),
        LeftOut.NO_NUMBER,
    ),
}


@pytest.mark.parametrize(("document", "reason"), NO_TIMES.values(), ids=NO_TIMES)
def test_what_is_no_time_is_left_out_and_counted(document: object, reason: LeftOut, tmp_path: Path) -> None:
    history = read_history(write(tmp_path, document))
    assert history.runs == ()
    assert history.left_out == Counter({reason: 1})


@pytest.mark.parametrize("document", [pytest_file(), asv_file(), google_file(), action_file()])
def test_their_sound_twins_come_through(document: object, tmp_path: Path) -> None:
    history = read_history(write(tmp_path, document))
    assert [(run.commit, len(run.times)) for run in history.runs] == [(COMMIT, 1)]
    assert history.left_out == Counter()


@pytest.mark.parametrize(
    "document", [pytest_file(commit_info={"id": "unversioned"}), pytest_file(commit_info={}), google_file(git_sha="")]
)
def test_the_commit_is_given_where_the_file_names_none(document: object, tmp_path: Path) -> None:
    path = write(tmp_path, document)
    with pytest.raises(UsageError, match=r"it names no commit(?s:.)*next: give it with `--commit HASH`"):
        read_history(path)
    assert read_history(path, commit=OTHER.upper()).runs[0].commit == OTHER


def test_a_commit_that_contradicts_the_file_is_refused(tmp_path: Path) -> None:
    path = write(tmp_path, pytest_file())
    assert read_history(path, commit=COMMIT) == read_history(path)
    with pytest.raises(UsageError, match=f"`--commit` is `{OTHER}`, but .* says `{COMMIT}`"):
        read_history(path, commit=OTHER)


@pytest.mark.parametrize("commit", ["HEAD", COMMIT[:12], f"{COMMIT}; rm", "\n"])
def test_a_commit_is_a_full_hash(commit: str, tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="wanted the full hash of a commit, 40 or 64 digits"):
        read_history(write(tmp_path, google_file(git_sha="")), commit=commit)


def test_a_format_that_is_not_the_file_s_is_refused(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="a file that is not of asv"):
        read_history(write(tmp_path, pytest_file()), "asv")


def test_an_asv_directory_with_one_bad_file_names_it(tmp_path: Path) -> None:
    (tmp_path / "m").mkdir()
    (tmp_path / "m" / "good.json").write_text(json.dumps(asv_file()))
    (tmp_path / "m" / "wrong.json").write_text("{}")
    with pytest.raises(UsageError, match=r"wrong\.json"):
        read_history(tmp_path)


def test_a_directory_is_of_one_tool(tmp_path: Path) -> None:
    (tmp_path / "m").mkdir()
    for number, hour in enumerate(("08", "09")):
        saved = pytest_file(datetime=f"2026-11-30T{hour}:00:00")
        (tmp_path / "m" / f"000{number}.json").write_text(json.dumps(saved))
    assert [run.started_at.hour for run in read_history(tmp_path).runs] == [8, 9]
    (tmp_path / "m" / "other.json").write_text(json.dumps(google_file()))
    with pytest.raises(UsageError, match=r"other\.json.* got a file that is not of pytest-benchmark"):
        read_history(tmp_path)


def test_aggregates_of_old_versions_are_told_by_their_names(tmp_path: Path) -> None:
    names = {"a": 5.0, "a_mean": 6.0, "a_median": 5.0, "a_stddev": 1.0, "a_cv": 0.2, "b_BigO": 1.0}
    path = write(tmp_path, google_file(*({"name": name, "real_time": value} for name, value in names.items())))
    history = read_history(path)
    (time,) = history.runs[0].times
    assert (time.min_ns, time.median_ns, time.mean_ns, time.stddev_ns, time.samples_ns) == (5.0, 5.0, 6.0, 1.0, (5.0,))
    assert history.left_out == Counter({LeftOut.NOT_A_TIME: 1})


def test_named_arguments_of_google_benchmark_are_dims(tmp_path: Path) -> None:
    name = "conv<float>/n:8/dtype:float16/min_time:0.010/threads:2"
    path = write(tmp_path, google_file({"name": name, "run_type": "iteration", "real_time": 5.0}))
    case = read_history(path).runs[0].times[0].case
    assert (case.operator, dict(case.dims), case.dtype, case.name) == ("conv<float>", {"n": 8}, "float16", name)


def test_what_is_dated_ahead_of_now_is_left_out_and_counted(tmp_path: Path) -> None:
    document = action_file()
    (first,) = document["entries"]["S"]
    ahead = [{**first, "date": first["date"] + hours * 3_600_000} for hours in (24, 25, 26)]
    document["entries"]["S"] = [first, *ahead]
    path = write(tmp_path, document)
    now = datetime.fromtimestamp(first["date"] / 1000, timezone.utc)
    found = read_history(path, now=now)
    assert [run.started_at - now for run in found.runs] == [timedelta(0), timedelta(hours=24)]
    assert found.left_out == {LeftOut.FUTURE: 2}
    assert len(read_history(path).runs) == 4

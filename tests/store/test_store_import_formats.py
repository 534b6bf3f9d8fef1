"""Files that other tools really wrote, read by us and, independently, by a few lines here."""

from __future__ import annotations

import json
import re
import statistics
from collections import Counter
from collections.abc import Iterable
from datetime import datetime, timezone
from pathlib import Path
from typing import Any

import pytest

from opsdebug_ci.model.imported import ImportedTime
from opsdebug_ci.store.imports.history import LeftOut, SourceHistory, SourceRun
from opsdebug_ci.store.imports.registry import FORMATS, read_history

FOREIGN = Path(__file__).parent / "foreign"
COMMIT = "440be9702bcf17a9e5388dd0eb064d97a25ef575"
GIVEN = "0123456789abcdef0123456789abcdef01234567"
ASV = FOREIGN / "asv"
ASV_FILE = ASV / "host" / "440be970-existing-py_usr_bin_python3.json"

NANO = 1e9

Numbers = tuple[float | None, float | None, float | None, float | None, int | None, int | None]


def numbers(time: ImportedTime) -> Numbers:
    return (time.min_ns, time.median_ns, time.mean_ns, time.stddev_ns, time.samples, time.calls)


def by_name(times: Iterable[ImportedTime]) -> dict[str, Numbers]:
    return {time.case.name: numbers(time) for time in times}


def close(expected: dict[str, Any]) -> dict[str, Any]:
    return {
        name: tuple(None if x is None else pytest.approx(x, rel=1e-12) for x in row) for name, row in expected.items()
    }


def only_run(history: SourceHistory) -> SourceRun:
    (run,) = history.runs
    return run


@pytest.mark.parametrize("version", ["3", "5"])
def test_pytest_benchmark(version: str) -> None:
    path = FOREIGN / f"pytest-benchmark-{version}.json"
    document = json.loads(path.read_text())
    run = only_run(read_history(path))
    keys = ("min", "median", "mean", "stddev")
    expected = {
        one["fullname"]: (
            *(one["stats"][key] * NANO for key in keys),
            one["stats"]["rounds"],
            one["stats"]["iterations"],
        )
        for one in document["benchmarks"]
    }
    assert len(expected) == 5
    assert by_name(run.times) == close(expected)
    samples = {one["fullname"]: one["stats"]["data"] for one in document["benchmarks"]}
    assert {t.case.name: t.samples_ns for t in run.times} == {
        name: pytest.approx([sample * NANO for sample in data]) for name, data in samples.items()
    }
    assert (run.commit, run.branch, run.dirty) == (COMMIT, "main", False)
    written = datetime.fromisoformat(document["datetime"])
    assert run.started_at == (written if written.tzinfo else written.replace(tzinfo=timezone.utc))


def test_pytest_benchmark_tells_dims_and_dtype() -> None:
    cases = {time.case.name.split("::")[1]: time.case for time in only_run(read_pytest()).times}
    assert {name: (dict(case.dims), case.dtype) for name, case in cases.items()} == {
        "test_add[128-float32]": ({"n": 128}, "float32"),
        "test_add[128-float64]": ({"n": 128}, "float64"),
        "test_add[1024-float32]": ({"n": 1024}, "float32"),
        "test_add[1024-float64]": ({"n": 1024}, "float64"),
        "test_sum": ({"shape_0": 4, "shape_1": 8}, ""),
    }
    assert {case.operator for case in cases.values()} == {"test_add.py::test_add", "test_add.py::test_sum"}


def read_pytest() -> SourceHistory:
    return read_history(FOREIGN / "pytest-benchmark-5.json")


def test_two_versions_of_a_tool_give_a_benchmark_one_id() -> None:
    both = [read_history(FOREIGN / f"pytest-benchmark-{version}.json") for version in "35"]
    ids = [[time.case.id for time in only_run(history).times] for history in both]
    assert ids[0] == ids[1]
    assert len(set(ids[0])) == 5


@pytest.mark.parametrize("path", [ASV_FILE, ASV / "host", ASV], ids=["file", "machine", "results"])
def test_asv(path: Path) -> None:
    document = json.loads(ASV_FILE.read_text())
    columns = document["result_columns"]
    rows = {name: dict(zip(columns, row, strict=False)) for name, row in document["results"].items()}
    add, plain = rows["elementwise.Elementwise.time_add"], rows["elementwise.time_plain"]
    raw = rows["elementwise.timeraw_import"]
    combined = [f"({n}, {dtype})" for n in add["params"][0] for dtype in add["params"][1]]
    expected = {
        f"elementwise.Elementwise.time_add{values}": asv_numbers(add, position)
        for position, values in enumerate(combined[:3])
    }
    expected["elementwise.time_plain"] = asv_numbers(plain, 0)
    expected["elementwise.timeraw_import"] = asv_numbers(raw, 0)
    history = read_history(path)
    run = only_run(history)
    assert by_name(run.times) == close(expected)
    assert history.left_out == Counter({LeftOut.NOT_A_TIME: 5, LeftOut.FAILED: 2})
    assert run.commit == document["commit_hash"]
    assert run.started_at.timestamp() * 1000 == document["date"]
    assert (run.machine.cpu, run.machine.cores, run.machine.memory_bytes) == ("AMD EPYC", 2, 25276514304)


def asv_numbers(row: dict[str, Any], position: int) -> tuple[Any, ...]:
    samples = row["samples"][position]
    assert row["result"][position] == statistics.median(samples)
    calls = row["stats_number"][position]
    return (min(samples) * NANO, row["result"][position] * NANO, None, None, len(samples), calls)


def test_asv_names_parameters_by_its_descriptions(tmp_path: Path) -> None:
    lonely = tmp_path / "machine" / "result.json"
    lonely.parent.mkdir()
    lonely.write_text(ASV_FILE.read_text())
    described, alone = (only_run(read_history(path)).times[2].case for path in (ASV, lonely))
    assert (dict(described.dims), described.dtype) == ({"n": 256}, "float32")
    assert (dict(alone.dims), alone.dtype) == ({"parameter_0": 256}, "")
    assert described.id == alone.id


def test_asv_version_1() -> None:
    history = read_history(FOREIGN / "asv-version-1.json")
    run = only_run(history)
    suite = "params_examples.ParamSuite.time_value"
    # Up to version 0.2 asv kept the shortest sample and nothing else.
    assert by_name(run.times) == close(
        {
            "time_units.time_very_simple_unit_parse": (12e3, None, None, None, None, None),
            f"{suite}('a', <class 'numpy.float32'>)": (1e3, None, None, None, None, None),
            f"{suite}('a', (4, 8))": (2e3, None, None, None, None, None),
            f"{suite}('b', (4, 8))": (4e3, None, None, None, None, None),
            "newer.time_with_statistics": (4e3, 5e3, None, None, 3, 10),
        }
    )
    assert history.left_out == Counter({LeftOut.FAILED: 2, LeftOut.NOT_A_TIME: 1})
    assert dict(run.times[2].case.dims) == {"parameter_1_0": 4, "parameter_1_1": 8}


def test_google_benchmark_repetitions() -> None:
    path = FOREIGN / "google-benchmark.json"
    entries = json.loads(path.read_text())["benchmarks"]
    history = read_history(path)
    run = only_run(history)
    unit = {"ns": 1.0, "us": 1e3}
    expected = {}
    for name in ("sum_million", "add/8", "add/16", "add/32"):
        mine = [one for one in entries if one["run_name"] == name]
        samples = [one["real_time"] * unit[one["time_unit"]] for one in mine if one["run_type"] == "iteration"]
        calls = {one["iterations"] for one in mine if one["run_type"] == "iteration"}
        stated = {
            one["aggregate_name"]: one["real_time"] * unit[one["time_unit"]] for one in mine if "aggregate_name" in one
        }
        assert len(samples) == 3
        expected[name] = (min(samples), statistics.median(samples), stated["mean"], stated["stddev"], 3, calls.pop())
    assert by_name(run.times) == close(expected)
    assert history.left_out == Counter({LeftOut.FAILED: 1})
    assert run.commit == GIVEN


def test_google_benchmark_aggregates_alone() -> None:
    path = FOREIGN / "google-benchmark-aggregates.json"
    entries = json.loads(path.read_text())["benchmarks"]
    unit = {"ns": 1.0, "us": 1e3}
    expected = {}
    for name in ("sum_million", "add/8", "add/16", "add/32"):
        mine = {one["aggregate_name"]: one for one in entries if one["run_name"] == name}
        mean, median, spread = (
            mine[key]["real_time"] * unit[mine[key]["time_unit"]] for key in ("mean", "median", "stddev")
        )
        expected[name] = (None, median, mean, spread, 3, None)
    assert by_name(only_run(read_history(path, commit=GIVEN)).times) == close(expected)


def test_github_action_benchmark() -> None:
    history = read_history(FOREIGN / "github-action-benchmark.js")
    told = [(run.version, run.commit[:8], by_name(run.times)) for run in history.runs]
    assert [(tool, commit, close(times)) for tool, commit, times in told] == [
        (
            "pytest",
            "440be970",
            {
                "test_add.py::test_add[128-float32]": (None, None, 1063.797390088439, 550.0102271986237, 5, None),
                "test_add.py::test_sum": (None, None, 196.26701638723412, 110.92451272682756, 5, None),
            },
        ),
        ("pytest", "5c9df4dd", {"test_add.py::test_sum": (None, None, 200.0, 0.0, 7, None)}),
        (
            "cargo",
            "440be970",
            {
                "bench_fib_10": (None, 254.0, None, None, None, None),
                "bench_fib_20": (None, 34001.0, None, None, None, None),
            },
        ),
        ("go", "440be970", {"BenchmarkFib10": (None, None, 409.3, None, None, None)}),
        ("googlecpp", "440be970", {"add/8": (None, None, 210.0, None, None, None)}),
        (
            "customSmallerIsBetter",
            "440be970",
            {
                "latency": (None, None, 1.5e6, None, None, None),
                "wait": (None, None, 2e3, None, None, None),
            },
        ),
    ]
    assert history.left_out == Counter({LeftOut.NOT_A_TIME: 3})
    assert history.runs[0].started_at == datetime(2026, 11, 28, 8, 0, 0, 123000, tzinfo=timezone.utc)


def test_the_pages_of_the_action_and_its_json_are_the_same(tmp_path: Path) -> None:
    page = FOREIGN / "github-action-benchmark.js"
    plain = tmp_path / "data.json"
    plain.write_text(page.read_text().split("=", 1)[1])
    assert read_history(plain) == read_history(page)


@pytest.mark.parametrize(
    ("name", "format_"),
    [
        ("pytest-benchmark-3.json", "pytest-benchmark"),
        ("pytest-benchmark-5.json", "pytest-benchmark"),
        ("asv-version-1.json", "asv"),
        ("asv/host/440be970-existing-py_usr_bin_python3.json", "asv"),
        ("google-benchmark.json", "google-benchmark"),
        ("github-action-benchmark.js", "github-action-benchmark"),
    ],
)
def test_a_file_is_recognised_as_what_it_is_and_as_nothing_else(name: str, format_: str) -> None:
    path = FOREIGN / name
    assert read_history(path).runs == read_history(path, format_).runs
    text = path.read_text()
    document = json.loads(text[text.index("{") :])
    assert [one.name for one in FORMATS.values() if one.recognises(document)] == [format_]


def test_machines_are_told_apart_by_what_stays() -> None:
    first, second = (only_run(read_history(FOREIGN / f"pytest-benchmark-{version}.json")) for version in "35")
    assert first.machine.facts != second.machine.facts
    assert "host" not in str(second.machine.facts)


def test_fixtures_name_no_machine_of_ours() -> None:
    texts = [path.read_text() for path in FOREIGN.rglob("*") if path.is_file()]
    assert len(texts) == 9
    assert {path for text in texts for path in re.findall(r'"(/[^"]*)"', text)} == {"/usr/bin/python3"}
    assert not any('"vm"' in text for text in texts)

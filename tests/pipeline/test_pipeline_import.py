"""What other tools recorded becomes rows: once, without loss, and never taken for ours."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest
from click.testing import CliRunner

from opsdebug_ci.cli.baselines_import import FORMATS, import_command
from opsdebug_ci.errors import StoreError, UsageError
from opsdebug_ci.model import KnownFailures, RunDocument, Stage
from opsdebug_ci.model.performance import PerformanceDocument
from opsdebug_ci.pipeline import import_history as importing
from opsdebug_ci.pipeline.import_history import ImportOutcome, import_history, run_document
from opsdebug_ci.report import text
from opsdebug_ci.store.baseline_store import BaselineStore
from opsdebug_ci.store.imports.registry import AUTO, read_history
from opsdebug_ci.store.imports.registry import FORMATS as READ
from opsdebug_ci.store.memory.known import known_failures
from opsdebug_ci.store.memory.series import stored_series
from opsdebug_ci.store.places.backends import open_store
from opsdebug_ci.store.sql.query import query

FOREIGN = Path(__file__).parents[1] / "store" / "foreign"
PYTEST = FOREIGN / "pytest-benchmark-5.json"
ACTION = FOREIGN / "github-action-benchmark.js"
COMMIT = "440be9702bcf17a9e5388dd0eb064d97a25ef575"
EVERY = (PYTEST, FOREIGN / "pytest-benchmark-3.json", FOREIGN / "asv", FOREIGN / "google-benchmark.json", ACTION)


@pytest.fixture
def place(tmp_path: Path) -> Path:
    return tmp_path / "s"


@pytest.mark.parametrize("path", EVERY, ids=lambda path: path.name)
def test_every_run_comes_back_as_it_was_read(path: Path, place: Path) -> None:
    outcome = import_history(path, open_store(place))
    runs = read_history(path).runs
    assert (outcome.runs_added, outcome.runs_there) == (len(runs), 0)
    assert outcome.times_added == sum(len(run.times) for run in runs) > 0
    stored = [open_store(place).load(run_document(run).run.id) for run in runs]
    assert [document.performance for document in stored] == [PerformanceDocument(imported=run.times) for run in runs]
    assert stored == [run_document(run) for run in runs]


@pytest.mark.parametrize("path", EVERY, ids=lambda path: path.name)
def test_twice_is_once(path: Path, place: Path) -> None:
    first = import_history(path, open_store(place))
    files = sorted(str(file) for file in place.rglob("*"))
    again = import_history(path, open_store(place))
    assert (again.runs_added, again.times_added, again.runs_there) == (0, 0, first.runs_added)
    assert sorted(str(file) for file in place.rglob("*")) == files


def test_a_history_that_grew_adds_what_is_new(place: Path, tmp_path: Path) -> None:
    whole = ACTION.read_text()
    document = json.loads(whole[whole.index("{") :])
    older = {
        **document,
        "entries": {**document["entries"], "Python Benchmark": document["entries"]["Python Benchmark"][:1]},
    }
    earlier = tmp_path / "data.js"
    earlier.write_text(f"window.BENCHMARK_DATA = {json.dumps(older)};\n")
    assert import_history(earlier, open_store(place)).runs_added == 5
    grown = import_history(ACTION, open_store(place))
    assert (grown.runs_added, grown.runs_there, grown.times_added) == (1, 5, 1)


def test_an_entry_given_twice_is_one_run(place: Path, tmp_path: Path) -> None:
    whole = ACTION.read_text()
    document = json.loads(whole[whole.index("{") :])
    document["entries"] = {"Rust Benchmark": document["entries"]["Rust Benchmark"] * 3}
    path = tmp_path / "data.json"
    path.write_text(json.dumps(document))
    assert import_history(path, open_store(place)).runs_added == 1
    assert query(place, "select count(*) from timings").rows == ((2,),)


def test_rows_say_what_they_are(place: Path) -> None:
    import_history(PYTEST, open_store(place))
    sql = """
        select distinct t.round, t.arm, t.why, t.comparison, t.base_commit, t.contaminated, t."commit", t.source,
               r.stage, r.ci_key, r.verdict, r.machine_key like 'imported:%', len(r.ancestors), r.branch
        from timings t join runs r on r.id = t.run_id
    """
    assert query(place, sql).rows == (
        (
            *("imported", "head", None, None, None, None, COMMIT, "pytest-benchmark 5.3.1"),
            *("import", "", "inconclusive", True, 0, "main"),
        ),
    )


def test_a_mean_alone_can_be_followed(place: Path) -> None:
    import_history(ACTION, open_store(place))
    sql = """select "commit"[:8], source, round(ns, 3), round(ratio, 3) from trend('test_add.py::test_sum')"""
    assert query(place, sql).rows == (("440be970", "imported", 196.267, None), ("5c9df4dd", "imported", 200.0, 1.019))


def only(store: BaselineStore) -> RunDocument:
    """The only run of a store."""
    ((run_id,),) = query(store.location, "select id from runs").rows
    return store.load(str(run_id))


def test_nothing_of_ours_takes_it_for_a_record(place: Path) -> None:
    store = open_store(place)
    import_history(PYTEST, store)
    imported = only(store)
    key = imported.run.machine.key
    assert dict(stored_series(place, key)) == {}
    assert known_failures(place, (COMMIT,)) == KnownFailures()
    child = replace(
        imported,
        run=replace(
            imported.run,
            id="r-child",
            commit="c" * 40,
            stage=Stage.SMOKE,
            revision=replace(imported.run.revision, commit="c" * 40, ancestors=(COMMIT,)),
        ),
    )
    store.append(child)
    assert query(place, f"select * from baseline_for('{'c' * 40}')").rows == ()
    # NOTE: not even where a stage held such rows.
    assert dict(stored_series(place, key)) == {}


def test_the_report_says_what_it_is(place: Path) -> None:
    import_history(PYTEST, open_store(place))
    told = text(only(open_store(place)))
    assert "performance: nothing was compared; 5 times imported from pytest-benchmark 5.3.1" in told
    assert "nothing was judged here" in told


HOSTILE = "t'); drop table runs; -- \x1b[31m\r\n\u202e\x00 ../../x"


def test_a_hostile_name_is_only_a_name(place: Path, tmp_path: Path) -> None:
    document = json.loads(PYTEST.read_text())
    document["benchmarks"] = [
        {**document["benchmarks"][0], "fullname": HOSTILE, "params": {HOSTILE: 3, "dtype": HOSTILE}}
    ]
    document["commit_info"]["branch"] = document["version"] = HOSTILE
    document["machine_info"]["system"] = HOSTILE
    path = tmp_path / "hostile.json"
    path.write_text(json.dumps(document))
    outcome = import_history(path, open_store(place))
    assert outcome.runs_added == 1
    assert query(place, "select case_name, dims[?], dtype from timings", (HOSTILE,)).rows == ((HOSTILE, 3, HOSTILE),)
    assert query(place, "select count(*) from runs").rows == ((1,),)
    assert sorted(entry.name for entry in tmp_path.iterdir()) == ["hostile.json", "s"]
    shown = text(only(open_store(place)))
    assert not {"\x1b", "\r", "\u202e", "\x00"} & set(shown)


def test_half_a_surrogate_pair_is_spelt_out(place: Path, tmp_path: Path) -> None:
    document = json.loads(PYTEST.read_text())
    document["benchmarks"][0]["fullname"] = "\ud800"
    path = tmp_path / "odd.json"
    path.write_text(json.dumps(document))
    assert import_history(path, open_store(place)).times_added == 5
    assert query(place, "select case_name from timings where position = 0").rows == (("\\ud800",),)


def test_a_refused_file_leaves_no_store(place: Path, tmp_path: Path) -> None:
    path = tmp_path / "wrong.json"
    path.write_text("{}")
    with pytest.raises(UsageError):
        import_history(path, open_store(place))
    assert not place.exists()


def test_a_store_that_cannot_be_written_is_one_error(tmp_path: Path) -> None:
    (tmp_path / "s").write_text("a file")
    with pytest.raises(StoreError, match="cannot write to store"):
        import_history(PYTEST, open_store(tmp_path / "s"))


def test_many_runs_are_stored_in_few_visits_and_told(place: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(importing, "AT_ONCE", 4)
    told: list[tuple[str, int, int]] = []
    import_history(ACTION, open_store(place), told=lambda *facts: told.append(facts))
    assert told == [("runs imported", 0, 6), ("runs imported", 4, 6)]
    assert query(place, "select count(*) from runs").rows == ((6,),)


def documents_of(path: Path) -> list[RunDocument]:
    return [run_document(run) for run in read_history(path).runs]


def test_ids_follow_the_source_s_time() -> None:
    documents = documents_of(ACTION)
    by_time = sorted(documents, key=lambda document: document.run.started_at)
    assert [document.run.id for document in by_time] == sorted(document.run.id for document in documents)
    assert len({document.run.id for document in documents}) == 6


def test_suites_versions_and_machines_have_keys_of_their_own() -> None:
    keys = [{document.run.machine.key for document in documents_of(path)} for path in EVERY]
    assert [len(found) for found in keys] == [1, 1, 1, 1, 5]
    assert len(set().union(*keys)) == 9


def run(*arguments: object) -> tuple[int, str, str]:
    result = CliRunner().invoke(import_command, [str(argument) for argument in arguments], standalone_mode=False)
    if result.exception is not None:
        raise result.exception
    return result.return_value, result.stdout, result.stderr


def test_the_command_says_what_was_imported_and_left_out(place: Path) -> None:
    assert run(ACTION, "--store", place) == (
        0,
        "9 times in 6 runs imported from github-action-benchmark pytest, github-action-benchmark cargo, "
        "github-action-benchmark go, github-action-benchmark googlecpp, "
        "github-action-benchmark customSmallerIsBetter\n"
        "left out: 3 not a time\n"
        f"""next: opsdebug sql "from trend('*') where source = 'imported'" --store {place}\n""",
        "",
    )
    code, said, _ = run(ACTION, "--store", place)
    assert code == 0
    assert said.startswith("0 times in 0 runs imported from")
    assert "already there: 6 runs" in said


def test_the_next_command_is_answered(place: Path) -> None:
    import_history(ACTION, open_store(place))
    assert len(query(place, importing.NEXT.split('"')[1]).rows) == 9


def test_counts_as_json(place: Path) -> None:
    code, said, _ = run(FOREIGN / "google-benchmark.json", "--store", place, "--format", "google-benchmark", "--json")
    assert code == 0
    assert json.loads(said) == {
        "sources": ["google-benchmark 1.9.5"],
        "runs_added": 1,
        "runs_there": 0,
        "times_added": 4,
        "left_out": {"failed or skipped there": 1},
    }


def test_a_commit_by_option(place: Path) -> None:
    path = FOREIGN / "google-benchmark-aggregates.json"
    with pytest.raises(UsageError, match="it names no commit"):
        run(path, "--store", place)
    assert run(path, "--store", place, "--commit", COMMIT)[0] == 0
    assert query(place, 'select "commit" from runs').rows == ((COMMIT,),)


def test_nothing_to_import_is_said(place: Path, tmp_path: Path) -> None:
    path = tmp_path / "empty.json"
    path.write_text(json.dumps({**json.loads(PYTEST.read_text()), "benchmarks": []}))
    assert import_history(path, open_store(place)) == ImportOutcome(
        sources=(), runs_added=0, runs_there=0, times_added=0, left_out={}
    )
    assert run(path, "--store", place)[1].startswith("0 times in 0 runs imported from a file without times\n")


def test_the_command_offers_the_formats_there_are() -> None:
    assert list(FORMATS) == [AUTO, *READ]

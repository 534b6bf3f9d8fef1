"""From an empty directory to a recorded stage, and everything that reads what was recorded."""

from __future__ import annotations

import json
import re
import subprocess
from pathlib import Path

import pytest
from cli_notation import CONFIGURATION, Ended, opsdebug, project, scrub

from opsdebug_ci.model.comparability import FACTS

RUN_ID = re.compile(r"[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[0-9a-f]{4}-[0-9a-f]{12}")


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A directory after `opsdebug init`."""
    directory = tmp_path_factory.mktemp("started") / "project"
    directory.mkdir()
    ended = opsdebug("init", at=directory)
    assert (ended.code, ended.err) == (0, "")
    assert (
        ended.out
        == """\
wrote .github/workflows/opsdebug.yml
wrote .github/workflows/opsdebug-report.yml
wrote .github/workflows/opsdebug-nightly.yml
wrote .github/workflows/opsdebug-release.yml
wrote .github/workflows/opsdebug-accept.yml
wrote opsdebug.toml
wrote opsdebug_operators.py
next: opsdebug ci --stage smoke
"""
    )
    return directory


@pytest.fixture(scope="module")
def staged(place: Path) -> Ended:
    """One recorded stage of what `init` wrote."""
    return opsdebug("ci", "--stage", "smoke", "--json", at=place)


@pytest.fixture(scope="module")
def run_id(staged: Ended) -> str:
    return str(json.loads(staged.out)["run"]["id"])


def test_what_init_wrote_passes(staged: Ended) -> None:
    document = json.loads(staged.out)
    assert (staged.code, document["summary"]["verdict"], document["stage"]) == (0, "pass", "smoke")
    assert len(document["observations"]) == document["summary"]["counts"]["pass"] > 20
    assert staged.out.count("\n") == 1


def test_init_replaces_nothing_unasked(place: Path, staged: Ended) -> None:
    (place / "opsdebug.toml").write_text((place / "opsdebug.toml").read_text() + "# mine\n")
    refused = opsdebug("init", at=place)
    assert (refused.code, refused.out, scrub(refused.err, project=place)) == (
        2,
        "",
        "opsdebug [usage]: `init` would replace .github/workflows/opsdebug.yml, .github/workflows/opsdebug-report.yml, "
        ".github/workflows/opsdebug-nightly.yml, .github/workflows/opsdebug-release.yml, "
        ".github/workflows/opsdebug-accept.yml, opsdebug.toml, opsdebug_operators.py in .; "
        "wanted none of them to exist\n  next: move them away, or use --force to replace them\n",
    )
    assert (place / "opsdebug.toml").read_text().endswith("# mine\n")
    forced = opsdebug("init", "--force", at=place)
    assert (forced.code, "# mine" in (place / "opsdebug.toml").read_text()) == (0, False)


def test_sql_answers_over_the_recorded_run(place: Path, staged: Ended) -> None:
    question = "select operator, count(*) as cases from accuracy group by 1"
    cases = len(json.loads(staged.out)["observations"])
    shown = opsdebug("sql", question, at=place)
    assert (shown.code, shown.err) == (0, "")
    assert shown.out == f"operator           cases\ngelu_add_residual     {cases}\n(1 row)\n"
    assert json.loads(opsdebug("sql", question, "--json", at=place).out) == [
        {"operator": "gelu_add_residual", "cases": cases}
    ]


def test_sql_json_is_valid_whatever_is_selected(place: Path, staged: Ended) -> None:
    numbers = "'nan'::double as n, ['inf'::float, 1.5] as l, {'a': 'nan'::double} as s"
    query = f"select {numbers}, null as z, 7 as z, date '2026-01-31' as d"
    ended = opsdebug("sql", query, "--json", at=place)
    assert json.loads(ended.out) == [
        {"n": None, "l": [None, 1.5], "s": {"a": None}, "z": None, "z_5": 7, "d": "2026-01-31"}
    ]


def test_sql_shows_no_control_characters(place: Path, staged: Ended) -> None:
    ended = opsdebug("sql", "select chr(27) || '[31mred' as x", at=place)
    assert ended.out == "x\nred\n(1 row)\n"


def test_sql_without_a_query_lists_the_tables(place: Path, staged: Ended) -> None:
    listed = opsdebug("sql", at=place)
    assert listed.out.startswith(f"store {place}/baselines\n")
    assert "\nselect operator, count(*) from accuracy group by 1" in listed.out
    as_json = json.loads(opsdebug("sql", "--json", at=place).out)
    assert as_json["runs"]["rows"] == 1
    assert set(as_json) >= {"accuracy", "calibrations", "failures", "runs"}


def test_a_wrong_query_is_the_persons_mistake(place: Path, staged: Ended) -> None:
    ended = opsdebug("sql", "drop table runs", at=place)
    assert (ended.code, ended.out) == (2, "")
    assert ended.err.startswith(
        "opsdebug [query]: the query cannot be answered: got DROP statement; wanted one SELECT: "
        "the store is read-only\n"
    )


def test_reports_of_the_store_and_of_a_file_are_the_same(
    place: Path, staged: Ended, run_id: str, tmp_path: Path
) -> None:
    document = tmp_path / "report.json"
    document.write_text(staged.out)
    for form in ("text", "markdown"):
        newest = opsdebug("report", form, at=place)
        assert (newest.code, newest.err) == (0, "")
        assert newest.out == opsdebug("report", form, "--run", run_id, at=place).out
        assert newest.out == opsdebug("report", form, "--file", str(document), at=tmp_path).out
        assert "gelu_add_residual" in newest.out


def test_a_report_of_something_else_is_the_persons_mistake(tmp_path: Path) -> None:
    (tmp_path / "report.json").write_text("{}")
    ended = opsdebug("report", "text", "--file", "report.json", at=tmp_path)
    assert (ended.code, ended.out) == (2, "")
    assert ended.err.startswith("opsdebug [usage]: the document is not `opsdebug.run/1`: ")
    missing = opsdebug("report", "text", "--file", "nowhere.json", at=tmp_path)
    assert (missing.code, missing.out) == (2, "")
    assert "nowhere.json: No such file or directory" in missing.err


def test_a_recorded_stage_says_where_and_what_next(tmp_path: Path) -> None:
    project(tmp_path, "wrong", "twice", configuration=CONFIGURATION)
    stage = ("ci", "--stage", "smoke", "--shard", "1/16", "--operators", "wr*", "--gate", "never", "--store", "kept")
    ended = opsdebug(*stage, at=tmp_path)
    assert ended.code == 0, "the gate is off"
    assert "failures:" in ended.out
    recorded, step = ended.out.splitlines()[-2:]
    assert RUN_ID.sub("ID", recorded) == f"recorded as ID in {tmp_path}/kept"
    assert step.startswith("next: opsdebug run wrong ")
    assert not (tmp_path / "baselines").exists()


def test_doctor_in_a_good_place(place: Path, staged: Ended) -> None:
    subprocess.run(["git", "init", "--quiet"], cwd=place, check=True)
    ended = opsdebug("doctor", "--json", at=place)
    checks = json.loads(ended.out)
    assert ended.code == 0
    required = {check["subject"]: check["found"] for check in checks if check["required"]}
    assert list(required) == ["configuration", "interpreter", "machine", "operators", "store"]
    assert re.match(r"2-[0-9a-f]{12}: system .*, [0-9]+ threads?$", required["machine"])
    assert required["operators"].startswith("1 operator; devices: cpu")
    assert required["store"] == f"{place}/baselines: a store"
    assert all(check["ok"] for check in checks if check["required"])


def test_doctor_in_a_bad_place_makes_every_check(tmp_path: Path) -> None:
    configuration = 'operators = ["nowhere.py"]\nstore = "opsdebug.toml"\n'
    (tmp_path / "opsdebug.toml").write_text(configuration)
    ended = opsdebug("doctor", at=tmp_path)
    assert (ended.code, ended.err) == (3, "")
    shown = re.sub(
        r"(ok +(?:interpreter|machine):|(?:ok|absent) +C compiler:).*", r"\1 ...", scrub(ended.out, project=tmp_path)
    )
    assert (
        shown
        == """\
ok      configuration: PROJECT/opsdebug.toml: operators in nowhere.py
ok      interpreter: ...
ok      machine: ...
MISSING operators: 1 problem with the configured operators:
  nowhere.py: found no file PROJECT/nowhere.py; expected a Python file that declares operators
    next: correct `operators` in the configuration; paths are relative to its directory
MISSING store: cannot write to store `PROJECT/opsdebug.toml`: got `Not a directory` at `PROJECT/opsdebug.toml`; wanted \
a directory this user can write, or a name in one
        next: set `store` to such a directory
absent  git: not a git repository, or without commits
        next: `git init` and commit: without history every failure is new
ok      C compiler: ...
"""
    )


def test_calibrate_needs_no_configuration(tmp_path: Path) -> None:
    ended = opsdebug("calibrate", "--json", at=tmp_path)
    found = json.loads(ended.out)
    assert (ended.code, ended.err) == (0, "")
    assert [calibration["device"] for calibration in found["calibrations"]] == ["cpu"]
    probes = found["calibrations"][0]["probes"]
    assert probes
    assert {probe["probe"] for probe in probes} == {"memcpy", "triad", "gemm", "launch"}
    assert all(min(probe["samples_ns"]) > 0 for probe in probes)
    assert found["machine"]["torch"]


def test_calibrate_says_what_makes_the_key(tmp_path: Path) -> None:
    lines = opsdebug("calibrate", at=tmp_path).out.splitlines()
    assert re.fullmatch("machine 2-[0-9a-f]{12}: runs with this key may be compared", lines[0])
    table = [re.split(" {2,}", line) for line in lines[1 : lines.index("")]]
    assert table[0] == ["fact", "here", "in the key"]
    assert [(row[0], row[2]) for row in table[1:]] == [(fact.name, "yes" if fact.in_key else "no") for fact in FACTS]


@pytest.mark.slow
def test_a_pull_request_that_brings_its_own_record_is_told_so_in_the_log(tmp_path: Path) -> None:
    place = project(tmp_path / "project", "wrong")
    git = ("git", "-c", "user.name=Somebody", "-c", "user.email=somebody@example.org", "-c", "commit.gpgsign=false")

    def commit() -> str:
        for words in (("add", "--all"), ("commit", "--quiet", "--message", "change"), ("rev-parse", "HEAD")):
            done = subprocess.run([*git, *words], cwd=place, capture_output=True, text=True, check=True)
        return done.stdout.strip()

    subprocess.run(["git", "init", "--quiet"], cwd=place, check=True)
    base = commit()
    stage = ("ci", "--stage", "smoke", "--shard", "1/16")
    assert opsdebug(*stage, at=place).code == 1
    commit()
    side = {"sha": base, "ref": "main", "repo": {"full_name": "somebody/kernels"}}
    event = tmp_path / "event.json"
    event.write_text(json.dumps({"pull_request": {"number": 12, "head": side, "base": side}}))
    environ = {"GITHUB_EVENT_NAME": "pull_request", "GITHUB_EVENT_PATH": str(event)}
    ended = opsdebug(*stage, at=place, environ=environ)
    assert (ended.code, ended.out.startswith("FAIL: ")) == (1, True)
    *_, unrecorded, last = ended.err.splitlines()
    assert unrecorded.startswith("not recorded: this job is of event `pull_request`, and only pushes")
    apart = opsdebug(*stage, "--record", "apart", at=place, environ=environ)
    assert apart.out.splitlines()[-1] == "next: opsdebug baselines push --from apart"
    refused = opsdebug(*stage, "--record", "opsdebug.toml", at=place)
    assert (refused.code, "`--record opsdebug.toml` is a file; wanted a directory" in refused.err) == (2, True)
    assert last.startswith(
        "nothing is taken as known: the change touches the store baselines/, first baselines/accuracy/"
    )

"""A change cannot bring the record that excuses it."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest
from pipeline_notation import HOME, RIGHT, SMOKE, WRONG, Project, job, pull_request, repository

from opsdebug_ci.pipeline.baseline import distrust
from opsdebug_ci.pipeline.ci import CiOutcome, run_stage

ADDED = "nothing is taken as known: the change touches"
UNTOLD = "nothing is taken as known: git cannot tell whether the change touches"


def at(directory: Path, **files: str) -> Project:
    """A repository whose first commit holds these files; `_` in a name is `/`."""
    directory.mkdir()
    return write(repository(directory, one=RIGHT), **files)


def write(project: Project, **files: str) -> Project:
    """Write and commit these files."""
    for name, text in files.items():
        path = project.directory / name.replace("_", "/")
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    project.git("add", "--all", "--force")
    project.git("commit", "--quiet", "--allow-empty", "--message", "change")
    return project


def verdict(project: Project, base: str, store: str = "baselines/") -> str | None:
    """The beginning of what is said, up to the store; None: the store is believed."""
    text = distrust(project.configuration(store=store), base)
    return None if text is None else text.partition(" the store ")[0]


@pytest.mark.parametrize(
    ("files", "expected"),
    [
        pytest.param({"baselines_runs_a.parquet": "a"}, ADDED, id="a new file in the store"),
        pytest.param({"baselines_old": "changed"}, ADDED, id="a changed file"),
        pytest.param({"Baselines_a": "a"}, ADDED, id="a name that some disks take for the store"),
        pytest.param({"operator.txt": "x", "baselines.md": "x", "docs_baselines_x": "x"}, None, id="other files"),
        pytest.param({}, None, id="nothing"),
    ],
)
def test_a_change_to_the_store_is_seen(files: dict[str, str], expected: str | None, tmp_path: Path) -> None:
    project = at(tmp_path / "project", baselines_old="old")
    base = project.git("rev-parse", "HEAD")
    write(project, **files)
    assert verdict(project, base) == expected


def test_the_note_names_store_and_file(tmp_path: Path) -> None:
    project = at(tmp_path / "project", other="x")
    base = project.git("rev-parse", "HEAD")
    write(project, baselines_z="z", baselines_a="a")
    assert distrust(project.configuration(), base) == (
        "nothing is taken as known: the change touches the store baselines/, first baselines/a"
    )


def test_a_store_removed_or_replaced_by_a_link_is_changed(tmp_path: Path) -> None:
    project = at(tmp_path / "project", baselines_old="old", other_runs="x")
    base = project.git("rev-parse", "HEAD")
    shutil.rmtree(project.directory / "baselines")
    (project.directory / "baselines").symlink_to("other")
    assert verdict(project, base) is None, "what is not committed is the doing of whoever runs this"
    write(project)
    assert verdict(project, base) == ADDED


def test_what_a_link_leads_to_is_the_store_too(tmp_path: Path) -> None:
    project = at(tmp_path / "project", other_runs="x")
    (project.directory / "baselines").symlink_to("other")
    write(project)
    base = project.git("rev-parse", "HEAD")
    write(project, other_more="x")
    assert verdict(project, base) == ADDED


def test_a_store_elsewhere_is_believed_whatever_git_says(tmp_path: Path) -> None:
    project = at(tmp_path / "project", baselines_old="old")
    assert verdict(project, "0" * 40, str(tmp_path / "store")) is None


@pytest.mark.parametrize("base", ["", "0" * 40, "nowhere"])
def test_without_a_base_nothing_is_believed(base: str, tmp_path: Path) -> None:
    assert verdict(at(tmp_path / "project", baselines_old="old"), base) == UNTOLD


@pytest.fixture(scope="module")
def recorded(tmp_path_factory: pytest.TempPathFactory) -> Project:
    """An operator that fails at the first commit, with the record of that beside it, not committed."""
    directory = tmp_path_factory.mktemp("recorded") / "project"
    directory.mkdir()
    project = repository(directory, broken=WRONG)
    project.commit()
    assert run_stage(SMOKE, project.configuration(), project.world()).document.summary.exit_code == 1
    return project


def copied(project: Project, directory: Path) -> Project:
    shutil.copytree(project.directory, directory / "project")
    return Project(directory=directory / "project")


def pulled(project: Project, base: str) -> CiOutcome:
    environ = pull_request(project.directory.parent, base, project.git("rev-parse", "HEAD"))
    return run_stage(SMOKE, project.configuration(), project.world(environ))


def test_a_pull_request_that_commits_its_own_record_gates(recorded: Project, tmp_path: Path) -> None:
    project = copied(recorded, tmp_path)
    base = project.git("rev-parse", "HEAD")
    write(project)
    outcome = pulled(project, base)
    assert (outcome.document.baseline, outcome.document.summary.exit_code) == (None, 1)
    assert [note.partition(" the store ")[0] for note in outcome.notes] == [ADDED]
    assert outcome.document.baseline_how == outcome.document.baseline_doubt == outcome.notes[0]


def test_a_record_that_the_base_holds_is_believed(recorded: Project, tmp_path: Path) -> None:
    project = copied(recorded, tmp_path)
    first = project.git("rev-parse", "HEAD")
    base = write(project).git("rev-parse", "HEAD")
    write(project, text="x")
    outcome = pulled(project, base)
    assert (outcome.document.baseline, outcome.document.summary.exit_code, outcome.notes) == (first, 0, ())
    assert outcome.document.baseline_doubt == ""
    assert outcome.document.baseline_how == (
        f"baseline: {first[:12]}, 1 commit before {base[:12]}, where the change left main; nothing is recorded there"
    )


@pytest.mark.parametrize(("table", "found"), [("accuracy", True), ("runs", False)])
def test_a_record_that_cannot_be_read_leaves_a_doubt(
    recorded: Project, tmp_path: Path, table: str, found: bool
) -> None:
    project = copied(recorded, tmp_path)
    base = project.git("rev-parse", "HEAD")
    project.commit()
    (file,) = (project.directory / "baselines" / table).rglob("*.parquet")
    file.write_bytes(b"no table")
    document = pulled(project, base).document
    assert (document.baseline, document.summary.exit_code) == (base if found else None, 1)
    assert document.baseline_doubt.startswith(f"1 file of the store cannot be read and is left out: {table}/")
    assert document.baseline_how.endswith(f"; {document.baseline_doubt}")


def test_a_record_that_the_job_put_there_is_believed(recorded: Project, tmp_path: Path) -> None:
    project = copied(recorded, tmp_path)
    base = project.git("rev-parse", "HEAD")
    project.commit()
    outcome = pulled(project, base)
    assert (outcome.document.baseline, outcome.document.summary.exit_code, outcome.notes) == (base, 0, ())


def test_a_push_of_the_default_branch_believes_what_it_brings(recorded: Project, tmp_path: Path) -> None:
    project = copied(recorded, tmp_path)
    write(project)
    outcome = run_stage(SMOKE, project.configuration(), project.world(job(tmp_path, "push", **HOME)))
    assert (outcome.document.summary.exit_code, outcome.notes) == (0, ())

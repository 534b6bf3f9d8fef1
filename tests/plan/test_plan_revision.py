"""Against real repositories: what git itself was told to do is the truth."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest
from plan_repositories import Repository

from opsdebug_ci.errors import UsageError
from opsdebug_ci.model import Revision
from opsdebug_ci.plan.revision import changed_files, difference_digest, read_revision


@pytest.fixture
def repository(tmp_path: Path) -> Repository:
    return Repository(tmp_path / "repository")


def test_a_revision_tells_commit_ancestors_branch_and_state(repository: Repository) -> None:
    first, second, third = (repository.commit(a=text) for text in "123")
    tree = repository.git("rev-parse", "HEAD:")
    assert read_revision(repository.root) == Revision(commit=third, ancestors=(second, first), branch="main", tree=tree)
    assert read_revision(repository.root / ".").dirty is False


def test_ancestors_follow_the_first_parent_and_stop_at_fifty(repository: Repository) -> None:
    line = [repository.commit() for _ in range(53)]
    repository.git("switch", "--quiet", "--create", "side")
    side = repository.commit(side="1")
    repository.git("switch", "--quiet", "main")
    repository.git("merge", "--quiet", "--no-ff", "--message=merge", "side")
    found = read_revision(repository.root)
    assert found.ancestors == tuple(reversed(line))[:50]
    assert side not in found.ancestors


def test_only_tracked_changes_make_it_dirty(repository: Repository) -> None:
    repository.commit(a="1")
    repository.write(new="1")
    assert read_revision(repository.root).dirty is False
    repository.write(a="2")
    assert read_revision(repository.root).dirty is True


def test_a_detached_head_has_no_branch(repository: Repository) -> None:
    first = repository.commit(a="1")
    repository.commit(a="2")
    repository.git("checkout", "--quiet", first)
    assert read_revision(repository.root) == Revision(commit=first, tree=repository.git("rev-parse", f"{first}:"))


def test_the_merge_base_with_a_base_is_told(repository: Repository) -> None:
    fork = repository.commit(a="1")
    repository.git("switch", "--quiet", "--create", "topic")
    repository.commit(b="1")
    repository.git("switch", "--quiet", "main")
    repository.commit(c="1")
    repository.git("switch", "--quiet", "topic")
    assert read_revision(repository.root, base="main").base_commit == fork
    assert read_revision(repository.root, base="nowhere").base_commit == ""


def test_outside_git_everything_is_empty(tmp_path: Path) -> None:
    assert read_revision(tmp_path) == Revision()
    assert read_revision(tmp_path / "missing") == Revision()


def test_before_the_first_commit_everything_is_empty(repository: Repository) -> None:
    assert read_revision(repository.root) == Revision()


def test_without_git_everything_is_empty(
    repository: Repository, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    repository.commit(a="1")
    monkeypatch.setenv("PATH", str(tmp_path))
    assert read_revision(repository.root) == Revision()
    with pytest.raises(UsageError, match="is not in a git work tree, or git is not installed"):
        changed_files(repository.root, "main")


def test_variables_of_a_surrounding_git_do_not_lead_elsewhere(
    repository: Repository, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    commit = repository.commit(a="1")
    other = Repository(tmp_path / "other")
    other.commit(b="1")
    monkeypatch.setenv("GIT_DIR", str(other.root / ".git"))
    monkeypatch.setenv("GIT_WORK_TREE", str(other.root))
    assert read_revision(repository.root).commit == commit


def test_no_monitor_or_hook_of_the_repository_is_started(repository: Repository) -> None:
    repository.commit(a="1")
    trace = repository.root / "started"
    script = repository.root / ".git" / "planted"
    script.write_text(f"#!/bin/sh\ntouch {trace}\n")
    script.chmod(0o755)
    repository.git("config", "core.fsmonitor", str(script))
    subprocess.run(["git", "-C", str(repository.root), "status"], capture_output=True, check=True)
    assert trace.exists(), "the planted monitor works"
    trace.unlink()
    repository.write(a="2")
    read_revision(repository.root)
    changed_files(repository.root, "main")
    assert not trace.exists()


def test_no_filter_of_the_repository_or_its_submodules_is_run(repository: Repository, tmp_path: Path) -> None:
    part = Repository(tmp_path / "part")
    part.commit(a="1")
    repository.commit(a="1")
    repository.git("-c", "protocol.file.allow=always", "submodule", "add", "--quiet", str(part.root), "part")
    repository.git("commit", "--quiet", "--message=part")
    trace = tmp_path / "started"
    script = tmp_path / "planted"
    script.write_text(f"#!/bin/sh\ntouch '{trace}'\nexec cat\n")
    script.chmod(0o755)
    for directory, name in ((repository.root, "planted=a.b"), (repository.root / "part", "other")):
        subprocess.run(["git", "-C", str(directory), "config", f"filter.{name}.clean", str(script)], check=True)
        subprocess.run(["git", "-C", str(directory), "config", f"filter.{name}.required", "true"], check=True)
        (directory / ".gitattributes").write_text(f"*.py filter={name}\n")
        (directory / "a.py").touch()
        subprocess.run(["git", "-C", str(directory), "status"], capture_output=True, check=True)
        assert trace.exists(), "the planted filter works"
        trace.unlink()
        (directory / "a.py").write_text("2")
    assert read_revision(repository.root).dirty
    assert repository.root / "a.py" in changed_files(repository.root, "main")
    assert difference_digest(repository.root)
    assert not trace.exists()


def test_changes_since_the_fork_are_listed_and_those_of_the_base_are_not(repository: Repository) -> None:
    repository.commit(a="1", removed="1", kept="1", renamed="long enough to be seen as renamed")
    repository.git("switch", "--quiet", "--create", "topic")
    repository.commit(a="2", added="1", sub__deep="1")
    repository.git("rm", "--quiet", "removed.py")
    repository.git("mv", "renamed.py", "moved.py")
    repository.commit()
    repository.git("switch", "--quiet", "main")
    repository.commit(kept="2")
    repository.git("switch", "--quiet", "topic")
    committed = ["a.py", "added.py", "moved.py", "removed.py", "renamed.py", "sub/deep.py"]
    assert repository.changed("main") == committed
    assert repository.changed("main", "sub") == committed


def test_uncommitted_and_untracked_files_count_and_ignored_ones_do_not(repository: Repository) -> None:
    repository.commit(a="1", b="1", c="1")
    (repository.root / ".gitignore").write_text("ignored.py\n")
    repository.commit()
    repository.write(a="2", b="2", untracked="1", ignored="1", deep__untracked="1")
    repository.git("add", "b.py")
    assert repository.changed("main") == ["a.py", "b.py", "deep/untracked.py", "untracked.py"]
    assert repository.changed("HEAD~1") == [".gitignore", "a.py", "b.py", "deep/untracked.py", "untracked.py"]


def test_odd_names_come_back_as_they_are(repository: Repository) -> None:
    repository.commit(a="1")
    names = ["new\nline.py", 'quote".py', "spa ce.py", "über.py"]
    for name in names:
        (repository.root / name).write_text("1")
    assert repository.changed("main") == names


@pytest.mark.parametrize("base", ["nowhere", "--output=planted", ""])
def test_an_unknown_base_is_told_with_what_to_do(repository: Repository, base: str) -> None:
    repository.commit(a="1")
    with pytest.raises(UsageError) as caught:
        changed_files(repository.root, base)
    assert str(caught.value) == (
        f"`--changed {base}`: this clone has no common ancestor of HEAD and `{base}`; wanted a commit\n"
        "  next: check the spelling; in GitHub Actions give actions/checkout `fetch-depth: 0`, elsewhere "
        "`git fetch --unshallow`; or leave `--changed` out to run every operator"
    )
    assert not (repository.root / "planted").exists()


def test_a_shallow_clone_without_the_fork_is_told(repository: Repository, tmp_path: Path) -> None:
    repository.commit(a="1")
    repository.git("branch", "base")
    repository.commit(a="2")
    repository.commit(a="3")
    shallow = tmp_path / "shallow"
    repository.git("clone", "--quiet", "--depth=1", "--no-single-branch", f"file://{repository.root}", str(shallow))
    with pytest.raises(UsageError, match="fetch-depth: 0"):
        changed_files(shallow, "origin/base")


def test_outside_git_changes_cannot_be_told(tmp_path: Path) -> None:
    with pytest.raises(UsageError) as caught:
        changed_files(tmp_path, "main")
    assert str(caught.value) == (
        f"`--changed main`: {tmp_path} is not in a git work tree, or git is not installed\n"
        "  next: leave `--changed` out to run every operator"
    )

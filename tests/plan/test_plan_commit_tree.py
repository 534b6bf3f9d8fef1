"""Trees of commits, from real repositories: the files are what git itself has, and the repository stays as it was."""

from __future__ import annotations

import hashlib
import os
import subprocess
import threading
from datetime import datetime, timedelta, timezone
from pathlib import Path

import pytest
from plan_repositories import Repository

from opsdebug_ci.errors import EnvironmentLimitError, UsageError
from opsdebug_ci.plan.commit_tree import KEPT_TREES, CommitTree, find_commit, prepare_tree

NOW = datetime(2026, 11, 30, 3, tzinfo=timezone.utc)


@pytest.fixture
def repository(tmp_path: Path) -> Repository:
    return Repository(tmp_path / "kernels")


def prepared(repository: Repository, revision: str, start: str = ".", **options: str) -> CommitTree:
    return prepare_tree(repository.root / start, revision, NOW, **options)


def state(root: Path) -> dict[str, bytes]:
    """Every file of a repository and its work tree, but ours."""
    return {
        str(path.relative_to(root)): path.read_bytes()
        for path in sorted(root.rglob("*"))
        if path.is_file() and ".opsdebug" not in path.parts
    }


def test_a_tree_has_the_files_of_its_commit_and_the_repository_stays_as_it_was(repository: Repository) -> None:
    first = repository.commit(a="1", gone="1", deep__b="1")
    repository.git("rm", "--quiet", "gone.py")
    repository.commit(a="2")
    repository.write(a="3", untracked="1")
    before = state(repository.root)
    tree = prepared(repository, "HEAD~1")
    assert (tree.commit, tree.tree) == (first, repository.git("rev-parse", "HEAD~1:"))
    found = {name: data for name, data in state_of_code(tree).items() if not name.startswith(".git/")}
    assert found == {"a.py": b"1", "gone.py": b"1", "deep/b.py": b"1"}
    assert tree.notes == ()
    assert state(repository.root) == before
    assert repository.git("status", "--porcelain") == "M a.py\n?? untracked.py"
    assert repository.git("worktree", "list").count("\n") == 0


def state_of_code(tree: CommitTree) -> dict[str, bytes]:
    return {str(p.relative_to(tree.top)): p.read_bytes() for p in tree.top.rglob("*") if p.is_file()}


def test_builds_find_a_repository_with_its_tags_in_the_tree(repository: Repository) -> None:
    repository.commit(a="1")
    repository.git("tag", "v1.0")
    repository.git("tag", "--annotate", "--message=x", "v1.1")
    old = repository.commit(a="2")
    repository.commit(a="3")
    repository.git("tag", "v2.0")
    tree = Repository(prepared(repository, old).top)
    assert tree.git("describe", "--tags") == f"v1.1-1-g{old[:7]}"
    assert tree.git("status", "--porcelain") == ""


def test_a_tree_is_named_like_the_repository_and_keeps_the_place_of_the_configuration(repository: Repository) -> None:
    repository.commit(sub__deep__ops="1")
    tree = prepared(repository, "HEAD", "sub/deep")
    assert tree.top.name == "kernels"
    assert tree.root == tree.top / "sub" / "deep"
    assert tree.place.parent == repository.root / "sub" / "deep" / ".opsdebug" / "trees"
    assert repository.git("status", "--porcelain") == ""


def test_a_tree_is_made_once_for_all_commits_with_its_files(repository: Repository) -> None:
    repository.commit(a="1")
    tree = prepared(repository, "HEAD")
    mark = tree.top / "built.so"
    mark.touch()
    repository.commit()
    again = prepared(repository, "HEAD")
    assert again.place == tree.place
    assert again.commit != tree.commit
    assert mark.exists()
    assert prepared(repository, "HEAD", variant="another build").place != tree.place


def test_a_tree_that_was_left_unfinished_is_not_used(repository: Repository) -> None:
    repository.commit(a="1")
    tree = prepared(repository, "HEAD")
    (tree.place / "about.json").unlink()
    (tree.top / "a.py").write_text("damaged")
    assert (prepared(repository, "HEAD").top / "a.py").read_text() == "1"


def test_many_at_once_get_the_same_whole_tree(repository: Repository) -> None:
    repository.commit(**{f"file{number}": "x" for number in range(50)})
    found: list[int] = []

    def ask() -> None:
        found.append(len(list(prepared(repository, "HEAD").top.glob("*.py"))))

    threads = [threading.Thread(target=ask) for _ in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert found == [50] * 6
    assert len([path for path in (repository.root / ".opsdebug" / "trees").iterdir() if path.is_dir()]) == 1


def test_old_trees_go_and_those_in_use_or_new_stay(repository: Repository) -> None:
    commits = [repository.commit(a=str(number)) for number in range(KEPT_TREES + 3)]
    places = [
        prepare_tree(repository.root, commit, NOW + timedelta(hours=number)).place
        for number, commit in enumerate(commits[:-1])
    ]
    assert all(place.exists() for place in places), "all of them may be in use"
    prepare_tree(repository.root, commits[0], NOW + timedelta(hours=20))
    prepare_tree(repository.root, commits[-1], NOW + timedelta(hours=30))
    assert [place.exists() for place in places] == [True, False, False, False, *[True] * (KEPT_TREES - 2)]


def test_what_a_crash_left_goes_after_a_while(repository: Repository) -> None:
    repository.commit(a="1")
    trees = prepared(repository, "HEAD").place.parent
    left, young = trees / ".opsdebug-x.1.tmp", trees / ".opsdebug-y.1.tmp"
    for place, at in ((left, NOW - timedelta(days=2)), (young, NOW)):
        place.mkdir()
        os.utime(place, (at.timestamp(), at.timestamp()))
    prepared(repository, "HEAD")
    assert (left.exists(), young.exists()) == (False, True)


def test_a_branch_that_only_origin_has_is_found(repository: Repository, tmp_path: Path) -> None:
    first = repository.commit(a="1")
    clone = tmp_path / "clone"
    repository.git("clone", "--quiet", str(repository.root), str(clone))
    for words in (("checkout", "--quiet", "--detach"), ("branch", "-D", "main")):
        subprocess.run(["git", "-C", str(clone), *words], check=True, capture_output=True)
    assert find_commit(clone, "main").commit == first


def test_a_shallow_clone_gives_what_it_has_and_says_what_it_lacks(repository: Repository, tmp_path: Path) -> None:
    first, second, _ = (repository.commit(a=text) for text in "123")
    shallow = tmp_path / "shallow"
    repository.git("clone", "--quiet", "--depth=2", f"file://{repository.root}", str(shallow))
    assert (prepare_tree(shallow, second, NOW).top / "a.py").read_text() == "2"
    with pytest.raises(UsageError) as caught:
        prepare_tree(shallow, first, NOW)
    assert str(caught.value) == (
        f"`{first}`: this shallow clone knows no such commit; wanted a branch, tag or hash\n"
        "  next: in GitHub Actions give actions/checkout `fetch-depth: 0`, elsewhere `git fetch --unshallow`"
    )


@pytest.mark.parametrize("revision", ["nowhere", "--output=planted", "", "HEAD:a.py"])
def test_an_unknown_revision_is_told(repository: Repository, revision: str) -> None:
    repository.commit(a="1")
    with pytest.raises(UsageError) as caught:
        prepared(repository, revision)
    assert str(caught.value) == (
        f"`{revision}`: this clone knows no such commit; wanted a branch, tag or hash\n"
        "  next: check the spelling, or `git fetch` it first"
    )
    assert not (repository.root / ".opsdebug").exists()


def test_outside_git_there_is_no_tree(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match=f"`main`: {tmp_path} is not in a git work tree"):
        prepare_tree(tmp_path, "main", NOW)


def test_a_commit_without_the_directory_of_the_configuration_is_told(repository: Repository) -> None:
    first = repository.commit(a="1")
    repository.commit(sub__ops="1")
    with pytest.raises(UsageError) as caught:
        prepared(repository, "HEAD~1", "sub")
    assert caught.value.message == (
        f"`HEAD~1`: commit {first[:12]} has no directory `sub`, where the configuration lies; wanted one"
    )


def test_a_clone_without_the_files_is_told(repository: Repository, tmp_path: Path) -> None:
    first, _ = (repository.commit(a=text) for text in "12")
    repository.git("config", "uploadpack.allowFilter", "true")
    partial = tmp_path / "partial"
    repository.git("clone", "--quiet", "--filter=blob:none", f"file://{repository.root}", str(partial))
    with pytest.raises(EnvironmentLimitError) as caught:
        prepare_tree(partial, first, NOW)
    assert "`git checkout` in" in caught.value.message
    assert "`git fetch --refetch`" in caught.value.next_step
    assert [path.name for path in (partial / ".opsdebug" / "trees").iterdir()] == ["lock"]


def test_no_hook_or_filter_of_the_repository_is_started(repository: Repository, tmp_path: Path) -> None:
    started = tmp_path / "started"
    hook = repository.root / ".git" / "hooks" / "post-checkout"
    hook.parent.mkdir(exist_ok=True)
    hook.write_text(f"#!/bin/sh\ntouch {started}\n")
    hook.chmod(0o755)
    (repository.root / ".gitattributes").write_text("*.py filter=planted\n")
    repository.commit(a="1")
    repository.git("config", "filter.planted.smudge", f"touch {started}; cat")
    (repository.root / "a.py").unlink()
    repository.git("checkout", "--quiet", "HEAD", "--", "a.py")
    assert started.exists(), "the planted filter works"
    started.unlink()
    prepared(repository, "HEAD")
    assert not started.exists()


def pointer(content: bytes) -> str:
    digest = hashlib.sha256(content).hexdigest()
    return f"version https://git-lfs.github.com/spec/v1\noid sha256:{digest}\nsize {len(content)}\n"


def test_large_files_come_from_the_local_store_or_are_told(repository: Repository) -> None:
    (repository.root / ".gitattributes").write_text("*.bin filter=lfs\n")
    (repository.root / "here.bin").write_text(pointer(b"weights"))
    (repository.root / "away.bin").write_text(pointer(b"other weights"))
    (repository.root / "plain.bin").write_text("no pointer")
    repository.commit()
    digest = hashlib.sha256(b"weights").hexdigest()
    stored = repository.root / ".git" / "lfs" / "objects" / digest[:2] / digest[2:4] / digest
    stored.parent.mkdir(parents=True)
    stored.write_bytes(b"weights")
    tree = prepared(repository, "HEAD")
    assert (tree.top / "here.bin").read_bytes() == b"weights"
    assert (tree.top / "plain.bin").read_text() == "no pointer"
    note = (
        "1 files are LFS pointers in kernels, first away.bin: their content is not in this clone (`git lfs fetch`)",
    )
    assert tree.notes == note
    assert prepared(repository, "HEAD").notes == note, "told again when it is reused"


def test_submodules_come_from_the_work_tree_or_are_told(repository: Repository, tmp_path: Path) -> None:
    library = Repository(tmp_path / "library")
    old = library.commit(lib="1")
    repository.git("-c", "protocol.file.allow=always", "submodule", "add", "--quiet", str(library.root), "lib")
    repository.commit(a="1")
    library.commit(lib="2")
    Repository(repository.root / "lib").git("pull", "--quiet", "origin", "main")
    repository.commit(a="2")
    tree = prepared(repository, "HEAD~1")
    assert (tree.top / "lib" / "lib.py").read_text() == "1"
    assert (prepared(repository, "HEAD").top / "lib" / "lib.py").read_text() == "2"
    assert tree.notes == ()
    clone = tmp_path / "clone"
    repository.git("clone", "--quiet", str(repository.root), str(clone))
    bare = prepare_tree(clone, "HEAD~1", NOW)
    assert bare.notes == (
        f"submodule lib is empty in clone: its commit {old[:12]} is not in this clone "
        "(`git submodule update --init --recursive`)",
    )


def test_a_linked_work_tree_and_one_of_another_hash_work_too(tmp_path: Path, repository: Repository) -> None:
    repository.commit(a="1")
    linked = tmp_path / "linked"
    repository.git("worktree", "add", "--quiet", "--detach", str(linked))
    assert (prepare_tree(linked, "HEAD", NOW).top / "a.py").read_text() == "1"
    modern = tmp_path / "modern"
    repository.git("init", "--quiet", "--object-format=sha256", str(modern))
    commit = Repository(modern).commit(a="2")
    assert len(commit) == 64
    assert (prepare_tree(modern, commit, NOW).top / "a.py").read_text() == "2"


def test_a_place_that_cannot_be_written_is_told(repository: Repository) -> None:
    repository.commit(a="1")
    (repository.root / ".opsdebug").write_text("a file in the way")
    with pytest.raises(EnvironmentLimitError, match="wanted room for the code of `HEAD`"):
        prepared(repository, "HEAD")

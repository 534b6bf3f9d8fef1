"""Against real repositories whose commits are dated by hand."""

from __future__ import annotations

from datetime import datetime, timedelta, timezone
from pathlib import Path

import pytest
from plan_repositories import Repository

from opsdebug_ci.plan.ladder import Rung, rungs

NOW = datetime(2026, 11, 30, 3, tzinfo=timezone.utc)

NO_TAG = "no earlier commit has a tag like v1.2.3, or an annotated one"


@pytest.fixture
def repository(tmp_path: Path) -> Repository:
    return Repository(tmp_path / "repository")


def history(repository: Repository, *days: float) -> list[str]:
    """A commit for each age in days, oldest first; hashes in that order."""
    return [repository.at(NOW - timedelta(days=age)).commit(a=str(age)) for age in days]


def commits(found: tuple[Rung, ...]) -> dict[str, str | None]:
    return {rung.name: rung.commit for rung in found}


def reasons(found: tuple[Rung, ...]) -> list[str]:
    return [rung.how for rung in found if rung.commit is None]


def test_the_rungs_are_the_newest_commits_old_enough_and_the_last_release(repository: Repository) -> None:
    oldest, release, _, week, _, day, _, _ = history(repository, 40, 30, 9, 7.5, 6.5, 1.2, 0.9, 0)
    repository.git("tag", "v1.2.3", release)
    repository.git("tag", "v1.1.0", oldest)
    assert rungs(repository.root, NOW) == (
        Rung(name="a day ago", commit=day, how="the newest commit of this branch that is 24 hours old"),
        Rung(name="a week ago", commit=week, how="the newest commit of this branch that is 7 days old"),
        Rung(name="last release", commit=release, how="tag v1.2.3"),
    )


def test_a_commit_exactly_as_old_counts(repository: Repository) -> None:
    day, _ = history(repository, 1, 0)
    assert commits(rungs(repository.root, NOW))["a day ago"] == day


def test_a_commit_is_never_compared_twice_or_with_itself(repository: Repository) -> None:
    old, head = history(repository, 8, 0)
    repository.git("tag", "v1.0", old)
    found = rungs(repository.root, NOW)
    assert commits(found) == {"a day ago": old, "a week ago": None, "last release": None}
    assert reasons(found) == [
        "the same commit as `a day ago`: the newest commit of this branch that is 7 days old",
        "the same commit as `a day ago`: tag v1.0",
    ]
    repository.git("tag", "v1.1", head)
    assert "tag v1.0" in rungs(repository.root, NOW)[2].how


def test_a_branch_at_rest_says_so(repository: Repository) -> None:
    history(repository, 20, 3)
    found = rungs(repository.root, NOW)
    assert reasons(found) == ["nothing was committed in the last 24 hours", NO_TAG]
    assert found[1].commit is not None


def test_a_young_repository_says_so(repository: Repository) -> None:
    history(repository, 0.1, 0)
    assert reasons(rungs(repository.root, NOW)) == [
        "no commit of this branch is 24 hours old",
        "no commit of this branch is 7 days old",
        NO_TAG,
    ]


def test_commits_of_merged_branches_are_no_rungs(repository: Repository) -> None:
    (main,) = history(repository, 3)
    repository.git("switch", "--quiet", "--create", "side")
    side = repository.at(NOW - timedelta(days=2)).commit(b="1")
    repository.git("switch", "--quiet", "main")
    repository.at(NOW)
    repository.git("merge", "--quiet", "--no-ff", "--message=merge", "side")
    assert commits(rungs(repository.root, NOW))["a day ago"] == main
    assert side != main


def test_a_date_that_jumps_back_does_not_hide_the_newest_commit(repository: Repository) -> None:
    _, newest, _, _ = history(repository, 5, 2, 0.5, 0)
    assert commits(rungs(repository.root, NOW))["a day ago"] == newest


@pytest.mark.parametrize("name", ["v2.0.0", "2.1", "kernels-v2.0.1", "release/2.0"])
def test_names_of_releases(repository: Repository, name: str) -> None:
    old, newer, _ = history(repository, 30, 20, 0)
    repository.git("tag", "v1.0.0", old)
    repository.git("tag", name, newer)
    assert rungs(repository.root, NOW)[2].how in (f"tag {name}", f"the same commit as `a day ago`: tag {name}")


@pytest.mark.parametrize("name", ["v2.0.0-rc1", "v2.0.0rc1", "nightly", "v2"])
def test_other_tags_are_no_releases(repository: Repository, name: str) -> None:
    old, newer, _ = history(repository, 30, 20, 0)
    repository.git("tag", "v1.0.0", old)
    repository.git("tag", name, newer)
    assert rungs(repository.root, NOW)[2] == Rung(name="last release", commit=old, how="tag v1.0.0")


def test_without_releases_the_newest_annotated_tag_is_one(repository: Repository) -> None:
    first, second, third, _ = history(repository, 30, 20, 10, 0)
    repository.git("tag", "--annotate", "--message=x", "alpha", second)
    repository.git("tag", "--annotate", "--message=x", "beta", first)
    repository.git("tag", "light", third)
    assert rungs(repository.root, NOW)[2] == Rung(name="last release", commit=second, how="tag alpha")


def test_two_releases_of_one_commit_are_told_by_their_number(repository: Repository) -> None:
    history(repository, 30)
    repository.git("tag", "v1.9.0")
    repository.git("tag", "v1.10.0")
    history(repository, 0.5, 0)
    assert rungs(repository.root, NOW)[2].how.endswith("tag v1.10.0")


def test_tags_of_other_branches_are_no_release_of_this_one(repository: Repository) -> None:
    history(repository, 30)
    repository.git("switch", "--quiet", "--create", "side")
    repository.commit(b="1")
    repository.git("tag", "v9.0.0")
    repository.git("switch", "--quiet", "main")
    history(repository, 0)
    assert rungs(repository.root, NOW)[2].how == NO_TAG


def test_a_shallow_clone_says_that_it_is_one(repository: Repository, tmp_path: Path) -> None:
    history(repository, 9, 2, 0)
    shallow = tmp_path / "shallow"
    repository.git("clone", "--quiet", "--depth=1", f"file://{repository.root}", str(shallow))
    found = reasons(rungs(shallow, NOW))
    assert len(found) == 3
    assert all(how.startswith("this shallow clone does not reach back so far: in GitHub Actions") for how in found)


def test_outside_git_there_are_none(tmp_path: Path) -> None:
    assert reasons(rungs(tmp_path, NOW)) == ["there is no git repository with a commit here"] * 3

"""Against real repositories, in the shapes that GitHub and people give them; the truth is what git was told to do."""

from __future__ import annotations

from pathlib import Path

import pytest
from plan_repositories import Repository

from opsdebug_ci.model.baseline import Ancestor, Recorded
from opsdebug_ci.plan.baseline_commit import (
    BaselineCommit,
    NearestRecord,
    Trigger,
    baseline_commit,
    first_parents,
    nearest_record,
    recorded_line,
)

UNSHALLOW = "in GitHub Actions give actions/checkout `fetch-depth: 0`, elsewhere `git fetch --unshallow`"


class Forge:
    """A bare remote with a `main` of three commits, a topic branch that left it at the second, and its merge ref."""

    def __init__(self, directory: Path) -> None:
        self.directory = directory
        self.author = Repository(directory / "author")
        self.first = self.author.commit(a="1")
        self.fork = self.author.commit(a="2")
        self.author.git("switch", "--quiet", "--create", "topic")
        self.author.commit(b="1")
        self.topic = self.author.commit(b="2")
        self.author.git("switch", "--quiet", "main")
        self.main = self.author.commit(c="1")
        self.bare = directory / "bare.git"
        self.author.git("clone", "--quiet", "--bare", str(self.author.root), str(self.bare))
        self.author.git("remote", "add", "origin", f"file://{self.bare}")
        self.merge = self.merged("main", "topic", "refs/pull/7/merge")

    def merged(self, onto: str, what: str, ref: str) -> str:
        """A merge made for testing, pushed under `ref`."""
        self.author.git("switch", "--quiet", "--detach", onto)
        self.author.git("merge", "--quiet", "--no-ff", "--message=merge", what)
        commit = self.author.git("rev-parse", "HEAD")
        self.author.git("push", "--quiet", "--force", "origin", f"HEAD:{ref}")
        self.author.git("switch", "--quiet", "main")
        return commit

    def push(self, ref: str) -> None:
        self.author.git("push", "--quiet", "--force", "origin", ref)

    def checkout(self, ref: str, *options: str) -> Path:
        """What actions/checkout leaves: the commit of `ref`, detached, and with all of history every branch."""
        job = Repository(self.directory / f"job{len(list(self.directory.iterdir()))}")
        job.git("remote", "add", "origin", f"file://{self.bare}")
        branches = () if options else ("+refs/heads/*:refs/remotes/origin/*",)
        job.git("fetch", "--quiet", "--no-tags", *options, "origin", *branches, f"+{ref}:refs/remotes/pull/ref")
        job.git("checkout", "--quiet", "--detach", "refs/remotes/pull/ref")
        return job.root

    def pull_request(self, base: str = "") -> Trigger:
        return Trigger(
            event="pull_request",
            head_commit=self.topic,
            base_commit=base or self.fork,
            base_branch="main",
            default_branch="main",
        )


@pytest.fixture
def forge(tmp_path: Path) -> Forge:
    return Forge(tmp_path)


def push(*, on_default: bool = True) -> Trigger:
    return Trigger(event="push", default_branch="main", on_default_branch=on_default)


def test_a_merge_made_for_testing_is_compared_with_its_first_parent(forge: Forge) -> None:
    """Not with the base of the event, which is older than what was merged."""
    found = baseline_commit(forge.checkout("refs/pull/7/merge"), forge.pull_request(base=forge.first))
    assert found == BaselineCommit(
        commit=forge.main, how="the commit of main that the pull request was merged with for this test"
    )


def test_the_head_of_a_pull_request_is_compared_with_where_it_left_the_target(forge: Forge) -> None:
    found = baseline_commit(forge.checkout("refs/heads/topic"), forge.pull_request(base=forge.main))
    assert found == BaselineCommit(commit=forge.fork, how="where the change left main")


def test_without_the_target_branch_the_base_of_the_event_leads_to_the_fork(forge: Forge) -> None:
    job = Repository(forge.checkout("refs/heads/topic"))
    job.git("update-ref", "-d", "refs/remotes/origin/main")
    assert baseline_commit(job.root, forge.pull_request(base=forge.main)).commit == forge.fork


def test_a_merge_in_the_topic_branch_itself_is_not_taken_for_the_one_of_the_test(forge: Forge) -> None:
    forge.author.git("switch", "--quiet", "topic")
    forge.author.git("merge", "--quiet", "--message=merge", "main")
    forge.topic = forge.author.git("rev-parse", "HEAD")
    forge.push("topic")
    found = baseline_commit(forge.checkout("refs/heads/topic"), forge.pull_request())
    assert found == BaselineCommit(commit=forge.main, how="where the change left main")


def test_a_force_push_moves_the_fork(forge: Forge) -> None:
    forge.author.git("switch", "--quiet", "topic")
    forge.author.git("rebase", "--quiet", "main")
    forge.topic = forge.author.git("rev-parse", "HEAD")
    forge.push("topic")
    found = baseline_commit(forge.checkout("refs/heads/topic"), forge.pull_request(base=forge.fork))
    assert found.commit == forge.main


def test_a_pull_request_that_is_in_the_target_already_has_no_baseline(forge: Forge) -> None:
    found = baseline_commit(forge.checkout("refs/heads/main"), forge.pull_request())
    assert found == BaselineCommit(commit=None, reason="main already has the commit under test")


def test_a_pull_request_that_was_merged_since_is_compared_with_where_it_left(forge: Forge) -> None:
    """A job that runs again after the merge; its event is the old one."""
    forge.author.git("merge", "--quiet", "--no-ff", "--message=merge", "topic")
    forge.push("main")
    found = baseline_commit(forge.checkout("refs/heads/topic"), forge.pull_request(base=forge.main))
    assert found == BaselineCommit(commit=forge.fork, how="where the change left main")


@pytest.mark.parametrize("depth", [1, 2])
def test_a_shallow_merge_ref_knows_its_parent_from_depth_two(forge: Forge, depth: int) -> None:
    found = baseline_commit(forge.checkout("refs/pull/7/merge", f"--depth={depth}"), forge.pull_request())
    how = "the commit of main that the pull request was merged with for this test"
    missing = f"this clone ends before {forge.main[:12]}, {how}: {UNSHALLOW}"
    expected = {1: BaselineCommit(commit=None, reason=missing), 2: BaselineCommit(commit=forge.main, how=how)}
    assert found == expected[depth]


def test_a_shallow_head_without_the_fork_is_told(forge: Forge) -> None:
    found = baseline_commit(forge.checkout("refs/heads/topic", "--depth=1"), forge.pull_request())
    assert found.reason == f"this shallow clone does not reach back to where the change left main: {UNSHALLOW}"


@pytest.mark.parametrize("queue", ["merge", "squash"])
def test_a_merge_group_is_compared_with_what_it_is_put_onto(forge: Forge, queue: str) -> None:
    ref = f"refs/heads/gh-readonly-queue/main/pr-7-{forge.main}"
    forge.author.git("switch", "--quiet", "--detach", "main")
    how = ("--no-ff", "--message=merge") if queue == "merge" else ("--squash",)
    forge.author.git("merge", "--quiet", *how, "topic")
    group = forge.author.commit()
    forge.author.git("push", "--quiet", "origin", f"HEAD:{ref}")
    trigger = Trigger(event="merge_group", head_commit=group, base_commit=forge.main, base_branch="main")
    found = baseline_commit(forge.checkout(ref), trigger)
    assert found == BaselineCommit(commit=forge.main, how="the commit of main the group is put onto")


def test_a_merge_group_without_its_base_is_compared_with_its_first_parent(forge: Forge) -> None:
    trigger = Trigger(event="merge_group", base_branch="main", base_commit="")
    assert baseline_commit(forge.checkout("refs/pull/7/merge"), trigger).commit == forge.main
    shallow = baseline_commit(forge.checkout("refs/pull/7/merge", "--depth=1"), trigger)
    assert shallow.commit is None
    assert UNSHALLOW in shallow.reason


@pytest.mark.parametrize("event", ["push", "schedule", "workflow_dispatch"])
def test_the_default_branch_is_compared_with_its_parent(forge: Forge, event: str) -> None:
    trigger = Trigger(event=event, default_branch="main", on_default_branch=True)
    found = baseline_commit(forge.checkout("refs/heads/main"), trigger)
    assert found == BaselineCommit(commit=forge.fork, how="the parent of the commit under test")


def test_what_a_job_generates_does_not_change_the_baseline_of_a_push(forge: Forge) -> None:
    job = Repository(forge.checkout("refs/heads/main"))
    job.write(a="generated")
    assert baseline_commit(job.root, push()).commit == forge.fork


def test_a_merge_on_the_default_branch_is_compared_with_its_first_parent(forge: Forge) -> None:
    forge.author.git("merge", "--quiet", "--no-ff", "--message=merge", "topic")
    forge.push("main")
    assert baseline_commit(forge.checkout("refs/heads/main"), push()).commit == forge.main


def test_a_push_to_another_branch_is_compared_with_where_it_left_the_default_branch(forge: Forge) -> None:
    found = baseline_commit(forge.checkout("refs/heads/topic"), push(on_default=False))
    assert found == BaselineCommit(commit=forge.fork, how="where this branch left main")
    shallow = baseline_commit(forge.checkout("refs/heads/topic", "--depth=2"), push(on_default=False))
    assert shallow == BaselineCommit(commit=None, reason=f"this clone does not have main: {UNSHALLOW}")


def test_the_first_commit_has_none_before_it(tmp_path: Path) -> None:
    repository = Repository(tmp_path / "new")
    assert baseline_commit(repository.root, Trigger()).reason == "there is no git repository with a commit here"
    first = repository.commit(a="1")
    for trigger in (Trigger(), push()):
        found = baseline_commit(repository.root, trigger)
        assert found == BaselineCommit(commit=None, reason=f"{first[:12]} is the first commit: there is none before it")


def test_a_cut_clone_is_not_taken_for_a_first_commit(forge: Forge) -> None:
    found = baseline_commit(forge.checkout("refs/heads/main", "--depth=1"), push())
    assert found.reason == f"this clone ends before {forge.fork[:12]}, the parent of the commit under test: {UNSHALLOW}"


def test_outside_git_there_is_none(tmp_path: Path) -> None:
    assert baseline_commit(tmp_path, Trigger()).commit is None


def test_by_hand_a_branch_is_compared_with_where_it_left_the_default_branch(forge: Forge) -> None:
    clone = Repository(forge.directory / "clone")
    clone.git("remote", "add", "origin", f"file://{forge.bare}")
    clone.git("fetch", "--quiet", "origin")
    clone.git("checkout", "--quiet", "topic")
    expected = BaselineCommit(commit=forge.fork, how="where this branch left main")
    assert baseline_commit(clone.root, Trigger()) == expected
    clone.git("checkout", "--quiet", "--detach", "topic")
    assert baseline_commit(clone.root, Trigger()) == expected


def test_by_hand_a_default_branch_of_any_name_is_found(forge: Forge) -> None:
    forge.author.git("push", "--quiet", "origin", "main:refs/heads/trunk")
    forge.author.git(f"--git-dir={forge.bare}", "symbolic-ref", "HEAD", "refs/heads/trunk")
    forge.author.git("push", "--quiet", "origin", ":main")
    forge.author.git("clone", "--quiet", "--branch=topic", str(forge.bare), str(forge.directory / "clone"))
    assert baseline_commit(forge.directory / "clone", Trigger()).how == "where this branch left trunk"


def test_by_hand_uncommitted_changes_are_compared_with_their_commit(forge: Forge) -> None:
    assert baseline_commit(forge.author.root, Trigger()).commit == forge.fork
    forge.author.write(a="3")
    assert baseline_commit(forge.author.root, Trigger()) == BaselineCommit(
        commit=forge.main, how="the commit that the uncommitted changes are made to"
    )


def test_by_hand_a_named_base_is_compared_with(forge: Forge) -> None:
    named = Trigger(base_commit="main~1")
    expected = BaselineCommit(commit=forge.fork, how="where this branch left main~1")
    assert baseline_commit(forge.author.root, named) == expected
    for nothing in ("HEAD", "nowhere", "--all"):
        found = baseline_commit(forge.author.root, Trigger(base_commit=nothing))
        assert found == BaselineCommit(commit=forge.fork, how="the parent of the commit under test")


def test_by_hand_without_any_known_branch_the_parent_is_taken(tmp_path: Path) -> None:
    repository = Repository(tmp_path / "r")
    first = repository.commit(a="1")
    repository.commit(a="2")
    repository.git("branch", "--move", "unheard-of")
    assert baseline_commit(repository.root, Trigger()).commit == first


def test_histories_without_a_common_commit_are_told(forge: Forge) -> None:
    forge.author.git("switch", "--quiet", "--orphan", "island")
    forge.author.commit(z="1")
    found = baseline_commit(forge.author.root, Trigger())
    assert found.reason == "the commit under test and main have no common ancestor in this clone: `git fetch origin`"


@pytest.mark.parametrize("branch", ["--output=planted", "main@{0}; touch planted", "", "\n"])
def test_a_hostile_branch_name_leads_nowhere(forge: Forge, branch: str) -> None:
    trigger = Trigger(event="pull_request", base_branch=branch)
    job = forge.checkout("refs/heads/topic")
    assert baseline_commit(job, trigger).commit is None
    assert not (job / "planted").exists()


def test_the_line_has_commits_and_trees(forge: Forge) -> None:
    line = first_parents(forge.author.root, "main")
    assert [at.commit for at in line] == [forge.main, forge.fork, forge.first]
    assert [at.tree for at in line] == [forge.author.git("rev-parse", f"{at.commit}:") for at in line]
    assert first_parents(forge.author.root, "0" * 40) == ()


def line(text: str) -> tuple[Ancestor, ...]:
    """`"c3=t3 c2=t2"`: commits with their trees, nearest first."""
    pairs = (item.split("=") for item in text.split())
    return tuple(Ancestor(commit=commit, tree=tree) for commit, tree in pairs)


def recorded(text: str) -> Recorded:
    commit, tree = text.split("=")
    return Recorded(commit=commit, tree=tree)


def test_the_nearest_recorded_commit_counts_with_its_distance() -> None:
    found = nearest_record(line("c3=t3 c2=t2 c1=t1"), [recorded("c1=t1"), recorded("c2=t2")])
    assert found == NearestRecord(commit="c2", distance=1, same_files=False)


def test_another_commit_with_the_same_files_is_as_near() -> None:
    """What squashing and rebasing leave: a new commit, the same files."""
    found = nearest_record(line("squashed=t3 c2=t2"), [recorded("c2=t2"), recorded("queued=t3")])
    assert found == NearestRecord(commit="queued", distance=0, same_files=True)


def test_of_several_commits_with_the_same_files_the_newest_record_counts() -> None:
    found = nearest_record(line("c1=t1"), [recorded("old=t1"), recorded("new=t1")])
    assert found == NearestRecord(commit="new", distance=0, same_files=True)


def test_a_revert_leads_to_the_previous_commit_and_not_to_the_one_it_restores() -> None:
    """`c3` took back what `c2` did; `c4` comes after it, and `c3` was never recorded."""
    rows = [recorded("c1=t1"), recorded("c2=t2")]
    assert nearest_record(line("c2=t2 c1=t1"), rows) == NearestRecord(commit="c2", distance=0, same_files=False)
    assert nearest_record(line("c3=t1 c2=t2 c1=t1"), rows) == NearestRecord(commit="c1", distance=0, same_files=True)


def test_the_line_of_records_has_each_commit_once_where_it_is_nearest() -> None:
    rows = [recorded("c1=t1"), recorded("c2=t2"), recorded("c3=t1"), recorded("island=t9")]
    found = recorded_line(line("c3=t1 c2=t2 c1=t1"), rows)
    assert [(at.commit, at.distance, at.same_files) for at in found] == [
        ("c3", 0, False),
        ("c1", 0, True),
        ("c2", 1, False),
    ]


def test_nothing_recorded_or_an_unknown_tree_is_no_record() -> None:
    assert nearest_record(line("c1=t1"), []) is None
    assert nearest_record((), [recorded("c1=t1")]) is None
    assert nearest_record(line("c1=t1"), [recorded("c0=")]) is None


def test_a_squashed_merge_has_the_tree_of_its_branch(forge: Forge) -> None:
    """The fact that looking up by tree rests on, as git itself makes it."""
    forge.author.git("switch", "--quiet", "--create", "again", "main")
    forge.author.commit(d="1")
    tip = forge.author.commit(d="2")
    forge.author.git("switch", "--quiet", "main")
    forge.author.git("merge", "--quiet", "--squash", "again")
    squashed = forge.author.commit()
    rows = [Recorded(commit=tip, tree=forge.author.git("rev-parse", f"{tip}:"))]
    found = nearest_record(first_parents(forge.author.root, squashed), rows)
    assert found == NearestRecord(commit=tip, distance=0, same_files=True)

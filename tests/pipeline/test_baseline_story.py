"""Which commit each job of a project's life is compared with, told step by step.

The truth is what git was told to do; names of commits are those of the comments beside them.
"""

from __future__ import annotations

from pathlib import Path

from baseline_notation import Forge, Told

from opsdebug_ci.plan.commit_tree import UNSHALLOW
from opsdebug_ci.store.sql.query import query

PARENT = "the parent of the commit under test"
MERGED = "the commit of main that the pull request was merged with for this test"
FIRST = "no baseline yet: recording one"


def check(told: Told, expected: str, how: str) -> None:
    """The job was compared with `expected`, and says so."""
    assert (told.baseline, told.known, told.how) == (
        expected,
        frozenset({expected[:12]}),
        f"baseline: {expected[:12]}, {how}",
    )


def check_none(told: Told, how: str) -> None:
    """The job was compared with nothing, and says so."""
    assert (told.baseline, told.known, told.how) == (None, frozenset(), how)


def test_the_life_of_a_project(tmp_path: Path) -> None:
    forge = Forge(directory=tmp_path)

    # (1) The first run of all, in an empty store; a second push with two commits, so that the middle one has no record.
    a = forge.commit(op="1")
    forge.push()
    check_none(forge.pushed(), f"{FIRST} ({a[:12]} is the first commit: there is none before it)")
    b = forge.commit(op="2")
    c = forge.commit(op="3")
    forge.push()
    check(forge.pushed(), a, f"1 commit before {b[:12]}, {PARENT}; nothing is recorded there")

    # (2) A pull request from an old branch: its event knows A, the merge that is tested was made with C.
    forge.do("switch", "--quiet", "--create", "topic", a)
    forge.commit(extra="1")
    topic = forge.commit(extra="2")
    forge.push("topic")
    check(forge.pulled(topic, a, merged_onto=c), c, MERGED)

    # (3) Main goes on to D, of which no run has ended yet; the branch is rebased onto it and pushed by force.
    d = forge.commit(op="4")
    forge.push()
    forge.do("rebase", "--quiet", "main", "topic")
    topic = forge.at("topic")
    forge.push("topic")
    check(forge.pulled(topic, d, merged_onto=d), c, f"1 commit before {d[:12]}, {MERGED}; nothing is recorded there")
    check(forge.pushed(), c, PARENT)

    # (4) Merged by squashing: one new commit, E, on main; the run of its push.
    forge.do("merge", "--quiet", "--squash", "topic")
    e = forge.commit()
    forge.push()
    push = forge.pushed(run=101)
    check(push, d, PARENT)

    # (5) Its job runs again: not compared with its first attempt, which it replaces.
    assert forge.pushed(run=101, attempt=2) == push
    assert query(forge.store, 'select attempt from runs where "commit" = ?', (e,)).rows == ((2,),)

    # (6) The night comes, with nothing new: what failed at E is not known at E.
    check(forge.pushed(event="schedule"), d, PARENT)
    check(forge.pushed(event="workflow_dispatch"), d, PARENT)

    # (7) E is reverted by F, which has the files of D; G comes on top.
    forge.do("revert", "--no-edit", "HEAD")
    f = forge.at("HEAD")
    assert forge.at(f"{f}^{{tree}}") == forge.at(f"{d}^{{tree}}")
    forge.push()
    check(forge.pushed(), e, PARENT)
    forge.commit(op="5")
    forge.push()
    check(forge.pushed(), f, PARENT)

    # (8) Main is taken back to D by force and goes on from there: the runs of E, F and G are of no line any more.
    forge.do("reset", "--quiet", "--hard", d)
    forge.commit(op="6")
    forge.push()
    check(forge.pushed(), d, PARENT)

    # (9) A clone of one commit does not know what came before it.
    hint = f"this clone ends before {d[:12]}, {PARENT}: {UNSHALLOW}"
    check_none(forge.shallow(), f"{FIRST} ({hint})")


def test_a_rewritten_commit_is_found_by_its_files(tmp_path: Path) -> None:
    forge = Forge(directory=tmp_path)
    forge.commit(op="1")
    old = forge.commit(op="2")
    forge.push()
    forge.pushed()
    forge.do("commit", "--quiet", "--amend", "--message=other words")
    new = forge.at("HEAD")
    forge.commit(op="3")
    forge.push()
    check(forge.pushed(), old, f"another commit with the same files as {new[:12]}, {PARENT}")
    forge.do("reset", "--quiet", "--hard", new)
    forge.commit(op="4")
    forge.commit(op="5")
    forge.push()
    base = forge.at("HEAD~1")[:12]
    files = f"another commit with the same files as {new[:12]}"
    check(forge.pushed(), old, f"{files}, 1 commit before {base}, {PARENT}; nothing is recorded there")


def test_an_empty_commit_that_runs_again_is_not_its_own_baseline(tmp_path: Path) -> None:
    """Its first attempt has the files of its parent, of which nothing is recorded."""
    forge = Forge(directory=tmp_path)
    first = forge.commit(op="1")
    forge.push()
    forge.pushed()
    parent = forge.commit(op="2")
    forge.commit()
    forge.push()
    told = forge.pushed(run=101)
    check(told, first, f"1 commit before {parent[:12]}, {PARENT}; nothing is recorded there")
    assert forge.pushed(run=101, attempt=2) == told


def test_changes_without_any_record_say_when_there_will_be_one(tmp_path: Path) -> None:
    forge = Forge(directory=tmp_path)
    forge.commit(op="1")
    base = forge.commit(op="2")
    forge.push()
    forge.do("switch", "--quiet", "--create", "topic")
    topic = forge.commit(extra="1")
    forge.do("switch", "--quiet", "main")
    none = f"no baseline yet: nothing is recorded at {base[:12]}"
    then = "the next push to main records one"
    check_none(forge.pulled(topic, base, merged_onto=base), f"{none} or its 1 ancestor; {then}")
    check_none(
        forge.pulled(topic, base, merged_onto=base, depth=2),
        f"{none} (this shallow clone ends there: {UNSHALLOW}); {then}",
    )
    forge.do("switch", "--quiet", "--detach", topic)
    check_none(forge.grouped(base), f"{none} or its 1 ancestor; {then}")
    forge.do("switch", "--quiet", "main")
    check_none(forge.pushed(), FIRST)
    check(forge.pulled(topic, base, merged_onto=base), base, MERGED)
    forge.do("switch", "--quiet", "--detach", topic)
    check(forge.grouped(base), base, "the commit of main the group is put onto")


def test_by_hand(tmp_path: Path) -> None:
    forge = Forge(directory=tmp_path)
    first = forge.commit(op="1")
    second = forge.commit(op="2")
    forge.push()
    forge.do("fetch", "--quiet", "origin")
    forge.pushed()
    (forge.author / "op").write_text("not committed")
    check(forge.by_hand(), second, "the commit that the uncommitted changes are made to")
    forge.do("switch", "--quiet", "--create", "topic")
    topic = forge.commit()
    check(forge.by_hand(), second, "where this branch left main")
    check(forge.by_hand(changed="main"), second, "where this branch left main")
    none = f"no baseline yet: nothing is recorded at {first[:12]}; the next push to the default branch records one"
    (forge.author / "op").write_text("not committed again")
    check_none(forge.by_hand(changed=first), none)
    assert query(forge.store, 'select count(*) from runs where "commit" = ? and not dirty', (topic,)).rows == ((2,),)

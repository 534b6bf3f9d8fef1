"""A person accepts a regression on the pull request: what is recorded, what is answered, and what is not believed."""

from __future__ import annotations

import os
import subprocess
import threading
from collections.abc import Iterator
from dataclasses import replace
from datetime import timedelta
from pathlib import Path

import pytest
from acceptance_notation import BEGIN, HEAD, NUMBER, PUSHED, REPOSITORY, Story, story
from github_server import outage

from opsdebug_ci.errors import StoreError, UsageError
from opsdebug_ci.model.acceptance import Acceptance
from opsdebug_ci.pipeline.publication.outcome import Accepted, Declined
from opsdebug_ci.store.memory.history import accepted_commits
from opsdebug_ci.store.places.backends import open_store

REACTIONS = "/repos/*/*/issues/comments/*/reactions"
COMMENTS = "/repos/*/*/issues/*/comments"


@pytest.fixture
def scene(tmp_path: Path) -> Iterator[Story]:
    with story(tmp_path) as told:
        yield told


def declined(found: object, reason: str, *, tell: bool = True) -> None:
    assert isinstance(found, Declined)
    assert reason in found.reason
    assert found.tell is tell


# --- what it is for ---------------------------------------------------------------------------------------------


def test_a_maintainer_accepts_what_is_flagged(scene: Story) -> None:
    scene.report()
    said = scene.says("/opsdebug accept gelu until=30d exact erf costs that")
    found = scene.handled(said)
    assert isinstance(found, Accepted) and found.notes == ()
    (one,) = found.regressions
    assert (one.operator, one.commit, one.by, one.reason) == ("gelu", HEAD, "ada", "exact erf costs that")
    assert [comment.suite for comment in found.comments] == ["default"]
    (row,) = scene.stored
    assert (row.operator, row.fingerprint, row.commit, row.accepted_by) == ("gelu", None, HEAD, "ada")
    assert row.pull_request == NUMBER
    assert (row.at, row.until, row.reason) == (said.at, "2026-12-31T00:00:00+00:00", "exact erf costs that")
    assert scene.signs(said) == ["+1"] and scene.replies == []
    assert accepted_commits(scene.store.mirror().root, scene.clock.now) == {"gelu": (HEAD,)}


def test_without_a_reason_it_says_where_it_was_said(scene: Story) -> None:
    scene.report()
    assert isinstance(scene.handled(scene.says("/opsdebug accept gelu")), Accepted)
    assert scene.stored[0].reason == f"accepted on pull request #{NUMBER}"
    assert scene.stored[0].until is None


def test_a_label_accepts_all_that_is_flagged_or_one(scene: Story) -> None:
    scene.report(("gelu", "softmax", "fused gelu"))
    one = scene.handled(scene.labels("opsdebug-accept: fused gelu"))
    assert isinstance(one, Accepted) and [r.operator for r in one.regressions] == ["fused gelu"]
    every = scene.handled(scene.labels("opsdebug-accept"))
    assert isinstance(every, Accepted)
    assert [r.operator for r in every.regressions] == ["gelu", "softmax", "fused gelu"]
    assert scene.replies == []


def test_what_others_accepted_before_is_told_with_it(scene: Story) -> None:
    scene.report()
    scene.handled(scene.says("/opsdebug accept gelu", "ada"))
    found = scene.handled(scene.says("/opsdebug accept softmax", "bob", "maintain"))
    assert isinstance(found, Accepted)
    assert [(r.operator, r.by) for r in found.regressions] == [("gelu", "ada"), ("softmax", "bob")]


def test_the_comments_of_all_suites_count(scene: Story) -> None:
    scene.report(("gelu",))
    scene.report(("fused",), suite="gpu")
    found = scene.handled(scene.says("/opsdebug accept fused"))
    assert isinstance(found, Accepted)
    assert [(c.suite, c.state.ci_run) for c in found.comments] == [("default", 31), ("gpu", 31)]


@pytest.mark.parametrize(
    ("operator", "written"),
    [
        ("fused gelu", "`fused gelu`"),
        ("a`b", "a`b"),
        ("a` b", "``a` b``"),
        ("**bold**_x_|y|", "**bold**_x_|y|"),
        ("@org/team #1 <!-- x -->", '"@org/team #1 <!-- x -->"'),
        ("op; rm -rf /", "`op; rm -rf /`"),
        ("évil\u202egelu", "évil\u202egelu"),
        ("'; drop table acceptances; --", "`'; drop table acceptances; --`"),
    ],
)
def test_an_operator_may_be_called_anything(scene: Story, operator: str, written: str) -> None:
    scene.report((operator, "other"))
    found = scene.handled(scene.says(f"/opsdebug accept {written} because"))
    assert isinstance(found, Accepted)
    assert [row.operator for row in scene.stored] == [operator]


# --- who may not ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("role", ["none", "read", "triage"])
def test_who_may_not_write_is_passed_over_in_silence(scene: Story, role: str) -> None:
    scene.report()
    said = scene.says("/opsdebug accept gelu", "eve", role)
    declined(scene.handled(said), "`eve` may not write", tell=False)
    assert (scene.stored, scene.replies, scene.signs(said)) == ((), [], [])
    assert scene.server.asked("POST") == ()


def test_a_bot_is_not_even_asked_about(scene: Story) -> None:
    scene.report()
    declined(scene.handled(scene.says("/opsdebug accept gelu", "robot[bot]", "admin")), "may not write", tell=False)
    assert scene.server.requests == () and scene.stored == ()


def test_a_name_that_changed_hands_is_nobody(scene: Story) -> None:
    scene.report()
    said = replace(scene.says("/opsdebug accept gelu"), account=1)
    declined(scene.handled(said), "may not write", tell=False)


@pytest.mark.parametrize(
    "body", ["> /opsdebug accept gelu", "thanks!\n/opsdebug accept gelu", "```\n/opsdebug accept gelu"]
)
def test_what_is_quoted_is_not_even_asked_about(scene: Story, body: str) -> None:
    scene.report()
    declined(scene.handled(scene.says(body)), "nothing was told", tell=False)
    assert scene.server.requests == ()


@pytest.mark.parametrize(
    "environ",
    [
        {"GITHUB_EVENT_NAME": "pull_request"},
        {"GITHUB_EVENT_NAME": "push"},
        {"GITHUB_EVENT_NAME": ""},
        {"GITHUB_REF": "refs/heads/feature"},
        {"GITHUB_REF": "refs/pull/7/merge"},
    ],
)
def test_a_job_of_another_kind_stores_nothing(scene: Story, environ: dict[str, str]) -> None:
    scene.report()
    with pytest.raises(UsageError, match="an acceptance in a job of event"):
        scene.handled(scene.says("/opsdebug accept gelu"), **environ)
    assert scene.stored == ()


@pytest.mark.parametrize("author", ["eve", "robot[bot]"])
def test_what_a_stranger_reports_is_not_believed(scene: Story, author: str) -> None:
    scene.report(author=author)
    declined(scene.handled(scene.says("/opsdebug accept gelu")), "No report about the newest commit")
    assert scene.stored == ()


# --- what cannot have been read ---------------------------------------------------------------------------------


def test_a_push_after_it_was_said_is_not_accepted(scene: Story) -> None:
    scene.report()
    said = scene.says("/opsdebug accept gelu")
    scene.server.push(REPOSITORY, NUMBER, PUSHED)
    declined(scene.handled(said), f"the newest commit, {PUSHED[:12]}")
    assert scene.stored == ()


def test_nor_is_one_whose_report_came_in_time_for_the_job(scene: Story) -> None:
    scene.report()
    said = scene.says("/opsdebug accept gelu")
    scene.server.push(REPOSITORY, NUMBER, PUSHED)
    scene.report(commit=PUSHED)
    found = scene.handled(said)
    declined(found, f"The report changed after this was said; it is about {PUSHED[:12]} now")
    assert isinstance(found, Declined) and found.command == "/opsdebug accept gelu"
    assert scene.stored == ()


def test_nor_a_report_of_the_same_second(scene: Story) -> None:
    report = scene.report()
    said = scene.says("/opsdebug accept gelu")
    scene.server.state.comments[report.id] = replace(report, updated_at=said.at.strftime("%Y-%m-%dT%H:%M:%SZ"))
    declined(scene.handled(said), "The report changed")


def test_a_label_on_an_older_commit_accepts_nothing_newer(scene: Story) -> None:
    scene.report()
    scene.server.push(REPOSITORY, NUMBER, PUSHED)
    scene.report(commit=PUSHED)
    declined(scene.handled(scene.labels("opsdebug-accept", head=HEAD)), "then put the label again")
    assert scene.stored == ()


def test_telling_what_was_accepted_is_no_new_report(scene: Story) -> None:
    """Two maintainers at once: the comment changes for the first, and the second has read it all the same."""
    before = scene.report()
    first, second = scene.says("/opsdebug accept gelu", "ada"), scene.says("/opsdebug accept softmax", "bob")
    assert isinstance(scene.handled(first), Accepted)
    scene.report(reported_at=before.updated_at)
    assert isinstance(scene.handled(second), Accepted)
    assert sorted(str(row.operator) for row in scene.stored) == ["gelu", "softmax"]


@pytest.mark.parametrize("claim", ["yesterday", "2026-11-30T10:00:00", ""])
def test_a_moment_that_is_none_makes_nobody_earlier(scene: Story, claim: str) -> None:
    scene.report()
    said = scene.says("/opsdebug accept gelu")
    scene.report(reported_at=claim)
    declined(scene.handled(said), "The report changed")


def test_a_closed_pull_request_needs_nothing(scene: Story) -> None:
    scene.report()
    scene.server.close(REPOSITORY, NUMBER)
    declined(scene.handled(scene.says("/opsdebug accept gelu")), "This pull request is not open")


# --- mistakes of those who may ----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("body", "reply"),
    [
        ("/opsdebug accept gelo", "&#96;gelo&#96; is not flagged as slower; did you mean &#96;gelu&#96;?"),
        ("/opsdebug accept zzz", "wanted one of gelu, softmax"),
        ("/opsdebug accept add", "&#96;add&#96; is wrong, not slow"),
        ("/opsdebug accept gelu until=soon", "&#96;until&#96; is &#96;soon&#96;; wanted a day"),
        ("/opsdebug accept gelu until=2020-01-01", "that is over"),
        ("/opsdebug accept gelu " + "x" * 1001, "has 1,001 characters; wanted at most 1,000"),
        ("/opsdebug approve gelu", "Not understood: &#96;approve&#96; behind"),
    ],
)
def test_a_mistake_is_answered_once_and_stores_nothing(scene: Story, body: str, reply: str) -> None:
    scene.report(failing=("add",))
    said = scene.says(body)
    for _ in range(2):  # the event may be delivered again
        found = scene.handled(said)
        assert isinstance(found, Declined) and found.tell and found.notes == ()
    (told,) = scene.replies
    assert reply in told
    assert scene.stored == () and scene.signs(said) == []


def test_a_failure_is_accepted_by_hand(scene: Story) -> None:
    scene.report((), failing=("add",))
    scene.handled(scene.says("/opsdebug accept add"))
    assert '`opsdebug baselines accept FINGERPRINT --reason "..."`' in scene.replies[0]


def test_nothing_flagged_is_said_and_so_is_what_was_forgotten(scene: Story) -> None:
    scene.report(())
    declined(scene.handled(scene.says("/opsdebug accept gelu")), "No operator is flagged as slower")
    scene.report((), whole=False)
    declined(scene.handled(scene.says("/opsdebug accept gelu")), "had no room to remember every one")


def test_two_names_that_look_alike_are_not_guessed_between(scene: Story) -> None:
    scene.report(("gelu", "ge\u200blu"))
    declined(scene.handled(scene.says("/opsdebug accept gelu")), "2 flagged operators look like")
    assert scene.stored == ()


def test_what_a_reply_repeats_is_inert(scene: Story) -> None:
    scene.report(("<img src=x> @org/team #1 ![](http://e.example)",))
    scene.handled(scene.says("/opsdebug accept <script>@org/team</script>"))
    (told,) = scene.replies
    prose, _, command = told.partition("\n\n")
    assert not [mark for mark in ("<", "@org", "#1", "![", "http://e") if mark in prose]
    assert command == "`` /opsdebug accept `<img src=x> @org/team #1 ![](http://e.example)` ``"


# --- again, at once, and broken ---------------------------------------------------------------------------------


def test_the_same_event_again_changes_nothing(scene: Story) -> None:
    scene.report()
    said = scene.says("/opsdebug accept gelu until=30d why")
    first = scene.handled(said)
    rows = scene.stored
    scene.report()  # the bot has said it, and forgot since when it had reported
    assert isinstance(first, Accepted)
    again = scene.handled(said)
    assert isinstance(again, Accepted) and again.regressions == first.regressions
    assert scene.stored == rows and len(rows) == 1
    assert scene.signs(said) == ["+1"] and scene.replies == []


def test_after_a_push_it_is_over_without_a_word(scene: Story) -> None:
    scene.report()
    said = scene.says("/opsdebug accept gelu")
    scene.handled(said)
    scene.server.push(REPOSITORY, NUMBER, PUSHED)
    scene.report(commit=PUSHED)
    declined(scene.handled(said), "carried out already", tell=False)
    assert scene.replies == [] and [row.commit for row in scene.stored] == [HEAD]


def test_what_was_withdrawn_since_stays_so(scene: Story) -> None:
    scene.report()
    said = scene.says("/opsdebug accept gelu")
    scene.handled(said)
    at = scene.clock.now + timedelta(seconds=1)
    scene.store.accept(
        Acceptance(
            id="withdrawn",
            operator="gelu",
            commit=HEAD,
            accepted_by="bob",
            accepted_at=at.isoformat(),
            reason="no, after all",
            until=at.isoformat(),
        )
    )
    scene.wait()
    declined(scene.handled(said), "It was withdrawn since: gelu")
    assert scene.stored == ()


def test_two_maintainers_who_say_the_same_are_both_recorded(scene: Story) -> None:
    scene.report()
    said = [scene.says("/opsdebug accept gelu", login) for login in ("ada", "bob")]
    found: list[object] = []
    threads = [threading.Thread(target=lambda one=one: found.append(scene.handled(one))) for one in said]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert [isinstance(one, Accepted) for one in found] == [True, True]
    assert sorted(row.accepted_by for row in scene.stored) == ["ada", "bob"]


def test_one_event_delivered_to_two_jobs_at_once_is_one_row(scene: Story) -> None:
    scene.report()
    said = scene.says("/opsdebug accept gelu")
    found: list[object] = []
    threads = [threading.Thread(target=lambda: found.append(scene.handled(said))) for _ in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert [isinstance(one, Accepted) for one in found] == [True, True]
    assert len(scene.stored) == 1 and scene.signs(said) == ["+1"]


def test_a_sign_that_cannot_be_given_takes_nothing_back(scene: Story) -> None:
    scene.report()
    scene.server.fail("POST", REACTIONS, outage(502), count=10)
    found = scene.handled(scene.says("/opsdebug accept gelu"))
    assert isinstance(found, Accepted) and "no sign was put" in found.notes[0]
    assert len(scene.stored) == 1


@pytest.mark.parametrize(("acted", "replies"), [(True, 1), (False, 0)])
def test_a_reply_of_which_nobody_knows_is_looked_for_and_not_sent_again(
    scene: Story, *, acted: bool, replies: int
) -> None:
    scene.report()
    scene.server.fail("POST", COMMENTS, outage(502, acted=acted))
    found = scene.handled(scene.says("/opsdebug accept nothing"))
    assert isinstance(found, Declined)
    assert len(scene.replies) == replies and len(scene.server.asked("POST", COMMENTS)) == 1
    assert bool(found.notes) is not acted


def test_a_stranger_cannot_keep_the_bot_from_answering(scene: Story) -> None:
    scene.report()
    said = scene.says("/opsdebug accept nothing")
    scene.server.comment(REPOSITORY, NUMBER, f"<!-- opsdebug-ci:reply id={said.comment} -->\nha", author="eve")
    scene.handled(said)
    assert len(scene.replies) == 1


def test_a_store_that_cannot_be_written_is_told(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("no directory")
    with story(tmp_path, open_store(tmp_path / "file" / "baselines")) as scene:
        scene.report()
        said = scene.says("/opsdebug accept gelu")
        with pytest.raises(StoreError):
            scene.handled(said)
        assert "could not be recorded" in scene.replies[0] and scene.signs(said) == []


def test_a_store_on_a_branch_holds_it_for_every_clone(tmp_path: Path) -> None:
    forge = tmp_path / "forge.git"
    subprocess.run(["git", "init", "--quiet", "--bare", "--template=", str(forge)], check=True)
    environ = {**os.environ, "XDG_CACHE_HOME": str(tmp_path / "cache")}
    store = open_store(f"branch:opsdebug-baselines@file://{forge}", root=tmp_path, environ=environ)
    with story(tmp_path, store) as scene:
        scene.report()
        assert isinstance(scene.handled(scene.says("/opsdebug accept gelu")), Accepted)
        said = scene.says("/opsdebug accept softmax", "bob")
        assert isinstance(scene.handled(said), Accepted) and isinstance(scene.handled(said), Accepted)
        assert sorted((row.operator, row.accepted_by) for row in scene.stored) == [("gelu", "ada"), ("softmax", "bob")]


def test_the_moment_is_the_servers_and_not_the_jobs(scene: Story) -> None:
    scene.report()
    said = scene.says("/opsdebug accept gelu")
    scene.wait(86_400)
    assert isinstance(scene.handled(said), Accepted)
    assert scene.stored[0].at == said.at < BEGIN + timedelta(minutes=5)

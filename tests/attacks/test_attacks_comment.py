"""The comment and its author, lost answers and limits: A10 to A16, through a whole publication."""

from __future__ import annotations

import threading
from dataclasses import replace

import pytest
from attack_documents import HEAD
from attack_list import attack, twin
from github_server import (
    answered,
    outage,
    primary_rate_limit,
    reset,
    secondary_rate_limit,
    stalled,
    too_many_requests,
)
from github_server.answers import error
from github_server.faults import Effect
from report_scene import FORK, JOB, MARKER, NUMBER, REPOSITORY, Impatience, Scene, failing

from opsdebug_ci.github.api.client import Limits
from opsdebug_ci.github.bot.body import compose
from opsdebug_ci.github.bot.commit_checks import origin_of
from opsdebug_ci.model.publication import CommentState, ReportedHead
from opsdebug_ci.model.published import PublishedDocument

COMMENTS = "/repos/*/*/issues/*/comments"
CHECKS = "/repos/*/*/check-runs"
ONE_COMMENT = "/repos/*/*/issues/comments/*"
ONE_CHECK = "/repos/*/*/check-runs/*"

STRANGER = "stranger"


@attack("A10")
@pytest.mark.parametrize("author", [STRANGER, "github-actions", "github-actions-bot", "another-app[bot]", None])
def test_a_comment_of_somebody_else_with_our_marker_is_left_alone(author: str | None, scene: Scene) -> None:
    theirs = scene.server.comment(REPOSITORY, NUMBER, f"{MARKER}\npass, all is well", author=author)
    scene.upload(failing())
    assert scene.publish().comment == "created"
    first, second = scene.comments()
    assert first == theirs
    assert second.author == JOB
    assert second.body.startswith(f"{MARKER}\n")
    assert "- **gelu**: `tail_mask`" in second.body


@twin("A10")
def test_our_own_comment_is_updated_in_place(scene: Scene) -> None:
    scene.upload(failing())
    scene.publish()
    (before,) = scene.ours()
    scene.run = scene.finished(4712, number=2)
    scene.upload(replace(failing("softmax"), ci_run=4712))
    assert scene.publish().comment == "updated"
    (after,) = scene.comments()
    assert after.id == before.id
    assert "- **softmax**: `tail_mask`" in after.body


@attack("A11")
@pytest.mark.parametrize(
    "body",
    [f"> {MARKER}\n> fail\n\nI disagree", f"see\n{MARKER}\nabove", f" {MARKER}\nindented", f"{MARKER} and more\nx"],
    ids=["quoted", "second line", "indented", "more on its line"],
)
@pytest.mark.parametrize("author", [STRANGER, JOB])
def test_a_marker_that_is_not_the_first_line_is_no_marker(body: str, author: str, scene: Scene) -> None:
    reply = scene.server.comment(REPOSITORY, NUMBER, body, author=author)
    scene.upload(failing())
    assert scene.publish().comment == "created"
    first, second = scene.comments()
    assert first == reply
    assert second.body.startswith(f"{MARKER}\n")


@twin("A11")
def test_a_reply_to_our_comment_changes_nothing(scene: Scene) -> None:
    scene.upload(failing())
    scene.publish()
    scene.server.comment(REPOSITORY, NUMBER, "Thank you, bot.", author=STRANGER)
    assert scene.publish().comment == "unchanged"
    assert len(scene.comments()) == 2


@attack("A12")
@pytest.mark.slow
def test_a_comment_on_the_last_of_many_pages_is_found(scene: Scene) -> None:
    for number in range(380):
        scene.server.comment(REPOSITORY, NUMBER, f"{MARKER}\n{number}", author=STRANGER)
    scene.upload(failing("softmax"))
    scene.publish()
    for number in range(20):
        scene.server.comment(REPOSITORY, NUMBER, f"chatter {number}", author=STRANGER)
    scene.run = scene.finished(4712, number=2)
    scene.upload(replace(failing(), ci_run=4712))
    assert scene.publish().comment == "updated"
    (ours,) = scene.ours()
    assert "- **gelu**: `tail_mask`" in ours.body
    assert len(scene.comments()) == 401


@attack("A12")
def test_a_comment_on_the_second_page_is_found(scene: Scene) -> None:
    for number in range(100):
        scene.server.comment(REPOSITORY, NUMBER, f"chatter {number}", author=STRANGER)
    scene.upload(failing())
    assert [scene.publish().comment for _ in range(2)] == ["created", "unchanged"]
    assert len(scene.ours()) == 1


@twin("A12")
def test_one_page_is_asked_for_once_before_and_once_after(scene: Scene) -> None:
    scene.upload(failing())
    scene.publish()
    assert len(scene.server.asked("GET", COMMENTS)) == 2


def both(scene: Scene, *runs: int) -> list[PublishedDocument]:
    """Two publications at the same time."""
    told: list[PublishedDocument] = []

    def one(run: int) -> None:
        mine = Scene.__new__(Scene)
        mine.server, mine.directory, mine.token = scene.server, scene.directory, scene.token
        mine.run, mine.clock, mine.ended = scene.server.state.runs[run], Impatience(), {}
        told.append(mine.publish())

    threads = [threading.Thread(target=one, args=(run,)) for run in runs]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return told


@attack("A13")
@pytest.mark.parametrize("repetition", [0, 1, *(pytest.param(n, marks=pytest.mark.slow) for n in range(2, 50))])
def test_two_reporters_that_both_create_leave_one_comment(repetition: int, scene: Scene) -> None:
    del repetition
    second = scene.finished(4712, number=2)
    scene.upload(failing("older"))
    scene.upload(replace(failing("newer"), ci_run=4712), run=second)
    scene.server.barrier("POST", COMMENTS, 2)
    assert len(both(scene, scene.run.id, 4712)) == 2
    (ours,) = scene.ours()
    assert "- **newer**: `tail_mask`" in ours.body


@twin("A13")
def test_two_reporters_one_after_the_other_leave_one_comment(scene: Scene) -> None:
    scene.upload(failing())
    assert [scene.publish().comment for _ in range(2)] == ["created", "unchanged"]
    assert len(scene.ours()) == 1


@attack("A14")
@pytest.mark.parametrize(
    ("older", "newer"),
    [({"id": 4711, "number": 1}, {"id": 4712, "number": 2}), ({"attempt": 1}, {"attempt": 2})],
    ids=["an older run", "an earlier attempt"],
)
def test_what_ends_last_does_not_hide_what_is_newer(older: dict[str, int], newer: dict[str, int], scene: Scene) -> None:
    for facts, operator in ((newer, "newer"), (older, "older")):
        scene.run = scene.finished(**{**facts, "attempt": newer.get("attempt", 1)})  # the server tells of the newest
        scene.upload(replace(failing(operator), ci_run=facts.get("id", 4711), attempt=facts.get("attempt", 1)))
        told = scene.publish(attempt=facts.get("attempt"))
    assert told.comment == "kept_newer"
    (ours,) = scene.ours()
    assert "- **newer**: `tail_mask`" in ours.body
    assert "newer" in (scene.check().summary or "")


def claimed(**claims: object) -> CommentState:
    """What a comment remembers that somebody had written under our name."""
    true = CommentState(
        version=1,
        stage="smoke",
        ci_run=4800,
        run_number=9,
        attempt=1,
        conclusion="pass",
        body="",
        head=ReportedHead(commit="b" * 40, failures=(), regressed=()),
        complete=True,
        workflow=".github/workflows/opsdebug.yml",
    )
    return replace(true, **claims)  # type: ignore[arg-type]  # fields of the state, by name


@attack("A14")
@pytest.mark.parametrize(
    "claims",
    [
        {"ci_run": 2**53, "run_number": 2**53},
        {"ci_run": 2**53, "workflow": "another.yml"},
        {"run_number": 2**53},
        {"attempt": 2},
        {"workflow": "another.yml"},
        {"head": ReportedHead(commit="c" * 40, failures=(), regressed=())},
        {"ci_run": 4801},
        {"ci_run": 4802},
    ],
    ids=["no run", "no workflow", "number", "attempt", "file", "commit", "another fork's", "another branch's"],
)
def test_what_claims_a_later_run_is_replaced(claims: dict[str, object], scene: Scene) -> None:
    sha = "b" * 40
    scene.finished(4800, head_sha=sha, number=9)
    scene.server.repository("other/kernels", fork=True)
    scene.server.run(REPOSITORY, id=4801, head_sha=sha, head_repository="other/kernels", run_number=9)
    scene.server.run(REPOSITORY, id=4802, head_sha=sha, head_repository=FORK, run_number=9, head_branch="other")
    scene.server.comment(REPOSITORY, NUMBER, compose("default", claimed(**claims), "pass, all is well"), author=JOB)
    scene.upload(failing())
    told = scene.publish()
    assert (told.comment, told.notes) == ("updated", ())
    (ours,) = scene.ours()
    assert "- **gelu**: `tail_mask`" in ours.body
    assert "all is well" not in ours.body


@attack("A14")
@pytest.mark.parametrize("number", [0, 1, 999_999])
def test_a_check_of_another_app_silences_nothing_and_vouches_for_nothing(number: int, scene: Scene) -> None:
    """It calls itself ours, of a later run; nobody but its app may change it, and so it is not ours."""
    source = scene.server.state.repositories[FORK].id
    origin = origin_of(".github/workflows/opsdebug.yml", "pull_request", source)
    scene.server.check(
        REPOSITORY, "opsdebug smoke", HEAD, app="another-app", external_id=f"opsdebug/default/smoke/{number}/1/{origin}"
    )
    scene.upload(failing())
    told = scene.publish()
    assert (told.exit_code, told.comment, told.notes) == (1, "created", ())
    theirs, ours = scene.server.checks_of(REPOSITORY, HEAD)
    assert (theirs.app, theirs.conclusion, ours.conclusion) == ("another-app", "success", "failure")


@twin("A14")
def test_what_is_of_a_later_run_stays(scene: Scene) -> None:
    scene.finished(4800, head_sha="b" * 40, number=9)
    scene.server.comment(REPOSITORY, NUMBER, compose("default", claimed(), "pass, all is well"), author=JOB)
    scene.upload(failing())
    assert scene.publish().comment == "kept_newer"
    assert "all is well" in scene.ours()[0].body


@twin("A14")
def test_a_newer_attempt_takes_the_place_of_an_earlier_one(scene: Scene) -> None:
    for attempt, operator in ((1, "older"), (2, "newer")):
        scene.run = scene.finished(attempt=attempt)
        scene.upload(replace(failing(operator), attempt=attempt))
        told = scene.publish()
    assert told.comment == "updated"
    assert "- **newer**: `tail_mask`" in scene.ours()[0].body


LOST = {
    "502": outage(502, acted=True),
    "500": outage(500, acted=True),
    "reset": reset(acted=True),
    "never": stalled(300.0, acted=True),
    "502 before": outage(502),
    "reset before": reset(),
}


@attack("A15")
@pytest.mark.parametrize("effect", LOST.values(), ids=LOST)
@pytest.mark.parametrize("path", [COMMENTS, pytest.param(CHECKS, marks=pytest.mark.slow)], ids=["comment", "check"])
def test_a_lost_answer_to_a_creation_makes_no_second_one(path: str, effect: Effect, scene: Scene) -> None:
    scene.server.fail("POST", path, effect)
    scene.upload(failing())
    told = scene.publish(limits=Limits(deadline_s=1.5))
    assert (told.exit_code, told.comment) == (1, "created")
    assert len(scene.ours()) == 1
    assert scene.check().status == "completed"


@twin("A15")
def test_without_a_fault_each_is_created_in_one_request(scene: Scene) -> None:
    scene.upload(failing())
    scene.publish()
    assert [len(scene.server.asked("POST", path)) for path in (COMMENTS, CHECKS)] == [1, 1]


FAULTS = {
    "502": (outage(502), 1),
    "503 thrice": (outage(503), 3),
    "429": (too_many_requests(), 1),
    "429 with a time": (too_many_requests(7), 2),
    "secondary": (secondary_rate_limit(), 1),
    "secondary with a time": (secondary_rate_limit(60), 1),
    "reset": (reset(), 2),
}


@attack("A16")
@pytest.mark.parametrize(("effect", "count"), FAULTS.values(), ids=FAULTS)
@pytest.mark.parametrize(
    ("verb", "path"),
    [
        ("PATCH", ONE_COMMENT),
        pytest.param("PATCH", ONE_CHECK, marks=pytest.mark.slow),
        pytest.param("GET", COMMENTS, marks=pytest.mark.slow),
        pytest.param("GET", "/repos/*/*/actions/runs/*", marks=pytest.mark.slow),
    ],
    ids=["comment", "check", "comments", "run"],
)
def test_what_passes_is_waited_for(verb: str, path: str, effect: Effect, count: int, scene: Scene) -> None:
    scene.upload(failing("softmax"))
    scene.publish()
    scene.run = scene.finished(4712, number=2)
    scene.upload(replace(failing(), ci_run=4712))
    scene.server.fail(verb, path, effect, count=count)
    scene.clock = Impatience()
    told = scene.publish()
    assert (told.exit_code, told.comment, told.notes) == (1, "updated", ())
    assert "- **gelu**: `tail_mask`" in scene.ours()[0].body
    assert scene.server.checks_of(REPOSITORY, HEAD)[-1].status == "completed"
    assert 0.0 < scene.clock.slept_s <= 300.0


@attack("A16")
@pytest.mark.parametrize("effect", [primary_rate_limit(25 * 60), outage(503), too_many_requests(3_600)])
@pytest.mark.parametrize("path", [COMMENTS, ONE_CHECK])
def test_what_does_not_pass_costs_no_verdict(path: str, effect: Effect, scene: Scene) -> None:
    scene.server.fail("GET" if path == COMMENTS else "PATCH", path, effect, count=10_000)
    scene.upload(failing())
    told = scene.publish()
    assert told.exit_code == 1
    assert told.conclusion == "fail"
    assert len(told.notes) == 1
    assert "next: " in told.notes[0]
    assert "gelu" in told.summary
    assert scene.clock.slept_s <= 300.0


MOMENTS = {
    "a year beyond the calendar": "Sun, 06 Nov 99999 08:49:37 GMT",
    "a year beyond all numbers": f"Sun, 06 Nov {'9' * 30} 08:49:37 GMT",
    "long ago": "Sun, 06 Nov 1994 08:49:37 GMT",
    "negative": "-5",
    "milliseconds": "1764500000000000",
    "raised digits": "²",
    "empty": "",
}


@attack("A16")
@pytest.mark.parametrize("moment", MOMENTS.values(), ids=MOMENTS)
def test_a_time_to_wait_that_is_none_is_as_good_as_no_time(moment: str, scene: Scene) -> None:
    limit = answered(error(429, "too many requests", Retry_After=moment), claimed=False)
    scene.server.fail("GET", COMMENTS, replace(limit, acts=False))
    scene.upload(failing())
    told = scene.publish()
    assert (told.exit_code, told.comment, told.notes) == (1, "created", ())
    assert scene.clock.slept_s <= 62.0


@twin("A16")
def test_without_a_fault_nothing_is_waited_for_but_the_look_after_a_write(scene: Scene) -> None:
    scene.upload(failing())
    assert scene.publish().notes == ()
    assert scene.clock.slept_s <= 2.0

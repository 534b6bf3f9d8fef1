"""The check: opened once, told in batches, closed on every way out."""

from __future__ import annotations

from dataclasses import replace

import pytest
from bot_scene import HEAD, REPOSITORY, Scene, scene
from github_server import Answer, answered, garbled, outage, reset
from github_server.faults import Effect
from github_server.records import Check as Stored

from opsdebug_ci.errors import GithubRefusedError, GithubUnreachableError, InternalError
from opsdebug_ci.github.bot.check import (
    CONCLUSIONS,
    OPENED,
    Check,
    check_name,
    github_conclusion,
    open_check,
)
from opsdebug_ci.github.bot.check_output import ANNOTATION_LIMIT, AnnotationLevel, CheckAnnotation
from opsdebug_ci.github.bot.commit_checks import TRIES, CheckIdentity, read_identity
from opsdebug_ci.model.publication import Conclusion

CHECKS, ONE_CHECK = "/repos/*/*/check-runs", "/repos/*/*/check-runs/*"
NAME = "opsdebug smoke"
URL = "https://github.example/acme/kernels/actions/runs/9"


def identity(order: str, stage: str = "smoke") -> CheckIdentity:
    """`5.2`: run 5, attempt 2."""
    number, attempt = order.split(".")
    return CheckIdentity(suite="default", stage=stage, run_number=int(number), attempt=int(attempt))


def opened(here: Scene, order: str, *, name: str = NAME, stage: str = "smoke") -> Check:
    external_id = identity(order, stage).external_id
    return open_check(here.client(), REPOSITORY, HEAD, name, external_id=external_id, details_url=URL)


def stored(here: Scene) -> list[Stored]:
    """Checks of the server, oldest first."""
    return [here.server.state.checks[number] for number in sorted(here.server.state.checks)]


def at(
    line: int | None, path: str | None = "ops/gelu.py", message: str = "wrong", title: str = "gelu: tail"
) -> CheckAnnotation:
    return CheckAnnotation(path=path, line=line, level=AnnotationLevel.FAILURE, title=title, message=message)


def told(here: Scene, *annotations: CheckAnnotation, order: str = "1.1", summary: str = "**fail**") -> Stored:
    """The only check, after it was opened and completed."""
    opened(here, order).complete(Conclusion.FAIL, "fail: 1 of 9", summary, annotations)
    (check,) = stored(here)
    return check


def test_opened_then_completed_in_three_requests() -> None:
    with scene() as here:
        check = opened(here, "5.2")
        (open_now,) = stored(here)
        assert (open_now.status, open_now.conclusion, open_now.name) == ("in_progress", None, NAME)
        assert (open_now.title, open_now.summary) == OPENED
        assert (open_now.external_id, open_now.details_url) == ("opsdebug/default/smoke/5/2", URL)
        assert check.complete(Conclusion.FAIL, "fail: 1 of 9", "**fail**", [at(3)]) == ()
        (closed,) = stored(here)
        assert (closed.status, closed.conclusion) == ("completed", "failure")
        assert (closed.title, closed.summary) == ("fail: 1 of 9", "**fail**")
        assert closed.annotations == (
            {
                "path": "ops/gelu.py",
                "start_line": 3,
                "end_line": 3,
                "annotation_level": "failure",
                "title": "gelu: tail",
                "message": "wrong",
            },
        )
        assert check.url.startswith("http://127.0.0.1") and not check.superseded
        assert [request.method for request in here.server.requests] == ["GET", "POST", "PATCH"]


WANTED = {
    (Conclusion.PASS, "smoke"): "success",
    (Conclusion.PASS, "full"): "success",
    (Conclusion.FAIL, "smoke"): "failure",
    (Conclusion.FAIL, "full"): "failure",
    (Conclusion.ERROR, "full"): "failure",
    (Conclusion.INCOMPLETE, "smoke"): "failure",
    (Conclusion.INCOMPLETE, "replay"): "failure",
    (Conclusion.INCOMPLETE, "full"): "neutral",
    (Conclusion.REGRESSED, "smoke"): "action_required",
    (Conclusion.ACCEPTED, "smoke"): "neutral",
    (Conclusion.INCONCLUSIVE, "smoke"): "neutral",
}


@pytest.mark.parametrize(("conclusion", "stage"), WANTED)
def test_what_is_shown_for_what_a_run_comes_to(conclusion: Conclusion, stage: str) -> None:
    assert github_conclusion(conclusion, stage) == WANTED[conclusion, stage]
    with scene() as here:
        opened(here, "1.1", stage=stage).complete(conclusion, "t", "s", ())
        assert stored(here)[0].conclusion == WANTED[conclusion, stage]


def test_only_a_pass_is_green() -> None:
    assert set(CONCLUSIONS) == set(Conclusion)
    assert [word for word, shown in CONCLUSIONS.items() if shown == "success"] == [Conclusion.PASS]


def test_names_never_change_and_suites_and_stages_have_their_own() -> None:
    assert check_name("smoke") == "opsdebug smoke"
    assert check_name("full", "gpu") == "opsdebug full (gpu)"


@pytest.mark.parametrize(
    "text",
    [
        None,
        "",
        "opsdebug/default/smoke/5",
        "opsdebug/a b/smoke/5/1",
        "x/default/smoke/5/1",
        "opsdebug/default/smoke/-5/1",
    ],
)
def test_what_is_no_identity_of_ours(text: str | None) -> None:
    assert read_identity(text) is None
    assert read_identity(identity("5.2").external_id) == identity("5.2")


def test_a_check_without_identity_is_a_fault_of_ours() -> None:
    with scene() as here, pytest.raises(InternalError, match="external_id"):
        open_check(here.client(), REPOSITORY, HEAD, NAME, external_id="mine", details_url=URL)


@pytest.mark.parametrize(("again", "shown"), [("5.2", "5.2"), ("5.3", "5.3"), ("6.1", "6.1")])
def test_a_closed_one_without_annotations_is_taken_again(again: str, shown: str) -> None:
    with scene() as here:
        opened(here, "5.2").complete(Conclusion.PASS, "t", "s", ())
        check = opened(here, again)
        assert [(one.status, one.external_id) for one in stored(here)] == [("in_progress", identity(shown).external_id)]
        check.complete(Conclusion.FAIL, "t", "s", [at(1)])
        assert [(one.conclusion, len(one.annotations)) for one in stored(here)] == [("failure", 1)]


def test_annotations_of_another_attempt_do_not_stay_beside_new_ones() -> None:
    with scene() as here:
        told(here, at(1), at(2), order="5.1")
        opened(here, "5.2").complete(Conclusion.FAIL, "t", "s", [at(3)])
        old, new = stored(here)
        assert [one["start_line"] for one in new.annotations] == [3]
        assert len(old.annotations) == 2


def test_the_same_run_told_again_repeats_no_annotation() -> None:
    with scene() as here:
        told(here, at(1), at(2), order="5.1")
        check = opened(here, "5.1")
        check.complete(Conclusion.ACCEPTED, "accepted", "by mona", [at(1), at(2), at(3)])
        (one,) = stored(here)
        assert (one.conclusion, one.title) == ("neutral", "accepted")
        assert [annotation["start_line"] for annotation in one.annotations] == [1, 2, 3]


def test_one_that_somebody_may_still_be_at_is_not_taken() -> None:
    with scene() as here:
        slow = opened(here, "5.1")
        opened(here, "5.2").complete(Conclusion.PASS, "t", "s", ())
        slow.complete(Conclusion.FAIL, "t", "s", ())
        assert [(one.external_id, one.conclusion) for one in stored(here)] == [
            ("opsdebug/default/smoke/5/1", "failure"),
            ("opsdebug/default/smoke/5/2", "success"),
        ]


@pytest.mark.parametrize("late", ["5.1", "4.9"])
def test_what_is_older_says_nothing(late: str) -> None:
    """A14."""
    with scene() as here:
        opened(here, "5.2").complete(Conclusion.PASS, "t", "s", ())
        before = stored(here)
        with opened(here, late) as check:
            assert check.superseded
            assert check.complete(Conclusion.FAIL, "t", "s", [at(1)]) == ()
        assert stored(here) == before


def test_checks_of_others_are_left_alone() -> None:
    mine = identity("5.1").external_id
    with scene() as here:
        others = [
            here.server.check(REPOSITORY, NAME, HEAD, app="another-app", external_id=mine),
            here.server.check(REPOSITORY, "opsdebug full", HEAD, external_id=mine),
            here.server.check(REPOSITORY, NAME, HEAD, external_id="somebody's"),
            here.server.check(REPOSITORY, NAME, HEAD, external_id="opsdebug/gpu/smoke/9/9"),
            here.server.check(REPOSITORY, NAME, "b" * 40, external_id=mine),
        ]
        opened(here, "5.1").complete(Conclusion.PASS, "t", "s", ())
        assert stored(here)[:-1] == others
        assert stored(here)[-1].conclusion == "success"


def test_an_identity_that_another_app_copied_is_not_ours() -> None:
    with scene() as here:
        here.server.check(REPOSITORY, NAME, HEAD, app="another-app", external_id=identity("5.1").external_id)
        check = opened(here, "5.1")
        check.complete(Conclusion.PASS, "t", "s", ())
        assert [request.status for request in here.server.requests] == [200, 403, 201, 200]


@pytest.mark.parametrize(
    "effect",
    [outage(502, acted=True), outage(502), reset(acted=True), reset(), garbled()],
    ids=lambda effect: effect.name,
)
@pytest.mark.parametrize("times", [1, 2])
def test_an_answer_that_is_lost_opens_no_second_check(effect: Effect, times: int) -> None:
    with scene() as here:
        here.server.fail("POST", CHECKS, effect, count=times)
        opened(here, "5.1").complete(Conclusion.PASS, "t", "s", ())
        assert [(one.status, one.conclusion) for one in stored(here)] == [("completed", "success")]


def test_a_server_that_never_answers_clearly_is_given_up() -> None:
    with scene() as here:
        here.server.fail("POST", CHECKS, outage(502), count=99)
        with pytest.raises(GithubUnreachableError):
            opened(here, "5.1")
        assert len(here.server.asked("POST")) == TRIES


def test_a_token_that_may_not_is_told() -> None:
    with scene() as here:
        reader = replace(here, token=here.server.token(permissions={"checks": "read"}, repository=REPOSITORY))
        with pytest.raises(GithubRefusedError) as caught:
            opened(reader, "5.1")
        assert "checks: write" in caught.value.next_step


@pytest.mark.parametrize(
    ("raised", "conclusion", "summary"),
    [
        (KeyboardInterrupt, "cancelled", "It was cancelled before its results were put together; see the job's log."),
        (SystemExit, "cancelled", "It was cancelled before its results were put together; see the job's log."),
        (InternalError, "failure", "It ended before its results were put together; see the job's log."),
        (MemoryError, "failure", "It ended before its results were put together; see the job's log."),
    ],
)
def test_it_is_closed_on_every_way_out(raised: type[BaseException], conclusion: str, summary: str) -> None:
    with scene() as here:
        with pytest.raises(raised), opened(here, "5.1"):
            raise raised("on the way")
        (check,) = stored(here)
        assert (check.status, check.conclusion, check.summary) == ("completed", conclusion, summary)


def test_one_that_was_forgotten_is_closed_as_a_failure() -> None:
    with scene() as here:
        with opened(here, "5.1"):
            pass
        assert [(one.status, one.conclusion) for one in stored(here)] == [("completed", "failure")]


def test_one_that_was_completed_is_left_so_whatever_happens_afterwards() -> None:
    with scene() as here:
        with pytest.raises(KeyboardInterrupt), opened(here, "5.1") as check:
            check.complete(Conclusion.PASS, "t", "s", ())
            raise KeyboardInterrupt
        assert stored(here)[0].conclusion == "success"


def test_that_it_cannot_be_closed_does_not_hide_why() -> None:
    forbidden = Answer(status=403, value={"message": "Forbidden", "documentation_url": "https://docs"})
    with scene() as here:
        here.server.fail("PATCH", ONE_CHECK, answered(forbidden), count=9)
        with pytest.raises(KeyboardInterrupt), opened(here, "5.1"):
            raise KeyboardInterrupt
        with pytest.raises(GithubRefusedError, match="Forbidden"), opened(here, "5.1"):
            pass


@pytest.mark.parametrize(("count", "requests"), [(0, 1), (1, 1), (50, 1), (51, 2), (100, 2), (1_000, 20), (1_010, 20)])
def test_annotations_go_in_batches(count: int, requests: int) -> None:
    """A25."""
    with scene() as here:
        check = told(here, *(at(line + 1, message=f"wrong {line}") for line in range(count)))
        assert len(here.server.asked("PATCH")) == requests
        assert [one["start_line"] for one in check.annotations] == list(range(1, min(count, ANNOTATION_LIMIT) + 1))
        assert (check.status, check.conclusion) == ("completed", "failure")
        assert [sent.body.get("status") for sent in here.server.asked("PATCH")] == [None] * (requests - 1) + [
            "completed"
        ]
        assert str(check.summary) == "**fail**" + (
            "\n\n10 more annotations are not shown beside the code." if count > ANNOTATION_LIMIT else ""
        )


BAD_PLACES = [
    "../x.py",
    "a/../../x.py",
    "/abs/x.py",
    "C:\\a\\b.py",
    "C:/a.py",
    "a\\b.py",
    "",
    "a\nb.py",
    "a\u202eb.py",
    None,
]


@pytest.mark.parametrize("path", BAD_PLACES)
def test_a_place_outside_the_repository_goes_to_the_summary(path: str | None) -> None:
    with scene() as here:
        check = told(here, at(3, path), at(4))
        assert [one["start_line"] for one in check.annotations] == [4]
        assert check.summary == "**fail**\n\nWithout a line in this repository:\n\n    failure: gelu: tail: wrong"


@pytest.mark.parametrize("line", [None, 0, -1, 2**31])
def test_a_line_that_is_none_goes_to_the_summary(line: int | None) -> None:
    with scene() as here:
        check = told(here, at(line))
        assert check.annotations == ()
        assert str(check.summary).endswith("    failure: gelu: tail: wrong")


def test_what_is_listed_in_the_summary_stays_one_line_of_code() -> None:
    hostile = at(None, message="```\n# @mona <!-- x -->", title="a\n\n@mona [x](http://y)\u202e\x1b[31m " + "z" * 500)
    with scene() as here:
        check = told(here, *[hostile] * 30)
        lines = str(check.summary).split("Without a line in this repository:\n\n")[1].split("\n")
        assert len(lines) == 21 and lines[-1] == "    and 10 more"
        assert all(line.startswith("    failure: a @mona [x](http://y)") and len(line) <= 204 for line in lines[:-1])


def test_everything_is_cut_to_what_github_takes() -> None:
    with scene() as here:
        opened(here, "1.1").complete(
            Conclusion.FAIL, "t" * 1_000, "é" * 70_000 + "\n", [at(1, message="ü" * 70_000, title="u" * 500)]
        )
        (check,) = stored(here)
        assert len(str(check.title)) == 255
        assert len(str(check.summary).encode()) <= 65_535
        assert str(check.summary).endswith("The rest does not fit here: it is in the job summary.")
        assert len(str(check.annotations[0]["message"]).encode()) <= 64 * 1024
        assert len(str(check.annotations[0]["title"])) == 255


def test_a_summary_is_cut_at_the_end_of_a_line() -> None:
    with scene() as here:
        check = told(here, summary="\n".join(f"line {n}" for n in range(20_000)))
        last = str(check.summary).split("\n\nThe rest")[0].rsplit("\n", 1)[1]
        assert last in {f"line {n}" for n in range(20_000)}


def test_nothing_is_sent_empty() -> None:
    with scene() as here:
        opened(here, "1.1").complete(Conclusion.PASS, "", " \n", [at(1, message="", title="")])
        (check,) = stored(here)
        assert (check.title, check.summary) == ("opsdebug", "Nothing to add.")
        assert check.annotations[0]["message"] == "no message" and "title" not in check.annotations[0]


@pytest.mark.parametrize(
    "effect", [outage(502, acted=True), outage(502), reset(acted=True), reset(), garbled()], ids=lambda one: one.name
)
@pytest.mark.parametrize("first", [1, 2, 3])
def test_an_answer_that_is_lost_repeats_no_annotation(effect: Effect, first: int) -> None:
    with scene() as here:
        here.server.fail("PATCH", ONE_CHECK, effect, first=first)
        check = told(here, *(at(line + 1) for line in range(120)))
        assert [one["start_line"] for one in check.annotations] == list(range(1, 121))
        assert (check.status, check.conclusion) == ("completed", "failure")


def test_a_short_outage_is_waited_for() -> None:
    with scene() as here:
        check = opened(here, "1.1")
        here.server.fail("PATCH", ONE_CHECK, outage(503), count=4)
        assert check.complete(Conclusion.FAIL, "t", "s", [at(1)]) == ()
        assert [(one.conclusion, len(one.annotations)) for one in stored(here)] == [("failure", 1)]


def test_a_server_that_takes_no_annotations_takes_the_conclusion() -> None:
    with scene() as here:
        check = opened(here, "1.1")
        for first in (1, 3, 5):
            here.server.fail("PATCH", ONE_CHECK, outage(502), first=first)
        (note,) = check.complete(Conclusion.FAIL, "t", "s", [at(1)])
        assert note.startswith("annotations were not taken, so the check has none or not all: PATCH ")
        assert [(one.conclusion, one.annotations) for one in stored(here)] == [("failure", ())]


def test_annotations_that_are_refused_cost_the_annotations_only() -> None:
    refused = Answer(status=422, value={"message": "Invalid request.", "documentation_url": "https://docs"})
    with scene() as here:
        check = opened(here, "1.1")
        here.server.fail("PATCH", ONE_CHECK, answered(refused))
        (note,) = check.complete(Conclusion.FAIL, "t", "s", [at(1)])
        assert note.startswith("annotations were not taken, so the check has none or not all: PATCH ")
        assert [(one.conclusion, one.annotations) for one in stored(here)] == [("failure", ())]

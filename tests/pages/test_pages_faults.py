"""What deaths under watched pages come to, told by scripted launches: `launches("tail:a tail_readable:b")`."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from opsdebug_ci.execution.page_faults import ONE_DEATH, OUT_OF_TIME, RESULTS_OPEN, inquire
from opsdebug_ci.model import Case, Family, Layout, Observation, Phase, ProcessFacts, Status
from opsdebug_ci.model.memory import PageInquiry
from opsdebug_ci.model.message import PageCase, PagesKept
from opsdebug_ci.model.vocabulary import PageMode

CASE = Case(operator="f", dims={"N": 4}, dtype="float32", layout=Layout.CONTIGUOUS, inputs=Family.NORMAL, seed=0)


def died(place: str, signal: str = "SIGSEGV", phase: Phase = Phase.FUNCTION) -> Observation:
    frames = ("/p/run.py:3 <module>", f"/p/ops.py:{place} kernel", "/x/lib/python3.11/site-packages/triton/i.py:9 load")
    facts = ProcessFacts(signal=signal, exit_code=None, phase=phase, detail=None, log_tail="", frames=frames)
    return Observation(case_id=CASE.id, status=Status.CRASHED, reason=f"killed by {signal}", process=facts)


def launches(script: str, **other: PagesKept | Observation) -> Callable[[PageCase], PagesKept | Observation]:
    """Dies at line n in mode m for each `m:n`; `m*:n` on open pages too; `m*<16:n` unless aligned to 16 bytes."""

    def ask(request: PageCase) -> PagesKept | Observation:
        for word in script.split():
            mode, _, place = word.partition(":")
            mode, _, below = mode.partition("<")
            if mode.rstrip("*") != str(request.mode) or (not request.protected and not mode.endswith("*")):
                continue
            if not below or request.alignment < int(below):
                return died(place)
        return other.get(str(request.mode), PagesKept(case_id=CASE.id, watched=True))

    return ask


def alone(*arguments: str, dies: str, of: str) -> Callable[[PageCase], PagesKept | Observation]:
    """Dies as `dies` says wherever the pages of `of` are watched; `of` is an argument or a tensor of its own."""
    ask = launches(dies)

    def ask_about(request: PageCase) -> PagesKept | Observation:
        lives = PagesKept(case_id=CASE.id, watched=True, arguments=arguments)
        answer = ask(request) if request.only in (None, of) else lives
        return lives if isinstance(answer, PagesKept) else answer

    return ask_about


def told(inquiry: PageInquiry) -> str:
    return " ".join(f"{fault.access}@{fault.side}:{fault.place.rpartition(':')[2]}" for fault in inquiry.faults)


def made(inquiry: PageInquiry) -> str:
    return " ".join(str(launch.mode) + ("" if launch.protected else "*") for launch in inquiry.launches)


CLEAN = "tail head inputs_readable"

TABLE = {
    "": ("", CLEAN),
    "tail:1": ("read@tail:1", "tail tail_readable head inputs_readable"),
    "tail:1 tail_readable:1": ("write@tail:1", "tail tail_readable tail* head inputs_readable"),
    "tail:1 tail_readable:2": ("write@tail:2 read@tail:1", "tail tail_readable tail* head inputs_readable"),
    "head:1": ("read@head:1", "tail head head_readable inputs_readable"),
    "head:1 head_readable:1": ("write@head:1", "tail head head_readable inputs_readable"),
    "inputs_readable:4": ("write@inside:4", CLEAN),
    "head:1 head_readable:1 inputs_readable:1": ("write@head:1", "tail head head_readable inputs_readable"),
    "tail:1 head:1 inputs_readable:4": (
        "write@inside:4 read@tail:1 read@head:1",
        "tail tail_readable head head_readable inputs_readable",
    ),
    "tail*<16:1 tail_readable<16:1": ("", "tail tail_readable tail* tail head inputs_readable"),
    "tail*<64:1 tail_readable<64:1": (
        "",
        "tail tail_readable tail* tail tail_readable tail* tail head inputs_readable",
    ),
    "tail*:1 tail_readable:1": ("", "tail tail_readable tail* " * 3),
}
"""Script -> faults, launches."""


@pytest.mark.parametrize("script", TABLE)
def test_deaths_are_held_against_each_other(script: str) -> None:
    inquiry = inquire(launches(script), CASE)
    faults, wanted = TABLE[script]
    assert told(inquiry) == faults
    assert made(inquiry) == wanted.strip()


def test_a_fault_has_its_line_frames_and_modes() -> None:
    (fault,) = inquire(launches("tail:20 tail_readable:20"), CASE).faults
    assert fault.place == "/p/ops.py:20"
    assert fault.frames[1] == "/p/ops.py:20 kernel"
    assert fault.modes == ("tail", "tail_readable")
    assert fault.source is None


def test_the_source_of_the_line_is_read_where_it_can_be(tmp_path) -> None:
    source = tmp_path / "ops.py"
    source.write_text("first\n    tl.store(out + i, y)\n")
    observation = died("2")
    frames = (f"{source}:2 kernel",)
    facts = ProcessFacts(signal="SIGBUS", exit_code=None, phase=Phase.FUNCTION, detail=None, log_tail="", frames=frames)
    observation = Observation(case_id=CASE.id, status=Status.CRASHED, process=facts)
    (fault,) = inquire(launches("", inputs_readable=observation), CASE).faults
    assert fault.source == "tl.store(out + i, y)"


def test_alignment_is_kept_for_what_follows_and_told() -> None:
    inquiry = inquire(launches("tail*<16:1 tail_readable<16:1 tail:1"), CASE)
    assert told(inquiry) == "read@tail:1"
    assert [launch.alignment for launch in inquiry.launches] == [1, 1, 1, 16, 16, 16, 16]
    assert "multiples of 16 bytes: up to 15 bytes behind an end were not watched" in inquiry.notes[0]


def test_an_operator_that_dies_anyway_is_blamed_for_no_page() -> None:
    inquiry = inquire(launches("tail*:7 tail_readable:7"), CASE)
    assert inquiry.faults == ()
    assert inquiry.notes == (
        "the operator dies even where every page is open, at /p/ops.py:7: watched pages tell nothing",
    )


def test_where_both_may_be_said_neither_is_twice() -> None:
    inquiry = inquire(launches("head:1 head_readable:1 inputs_readable:1"), CASE)
    assert inquiry.notes == (
        "whether it writes into its arguments as well cannot be told: it dies in the same place",
        ONE_DEATH,
    )


@pytest.mark.parametrize(
    ("answer", "reason"),
    [
        (
            PagesKept(case_id=CASE.id, watched=False, reason="pages are watched on the CPU"),
            "pages are watched on the CPU",
        ),
        (PagesKept(case_id=CASE.id, watched=False), "no page could be watched"),
        (Observation(case_id=CASE.id, status=Status.TIMED_OUT, reason="60 s"), "60 s"),
        (died("1", signal="SIGFPE"), "killed by SIGFPE"),
        (died("1", phase=Phase.INPUTS), "killed by SIGSEGV"),
    ],
)
def test_a_launch_that_tells_nothing_ends_the_inquiry(answer: PagesKept | Observation, reason: str) -> None:
    inquiry = inquire(launches("", tail=answer), CASE)
    assert (made(inquiry), inquiry.faults, inquiry.notes, inquiry.watched) == ("tail", (), (reason,), False)


def test_what_was_found_before_stands() -> None:
    slow = Observation(case_id=CASE.id, status=Status.TIMED_OUT, reason="60 s")
    inquiry = inquire(launches("tail:1", head=slow), CASE)
    assert told(inquiry) == "read@tail:1"
    assert inquiry.notes == ("60 s", ONE_DEATH)
    assert inquiry.watched


def test_unwatched_results_are_told() -> None:
    inquiry = inquire(launches("", tail=PagesKept(case_id=CASE.id, watched=True, results=False)), CASE)
    assert inquiry.notes == (RESULTS_OPEN,)


@pytest.mark.parametrize(
    ("arguments", "of", "dies", "argument", "own", "asked"),
    [
        ("x y out", "y", "tail:1", "y", False, "x y"),
        ("x y out", "its own", "tail:1 tail_readable:1", None, True, "x y out"),
        ("x y", "x", "inputs_readable:1", "x", False, "x"),
        ("x", "x", "inputs_readable:1", "x", False, ""),
        ("x y", "its own", "inputs_readable:1", None, False, "x y"),
        ("a b c d e f g h i", "i", "head:1", None, False, "a b c d e f g h"),
    ],
)
def test_the_pages_are_those_of_the_argument_it_dies_of_alone(
    arguments: str, of: str, dies: str, argument: str | None, own: bool, asked: str
) -> None:
    inquiry = inquire(alone(*arguments.split(), dies=dies, of=of), CASE)
    (fault,) = inquiry.faults
    assert (fault.argument, fault.own) == (argument, own)
    assert " ".join(launch.only for launch in inquiry.launches if launch.only) == asked


def test_a_tensor_of_its_own_is_not_named_where_those_were_not_watched() -> None:
    def ask(request: PageCase) -> PagesKept | Observation:
        lives = PagesKept(case_id=CASE.id, watched=True, results=False, arguments=("x",))
        return died("1") if request.mode is PageMode.TAIL and request.only is None else lives

    (fault,) = inquire(ask, CASE).faults
    assert (fault.argument, fault.own) == (None, False)


@pytest.mark.parametrize(
    ("launches_in_time", "faults"), [(0, ""), (2, ""), (3, "write@tail:1"), (5, "write@tail:1"), (9, "write@tail:1")]
)
def test_no_launch_is_begun_once_time_is_over(launches_in_time: int, faults: str) -> None:
    ask, left_s = launches("tail:1 tail_readable:1"), [9.0] * launches_in_time
    inquiry = inquire(ask, CASE, left_s=lambda: left_s.pop() if left_s else 0.0)
    assert len(inquiry.launches) == min(launches_in_time, len(TABLE["tail:1 tail_readable:1"][1].split()))
    assert told(inquiry) == faults  # a write that dies on open pages too is none, so it takes three
    assert (OUT_OF_TIME in inquiry.notes) == (launches_in_time < 5)

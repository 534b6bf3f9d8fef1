"""The table of an experiment."""

from __future__ import annotations

from pathlib import Path

import pytest
from experiment import Round, trials_of
from rotation import Planting
from rules import Judgement, Reading
from summary import BEGIN, END, HEADER, replaced, row, summary
from trials import Answer, Kind, Launch, Trial, append, read

LETTERS = {
    "R": Answer.REGRESSED,
    "s": Answer.SUSPECTED,
    ".": Answer.QUIET,
    "?": Answer.INCONCLUSIVE,
    "x": Answer.FAILED,
}


def answers(letters: str, *, number: int = 0, kind: Kind = Kind.SAME, share: float = 0.0) -> list[Trial]:
    """One trial per letter, each of another operator."""
    return [
        Trial(
            round=number,
            at=f"2026-01-01T00:00:{number:02}+00:00",
            rule="opsdebug compare",
            operator=f"op{place}",
            kind=kind,
            share=share,
            spin_ns=share * 1000,
            answer=LETTERS[letter],
            said=f"said {letter}",
            ratio=None,
            base_ns=1000.0,
            round_s=10.0 + number,
            launches=(Launch(arm="base", part="screen", min_ns=1000.0, median_ns=1100.0),),
        )
        for place, letter in enumerate(letters)
    ]


def cells(trials: list[Trial]) -> dict[str, str]:
    return dict(zip(HEADER, row("ours", trials), strict=True))


def test_alarms_of_same_code_are_counted_with_their_bound() -> None:
    found = cells([*answers("R..?s"), *answers(".....", number=1), *answers(".", number=2, kind=Kind.MIXED)])
    assert found["A/A: alarms"] == "1 of 11"
    assert found["rate, at most"] == "9.1%, 36.4%"
    assert found["A/A rounds with an alarm"] == "1 of 2"
    assert found["inconclusive"] == "1 of 11"


def test_finds_are_counted_by_what_was_planted() -> None:
    found = cells(
        [
            *answers("RRR?", kind=Kind.MIXED, share=0.10),
            *answers("RRs", number=1, kind=Kind.MIXED, share=0.15),
            *answers("R.", number=1, kind=Kind.MIXED, share=0.05),
            *answers("RR", number=2, kind=Kind.UNIFORM, share=0.10),
        ]
    )
    assert found["+10 % found"] == "3 of 4 (75.0%, at least 24.9%)"
    assert found["+15 % found"] == "2 of 3 (66.7%, at least 13.5%)"
    assert found["+5 % found"] == "1 of 2 (50.0%, at least 2.5%)"
    assert found["uniform +10 % found"] == "2 of 2 (100.0%, at least 22.4%)"
    assert found["slower by 10 or 15 %, only suspected"] == "1 of 7"
    assert found["A/A: alarms"] == "0 of 0"


def test_what_a_rule_could_not_judge_is_neither_quiet_nor_a_trial() -> None:
    found = cells(answers("xx."))
    assert (found["A/A: alarms"], found["failed"]) == ("0 of 1", "2")
    assert cells(answers("xx"))["s a round"] == "-"


def test_controls_are_told_apart() -> None:
    text = summary([*answers("..."), *answers("R.", kind=Kind.CONTROL)])
    assert "0 of 3" in text
    assert "1 alarms of 2" in text


def test_an_alarm_of_ours_is_quoted_and_silence_is_said() -> None:
    assert "- round 0, op1: said R" in summary(answers(".R"))
    assert "False alarms of ours: none." in summary(answers(".."))


def test_no_trials_make_no_table() -> None:
    assert summary([]) == "No trials.\n"


def test_only_the_table_of_a_page_is_replaced() -> None:
    page = f"before\n{BEGIN}\nold\n{END}\nafter\n"
    once = replaced(page, "new\n")
    assert once == f"before\n{BEGIN}\n\nnew\n\n{END}\nafter\n"
    assert replaced(once, "new\n") == once
    with pytest.raises(ValueError, match="has no lines"):
        replaced("before\n", "new\n")


def test_trials_are_read_as_they_were_written_and_a_torn_line_is_left_out(tmp_path: Path) -> None:
    path = tmp_path / "trials.jsonl"
    assert read(path) == []
    written = [*answers("R.?"), *answers("x", number=1)]
    append(path, written[:2])
    append(path, written[2:])
    assert read(path) == written
    path.write_bytes(path.read_bytes()[:-9])
    assert read(path) == written[:-1]


def test_a_reading_becomes_a_trial_of_its_round_and_a_control_plants_nothing() -> None:
    plan = Round(number=3, planting=Planting(kind=Kind.MIXED, shares={"a": 0.1, "b": 0.0}), planted_ns={"a": 100.0})
    readings = [
        Reading(operator="a", answer=Answer.REGRESSED, said="", ratio=1.1),
        Reading(operator="b", answer=Answer.QUIET, said="", ratio=1.0),
        Reading(operator="a", answer=Answer.QUIET, said="", ratio=1.0, control=True),
    ]
    trials = trials_of("ours", plan, Judgement(readings=tuple(readings)), 12.0)
    assert [(one.operator, one.kind, one.share, one.spin_ns) for one in trials] == [
        ("a", Kind.MIXED, 0.1, 100.0),
        ("b", Kind.MIXED, 0.0, 0.0),
        ("a", Kind.CONTROL, 0.0, 0.0),
    ]

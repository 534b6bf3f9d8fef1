"""A comparison in words: whole outputs, wording by interval, what is folded away."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import jsonschema
import pytest
from speed_notation import REGRESSED, compare_document, compared, compared_run, effect

from opsdebug_ci.model.speed import COMPARE_SCHEMA, AlarmBound, Comparing
from opsdebug_ci.regress import wording
from opsdebug_ci.report import compare_text, encode, schema_text, speed

COMMITTED = Path(__file__).parents[2] / "docs" / "schema" / "opsdebug.compare.1.json"

EVERYTHING = """\
REGRESSED: layer_norm is 11 % slower [8, 14] than base 3fa9c21, confirmed in 8 fresh launches

operator    dims    dtype    against         base    head             change  detectable  launches   cost       verdict
layer_norm  S=128   float32  base 3fa9c21  810 us  900 us      +11 % [8, 14]       3.0 %       4+8  4.6 s     regressed
layer_norm  S=512   float32  base 3fa9c21  810 us  900 us      +10 % [8, 13]       3.0 %       4+8  4.6 s     regressed
gelu        N=4096  float32  base 3fa9c21  810 us  840 us     +4 % [-12, 22]        18 %         4  4.6 s  inconclusive
topk        N=64    float32  base 3fa9c21  810 us  850 us  +4.2 % [3.1, 5.3]       3.0 %       4+8  4.6 s     suspected
gone        N=8     float32  base 3fa9c21       -       -                  -           -         -  4.6 s       missing
fresh       N=8     float32  base 3fa9c21       -       -                  -           -         -  4.6 s           new
sum         N=64    float32  base 3fa9c21  810 us  650 us   -20 % [-22, -18]       3.0 %       4+8  4.6 s        faster
add         N=8     float32  base 3fa9c21  810 us  810 us  0.0 % [-1.0, 1.0]       2.2 %         4  4.6 s          same

regressed, needs a person:
  layer_norm S=128 float32: 11 % slower [8, 14] than base 3fa9c21 (+1 more)

suspected:
  topk N=64 float32: 4.2 % slower [3.1, 5.3] than base 3fa9c21

inconclusive:
  gelu N=4096 float32: 4 % slower [-12, 22] than base 3fa9c21; only 18 % slower or more would have shown

missing:
  gone: base has it, head does not

new:
  fresh: base does not have it

A/A control: 2 of 2 quiet; 0 false alarms in 318 so far: at most 0.94 %
note: topk[k=0] is not timed
cost: 24 processes, 61 s, builds 2 s, 7 operators

next: opsdebug profile layer_norm
"""


def test_one_of_everything() -> None:
    document = compare_document(
        compared_run(*REGRESSED, notes=("topk[k=0] is not timed",)),
        alarms=AlarmBound(alarms=0, of=318, upper=0.009376),
        next_="opsdebug profile layer_norm",
    )
    assert compare_text(document) == EVERYTHING


def test_all_the_same_says_what_would_have_shown() -> None:
    document = compare_document(compared_run(*REGRESSED[-1:], compared("mul N=8 same +1 [-2, 4] x4 sees 6")))
    text = compare_text(document)
    assert text.startswith("SAME: 2 operators same (6.0 % slower would have shown on each)\n")
    assert "A/A control: 2 of 2 quiet; no control was counted so far, so nothing bounds the rate" in text
    assert "needs a person" not in text


def test_nothing_compared_is_no_verdict() -> None:
    text = compare_text(compare_document(compared_run(controls="", complete=False)))
    assert text.startswith("INCONCLUSIVE: nothing was compared\n")
    assert "A/A control: none was timed;" in text
    assert (
        "cost: 24 processes, 61 s, builds 2 s, 0 operators; not everything planned was done within the budget" in text
    )


def test_a_contaminated_run_says_so_and_why() -> None:
    doubt = "add of the base was called regressed against itself"
    run = compared_run(
        compared("gelu N=8 inconclusive +30 [25, 35] x8"), controls="regressed inconclusive same", contaminated=doubt
    )
    text = compare_text(compare_document(run, alarms=AlarmBound(alarms=1, of=319, upper=0.014795)))
    assert text.startswith("INCONCLUSIVE: 1 operator inconclusive, nothing is believed in this run\n")
    assert "  gelu N=8 float32: 30 % slower [25, 35] than base 3fa9c21; not believed in this run\n" in text
    assert f"contaminated: {doubt}; nothing is called regressed in this run\n" in text
    assert (
        "A/A control: 1 of 3 quiet, 1 raised a false alarm, 1 could not tell; "
        "1 false alarm in 319 so far: at most 1.5 %\n"
    ) in text


def test_what_showed_but_was_not_confirmed_is_not_called_noisy() -> None:
    text = compare_text(compare_document(compared_run(compared("gelu N=8 inconclusive +1285 [1195, 1465] x4 sees 13"))))
    line = "gelu N=8 float32: 1285 % slower [1195, 1465] than base 3fa9c21; not confirmed in the time there was\n"
    assert line in text
    text = compare_text(compare_document(compared_run(compared("gelu N=8 inconclusive +30 [25, 35] x4"))))
    assert "gelu N=8 float32: 30 % slower [25, 35] than base 3fa9c21; not confirmed in the time there was\n" in text


def test_long_lists_are_cut_and_v_shows_them() -> None:
    run = compared_run(*(compared(f"op{number} N=8 regressed +11 [8, 14] x8") for number in range(60)))
    document = compare_document(run)
    short, long = compare_text(document), compare_text(document, 1)
    assert "... and 10 more: -v lists them\n" in short
    assert "  ... and 40 more: -v lists them\n" in short
    assert "-v lists them" not in long
    assert "op59[N=8 float32] (change): said in full\n" in long
    assert "add[N=8 float32] (control): control is same\n" in long


def test_vv_shows_every_launch() -> None:
    text = compare_text(compare_document(compared_run(REGRESSED[0], controls="")), 2)
    assert (
        "layer_norm[S=128 float32] (change)\n"
        "  launch    arm      min     p10  median  samples  calls  clocks\n"
        "  screen 0  base  810 us  820 us  840 us       24      2       -\n"
    ) in text


def test_a_rung_of_the_ladder_is_a_line_of_its_own() -> None:
    rung = compared("gelu N=8 regressed +16 [12, 20] x8", why=Comparing.LADDER, base="a week ago")
    text = compare_text(compare_document(compared_run(REGRESSED[0], rung)))
    assert "  gelu N=8 float32: 16 % slower [12, 20] than a week ago bbbbbbb\n" in text
    assert "confirmed in 8 fresh launches; and 0 more" not in text


def test_what_came_from_the_code_under_test_does_nothing_to_a_terminal() -> None:
    evil = compared("gelu N=8 regressed +11 [8, 14] x8", statement="\x1b[31mred\nline")
    evil = replace(evil, case=replace(evil.case, operator="ge\x1b[2Jlu\u202e"))
    text = compare_text(compare_document(compared_run(evil)), 2)
    assert "\x1b" not in text and "\u202e" not in text
    assert "gelu is 11 % slower" in text


@pytest.mark.parametrize(
    ("percents", "said", "slower"),
    [
        ((11, 8, 14), "+11 % [8, 14]", "11 % slower [8, 14]"),
        ((9.4, 8, 9.9), "+9.4 % [8.0, 9.9]", "9.4 % slower [8.0, 9.9]"),
        ((-20, -22, -18), "-20 % [-22, -18]", "20 % faster [18, 22]"),
        ((-1, -3, 1), "-1.0 % [-3.0, 1.0]", "1.0 % faster [-1.0, 3.0]"),
        ((0, -0.01, 0.01), "0.0 % [0.0, 0.0]", "0.0 % slower [0.0, 0.0]"),
        ((250, 200, 300), "+250 % [200, 300]", "250 % slower [200, 300]"),
    ],
)
def test_an_effect_is_never_said_without_its_interval(
    percents: tuple[float, float, float], said: str, slower: str
) -> None:
    found = effect(*percents)
    assert (speed.change(found), speed.moved(found)) == (said, slower)
    assert wording.change(found) == said  # what a stored sentence says and what a table says are one


@pytest.mark.parametrize(
    ("upper", "said"), [(0.009376, "0.94 %"), (0.0036116, "0.37 %"), (0.01, "1 %"), (0.95, "95 %"), (1.0, "100 %")]
)
def test_a_bound_is_rounded_up(upper: float, said: str) -> None:
    assert speed.alarm_text(AlarmBound(alarms=0, of=9, upper=upper)).endswith(f"at most {said}")


@pytest.mark.parametrize("upper", [0.0, -1.0, 5e-324, 1e-310, 1e307, 1.7e308])
def test_a_bound_that_a_stranger_wrote_is_a_share_all_the_same(upper: float) -> None:
    said = speed.alarm_text(AlarmBound(alarms=0, of=9, upper=upper))
    assert said.endswith("at most 100 %" if upper > 1 else "at most 1e-07 %")


def test_the_committed_schema_accepts_the_document() -> None:
    assert COMMITTED.read_text() == schema_text(COMPARE_SCHEMA)
    validator = jsonschema.Draft202012Validator(json.loads(COMMITTED.read_text()))
    fields = json.loads(encode(compare_document(compared_run(*REGRESSED))))
    assert list(validator.iter_errors(fields)) == []
    fields["run"]["comparisons"][0]["verdict"] = "slow"
    assert list(validator.iter_errors(fields)) != []

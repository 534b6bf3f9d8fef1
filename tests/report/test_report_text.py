"""The text report: whole outputs."""

# ruff: noqa: E501 - whole outputs as they are

import re
from dataclasses import replace

import pytest
from judge_notation import ended, judged, output, quantiles, raised, ran, vote
from report_notation import BAD, GOOD, demo, run_document

from opsdebug_ci.model import Gate, Refusal, Stage
from opsdebug_ci.model.observation import Durations
from opsdebug_ci.report import markdown, text
from opsdebug_ci.report.readings import output_lines
from opsdebug_ci.report.table import aligned


def scrubbed(document, verbosity=0):
    return re.sub("v2:[0-9a-f]{16}", "v2:FINGERPRINT", text(document, verbosity))


def test_one_of_everything():
    assert (
        scrubbed(demo())
        == """\
FAIL: 4 of 10 cases of 7 operators failed; 3 pass, 1 error, 1 inconclusive, 1 skipped

operator  cases  pass  fail  other     worst error  ULP P99
softmax       2     0     2      0  250 x tol, red        3
gelu          1     0     1      0               -        -
scan          1     0     1      0               -        -
erf           2     0     0      2             red        -
conv2d        1     0     0      1               -        -
add           2     2     0      0           amber        1
mine          1     1     0      0               0        -

failures:
  1. softmax: unknown: `out0`: 12 of 16,384 elements (0.0732 %) are wrong; worst at [3, 17]: got 1.25, wanted 1, allowed 0.001 (error 250 x that)
     mismatch in out0; 2 cases in float16
     next: opsdebug run softmax --dims B=1,S=4,H=8 --dtype float16 --seed 0 --inputs normal --layout contiguous
  2. gelu: exception: the operator raised ValueError: bad shape (at ops.py:7 softmax)
     exception:ValueError, in `softmax ops.py`; 1 case in float32
     next: opsdebug run gelu --dims B=2 --dtype float32 --seed 0 --inputs normal --layout contiguous
  3. scan: hang: did not finish within the time limit while the operator ran
     timeout; 1 case in float32
     next: opsdebug run scan --dims N=5 --dtype float32 --seed 0 --inputs normal --layout contiguous

not settled:
  inconclusive, 1x erf: `out0`: compared with `precise`, `torch` differs on 5 elements, by up to 8 x what references may, and it accepts 2 elements which `precise` rejects
     next: opsdebug run erf --dims B=1,S=4,H=8 --dtype float32 --seed 0 --inputs normal --layout contiguous
  error, 1x erf: the inputs could not be made: `inputs` returned None
     next: opsdebug run erf --dims B=1,S=4,H=8 --dtype float32 --seed 1 --inputs normal --layout contiguous

skipped:
  1x conv2d: no C compiler here

never judged: conv2d (every case skipped)
amber: 1 passing, beyond the statistical tolerance, within the worst case (wrong_rounding 1)
own tolerance (atol, rtol) instead of ours: mine
unchanged, not run: matmul, mean
not here: c_sum: no C compiler was found

next: opsdebug run softmax --dims B=1,S=4,H=8 --dtype float16 --seed 0 --inputs normal --layout contiguous
"""
    )


def test_every_case_with_its_readings():
    document = run_document([judged(ran(BAD), dtype="float16"), judged(ran(GOOD), operator="add")])
    assert (
        scrubbed(document, 2)
        == """\
FAIL: 1 of 2 cases of 2 operators failed; 1 pass

operator  cases  pass  fail  other     worst error  ULP P99
softmax       1     0     1      0  250 x tol, red        3
add           1     1     0      0       0.5 x tol        1

failures:
  1. softmax: unknown, blames the operator, 1 case, v2:FINGERPRINT
     `out0`: 12 of 16,384 elements (0.0732 %) are wrong; worst at [3, 17]: got 1.25, wanted 1, allowed 0.001 (error 250 x that)
     mismatch in out0; 1 case in float16
     rel error P50 0, P95 0.001, P99 0.002, max 0.25; ULP P50 0, P95 1, P99 3, max 6
     15 of 16,384 beyond tolerance, worst at [3, 17]
     next: opsdebug run softmax --dims B=1,S=4,H=8 --dtype float16 --seed 0 --inputs normal --layout contiguous

cases:
  FAIL softmax[B=1,S=4,H=8 float16 contiguous normal seed=0 cpu]
    reference precise, confidence high
    out0: float16 [128, 128], compared as softmax
      zone                red, 15 of 16,384 beyond tolerance, 12 beyond the worst case
      worst               250 x tol, red at [3, 17]: got 1.25, wanted 1, allowed 0.001 (rounding 0.0005, internal 0.0005, worst case 0.002)
      cosine              1 - 0.0005 (coarse agreement: at least 0.999)
      max abs error       0.25 at [0, 0]
      rel error           P50 0, P95 0.001, P99 0.002, max 0.25
      ULP                 P50 0, P95 1, P99 3, max 6 (above 4: an intermediate result may have lost precision)
      significant digits  3.0
      misrounding rate    31.2 %
      bound               rounding + internal
    unknown 0.20 (operator): `out0`: 12 of 16,384 elements (0.0732 %) are wrong; worst at [3, 17]: got 1.25, wanted 1, allowed 0.001 (error 250 x that)
  PASS add[B=1,S=4,H=8 float32 contiguous normal seed=0 cpu]
    reference precise, confidence high
    out0: float32 [4, 25], compared as softmax
      zone                green, 0 of 100 beyond tolerance, 0 beyond the worst case
      worst               0.5 x tol at [3, 17]: got 1.0000001, wanted 1, allowed 2e-07 (rounding 1e-07, internal 1e-07, worst case 4e-07)
      cosine              1 (high confidence: at least 0.9999)
      max abs error       0 at [0, 0]
      rel error           P50 0, P95 1e-08, P99 2e-08, max 5e-08
      ULP                 P50 0, P95 1, P99 1, max 2
      significant digits  7.2
      misrounding rate    0.04 %
      bound               rounding + internal

next: opsdebug run softmax --dims B=1,S=4,H=8 --dtype float16 --seed 0 --inputs normal --layout contiguous
"""
    )


def test_everything_passed():
    document = run_document([judged(ran(GOOD), operator="add", seed=seed) for seed in (0, 1)], stage=Stage.RUN)
    assert (
        text(document)
        == """\
PASS: 0 of 2 cases of 1 operator failed; 2 pass

operator  cases  pass  fail  other  worst error  ULP P99
add           2     2     0      0    0.5 x tol        1

next: opsdebug ci --stage smoke
"""
    )


def test_nothing_was_judged():
    assert (
        text(run_document([]))
        == """\
INCONCLUSIVE: 0 of 0 cases of 0 operators failed; nothing was judged

next: opsdebug doctor
"""
    )


def test_verbosity_one_leaves_out_cases_that_passed():
    document = run_document([judged(ran(BAD), dtype="float16"), judged(ran(GOOD), operator="add")])
    assert "  PASS add" not in text(document, 1) and "  FAIL softmax" in text(document, 1)
    assert "cases:" not in text(document)


def test_failures_that_do_not_gate_are_said_not_to():
    document = run_document([judged(raised()), judged(ran(GOOD), seed=1)], gate=Gate.NEVER)
    assert text(document).splitlines()[0] == "PASS: 1 of 2 cases of 1 operator failed; 1 pass; the failures do not gate"


def test_a_run_cut_short_is_not_a_pass():
    document = run_document([judged(ran(GOOD))], planned=5)
    assert text(document).splitlines()[0] == (
        "INCONCLUSIVE: 0 of 1 case of 1 operator failed; not every planned case was judged; 1 pass"
    )


def test_three_new_causes_are_told_and_what_is_known_is_counted_unless_asked():
    document = run_document([judged(raised(), operator=f"op{number}") for number in range(25)])
    assert "  and 22 more causes: -v lists them" in text(document)
    groups = [replace(group, known=number < 24) for number, group in enumerate(document.summary.groups)]
    known = replace(document, summary=replace(document.summary, groups=tuple(groups)))
    told = text(known).split("failures:\n")[1].split("\n\n")[0].splitlines()
    assert told[0].startswith(f"  1. {groups[24].operator}: exception: the operator raised")
    assert told[-1] == "  and 24 known causes: -v lists them"
    assert "  25. op24: exception" in text(document, 1) or "  25. op9: exception" in text(document, 1)


def shown_reasons(document, verbosity=0):
    """Lines below `not settled`."""
    found = text(document, verbosity).split("not settled:\n")[1].split("\n\n")[0]
    return found.splitlines()


def disputed(operator, seed, elements, disagreement):
    torch = vote("torch", elements=elements, disagreement=disagreement, sides=1)
    return judged(ran(output(disputed=1, votes=[torch])), operator=operator, seed=seed)


def test_reasons_that_differ_by_their_numbers_are_one():
    document = run_document([disputed("erf", seed, 10**seed, 8.5 + seed) for seed in range(8)])
    assert shown_reasons(document) == [
        "  inconclusive, 8x erf: `out0`: compared with `precise`, `torch` differs on 1 element, by up to 8.5 x what references may, and it accepts 1 element which `precise` rejects",
        "     next: opsdebug run erf --dims B=1,S=4,H=8 --dtype float32 --seed 0 --inputs normal --layout contiguous",
    ]


def test_reasons_of_another_kind_or_operator_stay_apart():
    cases = [disputed("erf", 0, 2, 8.0), disputed("erf", 1, 2, 0.5), disputed("gelu", 2, 2, 8.0)]
    named = [judged(ended("inputs_broken", reason=f"`x{number}` is missing"), operator="erf") for number in (0, 1)]
    firsts = [line.split(":")[0] for line in shown_reasons(run_document(cases + named)) if "next:" not in line]
    assert firsts == [
        "  inconclusive, 1x erf",
        "  inconclusive, 1x erf",
        "  inconclusive, 1x gelu",
        *["  error, 1x erf"] * 2,
    ]


def test_only_twenty_lines_of_reasons_unless_asked():
    document = run_document([disputed(f"op{number}", 0, 1, 8.0) for number in range(25)])
    shown = shown_reasons(document)
    assert (len(shown), shown[-1]) == (21, "  ... and 15 more: -v lists them")
    assert len(shown_reasons(document, 1)) == 50


def test_an_operator_with_one_judged_case_was_judged():
    skipped = [judged(ended("skipped", reason="no"), operator=name) for name in ("a", "b", "a")]
    assert "never judged: a, b (every case skipped)\n" in text(run_document(skipped))
    assert "never judged: b (every case skipped)\n" in text(run_document([*skipped, judged(ran(GOOD), operator="a")]))
    assert "never judged" not in text(run_document([judged(ran(GOOD))]))


def test_what_an_operator_refuses_is_told_once_whatever_the_words():
    refused = [judged(replace(raised(message=words), refusal=Refusal.EMPTY), seed=n) for n, words in enumerate("abc")]
    document = run_document([*refused, judged(replace(raised(), refusal=Refusal.LAYOUT), seed=3)])
    shown = [line for line in text(document).splitlines() if "x softmax" in line]
    assert [line.partition(":")[0] for line in shown] == ["  3x softmax", "  1x softmax"]
    assert "it raised ValueError: a" in shown[0]


def test_a_run_says_that_nothing_of_an_operator_was_judged():
    refused = judged(replace(raised(), refusal=Refusal.LAYOUT))
    document = run_document([judged(ran(GOOD), operator="gelu"), refused], whole=True)
    first = text(document).splitlines()[0]
    assert (
        first == "INCONCLUSIVE: 0 of 2 cases of 2 operators failed; nothing of 1 operator was judged; 1 pass, 1 skipped"
    )


def test_names_cannot_reach_the_terminal():
    evil = judged(raised(message="\x1b]0;owned\x07 \u202e \n\nPASS"), operator="\x1b[31mred\nPASS: all")
    shown = text(run_document([evil]), 2)
    assert "\x1b" not in shown and "\u202e" not in shown
    assert not any(line.startswith("PASS") for line in shown.splitlines())


def lines(dtype="float32", kind="softmax", **facts):
    document = run_document([judged(ran(output(dtype=dtype, kind=kind, **facts)))])
    return "\n".join(output_lines(document.observations[0].outputs[0]))


@pytest.mark.parametrize(
    ("cosine", "meaning"),
    [
        (1.0, "1 (high confidence: at least 0.9999)"),
        (0.9999, "1 - 0.0001 (high confidence: at least 0.9999)"),
        (0.9998, "1 - 0.0002 (coarse agreement: at least 0.999)"),
        (0.5, "1 - 0.5 (below 0.999: another direction)"),
        (None, "- (undefined: not finite)"),
    ],
)
def test_cosine_stands_beside_its_meaning(cosine, meaning):
    assert f"cosine              {meaning}" in lines(cosine=cosine)


@pytest.mark.parametrize(
    ("dtype", "top", "meaning"),
    [
        ("float16", 1, " (at most 1: as good as float16 gets)"),
        ("float16", 4, ""),
        ("float16", 5, " (above 4: an intermediate result may have lost precision)"),
        ("float32", 5, ""),
    ],
)
def test_ulp_of_float16_stands_beside_its_meaning(dtype, top, meaning):
    assert f"P99 1, max {top}{meaning}\n" in lines(dtype, ulp=quantiles(f"0 1 1 {top}"))


@pytest.mark.parametrize(("kind", "shown"), [("transcendental", True), ("log_softmax", True), ("matmul", False)])
def test_significant_digits_are_for_exponentials(kind, shown):
    assert ("significant digits" in lines(kind=kind, significant_digits=3.0)) is shown


def test_readings_without_meaning_are_left_out():
    shown = lines("int32", "exact")
    assert "ULP" not in shown and "misrounding" not in shown and "significant" not in shown


def test_wrong_classes_are_a_reading():
    assert "wrong class         normal for nan (3x, first at [0, 5])" in lines(rejected=3, classes="nan->normal:3")


def test_empty_output_says_what_was_compared():
    assert lines(compared=0, shape=(0, 4)).splitlines()[1] == "  0 elements compared: only shape and dtype were"


def test_table_lines_up_with_wide_characters():
    assert aligned(("name", "n"), [("算子", "1"), ("e\u0301", "10")]) == ["name   n", "算子   1", "e\u0301     10"]


def test_report_is_the_same_every_time():
    assert text(demo(), 2) == text(replace(demo()), 2)


def test_a_group_says_where_it_begins_and_how_to_replay_it():
    document = run_document([judged(ran(output(rejected=1, over_tolerance=1)), operator="gelu")])
    group = replace(
        document.summary.groups[0],
        boundary="fails at N=129, passes at N=128",
        separators=("N % 16 != 0 (14 of 14 failing, 0 of 58 passing)",),
        why="same step, tail zone",
        replay="opsdebug replay abababababab",
    )
    told = replace(document, summary=replace(document.summary, groups=(group,)))
    lines = [line.strip() for line in text(told, 1).splitlines()]
    start = lines.index("fails at N=129, passes at N=128")
    assert lines[start + 1 : start + 3] == [f"fails where {group.separators[0]}", group.why]
    assert "replay: opsdebug replay abababababab" in lines
    short = [line.strip() for line in text(told).splitlines()]
    assert short[short.index("replay: opsdebug replay abababababab") - 1] == "; ".join(lines[start : start + 3])
    assert "Reproduce: `opsdebug replay abababababab`" in markdown(told)


@pytest.mark.parametrize(
    ("known", "since", "shown"),
    [
        (True, "abc1234" + "0" * 33, ", known since abc1234"),
        (True, "", ", known"),
        (False, "", ""),
    ],
)
def test_a_group_says_since_when_it_is_known(known, since, shown):
    document = run_document([judged(raised(), operator="gelu")])
    group = replace(document.summary.groups[0], known=known, since=since)
    told = replace(document, summary=replace(document.summary, groups=(group,)))
    marked = shown.replace("abc1234", "`abc1234`")
    assert f"1. gelu: exception, blames the operator, 1 case, v2:FINGERPRINT{shown}\n" in scrubbed(told, 1)
    assert f"- **gelu**: `exception`, blames the operator, 1 case{marked}  \n  the operator raised" in markdown(told)


def test_operators_that_take_long_are_named_the_slowest_first():
    def taking(name, seconds):
        spent = Durations(total_ns=round(seconds * 1e9), function_ns=0, reference_ns=0)
        return judged(replace(ran(GOOD), durations=spent), operator=name)

    document = run_document([taking("a", 3.0), taking("b", 7.0), taking("a", 6.0), taking("quick", 0.1)])
    assert text(document).splitlines().count("slowest: a 9 s, b 7 s") == 1
    assert "slowest" not in text(run_document([taking("quick", 0.1)]))

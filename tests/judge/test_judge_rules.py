"""Rules: each fires on a planted defect with its numbers, and is silent on the clean twin."""

import shlex
from dataclasses import replace

import pytest
from judge_notation import case, causes, ended, judged, output, process, raised, ran, vote

from opsdebug_ci.judge.command import rerun
from opsdebug_ci.judge.rules import CAUSES, ENDINGS, REMARKS, Subject
from opsdebug_ci.model import Contract, MemoryReading, ReferenceKind, Side, Verdict
from opsdebug_ci.model.case import Case
from opsdebug_ci.model.clue import Clue
from opsdebug_ci.model.hunt import HuntReading
from opsdebug_ci.model.memory import AliasReading, ForeignRead, GuardFacts, LayoutChange
from opsdebug_ci.model.vocabulary import Cause, Family, Layout, Profile, Role

OUTSIDE = MemoryReading(argument="x", side=Side.GAP, bytes_changed=64, first_offset=-16)
BEHIND = MemoryReading(
    argument="out0",
    side=Side.TAIL,
    role=Role.OUTPUT,
    bytes_changed=4,
    first_offset=24,
    nearest_bytes=1,
    farthest_bytes=4,
    value="0",
    step="aten.add #3",
    place="ops.py:12",
)
READ = ForeignRead(side=Side.TAIL, argument="x", output="out0", elements=6, fill="NaN")
GUARDED = GuardFacts(profile=Profile.QUICK, zone_bytes=4096, launches=3, scratch=True)
INSIDE = MemoryReading(argument="x", side=Side.INSIDE, bytes_changed=4, first_offset=8)

PLANTED = {
    "exception": (
        raised(),
        "exception",
        "the operator raised ValueError: bad shape (at ops.py:7 softmax)",
    ),
    "crash": (
        ended("crashed", process=process()),
        "crash_segfault",
        "the process died of SIGSEGV while the operator ran",
    ),
    "crash in a known line": (
        ended("crashed", process=process(place="ops.py:20")),
        "crash_segfault",
        "the process died of SIGSEGV while the operator ran (at ops.py:20)",
    ),
    "exit": (
        ended("crashed", process=process(signal=None, exit_code=3)),
        "crash_segfault",
        "the process died of its own exit with status 3 while the operator ran",
    ),
    "hang": (
        ended("timed_out", process=process(signal=None), reason="20 s"),
        "hang",
        "did not finish within the time limit while the operator ran: 20 s",
    ),
    "hang with its line": (
        ended("timed_out", process=process(signal=None, place="ops.py:7"), reason="20 s"),
        "hang",
        "did not finish within the time limit while the operator ran (at ops.py:7): 20 s",
    ),
    "memory limit": (ended("out_of_memory", reason="2 GiB"), "unknown", "ran out of memory: 2 GiB"),
    "wrong dtype": (
        ran(output(wanted_dtype="float16")),
        "dtype_promotion",
        "`out0` has dtype float32, wanted float16 as reference `torch` returned it",
    ),
    "stretched shape": (
        ran(output(shape=(4, 25), wanted_shape=(4, 1))),
        "broadcasting",
        "`out0` has shape [4, 25], wanted [4, 1] as reference `precise` returned",
    ),
    "missing axis": (
        ran(output(shape=(4,), wanted_shape=(4, 1))),
        "broadcasting",
        "`out0` has shape [4], wanted [4, 1] as reference `precise` returned",
    ),
    "permuted shape": (
        ran(output(shape=(25, 4), wanted_shape=(4, 25))),
        "layout_permutation",
        "`out0` has shape [25, 4], wanted [4, 25] as reference `precise` returned",
    ),
    "structure": (
        ran(structure="2 outputs, wanted 1"),
        "unknown",
        "the outputs differ in structure: 2 outputs, wanted 1",
    ),
    "dropped NaN": (
        ran(output(rejected=3, classes="nan->normal:2 +inf->nan:1")),
        "nan_inf_handling",
        "`out0`: 3 of 100 elements (3 %) are of the wrong class: "
        "normal for nan (2x, first at [0, 5]), nan for +inf (1x, first at [0, 5])",
    ),
    "flushed subnormal": (
        ran(output(rejected=2, classes="subnormal->+0:2")),
        "denormal_signed_zero",
        "`out0`: 2 of 100 elements (2 %) are of the wrong class: +0 for subnormal (2x, first at [0, 5])",
    ),
    "lost sign of zero": (
        ran(output(rejected=1, classes="-0->+0:1")),
        "denormal_signed_zero",
        "`out0`: 1 of 100 elements (1 %) is of the wrong class: +0 for -0 (1x, first at [0, 5])",
    ),
    "unwritten": (
        ran(output(), unwritten=1024),
        "uninitialised",
        "1,024 output elements were never written: they follow the fill of fresh memory",
    ),
    "mutated": (
        ran(output(), memory=(INSIDE,)),
        "input_mutated",
        "argument `x` was written (4 bytes, first at offset 8) although `Contract.mutates` does not list it",
    ),
    "out of bounds": (
        ran(output(), memory=(OUTSIDE,)),
        "oob_write",
        "the operator wrote 64 bytes between or around the elements of `x`, in its own storage (first at byte -16 from "
        "its first element)",
    ),
    "behind the output": (
        ran(output(), memory=(BEHIND,), guard=GUARDED),
        "oob_write",
        "the operator wrote 4 bytes behind `out0` (nearest 1 byte past its end), value 0, in step `aten.add #3` "
        "(ops.py:12)",
    ),
    "before the output": (
        ran(output(), memory=(replace(BEHIND, side=Side.HEAD, nearest_bytes=8, step="between a and b"),)),
        "oob_write",
        "the operator wrote 4 bytes before `out0` (nearest 8 bytes before its beginning), value 0, between a and b "
        "(ops.py:12)",
    ),
    "read behind": (
        ran(output(), reads=(READ,)),
        "oob_read",
        "6 elements of `out0` follow what lies behind `x`: other bits with NaN there",
    ),
    "read somewhere": (
        ran(output(), reads=(replace(READ, argument=None, elements=1),)),
        "oob_read",
        "1 element of `out0` follows what lies around the arguments: other bits with NaN there",
    ),
    "gap": (
        ran(output(), reads=(replace(READ, side=Side.GAP),)),
        "oob_read",
        "6 elements of `out0` follow what lies between the elements of `x`, in its storage: other bits with NaN there",
    ),
    "turned": (
        ran(output(), layout_changes=(LayoutChange(tensor="x", field="shape", before="(2, 4)", after="(4, 2)"),)),
        "input_mutated",
        "the shape of argument `x` was (2, 4) and is (4, 2) after the call, although `Contract.mutates` does not list "
        "it",
    ),
    "computed from garbage": (
        ran(output(), unwritten=6, from_scratch=6),
        "uninitialised",
        "6 output elements were computed from memory nobody wrote: they follow the fill of fresh memory",
    ),
    "race": (
        ran(output(), repeat_mismatches=12),
        "nondeterminism_race",
        "12 output elements changed their bits between two launches on the same inputs, "
        "although the contract promises `deterministic=True`",
    ),
    "hunted race": (
        ran(output(), repeat_mismatches=2, hunt=HuntReading(launches=1000, odd=3, distinct=2, first_odd=412)),
        "nondeterminism_race",
        "2 output elements changed their bits in 3 of 1,000 launches on the same inputs (0.3 %, 95 %: 0.102 to 0.878 "
        "%), first in launch 412, although the contract promises `deterministic=True`",
    ),
    "hunted NaN": (
        ran(
            output(rejected=1, classes="normal->nan:1"),
            repeat_mismatches=1,
            hunt=HuntReading(launches=50, odd=2, distinct=2, first_odd=18),
        ),
        "nondeterminism_race",
        "1 output element changed its bits in 2 of 50 launches on the same inputs (4 %, 95 %: 1.1 to 13.5 %), first in "
        "launch 18, although the contract promises `deterministic=True`",
    ),
    "NaN that comes and goes": (
        ran(output(rejected=1, classes="normal->nan:1"), repeat_mismatches=1),
        "nondeterminism_race",
        "1 output element changed its bits between two launches on the same inputs, although the contract promises "
        "`deterministic=True`",
    ),
    "lost device": (
        raised("AcceleratorError", "CUDA error: an illegal memory access was encountered"),
        "crash_segfault",
        "the operator lost the device: AcceleratorError: CUDA error: an illegal memory access was encountered "
        "(at ops.py:7 softmax)",
    ),
    "wrong value": (
        ran(output(rejected=12, compared=16384, bad="1.25 for 1 allowed 0.001 at 3,17")),
        "unknown",
        "`out0`: 12 of 16,384 elements (0.0732 %) are wrong; worst at [3, 17]: got 1.25, wanted 1, "
        "allowed 0.001 (error 250 x that)",
    ),
    "impossible sum": (
        ran(output(rejected=1, kind="reduction", bad="1.25 for 1 allowed 0.001 at 0 [0.01]")),
        "unknown",
        "`out0`: 1 of 100 elements (1 %) are wrong; worst at [0]: got 1.25, wanted 1, "
        "allowed 0.001 (error 250 x that); rounding sums in float32 does not explain it",
    ),
    "float64 digits": (
        ran(output(rejected=1, dtype="float64", bad="0.30000000000000004 for 0.3 allowed 1e-17")),
        "unknown",
        "`out0`: 1 of 100 elements (1 %) are wrong; worst at [0]: got 0.30000000000000004, "
        "wanted 0.29999999999999999, allowed 1e-17 (error 5.55 x that)",
    ),
}


@pytest.mark.parametrize("name", PLANTED)
def test_planted_defect_is_named(name):
    observation, cause, statement = PLANTED[name]
    top = judged(observation).findings[0]
    assert (str(top.cause), top.statement) == (cause, statement)


def test_a_victim_of_a_lost_device_passes_with_a_remark():
    judgement = judged(ran(output(), rerun="in a process that had run other cases before, it ended in: CUDA error"))
    (remark,) = judgement.findings
    assert (judgement.verdict, str(remark.blame)) == (Verdict.PASS, "runtime")
    assert remark.statement.endswith("it ended in: CUDA error; alone in a fresh process it did not")


CLEAN = [ran(output()), ran(output(kind="reduction", bad="1.0001 for 1 allowed 0.001")), ended("skipped", reason="-")]


@pytest.mark.parametrize("rule", [*ENDINGS, *CAUSES, *REMARKS], ids=lambda rule: rule.__name__)
@pytest.mark.parametrize("observation", CLEAN)
def test_every_rule_is_silent_on_clean_cases(rule, observation):
    subject = Subject(case=case(), observation=observation, contract=Contract())
    assert list(rule(subject)) == []


@pytest.mark.parametrize(
    ("planted", "twin"),
    [
        ("dropped NaN", ran(output(rejected=3, bad="2 for 1 allowed 0.1"))),
        ("flushed subnormal", ran(output(rejected=2, classes="nan->normal:2"))),
        ("wrong dtype", ran(output(wanted_shape=(4, 26)))),
        ("stretched shape", ran(output(wanted_dtype="float16"))),
        ("mutated", ran(output(), memory=(OUTSIDE,))),
        ("out of bounds", ran(output(), memory=(INSIDE,))),
        ("unwritten", ran(output(rejected=2))),
        ("race", ran(output(rejected=2))),
        ("crash", ended("timed_out", process=process(signal=None))),
        ("hang", ended("crashed", process=process())),
    ],
)
def test_twin_with_another_defect_does_not_get_this_cause(planted, twin):
    assert PLANTED[planted][1] not in causes(judged(twin))


def test_failure_with_a_zero_dim_is_about_that_and_its_twin_is_not():
    assert causes(judged(raised(), dims="B=0,S=4"))[:2] == ["empty_or_zero_dim", "exception"]
    assert causes(judged(raised(), dims="B=1,S=4")) == ["exception"]
    assert causes(judged(ended("skipped"), dims="B=0")) == []


def test_empty_output_passes_with_a_low_finding_that_says_what_was_compared():
    judgement = judged(ran(output(compared=0, shape=(0, 8))), dims="B=0,H=8")
    (finding,) = judgement.findings
    assert judgement.verdict is Verdict.PASS
    assert (str(finding.cause), str(finding.blame), finding.confidence) == ("empty_or_zero_dim", "input", 0.2)
    assert finding.statement == "`out0` has no elements: only shape [0, 8] and dtype float32 were compared"


@pytest.mark.parametrize(
    ("kind", "cause"),
    [
        ("reduction", "accumulation_order"),
        ("elementwise", "wrong_rounding"),
        ("transcendental", "approximation"),
        ("auto", "unknown"),
    ],
)
def test_amber_passes_and_names_what_would_remove_it(kind, cause):
    reading = output(zone="amber", kind=kind, over_tolerance=3, bad="1.015 for 1 allowed 0.01 at 2,2")
    judgement = judged(ran(reading))
    (finding,) = judgement.findings
    assert (judgement.verdict, str(finding.cause)) == (Verdict.PASS, cause)
    assert "3 of 100 elements (3 %)" in finding.statement and "within the worst-case bound" in finding.statement


def test_own_tolerance_is_stated_and_promises_nothing_about_summation():
    reading = output(rejected=1, kind="reduction", bad="1.25 for 1 allowed 0.001 at 0 [0.001]")
    statement = judged(ran(reading), Contract(atol=1e-3)).findings[0].statement
    assert "allowed 0.001 by your own atol=0.001 (error 250 x that)" in statement
    assert "summation" not in statement


@pytest.mark.parametrize(
    ("kind", "contract", "dtype", "ending"),
    [
        ("scan", Contract(accumulate="float16"), "float16", "; rounding sums in float16 does not explain it"),
        ("matmul", Contract(), "float64", "; rounding sums in float64 does not explain it"),
        ("matmul", Contract(allow=("tf32",)), "float32", "(error 250 x that)"),
        ("elementwise", Contract(), "float32", "(error 250 x that)"),
    ],
)
def test_the_strongest_sentence_is_only_said_where_its_bound_holds(kind, contract, dtype, ending):
    reading = output(rejected=1, kind=kind, bad="1.25 for 1 allowed 0.001 at 0 [0.01]")
    assert judged(ran(reading), contract, dtype=dtype).findings[0].statement.endswith(ending)


def test_values_wrong_beside_classes_lower_confidence():
    alone = judged(ran(output(rejected=3, classes="nan->normal:3"))).findings[0]
    among = judged(ran(output(rejected=50, classes="nan->normal:3"))).findings[0]
    unwritten = judged(ran(output(rejected=3, classes="normal->nan:3"), unwritten=3))
    assert (alone.confidence, among.confidence) == (0.9, 0.5)
    assert causes(unwritten) == ["uninitialised", "nan_inf_handling"]


def test_findings_are_ranked_and_causes_stand_before_remarks():
    reading = output(rejected=4, classes="nan->normal:4", disputed=2, votes=[vote("torch")])
    judgement = judged(ran(reading, memory=(OUTSIDE,), answered="torch precise naive!"))
    assert causes(judgement) == ["oob_write", "nan_inf_handling", "exception", "unknown"]


def test_broken_memory_that_shows_later_says_so():
    finding = judged(ended("crashed", process=process("reference", "SIGABRT"))).findings[0]
    assert finding.confidence == 0.5
    assert "after the operator had run: most likely it overwrote memory" in finding.statement


def test_long_exception_is_one_short_line():
    statement = judged(raised(message="a\nb " * 500)).findings[0].statement
    assert "\n" not in statement and len(statement) < 250


def test_rerun_is_exactly_the_case():
    assert rerun(case("gelu", dims="B=1,S=0", dtype="bfloat16", inputs="ties", layout="padded", seed=7)) == (
        "opsdebug run gelu --dims B=1,S=0 --dtype bfloat16 --seed 7 --inputs ties --layout padded"
    )


def test_rerun_leaves_out_what_the_operator_decides_and_names_a_single_reference():
    own = Case(
        operator="op",
        dims={},
        dtype="float32",
        layout=Layout.OWN,
        inputs=Family.OWN,
        seed=0,
        checks=(ReferenceKind.NAIVE,),
    )
    assert rerun(own) == "opsdebug run op --dtype float32 --seed 0 --verifier reference_naive"


@pytest.mark.parametrize("name", ["a b", "x;rm -rf ~", "$(id)", "`id`", "it's", "naïve", "-v", "a*[b]?"])
def test_rerun_quotes_names_so_that_a_shell_gives_them_back(name):
    words = shlex.split(rerun(case(name)))
    assert words[2] == (f"--operator={name}" if name.startswith("-") else name)


def test_race_is_rerun_with_more_launches():
    assert judged(ran(output(), repeat_mismatches=1)).findings[0].next.endswith(" --repeat 10")


@pytest.mark.parametrize(
    ("dtype", "wanted", "advice"),
    [
        ("float16", "float64", "; a reference in float64 is `precise`, not `torch`"),
        ("float16", "float32", ""),
        ("float64", "float64", ""),
        ("int32", "float64", ""),
    ],
)
def test_a_torch_reference_in_float64_is_suspect_for_narrower_inputs(dtype, wanted, advice):
    statement = judged(ran(output(dtype="bfloat16", wanted_dtype=wanted)), dtype=dtype).findings[0].statement
    assert statement == f"`out0` has dtype bfloat16, wanted {wanted} as reference `torch` returned it{advice}"


@pytest.mark.parametrize(
    ("observation", "statement"),
    [
        (ran(output(), unwritten=1), "1 output element was never written: it follows the fill of fresh memory"),
        (ran(output(), repeat_mismatches=1), "1 output element changed its bits between two launches on the same"),
        (
            ran(output(), memory=(replace(OUTSIDE, bytes_changed=1),)),
            "the operator wrote 1 byte between or around the elements of `x`",
        ),
        (ran(output(), memory=(replace(INSIDE, bytes_changed=1),)), "argument `x` was written (1 byte, first at"),
        (ran(output(rejected=1, compared=1)), "`out0`: 1 of 1 element (100 %) are wrong"),
    ],
)
def test_one_is_singular(observation, statement):
    assert judged(observation).findings[0].statement.startswith(statement)


def test_a_confidence_is_kept_to_three_digits():
    subject = Subject(case=case(), observation=ran(), contract=Contract())
    assert subject.finding(Cause.UNKNOWN, 0.1 + 0.2, "", {}).confidence == 0.3
    assert subject.finding(Cause.UNKNOWN, 0.9375, "", {}).confidence == 0.938


def test_a_finding_about_memory_says_how_far_the_guards_reach():
    finding = judged(PLANTED["behind the output"][0]).findings[0]
    assert finding.evidence["limit"] == "writes further than 4,096 bytes away are not seen"
    assert (finding.evidence["side"], finding.evidence["role"]) == ("tail", "output")


def test_a_read_that_ignored_strides_explain_comes_after_them():
    clue = Clue(
        cause=Cause.STRIDE_VIEW, confidence=0.93, statement="right on copies", evidence={}, output="out0", rule="copy"
    )
    judgement = judged(ran(output(rejected=3), reads=(READ,), clues=(clue,)))
    assert causes(judgement)[:2] == ["stride_view", "oob_read"]


def test_shared_memory_is_a_remark_and_never_a_failure():
    shared = AliasReading(output="out0", other="x", role=Role.INPUT, bytes_shared=24)
    judgement = judged(ran(output(), aliases=(shared,)))
    assert judgement.verdict is Verdict.PASS
    (finding,) = judgement.findings
    assert str(finding.cause) == "aliasing_inplace"
    assert finding.statement.startswith("`out0` shares 24 bytes with argument `x`, which the reference's does not")

"""Fingerprints: equal for one cause, different for two; groups."""

import hashlib

import pytest
from failures_notation import wrong
from judge_notation import ended, judged, output, process, raised, ran

from opsdebug_ci.failures import fingerprint, fingerprints, group
from opsdebug_ci.model import MemoryReading, Side

NAN = ran(output(rejected=3, classes="nan->normal:3"))


def test_form_is_versioned():
    facts = '{"frames":["softmax ops.py"],"kind":"exception:ValueError","node":"","operator":"softmax","target":""}'
    assert fingerprint(judged(raised())) == "v2:" + hashlib.sha256(facts.encode()).hexdigest()[:16]


def test_only_failures_have_one():
    assert fingerprint(judged(ran(output()))) is None
    assert fingerprint(judged(ended("inputs_broken"))) is None


SAME = {
    "dims, seed, layout": (judged(NAN), judged(NAN, dims="B=3,S=9", seed=5, layout="padded", inputs="specials")),
    "counts and index": (judged(NAN), judged(ran(output(rejected=9, compared=77, classes="nan->normal:9")))),
    "finite class": (judged(NAN), judged(ran(output(rejected=3, classes="nan->+0:3")))),
    "message": (judged(raised(message="at 1")), judged(raised(message="at 2", frames=("/x/ops.py:91 softmax",)))),
    "float16 and bfloat16": (judged(NAN, dtype="float16"), judged(NAN, dtype="bfloat16")),
}

DIFFERENT = {
    "operator": (judged(NAN), judged(NAN, operator="gelu")),
    "dtype family": (judged(NAN), judged(NAN, dtype="float16")),
    "integer": (judged(NAN), judged(NAN, dtype="int32")),
    "output": (judged(NAN), judged(ran(output(), output("out1", rejected=3, classes="nan->normal:3")))),
    "class cells": (judged(NAN), judged(ran(output(rejected=3, classes="normal->nan:3")))),
    "cause": (judged(NAN), judged(ran(output(rejected=3)))),
    "exception type": (judged(raised("ValueError")), judged(raised("TypeError"))),
    "signal": (judged(ended(process=process())), judged(ended(process=process(signal="SIGFPE")))),
    "argument written": tuple(
        judged(ran(memory=(MemoryReading(argument=name, side=Side.GAP, bytes_changed=1, first_offset=64),)))
        for name in ("x", "y")
    ),
}


@pytest.mark.parametrize("what", SAME)
def test_one_cause_is_one_fingerprint(what):
    first, second = SAME[what]
    assert fingerprint(first) == fingerprint(second) is not None


@pytest.mark.parametrize("what", DIFFERENT)
def test_two_causes_are_two(what):
    first, second = DIFFERENT[what]
    assert None is not fingerprint(first) != fingerprint(second) is not None


def test_groups_are_largest_first_with_the_smallest_case_to_speak_for_them():
    large, small = judged(NAN, dims="B=8,S=8"), judged(NAN, dims="B=1,S=2")
    other = judged(raised(), operator="add")
    groups = group([other, large, judged(ran(output())), small])
    assert [(g.operator, str(g.cause), g.count, g.cases) for g in groups] == [
        ("softmax", "nan_inf_handling", 2, (small.case.id, large.case.id)),
        ("add", "exception", 1, (other.case.id,)),
    ]
    assert groups[0].statement == small.findings[0].statement


@pytest.mark.parametrize("narrow_first", [False, True])
def test_of_equally_small_cases_the_first_planned_speaks_whatever_bunch_it_is_of(narrow_first):
    wide = wrong("approximation", box="0..3 0..24", seed=1)
    narrow = wrong("approximation", box="0..0 0..24", seed=2)
    planned = [narrow, wide] if narrow_first else [wide, narrow]
    (found,) = group(planned)
    assert len(found.members) == 2, "told apart by where the bad elements lie, and one cause"
    assert found.cases == tuple(judgement.case.id for judgement in planned)


def test_only_ten_ids_are_kept():
    (only,) = group([judged(NAN, seed=seed) for seed in range(12)])
    assert (only.count, len(only.cases)) == (12, 10)


def test_fingerprints_by_case():
    failed, passed = judged(NAN), judged(ran(output()), seed=1)
    assert fingerprints([failed, passed]) == {failed.case.id: fingerprint(failed)}


def test_nothing_failed_is_no_group():
    assert group([judged(ran(output()))]) == ()


def test_what_fails_everywhere_is_not_about_its_empty_case():
    everywhere = [judged(raised(), dims=dims) for dims in ("B=0,S=4", "B=2,S=4", "B=3,S=9")]
    (told,) = group(everywhere)
    assert (str(told.cause), told.count, told.cases[0]) == ("exception", 3, everywhere[1].case.id)
    (twin,) = group(everywhere[:2])  # as many of the one as of the other: it fails without a zero dim too
    assert str(twin.cause) == "exception"


def test_what_fails_only_where_it_is_empty_is_about_that():
    empty = [judged(raised(), dims=dims) for dims in ("B=0,S=4", "B=2,S=0")]
    (told,) = group([*empty, judged(ran(output()), dims="B=2,S=4")])
    assert (str(told.cause), told.count) == ("empty_or_zero_dim", 2)

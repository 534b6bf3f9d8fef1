"""The line that a comment begins with: what a busy person acts on, whoever wrote the texts in it."""

from __future__ import annotations

from dataclasses import replace

import pytest
from gfm import page
from hypothesis import example, given, settings
from hypothesis import strategies as st
from judge_notation import judged, output, raised, ran
from publication_notation import EVIL, clean, many, publication, with_known
from report_notation import BAD, GOOD, run_document

from opsdebug_ci.model.publication import Conclusion, Publication
from opsdebug_ci.report.comment import check_title, rungs
from opsdebug_ci.report.comment.brief import brief
from opsdebug_ci.report.comment.names import with_causes

VISIBLE = 300
"""Characters of the line as it is seen."""

DIVISOR = (
    "the divisor of the variance is n-1 = 249, not n = 250 "
    "(outputs off by a ratio of 0.9980 = sqrt(249/250)): reproduces every bad element"
)


def line(told: Publication) -> str:
    """As it is read, from the colon behind the commit on."""
    text = page(rungs(told, limit_bytes=65_000)[0].partition("  \n")[0]).text
    return text.replace("\u200b", "").partition(" at c0ffee1: ")[2].strip()


def failing(statement: str, *dtypes: str, operator: str = "layer_norm", others: int = 0, more: int = 0) -> Publication:
    """One cause in these dtypes, with that statement; so many more of the same operator; then others that raise."""
    cases = [judged(ran(BAD), operator=operator, dtype=dtype, seed=seed) for dtype in dtypes for seed in (0, 1)]
    document = run_document([*cases, *(judged(raised(), operator=f"op{i}") for i in range(others))])
    lead, *rest = document.summary.groups
    assert lead.operator == operator
    same = (replace(lead, fingerprint=f"v2:{number}") for number in range(more))
    groups = (replace(lead, statement=statement), *same, *rest)
    return publication(replace(document, summary=replace(document.summary, groups=groups)), "fail")


@pytest.mark.parametrize(
    ("told", "words"),
    [
        (failing(DIVISOR, "float16"), f"layer_norm float16: {DIVISOR.replace('`', '')}."),
        (failing(DIVISOR, "float16", "float32"), f"layer_norm float16 and float32: {DIVISOR.replace('`', '')}."),
        (failing(DIVISOR, "float16", "float32", "bfloat16"), f"layer_norm: {DIVISOR.replace('`', '')}."),
        (failing("`out0`: the tail is wrong", "float16"), "layer_norm float16: the tail is wrong."),
        (failing("", "float16"), "layer_norm float16: unknown."),
        (failing("a", "float16", others=1), "layer_norm float16: a; and op0 (exception)."),
        (
            failing("a", "float16", others=4),
            "layer_norm float16: a; and op0 (exception), op1 (exception) and 2 more.",
        ),
        (
            failing("a", "float16", others=1, more=2),
            "layer_norm float16: a; and 2 more causes in it; and op0 (exception).",
        ),
        (failing("a", "float16", more=1), "layer_norm float16: a; and 1 more cause in it."),
        (replace(failing("a", "float16"), conclusion=Conclusion.PASS), "layer_norm float16: a; nothing of it gates."),
        (
            publication(with_known(run_document([judged(ran(BAD))]), "softmax"), "fail"),
            "softmax (unknown) still fails, as was known.",
        ),
        (failing("word " * 100, "float16"), f"layer_norm float16: {'word ' * 26}word…"),
        (failing(f"{'word ' * 25}`a name` that is cut", "float16"), f"layer_norm float16: {'word ' * 25}a name that…"),
        (failing(f"{'word ' * 26}`a long name`", "float16"), f"layer_norm float16: {'word ' * 25}word…"),
    ],
)
def test_what_is_wrong_is_said_first(told, words):
    assert line(told) == words


@settings(max_examples=50)
@given(statement=st.text(), operator=st.text(min_size=1).filter(str.isprintable), others=st.integers(0, 3))
@example(statement=EVIL, operator=EVIL, others=2)
@example(statement="`a" * 300, operator="x" * 500, others=3)
@example(statement="<" * 5_000, operator="$" * 500, others=1)
def test_the_line_is_short_and_inert(statement, operator, others):
    told = rungs(failing(statement, "float16", operator=operator, others=others), limit_bytes=65_000)[0]
    shown = page(told.partition("  \n")[0])
    assert shown.tags() <= {"p", "strong", "a", "code", "span"}
    assert len(shown.links()) == 1 and not shown.comments
    assert len(shown.text.replace("\u200b", "")) <= VISIBLE
    assert "\n" not in shown.text.strip()


def test_thousands_of_causes_make_no_longer_line():
    assert len(line(many())) < VISIBLE


@pytest.mark.parametrize(
    ("failures", "words"),
    [
        ("gelu:hang", "gelu (hang)"),
        ("gelu:hang softmax:exception", "gelu (hang) and softmax (exception)"),
        ("gelu:hang gelu:exception", "gelu (hang and exception)"),
        ("gelu:hang gelu:hang gelu:exception", "gelu (2 x hang and exception)"),
        ("gelu:hang softmax:hang gelu:exception", "gelu (hang and exception) and softmax (hang)"),
        ("a:x b:x c:x c:y d:x d:y e:x", "a (x), b (x), c (x and y) and 3 more"),
        ("a:v a:w a:x a:y a:y", "a (v, w, x and 2 more)"),
        ("a:x b:x c:x d:x", "a (x), b (x), c (x) and 1 more"),
    ],
)
def test_each_operator_is_named_once_and_no_failure_is_lost_from_the_count(failures, words):
    pairs = [tuple(failure.split(":")) for failure in failures.split()]
    assert with_causes(pairs) == words


NO_RUN = "[stages] has a key `stge`; wanted one of `smoke`, `full`; next: correct it"

ENDED = (
    "opsdebug ended with 2: opsdebug [configuration]: 1 problem in the configuration: opsdebug.toml:10: `gate` is "
    '"newest"; next: correct it'
)
"""As the action hands it on."""

LACKING = {
    "a job without a run": (
        publication(None, "error", shard_states=f"failed:{NO_RUN.replace(' ', '_')}"),
        "the only job has no run: [stages] has a key stge; wanted one of smoke, full.",
        "error: the only job has no run; no case was judged",
    ),
    "a job without a run, as merging tells": (
        publication(None, "error", shard_states="failed", reasons=(f"shard 1 has no run: {NO_RUN}",)),
        "the only job has no run: [stages] has a key stge; wanted one of smoke, full.",
        "error: the only job has no run; no case was judged",
    ),
    "one that says why before one that is not there": (
        publication(clean().document, "error", shard_states="missing failed:no_torch._Install_it. taken"),
        "shard 2 of 3 has no run: no torch; 1 more is not there.",
        "error: shard 2 of 3 has no run; 1 more is not there; 0 of 4 cases of 2 operators failed; 4 pass; "
        "from 1 of 3 shards",
    ),
    "two that are not there": (
        publication(clean().document, "incomplete", shard_states="taken missing rejected missing"),
        "shard 2 of 4 left nothing; 2 more are not there.",
        "incomplete: shard 2 of 4 left nothing; 2 more are not there; 0 of 4 cases of 2 operators failed; 4 pass; "
        "from 1 of 4 shards",
    ),
    "no artifact at all": (
        publication(None, "incomplete", shard_states="missing:the_job_was_cancelled"),
        "the only job left nothing: the job was cancelled.",
        "incomplete: the only job left nothing; no case was judged",
    ),
    "a job whose command says what it stumbled over": (
        publication(None, "error", shard_states=f"failed:{ENDED.replace(' ', '_')}"),
        'the only job has no run: 1 problem in the configuration: opsdebug.toml:10: gate is "newest".',
        "error: the only job has no run; no case was judged",
    ),
    "no shard": (
        replace(publication(None, "incomplete", reasons=("there is no shard",)), shards=()),
        "there is no shard.",
        "incomplete: there is no result; no case was judged",
    ),
    "shards of two plans": (
        publication(clean().document, "incomplete", reasons=("the shards are of 2 different plans",)),
        "the shards are of 2 different plans.",
        "incomplete: not every planned case was judged; 0 of 4 cases of 2 operators failed; 4 pass",
    ),
}


@pytest.mark.parametrize("name", LACKING)
def test_what_is_missing_is_said_first_and_why(name):
    told, words, title = LACKING[name]
    assert line(told) == words
    assert check_title(told) == title


def test_nothing_is_missing_of_a_pass():
    told = publication(run_document([judged(ran(GOOD), operator="add")]), "pass")
    assert line(told) == "nothing is wrong."
    assert check_title(told) == "pass: 0 of 1 case of 1 operator failed; 1 pass"


@pytest.mark.parametrize(
    ("text", "short"),
    [
        ("one. Two.", "one"),
        ("got 1.5, wanted 2", "got 1.5, wanted 2"),
        ("in ops.py, line 3", "in ops.py, line 3"),
        ("x; next: do y", "x"),
        ("x" * 50, "x" * 29 + "…"),
        ("w" * 20 + " " + "y" * 20, "w" * 20 + "…"),
        ("w" * 20 + " `bb cc dd ee`", "w" * 20 + "…"),
        ("", ""),
    ],
)
def test_a_text_in_short(text, short):
    assert brief(text, 30) == short


def test_a_failure_whose_output_is_told_further_below():
    told = publication(run_document([judged(ran(output(rejected=3)), operator="add")]), "fail")
    assert line(told).startswith("add float32: 3 of ")

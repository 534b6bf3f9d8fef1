"""The document of a shard from a file of whoever: each hostile document is refused, and its clean twin is read."""

from __future__ import annotations

import json
import tracemalloc
from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from shard_notation import HEAD, OBSERVED, cases, divided, known, run_of, shard_of

from opsdebug_ci.errors import ArtifactError
from opsdebug_ci.github.artifacts.shard_json import DOCUMENT_LIMIT_BYTES, check_claims, read_shard
from opsdebug_ci.github.artifacts.untrusted_json import DEEPEST, LONGEST_TEXT, MOST_VALUES, read_untrusted
from opsdebug_ci.model import Gate, Stage
from opsdebug_ci.report import encode

RUN = run_of(cases("gelu:pass*2 gelu:fail norm:skipped erf:error"))
GOOD = encode(shard_of(RUN))

Change = Callable[[Any], object]


def changed(*path: object, to: object = None, data: bytes = GOOD) -> bytes:
    """The document with the value at `path` replaced."""
    document = json.loads(data)
    place = document
    for step in path[:-1]:
        place = place[step]
    place[path[-1]] = to
    return json.dumps(document).encode()


def refused(data: bytes) -> str:
    with pytest.raises(ArtifactError) as refusal:
        read_shard(data)
    assert refusal.value.message.startswith("the document of a shard is not taken: ")
    assert refusal.value.next_step
    return refusal.value.message.partition("taken: ")[2]


def test_a_document_of_ours_comes_back() -> None:
    assert read_shard(GOOD) == shard_of(RUN)
    assert read_shard(encode(shard_of(None))) == shard_of(None)


@given(
    st.lists(st.tuples(st.sampled_from(["gelu", "norm"]), st.sampled_from(sorted(OBSERVED))), max_size=12),
    st.sampled_from(list(Gate)),
    st.integers(1, 4),
    st.sampled_from([Stage.SMOKE, Stage.FULL]),
)
def test_whatever_a_stage_can_come_to_is_taken(
    drawn: list[tuple[str, str]], gate: Gate, number: int, stage: Stage
) -> None:
    judgements = cases(" ".join(f"{operator}:{verdict}" for operator, verdict in drawn))
    baseline = known(" ".join(f"{operator}:{verdict}" for operator, verdict in drawn[:3]))
    for shard in divided(judgements, number, gate=gate, baseline=baseline, stage=stage):
        assert read_shard(encode(shard)) == shard


SPELLINGS: dict[str, tuple[bytes, str]] = {
    "nothing": (b"", "no JSON at line 1"),
    "not JSON": (b"<html>", "no JSON at line 1"),
    "cut short": (GOOD[:-1], "no JSON at line 1"),
    "two documents": (GOOD + GOOD, "no JSON at line 1"),
    "not UTF-8": (GOOD.replace(b"gelu", b"g\xfflu"), "is no UTF-8"),
    "UTF-16": (GOOD.decode().encode("utf-16"), "is no UTF-8"),
    "nested 100,000 deep": (b'{"schema":' + b"[" * 100_000 + b"]" * 100_000 + b"}", "it is nested more than 32 deep"),
    "nested in objects": (b'{"a":' * 100_000 + b"1" + b"}" * 100_000, "it is nested more than 32 deep"),
    "nested a little too deep": (b"[" * (DEEPEST + 2) + b"]" * (DEEPEST + 2), "it is nested more than 32 deep"),
    "NaN": (GOOD.replace(b'"duration_ns":1500000000', b'"duration_ns":NaN'), "`NaN` is no number"),
    "Infinity": (GOOD.replace(b'"duration_ns":1500000000', b'"duration_ns":Infinity'), "`Infinity` is no number"),
    "-Infinity": (GOOD.replace(b'"duration_ns":1500000000', b'"duration_ns":-Infinity'), "`-Infinity` is no number"),
    "1e999": (GOOD.replace(b'"confidence":0.', b'"confidence":1e999,"x":0.'), "is longer or larger than a float64"),
    "a billion digits' little brother": (
        GOOD.replace(b"1500000000", b"1" * 100_000),
        "a number has 100,000 digits",
    ),
    "beyond 64 bits": (GOOD.replace(b"1500000000", b"9223372036854775808"), "does not fit into 64 bits"),
    "a key twice": (GOOD.replace(b'{"schema":', b'{"schema":"x","schema":', 1), "key 'schema' is given twice"),
    "a key twice, spelled apart": (
        GOOD.replace(b'{"schema":', b'{"sch\\u0065ma":"x","schema":', 1),
        "key 'schema' is given twice",
    ),
    "a key twice, deep inside": (GOOD.replace(b'"dims":{', b'"dims":{"B":2,', 1), "key 'B' is given twice"),
    "half a surrogate pair": (GOOD.replace(b"gelu", b"g\\ud800"), "half a surrogate pair"),
    "a long text": (
        GOOD.replace(b'"error":""', b'"error":"' + b"x" * (LONGEST_TEXT + 1) + b'"'),
        "a text has 1,048,577",
    ),
    "a long key": (GOOD.replace(b'"error":""', b'"' + b"x" * (LONGEST_TEXT + 1) + b'":1'), "a text has 1,048,577"),
    "an integer in another script": (GOOD.replace(b"1500000000", "\u0661".encode()), "no JSON"),
    "a list": (b"[]", "Expected `object`, got `array`"),
    "null": (b"null", "Expected `object`, got `null`"),
}


@pytest.mark.parametrize("what", SPELLINGS)
def test_json_that_leaves_anything_open_is_refused(what: str) -> None:
    data, why = SPELLINGS[what]
    assert data != GOOD
    assert why in refused(data)


def test_what_is_just_allowed_is_read() -> None:
    assert read_untrusted(b"[" * DEEPEST + b"]" * DEEPEST, 100)
    assert read_untrusted(b'"' + b"x" * LONGEST_TEXT + b'"', 2 * LONGEST_TEXT)
    assert read_untrusted(b"[9223372036854775807,-9223372036854775808,1e308]", 100)
    assert read_untrusted('"\\ud83d\\ude00 \u00fc"'.encode(), 100) == "\U0001f600 \u00fc"


RUN_ID, FIRST, FAILED = ("run", "run"), ("run", "observations", 0), ("run", "observations", 2)
GROUP, SUMMARY, PLAN = ("run", "summary", "groups", 0), ("run", "summary"), ("run", "plan")
RECORDED = ("run", "recorded")


def recorded(**changed: object) -> dict[str, object]:
    """A failure that is recorded at the baseline, as a document tells it."""
    sound = {"fingerprint": "v2:" + "a" * 16, "operator": "gelu", "cause": "hang", "commit": "", "cases": ["0" * 16]}
    return {**sound, **changed}


VALUES: dict[str, tuple[tuple[object, ...], object, str]] = {
    "a flag for a number": ((*RUN_ID, "duration_ns"), True, "Expected `int`, got `bool`"),
    "a text for a number": ((*RUN_ID, "duration_ns"), "1", "Expected `int`, got `str`"),
    "a fraction for a number": ((*RUN_ID, "duration_ns"), 1.5, "Expected `int`, got `float`"),
    "a number for a flag": ((*RUN_ID, "revision", "dirty"), 1, "Expected `bool`, got `int`"),
    "a number for a text": (("suite",), 1, "Expected `str`, got `int`"),
    "null for a text": (("suite",), None, "Expected `str`, got `null`"),
    "an unknown verdict": ((*FIRST, "verdict"), "perfect", "Invalid enum value 'perfect'"),
    "a time of nothing": ((*RUN_ID, "duration_ns"), 0, "`duration_ns` is 0"),
    "a negative time": ((*RUN_ID, "duration_ns"), -1, "`duration_ns` is -1"),
    "a negative count": ((*FIRST, "accuracy", "compared"), -1, "`compared` is -1"),
    "a negative dim": ((*FIRST, "case", "dims", "B"), -1, "`` is -1"),
    "a negative index": ((*FIRST, "accuracy", "max_abs_index"), [0, -1], "`max_abs_index` is -1"),
    "a negative run": (("ci_run",), -1, "`ci_run` is -1"),
    "another schema": (("schema",), "opsdebug.shard/2", "its schema is 'opsdebug.shard/2'"),
    "another schema of the run": (("run", "schema"), "opsdebug.run/2", "the schema of its run is"),
    "a suite of markup": (("suite",), "x --><img", "its suite or its stage is none"),
    "no suite": (("suite",), "", "its suite or its stage is none"),
    "no stage": (("stage",), "run", "its suite or its stage is none"),
    "shard 0": (("shard",), 0, "it is shard 0 of 1 of attempt 1"),
    "shard 2 of 1": (("shard",), 2, "it is shard 2 of 1 of attempt 1"),
    "attempt 0": (("attempt",), 0, "it is shard 1 of 1 of attempt 0"),
    "a repository of markup": (("repository",), "o/r](http://x)", "its repository or its commit is none"),
    "a commit of markup": (("head_commit",), "@everyone", "its repository or its commit is none"),
    "an exit code of nobody": (("exit_code",), 256, "its exit code is 256"),
    "another exit code": (("exit_code",), 0, "its exit code is 0, and that of its run 1"),
    "a run and an error": (("error",), "oh", "it has a run, and says that it has none"),
    "neither run nor error": (("run",), None, "it has no run, and does not say why"),
    "another stage than its run": (("stage",), "full", "it is of stage `full`, and its run of another"),
    "another stage of the run": (("run", "stage"), "full", "it is of stage `smoke`, and its run of another"),
    "a commit that is none": ((*RUN_ID, "commit"), "HEAD", "a hash of its run is none"),
    "an ancestor that is none": ((*RUN_ID, "revision", "ancestors"), ["HEAD~"], "a hash of its run is none"),
    "a baseline that is none": (("run", "baseline"), "main", "a hash of its run is none"),
    "a recorded failure of no case": (
        RECORDED,
        [recorded(cases=[])],
        "what it says is recorded as 'v2:aaaaaaaaaaaaaaaa'",
    ),
    "a recorded case that is none": (RECORDED, [recorded(cases=["<b>"])], "what it says is recorded as"),
    "a recorded fingerprint that is none": (RECORDED, [recorded(fingerprint="x")], "recorded as 'x' is none"),
    "a recorded commit that is none": (RECORDED, [recorded(commit="main")], "what it says is recorded as"),
    "recorded twice": (RECORDED, [recorded(), recorded()], "what it says is recorded is there twice"),
    "a plan that is none": ((*PLAN, "id"), "x", "the id of its plan is none"),
    "more cases than planned": (PLAN, {"id": "9" * 64, "cases": 4, "mine": 4}, "it has 5 cases of 4, of 4 planned"),
    "more of its own than of all": ((*PLAN, "cases"), 4, "it is the only shard, and has 5 of 4 planned cases"),
    "a case id that is none": ((*FIRST, "case", "id"), "x", "case id 'x' is none"),
    "a fingerprint that is none": ((*FAILED, "fingerprint"), "<b>", "fingerprint '<b>' is none"),
    "a bundle that is none": ((*FAILED, "bundle"), "../../x", "bundle '../../x' is none"),
    "a count that is not that of its cases": ((*SUMMARY, "counts", "pass"), 3, "its counts are not those of its cases"),
    "a count that is missing": ((*SUMMARY, "counts"), {"pass": 2}, "its counts are not those of its cases"),
    "a count of no verdict": ((*SUMMARY, "counts", "great"), 0, "its counts are not those of its cases"),
    "more failures than failed": ((*GROUP, "count"), 2, "its groups have more failures than it has"),
    "an empty group": ((*GROUP, "count"), 0, "and lists 1"),
    "a group of a case that passed": (
        (*GROUP, "cases"),
        [RUN.observations[0].case.id],
        "lists a case that did not fail",
    ),
    "a group of no case": ((*GROUP, "cases"), ["0" * 16], "lists a case that did not fail"),
    "a group of another operator": ((*GROUP, "operator"), "norm", "lists a case that did not fail"),
    "a group of another cause": ((*GROUP, "fingerprint"), "v2:" + "0" * 16, "has 1 cases, and 0 failed so"),
    "a member that is none": ((*GROUP, "members"), ["x"], "or one of its members is none"),
    "more kinds than cases": ((*GROUP, "members"), [f"v1:{n:016x}" for n in range(9)], "cases of 9 kinds"),
    "a bundle of a group that is none": ((*GROUP, "bundle"), "x", "bundle 'x' is none"),
    "known since, but not known": ((*GROUP, "since"), "abc", "is known since no commit"),
    "slower, compared with nothing": (("run", "regressions"), ["gelu"], "an operator is called slower"),
    "a pass with a failure that is new": ((*SUMMARY, "verdict"), "pass", "its verdict is `pass` and its exit code 1"),
    "an unsettled run with a failure that is new": (
        (*SUMMARY, "verdict"),
        "inconclusive",
        "its verdict is `inconclusive` and its exit code 1",
    ),
    "a failure that is known, and fails": ((*GROUP, "known"), True, "its verdict is `fail` and its exit code 1"),
    "a gate that lets it pass, and fails": ((*PLAN, "gate"), "never", "its verdict is `fail` and its exit code 1"),
}


@pytest.mark.parametrize("what", VALUES)
def test_a_value_that_cannot_be_is_refused(what: str) -> None:
    path, value, why = VALUES[what]
    assert why in refused(changed(*path, to=value))


def test_nothing_is_missing() -> None:
    for name in json.loads(GOOD):
        document = json.loads(GOOD)
        del document[name]
        if name != "error":  # the only field with a default
            assert "missing required field" in refused(json.dumps(document).encode())


@pytest.mark.parametrize(
    ("text", "gate", "verdict", "exit_code"),
    [
        ("gelu:pass gelu:fail", Gate.NEW, "pass", 0),
        ("gelu:pass gelu:fail", Gate.ALL, "pass", 0),
        ("gelu:pass gelu:error", Gate.NEW, "pass", 0),
        ("gelu:pass gelu:inconclusive", Gate.NEW, "pass", 0),
        ("gelu:skipped", Gate.NEW, "pass", 0),
        ("gelu:skipped", Gate.NEVER, "pass", 0),
        ("gelu:pass", Gate.NEW, "fail", 1),
        ("gelu:pass", Gate.NEW, "pass", 1),
        ("gelu:pass", Gate.NEW, "inconclusive", 4),
        ("gelu:error", Gate.NEW, "inconclusive", 4),
    ],
)
def test_a_verdict_follows_from_the_cases(text: str, gate: Gate, verdict: str, exit_code: int) -> None:
    data = encode(shard_of(run_of(cases(text), gate=gate)))
    assert read_shard(data)
    lie = changed("run", "summary", "verdict", to=verdict, data=data)
    lie = changed("exit_code", to=exit_code, data=changed("run", "summary", "exit_code", to=exit_code, data=lie))
    assert "which does not follow from its cases" in refused(lie)


def test_a_run_that_was_cut_short_is_no_pass() -> None:
    data = encode(shard_of(run_of(cases("gelu:pass"), planned=2)))
    assert read_shard(data).exit_code == 4
    lie = changed("run", "summary", "verdict", to="pass", data=data)
    lie = changed("exit_code", to=0, data=changed("run", "summary", "exit_code", to=0, data=lie))
    assert "which does not follow from its cases" in refused(lie)


def test_what_is_recorded_may_be_told_and_may_be_left_out() -> None:
    told = read_shard(changed(*RECORDED, to=[recorded()])).run
    assert told is not None and [each.operator for each in told.recorded] == ["gelu"]
    older = json.loads(GOOD)
    del older["run"]["recorded"]
    read = read_shard(json.dumps(older).encode()).run
    assert read is not None and read.recorded == ()


def test_a_field_of_a_newer_version_is_passed_over() -> None:
    assert read_shard(changed("colour", to="red")) == shard_of(RUN)


def test_a_document_that_is_too_large_is_not_looked_into() -> None:
    with pytest.raises(ArtifactError, match="at most 67,108,864 are read"):
        read_shard(b" " * (DOCUMENT_LIMIT_BYTES + 1))


@pytest.mark.parametrize("mark", [b"1,", b"{},", b"[],", b'"":1,'])
def test_more_values_than_a_document_has_are_not_built(mark: bytes) -> None:
    data = b"[" + mark * (MOST_VALUES + 1)
    tracemalloc.start()
    try:
        with pytest.raises(ArtifactError, match="values; at most 7,000,000 are read"):
            read_untrusted(data, DOCUMENT_LIMIT_BYTES)
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert peak < 2**20, "bytes"


CLAIMS = {
    "repository": "o/r",
    "ci_run": 77,
    "head_commit": HEAD,
    "attempt": 1,
    "shard": 2,
    "shards": 3,
    "suite": "default",
}


@pytest.mark.parametrize(
    ("name", "true", "why"),
    [
        ("repository", "o/other", "it says that its repository is 'o/r', not 'o/other'"),
        ("ci_run", 78, "it says that its CI run is 77, not 78"),
        ("head_commit", "b" * 40, f"it says that its newest commit is '{HEAD}', not '{'b' * 40}'"),
        ("attempt", 2, "it says that its attempt is 1, not 2"),
        ("shard", 1, "it says that its shard is 2, not 1"),
        ("shards", 4, "it says that its number of shards is 3, not 4"),
        ("suite", "gpu", "it says that its suite is 'default', not 'gpu'"),
    ],
)
def test_a_document_of_another_job_is_refused(name: str, true: object, why: str) -> None:
    shard = shard_of(RUN, 2, 3)
    assert check_claims(shard, **CLAIMS) == ""
    assert check_claims(shard, **{**CLAIMS, name: true}) == why


def test_what_it_says_beside_that_is_not_asked() -> None:
    assert check_claims(shard_of(RUN, 2, 3), **{**CLAIMS, "repository": "O/R"}) == ""
    assert check_claims(shard_of(RUN, 2, 3, head_commit=""), **CLAIMS).startswith(
        "it says that its newest commit is ''"
    )

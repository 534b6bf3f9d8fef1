"""The hidden lines of our comment: by which it is known, and what is believed of what it remembers."""

from __future__ import annotations

import base64
import json
import zlib
from dataclasses import replace

import msgspec
import pytest
from comment_states import failure, head, state
from hypothesis import given
from hypothesis import strategies as st

from opsdebug_ci.github.bot.body import (
    STATE_LIMIT_BYTES,
    compose,
    decode_state,
    encode_state,
    is_ours,
    marker_line,
    visible_hash,
)
from opsdebug_ci.model.publication import AcceptedRegression, CommentState, failure_digest

MARKER = "<!-- opsdebug-ci:v1 id=default -->"


def hidden(data: bytes) -> str:
    """A body whose state line holds `data`."""
    return f"{MARKER}\n<!-- opsdebug-ci:state {base64.urlsafe_b64encode(data).decode()} -->\n\ntext"


def hidden_json(text: str) -> str:
    return hidden(zlib.compress(text.encode()))


def in_json(**changes: object) -> str:
    return json.dumps({**json.loads(msgspec.json.encode(state("5.1"))), **changes})


@pytest.mark.parametrize(
    ("suite", "line"),
    [
        ("default", "<!-- opsdebug-ci:v1 id=default -->"),
        ("a --> <b>", "<!-- opsdebug-ci:v1 id=a------b- -->"),
        ("", "<!-- opsdebug-ci:v1 id=default -->"),
        ("x" * 80, f"<!-- opsdebug-ci:v1 id={'x' * 64} -->"),
    ],
)
def test_a_suite_cannot_end_the_marker(suite: str, line: str) -> None:
    assert marker_line(suite) == line


def test_the_whole_comment() -> None:
    body = compose("default", state("5.2"), "\n**opsdebug: fail**\n\n")
    first, second, *rest = body.split("\n")
    assert first == MARKER
    assert second.startswith("<!-- opsdebug-ci:state ") and second.endswith(" -->")
    assert rest == ["", "**opsdebug: fail**", ""]
    assert decode_state(body) == state("5.2")


@pytest.mark.parametrize(
    "body",
    [MARKER, f"{MARKER}\n", f"{MARKER}\r\ntext\r\n", compose("default", state("1.1"), "x")],
)
def test_a_comment_with_the_marker_as_its_first_line_is_ours(body: str) -> None:
    assert is_ours(body, "default")


@pytest.mark.parametrize(
    "body",
    [
        "",
        f"> {MARKER}\n> text\n\nI agree",
        f"{MARKER} yes",
        f" {MARKER}",
        f"text\n{MARKER}",
        f"\n{MARKER}",
        "```\n" + MARKER,
        MARKER.replace("default", "gpu"),
        MARKER.replace("v1", "v2"),
        MARKER.upper(),
        f"\ufeff{MARKER}",
    ],
)
def test_any_other_comment_is_not(body: str) -> None:
    assert not is_ours(body, "default")


def test_suites_do_not_share_a_comment() -> None:
    assert is_ours(compose("gpu", state("1.1"), "x"), "gpu")
    assert not is_ours(compose("gpu", state("1.1"), "x"), "default")


def test_a_state_survives_an_editor_that_ends_lines_in_its_own_way() -> None:
    body = compose("default", state("5.2"), "x").replace("\n", "\r\n")
    assert is_ours(body, "default")
    assert decode_state(body) == state("5.2")


NOT_BELIEVED = {
    "nothing": "",
    "marker alone": MARKER,
    "in the third line": f"{MARKER}\n\n{encode_state(state('5.1'))}",
    "in the first line": encode_state(state("5.1")),
    "no base64": f"{MARKER}\n<!-- opsdebug-ci:state !!! -->",
    "base64 of a wrong length": f"{MARKER}\n<!-- opsdebug-ci:state AAAAA -->",
    "not packed": hidden(in_json().encode()),
    "cut": hidden(zlib.compress(in_json().encode())[:-9]),
    "something behind it": hidden(zlib.compress(in_json().encode()) + b"more"),
    "a bomb": hidden(zlib.compress(b"[" + b" " * 5_000_000)),
    "no JSON": hidden_json("{"),
    "no UTF-8": hidden(zlib.compress(b'{"version": "\xff"}')),
    "deep": hidden_json("[" * 100_000),
    "another version": hidden_json(in_json(version=2)),
    "no version": hidden_json(in_json(version=None)),
    "a boolean for a number": hidden_json(in_json(attempt=True)),
    "a negative attempt": hidden_json(in_json(attempt=-1)),
    "a negative run": hidden_json(in_json(run_number=-1)),
    "a number beyond any": hidden_json(in_json(run_number=10**30)),
    "NaN": hidden_json(in_json(run_number=float("nan"))),
    "no head": hidden_json(in_json(head=None)),
    "a second of thousands of digits": hidden_json(in_json(reported_at=f"2026-11-30T10:00:00.{'9' * 5_000}+00:00")),
    "failures that are none": hidden_json(in_json(head={"commit": "a", "failures": ["x"], "regressed": []})),
    "too long": f"{MARKER}\n<!-- opsdebug-ci:state {'A' * 8193} -->",
}


@pytest.mark.parametrize("name", NOT_BELIEVED)
def test_what_is_not_a_state_is_none(name: str) -> None:
    assert decode_state(NOT_BELIEVED[name]) is None


def test_the_same_hand_writes_one_that_is_believed() -> None:
    assert decode_state(hidden_json(in_json())) == state("5.1")
    assert decode_state(hidden_json(in_json(added_by_a_later_version=1))) == state("5.1")


def many(count: int, name: str = "operator") -> CommentState:
    failures = tuple(failure(f"v3:{visible_hash(str(n))}", f"{name}_{n}") for n in range(count))
    return state("5.1", head=head("b", failures), previous=head("a", failures[: count // 2]))


@pytest.mark.parametrize("count", [0, 1, 60, 200, 201, 500, 5_000])
def test_the_hidden_line_is_bounded_and_never_makes_a_failure_new(count: int) -> None:
    whole = many(count)
    line = encode_state(whole)
    kept = decode_state(f"{MARKER}\n{line}")
    assert len(line) <= STATE_LIMIT_BYTES
    assert kept is not None
    assert (kept.run_number, kept.attempt, kept.head.commit) == (5, 1, "b" * 40)
    assert all(kept.head.had(one.fingerprint) for one in whole.head.failures)
    assert set(kept.head.failures) <= set(whole.head.failures)
    assert kept.head.had("v3:never seen") is not kept.head.whole, "only a whole memory can call something new"


def test_a_few_failures_are_kept_in_full() -> None:
    assert decode_state(f"{MARKER}\n{encode_state(many(40))}") == many(40)


def test_what_is_cut_first_is_the_names() -> None:
    kept = decode_state(f"{MARKER}\n{encode_state(many(300))}")
    assert kept is not None and kept.head.whole
    assert 0 < len(kept.head.failures) < 300
    assert len(kept.head.failures) + len(kept.head.unlisted) == 300


def test_a_name_without_end_is_kept_by_its_digest() -> None:
    long, short = failure("v3:long", "x" * 100_000), failure("v3:short")
    kept = decode_state(f"{MARKER}\n{encode_state(state('5.1', head=head('a', (long, short))))}")
    assert kept is not None
    assert kept.head.failures == (short,)
    assert kept.head.had("v3:long") and kept.head.had("v3:short") and not kept.head.had("v3:other")


def test_acceptances_outlive_failures() -> None:
    accepted = tuple(
        AcceptedRegression(operator=f"op{n}", commit="b" * 40, by="mona", at="2026-11-30", reason="why " * 500)
        for n in range(20)
    )
    kept = decode_state(f"{MARKER}\n{encode_state(replace(many(5_000), accepted=accepted))}")
    assert kept is not None and [one.operator for one in kept.accepted] == [f"op{n}" for n in range(20)]


@given(
    st.lists(st.builds(failure, st.text(max_size=40), st.text(max_size=400)), max_size=30, unique=True),
    st.text(max_size=30),
)
def test_any_memory_comes_back_or_is_known_to_be_less(failures: list[object], other: str) -> None:
    whole = state("7.3", head=head("c", tuple(failures)))  # type: ignore[arg-type]  # the strategy's elements
    kept = decode_state(f"{MARKER}\n{encode_state(whole)}")
    assert kept is not None
    assert all(kept.head.had(one.fingerprint) for one in whole.head.failures)
    assert kept.head.had(other) or all(one.fingerprint != other for one in whole.head.failures)


def test_what_was_known_is_given_up_before_what_was_new() -> None:
    many = tuple(failure(f"v2:{number:016x}", f"operator {number * 7919:x}") for number in range(200))
    digests, others = (tuple(sorted(failure_digest(f"{k}{number}") for number in range(300))) for k in "kp")
    full = state("5.1", head=replace(head("a", many), known=digests), previous=replace(head("b", many), known=others))
    found = decode_state(f"{MARKER}\n{encode_state(full)}\n")
    assert found is not None and found.head.whole and found.head.known is None
    assert all(found.head.had(one.fingerprint) for one in many)
    small = replace(full, head=replace(full.head, failures=many[:20]), previous=None)
    found = decode_state(f"{MARKER}\n{encode_state(small)}\n")
    assert found == small and found.head.had("k299") and not found.head.had("k300")


def test_a_state_of_before_remembers_nothing_known() -> None:
    older = json.loads(in_json())
    del older["head"]["known"]
    found = decode_state(hidden_json(json.dumps(older)))
    assert found is not None and found.head.known is None


def test_the_hash_is_of_what_is_seen() -> None:
    assert (
        visible_hash("a") == "ca978112ca1bbdcafac231b39a23dc4da786eff8147c4e72b9807785afee48bb"
    )  # echo -n a | sha256sum
    assert visible_hash("\na\n") == visible_hash("a") != visible_hash("b")

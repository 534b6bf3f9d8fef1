"""Names of artifacts, and which of a run's artifacts are read."""

from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from opsdebug_ci.github.api.records import Artifact
from opsdebug_ci.github.artifacts.archive import ARCHIVE_LIMIT_BYTES
from opsdebug_ci.github.artifacts.listing import MOST_SHARDS, Chosen, chosen
from opsdebug_ci.github.artifacts.naming import ArtifactName, artifact_name, parse
from opsdebug_ci.model.publication import ShardState

SUITES = st.from_regex(r"\A[A-Za-z0-9._-]{1,64}\Z").map(str)


def artifacts(text: str, **facts: object) -> list[Artifact]:
    """Artifacts with these names; `!` in front: expired."""
    return [
        Artifact(id=number, name=word.lstrip("!"), size_in_bytes=int(facts.get("size", 500)), expired=word[0] == "!")
        for number, word in enumerate(text.split(), 1)
    ]


def choice(
    text: str, *, suite: str = "default", attempt: int = 1, expected: int | None = None, **facts: object
) -> Chosen:
    return chosen(artifacts(text, **facts), suite=suite, attempt=attempt, expected=expected)


def told(found: Chosen) -> tuple[str, str]:
    """What is read, as `shard:artifact`, and what became of the others."""
    taken = " ".join(f"{each.name.shard}:{each.artifact.id}" for each in found.taken)
    return taken, " ".join(f"{each.shard}:{each.state}" for each in found.others)


@given(SUITES, st.integers(1, 999_999), st.integers(1, 9_999), st.integers(1, 9_999))
def test_a_name_says_what_it_was_made_of(suite: str, attempt: int, first: int, second: int) -> None:
    shard, shards = sorted((first, second))
    name = artifact_name(suite, attempt, shard, shards)
    assert parse(name) == ArtifactName(suite=suite, attempt=attempt, shard=shard, shards=shards)
    assert not set(name) & set('":<>|*?\r\n\\/'), "no character that GitHub refuses in a name"


def test_the_only_suite_is_not_named() -> None:
    assert artifact_name("default", 1, 2, 3) == "opsdebug-v1-a1-s2of3"
    assert artifact_name("gpu", 1, 2, 3) == "opsdebug-v1-gpu-a1-s2of3"


@pytest.mark.parametrize(
    "name",
    [
        "opsdebug-v1-a1-s1of1 ",
        "opsdebug-v1-a1-s1of1\n",
        "xopsdebug-v1-a1-s1of1",
        "opsdebug-v2-a1-s1of1",
        "opsdebug-v1-a01-s1of1",
        "opsdebug-v1-a1-s01of1",
        "opsdebug-v1-a0-s1of1",
        "opsdebug-v1-a1-s0of1",
        "opsdebug-v1-a1-s2of1",
        "opsdebug-v1-a1-s1of10000",
        "opsdebug-v1-default-a1-s1of1",
        "opsdebug-v1-a\u0661-s1of1",
        "opsdebug-v1-../x-a1-s1of1",
        "opsdebug-v1-" + "x" * 65 + "-a1-s1of1",
        "opsdebug-v1-a1-s1of1-bundles",
        "coverage",
        "",
    ],
)
def test_a_name_that_is_spelled_in_another_way_is_somebody_elses(name: str) -> None:
    assert parse(name) is None


@given(st.text(max_size=40))
def test_a_name_is_none_or_the_one_that_is_given(name: str) -> None:
    found = parse(name)
    assert found is None or str(found) == name


@pytest.mark.parametrize(
    ("text", "expected", "taken", "others"),
    [
        pytest.param("opsdebug-v1-a1-s1of1", None, "1:1", "", id="one"),
        pytest.param("opsdebug-v1-a1-s1of1", 1, "1:1", "", id="one, as expected"),
        pytest.param("opsdebug-v1-a1-s2of2 opsdebug-v1-a1-s1of2", None, "1:2 2:1", "", id="two"),
        pytest.param("opsdebug-v1-a1-s1of3 opsdebug-v1-a1-s3of3", None, "1:1 3:2", "2:missing", id="a missing one"),
        pytest.param("opsdebug-v1-a1-s1of1", 2, "", "1:rejected 2:missing", id="fewer than expected"),
        pytest.param(
            "opsdebug-v1-a1-s1of4 opsdebug-v1-a1-s2of4 opsdebug-v1-a1-s3of3",
            None,
            "1:1 2:2",
            "3:rejected 4:missing",
            id="names that disagree",
        ),
        pytest.param("opsdebug-v1-a1-s3of3", 4, "", "1:missing 2:missing 3:rejected 4:missing", id="3of3 of four"),
        pytest.param("opsdebug-v1-a1-s1of1 opsdebug-v1-a1-s1of1", None, "", "1:rejected", id="two of one name"),
        pytest.param("!opsdebug-v1-a1-s1of1", None, "", "1:rejected", id="expired"),
        pytest.param("coverage logs opsdebug-v1-a1-s1of1", None, "1:3", "", id="others beside it"),
        pytest.param("opsdebug-v1-gpu-a1-s1of2 opsdebug-v1-a1-s1of1", None, "1:2", "", id="another suite"),
        pytest.param("coverage", 2, "", "1:missing 2:missing", id="none of two"),
    ],
)
def test_one_artifact_of_every_planned_shard(text: str, expected: int | None, taken: str, others: str) -> None:
    found = choice(text, expected=expected)
    assert told(found) == (taken, others)
    assert found.shards == len(found.taken) + len(found.others)
    assert all(each.reason for each in found.others)


@pytest.mark.parametrize(
    ("attempt", "taken", "others"),
    [
        pytest.param(1, "1:1 2:2", "", id="the first"),
        pytest.param(2, "1:1 2:3", "", id="one job was run again"),
        pytest.param(3, "2:3", "1:rejected", id="the newest is taken or none: it has expired"),
        pytest.param(4, "1:5 2:3", "", id="again"),
    ],
)
def test_of_several_attempts_the_highest_that_is_told(attempt: int, taken: str, others: str) -> None:
    names = "opsdebug-v1-a1-s1of2 opsdebug-v1-a1-s2of2 opsdebug-v1-a2-s2of2 !opsdebug-v1-a3-s1of2 opsdebug-v1-a4-s1of2"
    assert told(choice(names, attempt=attempt)) == (taken, others)


def test_what_later_attempts_upload_is_passed_over() -> None:
    found = choice("opsdebug-v1-a2-s1of1", attempt=1)
    assert (found.shards, found.reasons) == (0, ("no job has uploaded what it found",))


@pytest.mark.parametrize("size", [0, -1, ARCHIVE_LIMIT_BYTES + 1])
def test_a_size_that_is_not_read_is_not_fetched(size: int) -> None:
    assert told(choice("opsdebug-v1-a1-s1of1", size=size)) == ("", "1:rejected")
    assert told(choice("opsdebug-v1-a1-s1of1", size=ARCHIVE_LIMIT_BYTES)) == ("1:1", "")


@pytest.mark.parametrize(
    ("text", "expected"),
    [("opsdebug-v1-a1-s1of9999", None), ("opsdebug-v1-a1-s1of1", 9_999)],
)
def test_more_shards_than_a_matrix_has_are_said_and_not_listed(text: str, expected: int | None) -> None:
    found = choice(text, expected=expected)
    assert (found.shards, found.taken, found.others) == (0, (), ())
    assert found.reasons == (f"there are said to be 9,999 shards; a matrix has at most {MOST_SHARDS}",)
    assert len(choice(f"opsdebug-v1-a1-s1of{MOST_SHARDS}").others) == MOST_SHARDS - 1


def test_a_shard_beyond_the_plan_is_said() -> None:
    found = choice("opsdebug-v1-a1-s1of1 opsdebug-v1-a1-s2of2", expected=1)
    assert told(found) == ("1:1", "")
    assert found.reasons == (
        "there is an artifact opsdebug-v1-a1-s2of2, and 1 shard is planned; "
        "`expected-shards` and the matrix must agree",
    )


def test_who_looks_for_a_shard_in_vain_reads_what_it_would_be_called() -> None:
    found = chosen((), suite="gpu", attempt=3, expected=2).others[1]
    assert (found.shard, found.state) == (2, ShardState.MISSING)
    assert found.reason == (
        "the run has no artifact opsdebug-v1-gpu-a1-s2of2, nor one of a later attempt; "
        "its job ended early, or uploads something else"
    )


def test_shards_of_another_division_name_both() -> None:
    (found, *_) = choice("opsdebug-v1-a1-s1of1", expected=3).others
    assert found.reason == (
        "its artifact opsdebug-v1-a1-s1of1 is of another division; wanted one of 3: "
        "`expected-shards` and the matrix must agree"
    )


def test_reasons_are_one_line_of_ours() -> None:
    found = choice("opsdebug-v1-a1-s1of1 opsdebug-v1-a1-s1of1")
    assert found.others[0].reason == "2 artifacts are named opsdebug-v1-a1-s1of1"
    assert re.fullmatch(r"[ -~]+", found.others[0].reason)

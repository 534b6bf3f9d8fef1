"""Causes of a store: fingerprints that groups merged are one, states, representatives; text and JSON."""

from __future__ import annotations

import json
from dataclasses import replace
from datetime import datetime, timezone
from pathlib import Path

import jsonschema
import msgspec
import pytest
from store_documents import run_document

from opsdebug_ci.errors import UsageError
from opsdebug_ci.model import Blame, Cause, Finding, Group, Identity
from opsdebug_ci.model.failure_list import CauseState, FailuresDocument
from opsdebug_ci.pipeline.failures import list_failures, show_failure
from opsdebug_ci.plan import Configuration
from opsdebug_ci.report import encode, failures_text, schema_text
from opsdebug_ci.store.files.encoding import encode_rows
from opsdebug_ci.store.places.backends import open_store
from opsdebug_ci.store.tables import acceptances

NOW = datetime(2026, 12, 1, tzinfo=timezone.utc)
SCHEMA = Path(__file__).parents[2] / "docs" / "schema" / "opsdebug.failures.1.json"
LEAD, CHILD, OTHER = "v2:aaaa000000000001", "v2:bbbb000000000002", "v2:cccc000000000003"


def recorded(root: Path, run_id: str, commit: str, cases: str, *groups: Group, day: str) -> None:
    """Store a run whose failures have findings and these groups."""
    plain = run_document(cases, run_id, day=day, commit=commit)
    found = Finding(
        cause=Cause.OOB_WRITE,
        confidence=0.97,
        blame=Blame.OPERATOR,
        statement="4 bytes past `out0`",
        evidence={"bytes": 4, "argument": "out0"},
        next="opsdebug run add",
    )
    seen = tuple(replace(o, findings=(found,) if o.fingerprint else ()) for o in plain.observations)
    summary = replace(plain.summary, groups=groups)
    open_store(root / "baselines").append(replace(plain, observations=seen, summary=summary))


def grouped(fingerprint: str, *members: str, operator: str = "add") -> Group:
    return Group(
        fingerprint=fingerprint,
        cause=Cause.OOB_WRITE,
        operator=operator,
        count=2,
        cases=(f"{operator}-0",),
        statement="4 bytes past `out0`",
        why="oob_write in out0, tail zone, <=16 B away, S % 16 != 0; 2 cases in float32",
        separators=("S % 16 != 0 (2 of 2 failing, 0 of 9 passing)",),
        boundary="fails at S=129, passes at S=128",
        members=(fingerprint, *members),
        identity=Identity(
            operator=operator,
            kind="oob_write",
            cause="oob_write",
            target="out0",
            node="store",
            zone="tail",
            distance="<=16 B",
            dtype_family="wide",
        ),
    )


@pytest.fixture(scope="module")
def settings(tmp_path_factory: pytest.TempPathFactory) -> Configuration:
    """Three runs: a symptom alone, then the cause with it, then another operator without them."""
    tmp_path = tmp_path_factory.mktemp("causes")
    recorded(tmp_path, "r1", "c1", f"add:fail/{CHILD} add:pass", grouped(CHILD), day="2026-11-01")
    both = (grouped(LEAD, CHILD), grouped(OTHER, operator="mul"))
    recorded(tmp_path, "r2", "c2", f"add:fail/{LEAD} add:fail/{LEAD} mul:crash/{OTHER}", *both, day="2026-11-02")
    recorded(tmp_path, "r3", "c3", "mul:pass", day="2026-11-03")
    return Configuration(root=tmp_path)


def test_merged_fingerprints_are_one_cause(settings: Configuration) -> None:
    document = list_failures(settings, NOW)
    assert [(c.fingerprint, c.members, c.operator, c.state) for c in document.causes] == [
        (LEAD, (LEAD, CHILD), "add", CauseState.OPEN),
        (OTHER, (OTHER,), "mul", CauseState.NOT_SEEN),
    ]
    assert [(c.first.commit, c.last.commit, c.cases) for c in document.causes] == [("c1", "c2", 2), ("c2", "c2", 1)]


def test_a_symptom_that_two_causes_claim_makes_them_not_one(tmp_path: Path) -> None:
    recorded(tmp_path, "r1", "c1", f"add:fail/{LEAD}", grouped(LEAD, CHILD), day="2026-11-01")
    recorded(tmp_path, "r2", "c2", f"add:fail/{OTHER}", grouped(OTHER, CHILD), day="2026-11-02")
    recorded(tmp_path, "r3", "c3", f"add:fail/{CHILD}", grouped(CHILD), day="2026-11-03")
    causes = list_failures(Configuration(root=tmp_path), NOW).causes
    assert {cause.fingerprint for cause in causes} == {LEAD, OTHER, CHILD}


def test_causes_that_claim_each_other_are_one(tmp_path: Path) -> None:
    recorded(tmp_path, "r1", "c1", f"add:fail/{LEAD}", grouped(LEAD, CHILD), day="2026-11-01")
    recorded(tmp_path, "r2", "c2", f"add:fail/{CHILD}", grouped(CHILD, LEAD), day="2026-11-02")
    (only,) = list_failures(Configuration(root=tmp_path), NOW).causes
    assert (only.fingerprint, only.first.commit, only.last.commit, only.runs) == (LEAD, "c1", "c2", 2)


def test_one_operator_can_be_asked_about(settings: Configuration) -> None:
    assert [cause.operator for cause in list_failures(settings, NOW, "mul").causes] == ["mul"]
    assert list_failures(settings, NOW, "gelu").causes == ()


def test_the_list_as_text(settings: Configuration) -> None:
    told = failures_text(list_failures(settings, NOW)).replace(str(settings.root), "ROOT")
    assert told == (
        "2 causes in ROOT/baselines and .opsdebug/bundles, 1 open\n"
        "\n"
        "fingerprint  operator  cause      state              cases  runs     first seen      last seen  bundle\n"
        "v2:aaaa0000  add       oob_write  open                   2     2  c1 2026-11-01  c2 2026-11-02       -\n"
        "v2:cccc0000  mul       oob_write  not seen since c2      1     1  c2 2026-11-02  c2 2026-11-02       -\n"
        "\n"
        "v2:aaaa0000 add: 4 bytes past `out0`\n"
        "  fails where S % 16 != 0 (2 of 2 failing, 0 of 9 passing)\n"
        "  fails at S=129, passes at S=128\n"
        "\n"
        "v2:cccc0000 mul: 4 bytes past `out0`\n"
        "  fails where S % 16 != 0 (2 of 2 failing, 0 of 9 passing)\n"
        "  fails at S=129, passes at S=128\n"
        "\n"
        "next: opsdebug failures show v2:aaaa000000000001\n"
    )


@pytest.mark.parametrize("name", [LEAD, CHILD, "v2:aaaa", "aaaa", "AAAA0000", "bbbb"])
def test_a_cause_is_shown_by_any_of_its_names(settings: Configuration, name: str) -> None:
    assert [cause.fingerprint for cause in show_failure(settings, NOW, name).causes] == [LEAD]


def test_everything_about_one(settings: Configuration) -> None:
    told = failures_text(show_failure(settings, NOW, LEAD))
    assert told == (
        "add: oob_write: 4 bytes past `out0`\n"
        "  open; 2 cases in 2 runs\n"
        "  first seen c1 2026-11-01, last seen c2 2026-11-02\n"
        "  one cause because: oob_write in out0, tail zone, <=16 B away, S % 16 != 0; 2 cases in float32\n"
        "  fails where S % 16 != 0 (2 of 2 failing, 0 of 9 passing)\n"
        "  fails at S=129, passes at S=128\n"
        "\n"
        "fingerprint:\n"
        "  v2:aaaa000000000001\n"
        "  v2:bbbb000000000002\n"
        "  kind     oob_write\n"
        "  cause    oob_write\n"
        "  target   out0\n"
        "  step     store\n"
        "  zone     tail\n"
        "  distance <=16 B\n"
        "  dtypes   wide\n"
        "\n"
        "failed:\n"
        "  fail add[B=1,S=128 float32 seed=0] c2 2026-11-02\n"
        "  fail add[B=1,S=128 float32 seed=1] c2 2026-11-02\n"
        "  fail add[B=1,S=128 float32 seed=0] c1 2026-11-01\n"
        "\n"
        "evidence:\n"
        "  bytes 4\n"
        '  argument "out0"\n'
        "\n"
        "next: opsdebug run add\n"
    )


@pytest.mark.parametrize(
    ("name", "message"), [("dddd", "no recorded cause"), ("v2:", "stands for 2 causes"), ("", "no recorded cause")]
)
def test_a_name_of_none_or_several_is_refused(settings: Configuration, name: str, message: str) -> None:
    with pytest.raises(UsageError, match=message):
        show_failure(settings, NOW, name)


@pytest.mark.parametrize(
    ("until", "state"),
    [
        (None, CauseState.ACCEPTED),
        (datetime(2027, 1, 1, tzinfo=timezone.utc), CauseState.ACCEPTED),
        (NOW, CauseState.OPEN),
    ],
)
def test_what_somebody_accepted_is_so_until_it_lapses(
    tmp_path: Path, until: datetime | None, state: CauseState
) -> None:
    recorded(tmp_path, "r1", "c1", f"add:fail/{LEAD}", grouped(LEAD), day="2026-11-01")
    folder = tmp_path / "baselines" / "acceptances" / "date=2026-11-02"
    folder.mkdir(parents=True)
    row = {"id": "a1", "fingerprint": LEAD, "operator": "add", "accepted_by": "somebody", "until": until}
    (folder / "a1.parquet").write_bytes(encode_rows(acceptances.TABLE, [row]))
    assert [cause.state for cause in list_failures(Configuration(root=tmp_path), NOW).causes] == [state]


def test_without_a_store_nothing_is_recorded(tmp_path: Path) -> None:
    document = list_failures(Configuration(root=tmp_path), NOW)
    assert (document.causes, document.next) == ((), ("opsdebug ci --stage smoke",))
    assert failures_text(document).startswith("no failure is recorded in ")


def test_documents_are_valid_and_read_back_equal(settings: Configuration) -> None:
    validator = jsonschema.Draft202012Validator(json.loads(SCHEMA.read_text(encoding="utf-8")))
    for document in (list_failures(settings, NOW), show_failure(settings, NOW, LEAD)):
        validator.validate(json.loads(encode(document)))
        assert msgspec.json.decode(encode(document), type=FailuresDocument) == document
    with pytest.raises(jsonschema.ValidationError):
        validator.validate({"schema": "opsdebug.failures/1"})


def test_the_committed_schema_is_the_derived_one() -> None:
    assert SCHEMA.read_text(encoding="utf-8") == schema_text("opsdebug.failures/1")

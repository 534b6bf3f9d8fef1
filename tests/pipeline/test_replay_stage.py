"""`ci --stage replay` over bundles that reproduce, are accepted, mended, gone, refused, or fail in another way."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, replace
from datetime import datetime, timedelta, timezone
from pathlib import Path

import pytest
from pipeline_notation import CONSTANT, RIGHT, WRONG, Project, pull_request, repository
from replay_notation import bundles_of, keep

from opsdebug_ci.bundle.archive import packed
from opsdebug_ci.bundle.manifest import manifest_bytes
from opsdebug_ci.errors import UsageError
from opsdebug_ci.failures.bundle_reader import parse_bundle
from opsdebug_ci.model import ObservationDocument, Stage, Verdict
from opsdebug_ci.model.bundle import BundleManifest, Rate
from opsdebug_ci.model.document import RunDocument
from opsdebug_ci.model.replay import ReplayOutcome, TryCounts
from opsdebug_ci.pipeline.ci import CiOutcome, run_stage
from opsdebug_ci.pipeline.replay import ReplayRequest, replay
from opsdebug_ci.pipeline.replay_places import Entry, Found
from opsdebug_ci.pipeline.replay_stage import (
    MOST_TRIES,
    UNCOUNTED,
    Memory,
    in_order,
    of_shard,
    tries_of,
    without_repeats,
)
from opsdebug_ci.pipeline.selection import Selection
from opsdebug_ci.plan import Shard
from opsdebug_ci.store.baseline_store import BaselineStore
from opsdebug_ci.store.files.encoding import encode_rows
from opsdebug_ci.store.places.backends import open_store
from opsdebug_ci.store.sql.query import query
from opsdebug_ci.store.tables import acceptances

REPLAY = Selection(stage=Stage.REPLAY)

FAILING = {"wrong": WRONG, "tolerated": CONSTANT, "mended": WRONG, "gone": WRONG, "other": WRONG}
"""Operators that fail when their bundles are made, by what they return."""


@dataclass(frozen=True)
class Place:
    """A project some time after its failures."""

    project: Project
    bundles: Mapping[str, bytes]
    """By operator."""
    hashes: Mapping[str, str]
    """The same."""
    damaged: str
    """sha256 that a damaged file is named by."""

    @property
    def store(self) -> BaselineStore:
        return open_store(self.project.directory / "baselines")

    def stage(self, selection: Selection = REPLAY, **overrides: object) -> CiOutcome:
        return run_stage(selection, self.project.configuration(**overrides), self.project.world())


def accept(store: Path, fingerprint: str) -> None:
    row = {"id": "1", "fingerprint": fingerprint, "until": datetime.now(timezone.utc) + timedelta(days=1)}
    directory = store / "acceptances" / "date=2026-11-30"
    directory.mkdir(parents=True)
    (directory / "1.parquet").write_bytes(encode_rows(acceptances.TABLE, [row]))


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Place:
    """Five bundles, half of them in the store, and a damaged one; then the operators change."""
    project = repository(tmp_path_factory.mktemp("replay"), **FAILING)
    project.commit()
    bundles = bundles_of(project, *FAILING)
    store = open_store(project.directory / "baselines")
    hashes = {}
    for operator, data in bundles.items():
        hashes[operator] = keep(project, data) if operator in ("wrong", "mended") else store.put_bundle(data)
    accept(project.directory / "baselines", parse_bundle(bundles["tolerated"], "it").manifest.fingerprint)
    damaged = "0" * 64
    path = project.directory / "baselines" / "bundles" / "00" / f"{damaged}.opsbundle"
    path.parent.mkdir()
    path.write_bytes(bundles["wrong"][:-1])
    project.write(mended=RIGHT, other="x.no_such_thing()")
    (project.directory / "gone.py").unlink()
    project.configure().commit()
    return Place(project=project, bundles=bundles, hashes=hashes, damaged=damaged)


@pytest.fixture(scope="module")
def outcome(place: Place) -> CiOutcome:
    return place.stage()


@pytest.fixture(scope="module")
def document(outcome: CiOutcome) -> RunDocument:
    return outcome.document


def of(document: RunDocument, operator: str) -> ObservationDocument:
    [found] = [observation for observation in document.observations if observation.case.operator == operator]
    return found


def test_every_bundle_is_judged_and_the_unaccepted_failures_gate(document: RunDocument) -> None:
    assert {o.case.operator: o.verdict for o in document.observations} == {
        "wrong": Verdict.FAIL,
        "tolerated": Verdict.FAIL,
        "mended": Verdict.PASS,
        "gone": Verdict.SKIPPED,
        "other": Verdict.FAIL,
    }
    assert (document.stage, document.run.stage) == ("replay", Stage.REPLAY)
    assert (document.summary.verdict, document.summary.exit_code) == (Verdict.FAIL, 1)
    known = {group.operator: group.known for group in document.summary.groups}
    assert known == {"wrong": False, "other": False, "tolerated": True}


def test_what_reproduces_keeps_its_recorded_name(document: RunDocument, place: Place) -> None:
    for operator in ("wrong", "tolerated"):
        found = of(document, operator)
        assert found.fingerprint == parse_bundle(place.bundles[operator], "it").manifest.fingerprint
        assert found.bundle == place.hashes[operator]
        assert found.findings


def test_what_fails_in_another_way_has_a_name_of_its_own(document: RunDocument, place: Place) -> None:
    found = of(document, "other")
    assert found.fingerprint not in (None, parse_bundle(place.bundles["other"], "it").manifest.fingerprint)
    assert "no_such_thing" in found.findings[0].statement


def test_an_operator_that_is_gone_is_skipped_with_its_reason(document: RunDocument) -> None:
    assert of(document, "gone").reason == "operator `gone` does not exist any more"


def test_accepted_and_refused_bundles_are_in_the_notes(document: RunDocument, place: Place) -> None:
    refused, accepted = sorted(document.notes)
    assert refused.startswith("bundle 000000000000 in ")
    assert " is refused: " in refused
    assert "is damaged: its bytes have sha256" in refused
    name = f"{of(document, 'tolerated').fingerprint} of `tolerated`"
    assert accepted == f"failure {name} (bundle {place.hashes['tolerated'][:12]}) is accepted and does not gate"


def test_groups_name_the_bundle_to_replay(document: RunDocument, place: Place) -> None:
    assert {group.operator: group.bundle for group in document.summary.groups} == {
        operator: place.hashes[operator] for operator in ("wrong", "tolerated", "other")
    }


def test_it_is_recorded_with_bundles_that_are_there(outcome: CiOutcome, place: Place) -> None:
    assert outcome.recorded == place.store.location
    run = outcome.document.run.id
    rows = query(place.store.location, f"select operator, bundle from failures where run_id = '{run}' order by 1").rows
    assert rows == tuple((operator, place.hashes[operator]) for operator in ("other", "tolerated", "wrong"))
    assert {place.hashes["wrong"], place.hashes["other"]} <= set(place.store.bundles())
    assert place.store.load(run).notes == outcome.document.notes


def test_accepted_and_gone_ones_alone_pass(place: Place, outcome: CiOutcome) -> None:
    path = place.project.directory / "baselines" / "bundles" / "00" / f"{place.damaged}.opsbundle"
    data = path.read_bytes()
    path.unlink()
    try:
        document = place.stage(replace(REPLAY, patterns=("tolerated", "gone"))).document
    finally:
        path.write_bytes(data)
    assert {o.case.operator: o.verdict for o in document.observations} == {
        "tolerated": Verdict.FAIL,
        "gone": Verdict.SKIPPED,
    }
    assert (document.summary.verdict, document.summary.exit_code) == (Verdict.PASS, 0)


def test_a_change_cannot_bring_its_own_acceptance(place: Place, outcome: CiOutcome) -> None:
    project = place.project
    base = project.git("rev-parse", "HEAD")
    project.git("add", "--force", "baselines/acceptances")
    project.git("commit", "--quiet", "--message", "accept")
    world = project.world(pull_request(project.directory, base))
    try:
        found = run_stage(replace(REPLAY, patterns=("tolerated",)), project.configuration(), world)
    finally:
        project.git("reset", "--quiet", "--soft", base)
    assert found.document.summary.exit_code == 1
    assert "nothing is taken as known: the change touches the store" in found.notes[0]
    assert found.recorded is None


def test_a_spent_budget_and_a_refused_bundle_make_it_incomplete(place: Place) -> None:
    world = place.project.world(tick_ns=10**9)
    picked = replace(REPLAY, patterns=("mended", "tolerated"), budget_s=0.5)
    document = run_stage(picked, place.project.configuration(), world).document
    assert document.observations == ()
    assert (document.summary.verdict, document.summary.exit_code) == (Verdict.INCONCLUSIVE, 4)
    assert [note.partition(" in ")[0] for note in document.notes] == [
        "bundle 000000000000",
        "the budget was spent before 2 of 3 bundles were tried",
    ]


def redrawn(data: bytes) -> bytes:
    """A bundle without its storages, whose case makes others than it names."""
    manifest = parse_bundle(data, "it").manifest
    case = replace(manifest.case, seed=1)
    observation = replace(manifest.observation, case_id=case.id)
    changed = replace(manifest, case=case, case_id=case.id, observation=observation, stored=())
    return packed(manifest_bytes(changed), {})


def test_replay_tells_each_outcome(place: Place) -> None:
    names = [place.hashes[operator][:10] for operator in ("mended", "gone", "other")]
    (place.project.directory / "redrawn.opsbundle").write_bytes(redrawn(place.bundles["wrong"]))
    request = ReplayRequest(names=(*names, place.damaged, "redrawn.opsbundle"), tries=1)
    document = replay(request, place.project.configuration(), place.project.world())
    mended, gone, other, _, drawn_anew = document.bundles
    assert [bundle.outcome for bundle in document.bundles] == [
        ReplayOutcome.NOT_REPRODUCED,
        ReplayOutcome.GONE,
        ReplayOutcome.OTHERWISE,
        ReplayOutcome.REFUSED,
        ReplayOutcome.REFUSED,
    ]
    wanted = parse_bundle(place.bundles["wrong"], "it").manifest.inputs.digest[:16]
    assert re.search(
        rf"inputs are not those of the bundle: got digest [0-9a-f]{{16}}, wanted {wanted}", drawn_anew.reason
    )
    assert drawn_anew.counts == TryCounts()
    assert (mended.place, gone.place) == (".opsdebug", place.store.location)
    assert (mended.source, gone.source) == ("mended.py:11", None)
    assert [failure.count for failure in other.others] == [1]
    assert document.conclusion == (
        "of 5 bundles 1 not reproduced, 1 failing in another way, 2 refused, 1 without an operator",
    )
    assert document.exit_code == 2
    assert document.next[-1].endswith(f"replay {place.hashes['mended'][:12]} --times 73")


def test_changed_operators_alone_are_no_selection(place: Place) -> None:
    with pytest.raises(UsageError, match="`--changed` is given with `--stage replay`"):
        place.stage(replace(REPLAY, changed="HEAD"))


def entry(sha256: str, fingerprint: str, manifest: BundleManifest) -> Entry:
    found = Found(sha256=sha256, place="somewhere", read=lambda: pytest.fail("it is not read"))
    return Entry(found=found, sha256=sha256, manifest=replace(manifest, fingerprint=fingerprint))


def test_the_oldest_cause_comes_first_and_what_no_run_has_recorded_last(place: Place) -> None:
    manifest = parse_bundle(place.bundles["wrong"], "it").manifest
    day = datetime(2026, 11, 1, tzinfo=timezone.utc)
    memory = Memory(first_seen={"v2:new": day + timedelta(days=9), "v2:old": day})
    entries = [
        entry("a", "v2:new", manifest),
        entry("c", "v2:none", manifest),
        entry("b", "v2:none", manifest),
        entry("e", "v2:old", manifest),
        entry("d", "v2:old", manifest),
    ]
    # one of every cause before a second one of any
    assert [each.sha256 for each in in_order(entries, memory)] == ["d", "a", "b", "e", "c"]


def test_one_bundle_of_each_failure_on_the_same_bytes_is_tried(place: Place) -> None:
    first = parse_bundle(place.bundles["wrong"], "it").manifest
    second = parse_bundle(place.bundles["other"], "it").manifest
    counted = replace(first, commit="1" * 40, rate=Rate(failed=20, tries=20))
    entries = [
        entry("a", "v2:one", first),
        entry("b", "v2:one", counted),
        entry("c", "v2:two", first),
        entry("d", "v2:one", second),
        replace(entry("e", "", first), manifest=None),
        replace(entry("f", "", first), manifest=None),
    ]
    assert [each.sha256 for each in without_repeats(entries)] == ["b", "c", "d", "e", "f"]


def test_a_plan_counts_every_bundle_that_was_to_be_replayed(document: RunDocument, place: Place) -> None:
    plan = document.plan
    assert plan is not None and (plan.cases, plan.mine) == (6, 6)
    [part] = [place.stage(replace(REPLAY, shard=Shard(index=6, count=6))).document.plan]
    assert part == replace(plan, mine=1)


def test_shards_are_apart_and_together_complete(place: Place) -> None:
    manifest = parse_bundle(place.bundles["wrong"], "it").manifest
    entries = [entry(sha256, "v2:none", manifest) for sha256 in "gfedcba"]
    parts = [[e.sha256 for e in of_shard(entries, Shard(index=index, count=3))] for index in (1, 2, 3)]
    assert parts == [["a", "d", "g"], ["b", "e"], ["c", "f"]]
    assert len(of_shard(entries, None)) == 7


@pytest.mark.parametrize(
    ("rate", "tries"),
    [
        (None, UNCOUNTED),
        (Rate(failed=20, tries=20), 1),
        (Rate(failed=2, tries=20), 44),
        (Rate(failed=1, tries=1000), MOST_TRIES),
        (Rate(failed=0, tries=20), UNCOUNTED),
    ],
)
def test_so_many_tries_that_the_failure_would_show(place: Place, rate: Rate | None, tries: int) -> None:
    manifest = parse_bundle(place.bundles["wrong"], "it").manifest
    assert tries_of(replace(manifest, rate=rate)) == tries

"""From failing cases to bundles: in real workers, to a real directory, in two places of the same machine."""

from __future__ import annotations

import json
import os
import stat
import sys
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest
from bundles_project import NAMES, Project, case, keep, run

from opsdebug_ci.bundle.place import BundlePlace
from opsdebug_ci.failures.bundle_reader import Bundle, read_bundle, unpack
from opsdebug_ci.model import Judgement, Observation, Status, Verdict
from opsdebug_ci.model.bundle import ValueKind
from opsdebug_ci.model.message import RunCase
from opsdebug_ci.model.run import Revision
from opsdebug_ci.pipeline.bundles import FailedCase, WrittenBundles, write_bundles
from opsdebug_ci.pipeline.diagnosis import Means, diagnose
from opsdebug_ci.pipeline.workbench import Workbench, workbench

SETTINGS = {"OMP_NUM_THREADS": "1", "GITHUB_TOKEN": "secret", "EDITOR": "ed"}

PRIVATE = ("of the house", "1234567890123", "no such thing", "red\\n", (0.125).hex())


@dataclass(frozen=True, slots=True, kw_only=True)
class Kept:
    """A run and the bundles it left."""

    project: Project
    """Where."""

    bench: Workbench
    """Its workers, alive."""

    judgements: list[Judgement]
    """In the order of the names."""

    written: WrittenBundles
    """Its bundles."""

    def bundle(self, name: str) -> Bundle:
        sha256 = self.written.bundles[case(name).id]
        return read_bundle(BundlePlace.beside(self.project.root).path(sha256))


@pytest.fixture(scope="module")
def one_core() -> Iterator[None]:
    if sys.platform != "linux":
        yield
        return
    before = os.sched_getaffinity(0)
    os.sched_setaffinity(0, {max(before)})
    yield
    os.sched_setaffinity(0, before)


@pytest.fixture(scope="module")
def kept(one_core: None, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Kept]:
    project = Project(root=tmp_path_factory.mktemp("one"))
    world, configuration = project.world(**SETTINGS), project.configuration()
    with workbench(configuration, world) as bench:
        judgements = run(bench)
        written = keep(judgements, bench, configuration, world)
        yield Kept(project=project, bench=bench, judgements=judgements, written=written)


def test_every_failing_case_has_a_bundle(kept: Kept) -> None:
    verdicts = {judgement.case.operator: judgement.verdict for judgement in kept.judgements}
    assert verdicts["right"] is Verdict.PASS
    assert verdicts["crashes"] is Verdict.CRASH
    assert set(kept.written.bundles) == {case(name).id for name in NAMES if name != "right"}
    assert kept.written.notes == ()


@pytest.mark.parametrize("name", [name for name in NAMES if name != "right"])
def test_a_bundle_says_what_happened(kept: Kept, name: str) -> None:
    manifest = kept.bundle(name).manifest
    judgement = next(j for j in kept.judgements if j.case.operator == name)
    assert (manifest.case, manifest.verdict) == (judgement.case, judgement.verdict)
    assert manifest.observation.inputs_digest == judgement.observation.inputs_digest is not None
    assert manifest.observation.status is judgement.observation.status
    assert [f.cause for f in manifest.findings] == [f.cause for f in judgement.findings]
    assert manifest.commit == "ab" * 20
    assert manifest.source is not None
    assert manifest.source.startswith("ops.py:")
    assert manifest.environment == (("OMP_NUM_THREADS", "1"),)


def test_small_inputs_are_inside_and_replay_bit_for_bit(kept: Kept, tmp_path: Path) -> None:
    bundle = kept.bundle("half_off")
    assert bundle.complete
    request = RunCase(case=bundle.manifest.case, inputs=unpack(bundle, tmp_path), explaining=False)
    again = kept.bench.pool.about(request, Observation)
    assert again.status is Status.RAN
    assert again.inputs_digest == bundle.manifest.observation.inputs_digest
    assert again.outputs[0].rejected == bundle.manifest.observation.outputs[0].rejected > 0


def test_a_changed_storage_is_not_run(kept: Kept, tmp_path: Path) -> None:
    bundle = kept.bundle("half_off")
    stored = unpack(bundle, tmp_path)
    (file,) = tmp_path.iterdir()
    file.write_bytes(bytes([file.read_bytes()[0] ^ 1]) + file.read_bytes()[1:])
    again = kept.bench.pool.about(RunCase(case=bundle.manifest.case, inputs=stored), Observation)
    assert again.status is Status.INPUTS_BROKEN
    assert "inputs are not those of the bundle" in (again.reason or "")


def test_large_inputs_are_made_again_and_held_against_their_hashes(kept: Kept, tmp_path: Path) -> None:
    bundle = kept.bundle("heavy")
    assert bundle.manifest.stored == ()
    assert bundle.manifest.notes == ("its inputs take 20971520 bytes; at most 16777216 are kept",)
    stored = unpack(bundle, tmp_path)
    assert stored.directory is None
    again = kept.bench.pool.about(RunCase(case=bundle.manifest.case, inputs=stored, explaining=False), Observation)
    assert again.inputs_digest == bundle.manifest.observation.inputs_digest


def test_inputs_that_differ_each_time_are_not_kept(kept: Kept) -> None:
    manifest = kept.bundle("never_the_same").manifest
    assert manifest.inputs is None
    assert manifest.stored == ()
    assert manifest.notes == ("its inputs come out differently each time they are made, so none are kept",)


def test_a_crash_has_its_inputs_and_its_log(kept: Kept) -> None:
    bundle = kept.bundle("crashes")
    assert bundle.complete
    assert bundle.manifest.observation.process is not None
    assert "red" in bundle.manifest.observation.process.log_tail
    assert "\x1b" not in bundle.manifest.observation.process.log_tail


def test_nothing_of_the_machine_is_told_but_facts_on_a_list(kept: Kept) -> None:
    for name in set(NAMES) - {"right"}:
        text = kept.bundle(name).archive.manifest.decode()
        assert str(kept.project.root) not in text
        assert "secret" not in text
        assert "duration" not in text or '"durations": null' in text
    raised = kept.bundle("raises").manifest.observation.exception
    assert raised is not None
    assert raised.message.endswith("in ops.py")
    assert raised.place is not None
    assert raised.place.startswith("ops.py:")


def test_the_same_failures_elsewhere_are_the_same_bundles(
    kept: Kept, one_core: None, tmp_path_factory: pytest.TempPathFactory
) -> None:
    project = Project(root=tmp_path_factory.mktemp("two"))
    world, configuration = project.world(**SETTINGS), project.configuration()
    with workbench(configuration, world) as bench:
        written = keep(run(bench), bench, configuration, world)
    stable = [name for name in NAMES if name not in ("right", "never_the_same")]
    got, wanted = [[each.bundles[case(name).id] for name in stable] for each in (written, kept.written)]
    assert got == wanted


def test_private_values_stay_at_home(kept: Kept, tmp_path: Path) -> None:
    configuration = Project(root=tmp_path).configuration(**{"bundle.values": False})
    written = keep(kept.judgements, kept.bench, configuration, kept.project.world())
    place = BundlePlace.beside(tmp_path)
    assert set(written.bundles) == set(kept.written.bundles)
    for sha256 in place.all():
        bundle = read_bundle(place.path(sha256))
        text = bundle.archive.manifest.decode()
        assert bundle.manifest.stored == ()
        assert not any(private in text for private in PRIVATE)
    named = read_bundle(place.path(written.bundles[case("named").id]))
    assert named.manifest.inputs is not None
    assert [value.kind for value in named.manifest.inputs.values] == [
        ValueKind.TENSOR,
        ValueKind.WITHHELD,
        ValueKind.DICT,
    ]
    request = RunCase(case=named.manifest.case, inputs=unpack(named, tmp_path), explaining=False)
    again = kept.bench.pool.about(request, Observation)
    assert again.inputs_digest == named.manifest.observation.inputs_digest


def numbers_in(value: object) -> list[float]:
    """Every number with a fraction, however deep."""
    if isinstance(value, dict):
        value = list(value.values())
    if isinstance(value, list):
        return [number for item in value for number in numbers_in(item)]
    return [value] if isinstance(value, float) else []


def test_no_size_of_an_error_tells_what_a_value_was(kept: Kept, tmp_path: Path) -> None:
    # where an output is 0 or 1 instead of a value, its error, or its distance in ulps, is that value
    configuration = Project(root=tmp_path).configuration(**{"bundle.values": False})
    written = keep(kept.judgements, kept.bench, configuration, kept.project.world())
    for name in ("half_off", "named"):
        private = read_bundle(BundlePlace.beside(tmp_path).path(written.bundles[case(name).id]))
        assert numbers_in(json.loads(kept.bundle(name).archive.manifest)["observation"]["outputs"])
        (output,) = json.loads(private.archive.manifest)["observation"]["outputs"]
        assert numbers_in(output) == [output["accuracy"]["misrounding_rate"]]  # a share of elements
        assert set(output["accuracy"]["ulp"].values()) == {None}
        assert output["accuracy"]["over_tolerance"] == output["accuracy"]["compared"]


def test_of_one_cause_the_first_bundles_alone_hold_their_storages(
    kept: Kept, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    first, second = (next(j for j in kept.judgements if j.case.operator == name) for name in ("half_off", "raises"))
    room = sum(entry.size_bytes for entry in kept.bundle("half_off").manifest.inputs.storages)
    monkeypatch.setattr("opsdebug_ci.pipeline.bundles.MOST_CAUSE_BYTES", room)
    project = Project(root=tmp_path)
    failures = [FailedCase(judgement=each, fingerprint="v2:one") for each in (first, second)]
    written = write_bundles(
        failures, kept.bench, project.configuration(), Revision(commit="ab" * 20), kept.project.world()
    )
    stored = []
    for each in (first, second):
        bundle = read_bundle(BundlePlace.beside(tmp_path).path(written.bundles[each.case.id]))
        stored.append(bundle.manifest.stored)
        # without its storages, it is made again from its case and held against their hashes
        again = kept.bench.pool.about(
            RunCase(case=each.case, inputs=unpack(bundle, tmp_path), explaining=False), Observation
        )
        assert again.inputs_digest == each.observation.inputs_digest
    assert stored[0] and stored[1] == ()
    assert bundle.manifest.notes == ("the bundles of its cause have 0 MiB already: hashes only",)


def test_where_nothing_can_be_written_one_note_says_so(kept: Kept, tmp_path: Path) -> None:
    project = Project(root=tmp_path)
    (tmp_path / ".opsdebug").write_text("a file where the directory would be")
    written = keep(kept.judgements, kept.bench, project.configuration(), kept.project.world())
    assert written.bundles == {}
    assert len(written.notes) == 1
    assert "bundles were not written" in written.notes[0]


def test_a_full_disk_costs_notes_and_no_verdict(kept: Kept, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path / "gone"))
    means = Means(
        bench=kept.bench,
        configuration=Project(root=tmp_path).configuration(),
        revision=Revision(commit="ab" * 20),
        world=kept.project.world(),
        seconds=5.0,
    )
    told = diagnose(kept.judgements, means)
    assert [judgement.verdict for judgement in told.judgements] == [judgement.verdict for judgement in kept.judgements]
    assert len(told.groups) == len(NAMES) - 1
    assert told.bundles == {}
    assert sorted(note.split(": ")[0] for note in told.notes) == [
        f"bundles were not written to {tmp_path}",
        "some failures were not made smaller",
    ]


def test_bundles_can_be_read_by_whoever_reads_the_project(kept: Kept) -> None:
    path = BundlePlace.beside(kept.project.root).path(kept.written.bundles[case("half_off").id])
    assert stat.S_IMODE(path.stat().st_mode) & 0o444

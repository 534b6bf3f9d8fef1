"""A failure that shows in one launch of ten: k of n tries with its interval, on the same bytes in other processes."""

from __future__ import annotations

import re
from dataclasses import dataclass

import pytest
from pipeline_notation import Project, repository
from replay_notation import SELDOM, failing_bundle_of, keep

from opsdebug_ci.bundle.place import BundlePlace
from opsdebug_ci.failures.bundle_reader import read_bundle
from opsdebug_ci.model.bundle import InputTable
from opsdebug_ci.model.replay import Difference, ReplayDocument, ReplayOutcome, Steadiness
from opsdebug_ci.model.wilson import wilson
from opsdebug_ci.pipeline.replay import ReplayRequest, replay
from opsdebug_ci.pipeline.workbench import workbench
from opsdebug_ci.report.replay import replay_text

TRIES = 10


@dataclass(frozen=True)
class Launch:
    """One launch of the operator, as it wrote it down."""

    process: str
    threads: str
    digest: str


def launches(project: Project) -> list[Launch]:
    return [Launch(*line.split()) for line in (project.directory / "launches").read_text().splitlines()]


def inputs_of(project: Project, sha256: str) -> InputTable:
    path = BundlePlace.beside(project.directory).path(sha256)
    inputs = read_bundle(path).manifest.inputs
    assert inputs is not None
    return inputs


@pytest.fixture(scope="module")
def project(tmp_path_factory: pytest.TempPathFactory) -> Project:
    project = repository(tmp_path_factory.mktemp("flaky"))
    (project.directory / "seldom.py").write_text(SELDOM)
    return project.configure()


@pytest.fixture(scope="module")
def sha256(project: Project) -> str:
    """A bundle made on one thread."""
    with workbench(project.configuration(), project.world()) as bench:
        return keep(project, failing_bundle_of(bench, "seldom"))


@pytest.fixture(scope="module")
def recorded(project: Project, sha256: str) -> list[Launch]:
    """Launches before any replay."""
    return launches(project)


@pytest.fixture(scope="module")
def document(project: Project, sha256: str, recorded: list[Launch]) -> ReplayDocument:
    """Its replay on three threads, named by the beginning of its hash."""
    (project.directory / "threads").write_text("3")
    return replay(ReplayRequest(names=(sha256[:7],), tries=TRIES), project.configuration(), project.world())


def test_it_shows_in_some_tries_and_the_interval_says_how_sure_that_is(document: ReplayDocument) -> None:
    [bundle] = document.bundles
    assert (bundle.outcome, document.exit_code) == (ReplayOutcome.REPRODUCED, 1)
    assert bundle.counts.judged == TRIES
    assert 0 < bundle.counts.reproduced < TRIES
    assert bundle.others == (), "which launch was wrong is chance, not another failure"
    assert bundle.rate == wilson(bundle.counts.reproduced, TRIES)
    assert bundle.steadiness in (Steadiness.FLAKY, Steadiness.UNSETTLED)


def test_it_runs_on_the_same_bytes_in_fresh_processes_with_other_threads(
    project: Project, document: ReplayDocument, recorded: list[Launch], sha256: str
) -> None:
    later = launches(project)[len(recorded) :]
    assert {launch.threads for launch in recorded} == {"1"}
    assert {launch.threads for launch in later} == {"3"}
    assert not {launch.process for launch in recorded} & {launch.process for launch in later}
    assert len({launch.process for launch in later}) == 2, "five tries to a worker"
    [storage] = inputs_of(project, sha256).storages
    for before_or_after in (recorded, later):
        assert sum(launch.digest == storage.sha256 for launch in before_or_after) >= len(before_or_after) / 2
    assert document.bundles[0].inputs_digest == inputs_of(project, sha256).digest


def test_it_says_what_is_not_as_it_was(document: ReplayDocument) -> None:
    [bundle] = document.bundles
    assert bundle.differences == (Difference(fact="threads", recorded="1", here="3"),)


def test_its_text(document: ReplayDocument, sha256: str, project: Project) -> None:
    [bundle] = document.bundles
    text = replay_text(document)
    first = re.match(r"REPLAY: reproduced (\d+) of 10 \(Wilson 95 %: [\d.]+ to [\d.]+ %\): ", text)
    assert first is not None
    assert int(first[1]) == bundle.counts.reproduced
    assert f"bundle {sha256[:12]} in .opsdebug\n" in text
    assert f"  operator at {bundle.source}; it was at seldom.py:1\n" in text
    assert f"  inputs bit for bit those of digest {bundle.inputs_digest[:12]}\n" in text
    assert "  threads was 1, here 3\n" in text
    assert "next: opsdebug trace seldom " in text

"""What is asked about failures once every case is judged: pages, shrinking, bundles."""

from __future__ import annotations

from pathlib import Path

import pytest
from pipeline_notation import Project, repository

from opsdebug_ci.failures.bundle_reader import read_bundle
from opsdebug_ci.model import Stage, Verdict
from opsdebug_ci.model.document import RunDocument
from opsdebug_ci.pipeline.run import run
from opsdebug_ci.pipeline.selection import Selection
from opsdebug_ci.plan import parse_axes

OPERATOR = """
import torch

from opsdebug_ci import operator, tensor


@operator(kind="elementwise", x=tensor("N"))
def halves(x):
    if x.numel() <= 128:
        return 2 * x
    tail = torch.zeros_like(x)
    tail[128:] = x[128:]
    return 2 * x + tail


@halves.reference("torch")
def _(x):
    return 2 * x
"""


def verified(project: Project, diagnosis_s: float | None) -> RunDocument:
    selection = Selection(
        stage=Stage.RUN,
        axes=parse_axes(dims="N=300", seed="0", inputs="normal", layout="contiguous"),
        diagnosis_s=diagnosis_s,
    )
    return run(selection, project.configuration(), project.world())


@pytest.fixture
def project(tmp_path: Path) -> Project:
    project = repository(tmp_path)
    (project.directory / "halves.py").write_text(OPERATOR)
    return project.configure()


def bundles_in(directory: Path) -> list[Path]:
    return sorted((directory / ".opsdebug" / "bundles").glob("??/*.opsbundle"))


def test_nothing_is_asked_or_written_unless_wanted(project: Project) -> None:
    document = verified(project, None)
    (group,) = document.summary.groups
    assert (group.boundary, group.bundle, group.replay, group.smallest) == (None, None, None, "")
    assert not (project.directory / ".opsdebug").exists()


def test_a_failure_is_shrunk_and_both_cases_are_kept_once(project: Project) -> None:
    document = verified(project, 600.0)
    (group,) = document.summary.groups
    assert document.summary.verdict is Verdict.FAIL
    assert group.boundary == "fails at N=129, passes at N=128"
    kept = {path.name.removesuffix(".opsbundle"): read_bundle(path) for path in bundles_in(project.directory)}
    assert group.bundle in kept
    assert (group.replay, group.smallest) == (f"opsdebug replay {group.bundle[:12]}", "N=129, float32")
    smallest = kept[group.bundle].manifest
    assert (dict(smallest.case.dims), smallest.nearest_passing.dims) == ({"N": 129}, {"N": 128})
    # the case that failed in the run has a bundle of its own, and knows of no other
    (observation,) = document.observations
    assert observation.bundle in kept
    first = kept[observation.bundle].manifest
    assert (first.case_id, first.minimised_from) == (observation.case.id, None)
    assert smallest.minimised_from == observation.case.id
    assert smallest.fingerprint == first.fingerprint == group.fingerprint == observation.fingerprint
    # the same failure makes the same bundles
    (again,) = verified(project, 600.0).summary.groups
    assert again.bundle == group.bundle
    assert {path.name.removesuffix(".opsbundle") for path in bundles_in(project.directory)} == set(kept)


def test_a_tree_that_cannot_be_written_costs_a_note_and_no_verdict(project: Project) -> None:
    (project.directory / ".opsdebug").write_text("in the way")
    document = verified(project, 0.0)
    assert document.summary.verdict is Verdict.FAIL
    assert document.summary.groups[0].bundle is None
    assert [note for note in document.notes if note.startswith("bundles were not written to ")] == list(document.notes)
    assert len(document.notes) == 1

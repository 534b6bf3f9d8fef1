"""A finished run is never lost: what cannot be stored is kept beside the configuration, and can be sent later."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest
from pipeline_notation import RIGHT, repository

sys.path.insert(0, str(Path(__file__).parents[1] / "store"))

from store_documents import CALIBRATION, full_document, run_document
from store_packs import TODAY, with_bundle

from opsdebug_ci.bundle.place import BundlePlace
from opsdebug_ci.errors import StoreError
from opsdebug_ci.pipeline.keeping import UNSENT, keep_run
from opsdebug_ci.pipeline.store_care import push_runs
from opsdebug_ci.store.places.backends import open_store
from opsdebug_ci.store.upkeep.verification import verify


def test_a_run_that_could_not_be_stored_is_kept_and_sent(tmp_path: Path) -> None:
    (tmp_path / "project").mkdir()
    project = repository(tmp_path / "project", right=RIGHT)
    configuration, here = project.configuration(), project.world()
    run, data = with_bundle(run_document("add:pass gelu:fail/f1", "r1", event="push"), "b1", "gelu")
    BundlePlace.beside(configuration.root).put(data)
    (tmp_path / "in-the-way").write_text("no directory")
    target = open_store(tmp_path / "in-the-way")
    with pytest.raises(StoreError) as told:
        keep_run(run, [CALIBRATION], target, configuration, {})
    kept = configuration.root / ".opsdebug" / UNSENT
    assert f"the run is kept in {kept}" in told.value.message
    assert f"then `opsdebug baselines push --from {kept}`" in str(told.value.next_step)
    assert told.value.exit_code == 3
    (tmp_path / "in-the-way").unlink()
    [sent] = push_runs([kept], target, here)
    assert (sent.runs, sent.bundles, sent.faults) == (1, 1, ())
    assert target.stored("r1") == open_store(kept).stored("r1")
    assert verify(target.backend, today=TODAY).remarks == ()


def test_a_run_that_could_be_stored_is_not_kept_elsewhere(tmp_path: Path) -> None:
    (tmp_path / "project").mkdir()
    project = repository(tmp_path / "project", right=RIGHT)
    target = open_store(tmp_path / "baselines")
    keep_run(full_document(), [CALIBRATION], target, project.configuration(), {})
    assert target.load("r-full") == full_document()
    assert not (project.directory / ".opsdebug" / UNSENT).exists()

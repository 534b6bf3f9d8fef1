"""What is stored of a run has no path of the machine it was made on."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest
from branch_remotes import Forge
from store_documents import full_document, run_document

from opsdebug_ci.errors import StoreError
from opsdebug_ci.model import OperatorSource
from opsdebug_ci.pipeline.keeping import check_target, portable
from opsdebug_ci.pipeline.records import NO_RECORDS, read_records
from opsdebug_ci.store.baseline_store import BaselineStore
from opsdebug_ci.store.sql.query import query


def test_operators_are_where_they_are_in_the_repository(tmp_path: Path) -> None:
    (tmp_path / "link").symlink_to(tmp_path / "tree")
    (tmp_path / "tree" / "kernels").mkdir(parents=True)
    files = ["tree/kernels/softmax.py", "link/kernels/gelu.py", "elsewhere/site-packages/lib/add.py"]
    sources = tuple(OperatorSource(operator=name, file=str(tmp_path / name), line=1) for name in files)
    told = portable(replace(full_document(), sources=sources), tmp_path / "tree")
    assert [source.file for source in told.sources] == ["kernels/softmax.py", "kernels/gelu.py", "add.py"]
    assert portable(told, tmp_path / "tree") == told


def test_of_interpreters_the_name_is_left(tmp_path: Path) -> None:
    performance = full_document().performance
    assert performance is not None and performance.comparison is not None
    arms = tuple(replace(arm, python=f"{tmp_path}/venv/bin/python3") for arm in performance.comparison.arms)
    speed = replace(performance, comparison=replace(performance.comparison, arms=arms))
    told = portable(replace(full_document(), performance=speed), tmp_path).performance
    assert told is not None and told.comparison is not None
    assert [arm.python for arm in told.comparison.arms] == ["python3"] * len(arms)


@pytest.fixture
def gone(tmp_path: Path) -> BaselineStore:
    """A store on a branch with one run, of which there is a copy, and whose remote is out of reach now."""
    forge = Forge(tmp_path)
    store = BaselineStore(forge.backend())
    store.append(run_document("add:pass"))
    store.mirror()
    forge.path.rename(tmp_path / "elsewhere")
    return store


def test_without_a_network_the_copy_answers_and_says_so(gone: BaselineStore) -> None:
    records = read_records(gone, needed=True)
    assert query(records.root, "select id from runs").rows == (("r1",),)
    (note,) = records.notes
    assert "answering from the copy of" in note


def test_without_a_network_and_a_copy_nothing_is_known(tmp_path: Path) -> None:
    forge = Forge(tmp_path)
    forge.path.rename(tmp_path / "elsewhere")
    records = read_records(BaselineStore(forge.backend()), needed=False)
    assert records.root is NO_RECORDS
    assert records.notes[0].startswith("the store could not be read: ")


def test_whoever_cannot_record_is_told_that_the_run_can_be_kept_apart(gone: BaselineStore) -> None:
    with pytest.raises(StoreError) as caught:
        check_target(gone, apart=False)
    assert caught.value.next_step.endswith("; or record the run apart, with `--record DIR`")
    with pytest.raises(StoreError) as told:
        check_target(gone, apart=True)
    assert "--record" not in told.value.next_step

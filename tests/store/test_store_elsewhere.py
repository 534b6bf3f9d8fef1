"""A bundle that was too large for the store: whoever asks for it is told where it is."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest
from store_documents import run_document

from opsdebug_ci.errors import BundleError, UsageError
from opsdebug_ci.pipeline.replay_places import named_bundles
from opsdebug_ci.plan import Configuration
from opsdebug_ci.store.column import StoredRun
from opsdebug_ci.store.places.backends import open_store

SHA256 = "ab" * 32
PLACE = "artifacts of https://github.com/o/r/actions/runs/7, attempt 1"


@pytest.fixture
def configuration(tmp_path: Path) -> Configuration:
    store = open_store(tmp_path / "baselines")
    document = run_document("add:fail/f1")
    failed = tuple(replace(seen, bundle=SHA256) for seen in document.observations)
    run = StoredRun(document=replace(document, observations=failed), bundles_elsewhere={SHA256: PLACE})
    store.backend.add(store.files(run))
    return Configuration(root=tmp_path)


def test_it_is_said_where_a_bundle_is(configuration: Configuration) -> None:
    with pytest.raises(
        BundleError, match=f"bundle abababababab was too large for store .*; it is in {PLACE}"
    ) as caught:
        named_bundles(["ABAB"], configuration, configuration.root)
    assert caught.value.next_step == "fetch it from there, then `opsdebug replay FILE`"


def test_a_bundle_that_nobody_knows_is_a_mistake(configuration: Configuration) -> None:
    with pytest.raises(UsageError, match="no bundle starts with `cd`"):
        named_bundles(["cd"], configuration, configuration.root)

"""A bundle read back: all of it, or none."""

from __future__ import annotations

import hashlib
from dataclasses import replace
from pathlib import Path

import pytest
from bundles_samples import CASE, SHA256, STORAGE, TABLE, manifest, sample

from opsdebug_ci.bundle.archive import packed
from opsdebug_ci.bundle.manifest import manifest_bytes
from opsdebug_ci.errors import BundleError
from opsdebug_ci.failures.bundle_reader import parse_bundle, read_bundle, unpack
from opsdebug_ci.model.bundle import InputValue, StoredInputs, ValueKind
from opsdebug_ci.model.observation import Observation
from opsdebug_ci.model.vocabulary import Status


def test_a_bundle_comes_back_as_it_was(tmp_path: Path) -> None:
    path = tmp_path / "it.opsbundle"
    path.write_bytes(sample())
    bundle = read_bundle(path)
    assert bundle.manifest == manifest()
    assert bundle.sha256 == hashlib.sha256(sample()).hexdigest()
    assert bundle.complete


def test_its_storages_lie_where_a_worker_finds_them(tmp_path: Path) -> None:
    stored = unpack(parse_bundle(sample(), "it"), tmp_path)
    assert stored == StoredInputs(table=TABLE, directory=str(tmp_path))
    assert (tmp_path / SHA256).read_bytes() == STORAGE


def test_without_its_storages_it_is_replayed_from_the_case(tmp_path: Path) -> None:
    bundle = parse_bundle(packed(manifest_bytes(manifest(stored=())), {}), "it")
    assert not bundle.complete
    assert unpack(bundle, tmp_path) == StoredInputs(table=TABLE, directory=None)
    assert list(tmp_path.iterdir()) == []


def test_without_a_table_there_is_nothing_to_unpack(tmp_path: Path) -> None:
    seen = Observation(case_id=CASE.id, status=Status.RAN)
    bundle = parse_bundle(packed(manifest_bytes(manifest(inputs=None, stored=(), observation=seen)), {}), "it")
    with pytest.raises(BundleError, match="tells nothing of its inputs"):
        unpack(bundle, tmp_path)


def test_withheld_values_leave_the_digest_to_the_replay(tmp_path: Path) -> None:
    values = (*TABLE.values[:2], InputValue(kind=ValueKind.WITHHELD), TABLE.values[3])
    data = packed(manifest_bytes(manifest(inputs=replace(TABLE, values=values), stored=())), {})
    assert unpack(parse_bundle(data, "it"), tmp_path).directory is None


def test_a_newer_schema_asks_for_an_update() -> None:
    data = packed(manifest_bytes(manifest(schema="opsdebug.bundle/2")), {SHA256: STORAGE})
    with pytest.raises(BundleError, match="schema") as refused:
        parse_bundle(data, "it")
    assert refused.value.next_step == "update opsdebug-ci; a newer version wrote it"


def test_fields_of_a_later_version_are_passed_over() -> None:
    text = manifest_bytes(manifest()).replace(b'"dirty": false', b'"dirty": false, "later": [1]')
    assert parse_bundle(packed(text, {SHA256: STORAGE}), "it").manifest == manifest()

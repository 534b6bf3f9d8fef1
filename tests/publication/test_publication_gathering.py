"""Which shards are taken, and that no amount of them exhausts the job that reads them."""

from __future__ import annotations

from pathlib import Path

import pytest
from shard_notation import cases, divided

from opsdebug_ci.errors import ArtifactError
from opsdebug_ci.github.artifacts.naming import artifact_name
from opsdebug_ci.model.publication import ShardState
from opsdebug_ci.model.shard import SHARD_FILE
from opsdebug_ci.pipeline.publication import gathering
from opsdebug_ci.pipeline.publication.gathering import ArtifactsOnDisk, gather
from opsdebug_ci.pipeline.publication.request import PublishRequest
from opsdebug_ci.report import encode


def on_disk(directory: Path, text: str, shards: int) -> ArtifactsOnDisk:
    for shard in divided(cases(text), shards):
        place = directory / artifact_name(shard.suite, shard.attempt, shard.shard, shard.shards)
        place.mkdir()
        (place / SHARD_FILE).write_bytes(encode(shard))
    return ArtifactsOnDisk(directory)


def states(place: ArtifactsOnDisk) -> list[ShardState]:
    return [outcome.state for outcome in gather(place, PublishRequest(), None).outcomes]


def test_shards_on_disk_are_taken(tmp_path: Path) -> None:
    assert states(on_disk(tmp_path, "gelu:pass*9", 3)) == [ShardState.TAKEN] * 3


def test_together_they_have_a_limit(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    place = on_disk(tmp_path, "gelu:pass*9", 3)
    size = (tmp_path / "opsdebug-v1-a1-s1of3" / SHARD_FILE).stat().st_size
    monkeypatch.setattr(gathering, "TOTAL_LIMIT_BYTES", 2 * size + size // 2)
    found = gather(place, PublishRequest(), None)
    assert [outcome.state for outcome in found.outcomes] == [*[ShardState.TAKEN] * 2, ShardState.REJECTED]
    assert "bytes" in found.outcomes[2].reason


def test_a_link_is_no_document(tmp_path: Path) -> None:
    place = on_disk(tmp_path, "gelu:pass*2", 2)
    file = tmp_path / "opsdebug-v1-a1-s2of2" / SHARD_FILE
    file.unlink()
    file.symlink_to(tmp_path / "opsdebug-v1-a1-s1of2" / SHARD_FILE)
    assert states(place) == [ShardState.TAKEN, ShardState.REJECTED]


def test_a_directory_that_is_not_there_is_said(tmp_path: Path) -> None:
    with pytest.raises(ArtifactError, match="wanted a directory"):
        gather(ArtifactsOnDisk(tmp_path / "none"), PublishRequest(), None)


def test_bundles_are_named_only_by_names_of_ours(tmp_path: Path) -> None:
    for name in ("opsdebug-bundles-of-opsdebug-v1-a1-s1of1", "opsdebug-bundles-$(id)", "others"):
        (tmp_path / name).mkdir()
    found = gather(ArtifactsOnDisk(tmp_path), PublishRequest(), None)
    assert found.bundles == ("opsdebug-bundles-of-opsdebug-v1-a1-s1of1",)

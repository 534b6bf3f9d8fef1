"""Bundles of CI runs, as `gh run download` leaves them, and as somebody else would."""

from __future__ import annotations

import hashlib
import os
import shlex
from pathlib import Path

import pytest

from opsdebug_ci.errors import UsageError
from opsdebug_ci.pipeline import fetched_bundles
from opsdebug_ci.pipeline.fetched_bundles import fetched_bundles as found_in
from opsdebug_ci.pipeline.fetched_bundles import fetching

DATA = b"a bundle"
SHA256 = hashlib.sha256(DATA).hexdigest()
ARTIFACT = "opsdebug-bundles-of-opsdebug-v1-a1-s1of3"


def put(root: Path, way: str, sha256: str = SHA256) -> Path:
    """A bundle below `.opsdebug/bundles`, in a directory as artifacts have it."""
    path = root / ".opsdebug" / "bundles" / way / sha256[:2] / f"{sha256}.opsbundle"
    path.parent.mkdir(parents=True)
    path.write_bytes(DATA)
    return path


@pytest.mark.parametrize("way", [f"4711/{ARTIFACT}", ARTIFACT, "4711"])
def test_a_bundle_is_found_where_it_was_fetched_to(tmp_path: Path, way: str) -> None:
    path = put(tmp_path, way)
    [(sha256, place, words)] = found_in(tmp_path)
    assert (sha256, place.path(sha256), words) == (SHA256, path, f".opsdebug/bundles/{way}")


def test_every_artifact_of_every_run_is_looked_at(tmp_path: Path) -> None:
    ways = [f"{run}/{ARTIFACT}{shard}" for run in (4711, 4712) for shard in (1, 2)]
    for way in ways:
        put(tmp_path, way)
    assert [words for _, _, words in found_in(tmp_path)] == [f".opsdebug/bundles/{way}" for way in ways]


@pytest.mark.parametrize("way", ["other", f"4711/{ARTIFACT}/more", "4711/other", "47", f"{ARTIFACT} x", "-4711"])
def test_what_no_artifact_of_ours_leaves_is_not_looked_at(tmp_path: Path, way: str) -> None:
    put(tmp_path, way)
    assert list(found_in(tmp_path)) == []


def test_nothing_is_followed_that_is_a_link(tmp_path: Path) -> None:
    outside = put(tmp_path / "outside", f"4711/{ARTIFACT}")
    bundles = tmp_path / "here" / ".opsdebug" / "bundles"
    links = {
        bundles / "4711": outside.parents[2],
        bundles / "4712" / ARTIFACT: outside.parents[1],
        bundles / "4713" / ARTIFACT / SHA256[:2]: outside.parent,
        bundles / "4714" / ARTIFACT / SHA256[:2] / outside.name: outside,
    }
    for link, target in links.items():
        link.parent.mkdir(parents=True, exist_ok=True)
        link.symlink_to(target)
    assert list(found_in(tmp_path / "here")) == []
    other = tmp_path / "other" / ".opsdebug"
    other.mkdir(parents=True)
    (other / "bundles").symlink_to(outside.parents[3])
    assert list(found_in(tmp_path / "other")) == []


def test_only_files_that_are_named_by_a_sha256_are_bundles(tmp_path: Path) -> None:
    place = put(tmp_path, f"4711/{ARTIFACT}").parent
    (place / f"{SHA256}.txt").write_bytes(DATA)
    (place / SHA256).write_bytes(DATA)
    (place / f"{SHA256[:-1]}.opsbundle").write_bytes(DATA)
    (place / f"{'ab' * 32}.opsbundle").mkdir()
    os.mkfifo(place / f"{'cd' * 32}.opsbundle")
    assert [sha256 for sha256, _, _ in found_in(tmp_path)] == [SHA256]


def test_more_than_can_be_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(fetched_bundles, "MOST_BUNDLES", 2)
    for sha256 in ("aa" * 32, "bb" * 32):
        put(tmp_path, f"4711/{ARTIFACT}", sha256)
    assert len(list(found_in(tmp_path))) == 2
    put(tmp_path, f"4711/{ARTIFACT}", "cc" * 32)
    with pytest.raises(UsageError, match="holds more than 2 directories or bundles"):
        list(found_in(tmp_path))


def test_nothing_fetched_is_nothing_found(tmp_path: Path) -> None:
    assert list(found_in(tmp_path)) == []


@pytest.mark.parametrize(("host", "where"), [("", "o/r"), ("git.example:8443", "git.example:8443/o/r")])
def test_the_command_fetches_to_where_they_are_found(tmp_path: Path, host: str, where: str) -> None:
    words = shlex.split(fetching("o/r", 4711, host))
    assert words[:6] == ["gh", "run", "download", "4711", "--repo", where]
    options = dict(zip(words[6::2], words[7::2], strict=True))
    assert options == {"--pattern": "opsdebug-bundles*", "--dir": ".opsdebug/bundles/4711"}
    put(tmp_path, f"{options['--dir'].removeprefix('.opsdebug/bundles/')}/{ARTIFACT}")
    assert len(list(found_in(tmp_path))) == 1

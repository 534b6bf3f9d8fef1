"""`opsdebug replay` in real processes: documents, refusals, exit codes."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import jsonschema
import pytest
from cli_notation import EVERYDAY, VERDICTS, opsdebug, project, scrub

SCHEMA = Path(__file__).parents[2] / "docs" / "schema" / "opsdebug.replay.1.json"


@pytest.fixture(scope="module")
def bundle(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """What a failing run of a project left."""
    directory = project(tmp_path_factory.mktemp("replay") / "project", "wrong")
    ended = opsdebug("run", "wrong", *EVERYDAY, *VERDICTS, "--json", at=directory)
    assert ended.code == 1, ended.err
    [observation] = json.loads(ended.out)["observations"]
    [found] = directory.glob(f".opsdebug/bundles/*/{observation['bundle']}.opsbundle")
    return found


@pytest.fixture(scope="module")
def place(bundle: Path) -> Path:
    """The project."""
    return bundle.parents[3]


def test_a_run_leaves_a_bundle_whose_hash_replays_it(place: Path, bundle: Path) -> None:
    ended = opsdebug("replay", bundle.stem[:9], "--times", "2", "--json", at=place)
    assert ended.code == 1, ended.err
    document = json.loads(ended.out)
    jsonschema.Draft202012Validator(json.loads(SCHEMA.read_text())).validate(document)
    [found] = document["bundles"]
    assert (document["schema"], document["exit_code"]) == ("opsdebug.replay/1", 1)
    assert (found["sha256"], found["outcome"], found["counts"]["reproduced"]) == (bundle.stem, "reproduced", 2)
    assert found["source"].startswith("kernels.py:")
    assert found["differences"] == []


def test_a_damaged_file_is_refused_before_any_worker_starts(place: Path, bundle: Path) -> None:
    data = bytearray(bundle.read_bytes())
    data[-200] ^= 1
    (place / "sent.opsbundle").write_bytes(data)
    ended = opsdebug("replay", "sent.opsbundle", at=place)
    assert ended.code == 2
    assert ended.out.startswith("REPLAY: refused: ")
    assert "cases" not in ended.err


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        ((), "no bundle is named; wanted files, beginnings of sha256, or `--all`"),
        (("--all", "abc"), "bundles are named and `--all` is given; wanted files, beginnings of sha256, or `--all`"),
        (("none/such.opsbundle",), "`none/such.opsbundle` is no file; wanted a bundle"),
        (("ffffff",), "no bundle starts with `ffffff` in `.opsdebug` and store `PLACE/baselines`; wanted"),
        (("nonsense",), "`nonsense` is neither a file nor the beginning of a sha256; wanted one of both"),
    ],
)
def test_mistakes(place: Path, arguments: tuple[str, ...], said: str) -> None:
    ended = opsdebug("replay", *arguments, at=place)
    assert ended.code == 2
    assert said in scrub(ended.err, place=place)


def test_a_bundle_of_a_ci_run_replays_by_its_hash_once_it_is_fetched(place: Path, bundle: Path, tmp_path: Path) -> None:
    """In a checkout that never ran anything: an artifact as it is uploaded, unpacked as `gh run download` does."""
    checkout = tmp_path / "checkout"
    shutil.copytree(place, checkout, ignore=shutil.ignore_patterns(".opsdebug", "baselines"))
    missing = opsdebug("replay", bundle.stem[:12], at=checkout)
    assert (missing.code, missing.out) == (2, "")
    archive = shutil.make_archive(str(tmp_path / "artifact"), "zip", root_dir=bundle.parents[1])
    fetched = checkout / ".opsdebug" / "bundles" / "4711" / "opsdebug-bundles-of-opsdebug-v1-a1-s1of1"
    shutil.unpack_archive(archive, fetched)
    ended = opsdebug("replay", bundle.stem[:12], "--times", "1", at=checkout)
    assert ended.code == 1, ended.err
    assert f"in {fetched.relative_to(checkout)}" in ended.out
    [copy] = fetched.glob("*/*.opsbundle")
    copy.write_bytes(copy.read_bytes()[:-1])
    damaged = opsdebug("replay", bundle.stem[:12], at=checkout)
    assert damaged.code == 2
    assert "is damaged" in damaged.out

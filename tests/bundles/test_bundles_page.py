"""docs/bundles.md: its example is run, its numbers and names are the code's."""

from __future__ import annotations

import dataclasses
import re
from pathlib import Path

import pytest
import torch

from opsdebug_ci.bundle.archive import MOST_MANIFEST_BYTES
from opsdebug_ci.bundle.privacy import SETTINGS
from opsdebug_ci.failures.bundle_reader import read_bundle
from opsdebug_ci.model.bundle import BUNDLE_SCHEMA, BundleManifest
from opsdebug_ci.pipeline.bundles import MOST_INPUT_BYTES, MOST_RUN_BYTES
from opsdebug_ci.plan.configuration import load_configuration
from opsdebug_ci.worker.captured_bundle import ROOM_BYTES

PAGE = (Path(__file__).parents[2] / "docs/bundles.md").read_text(encoding="utf-8")


def block(language: str) -> str:
    (found,) = re.findall(rf"^```{language}\n(.*?)^```$", PAGE, flags=re.MULTILINE | re.DOTALL)
    return str(found)


def test_the_example_captures(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    names: dict[str, object] = {"__name__": "service"}
    exec(block("python"), names)
    scores = names["scores"]
    assert callable(scores)
    assert scores(torch.ones(1, 2), 1.0).tolist() == [[0.5, 0.5]]
    assert not (tmp_path / "captured").exists()
    scores(torch.full((1, 2), 3e38), 10.0)
    (path,) = (tmp_path / "captured").glob("*.opsbundle")
    assert read_bundle(path).manifest.case.operator == "scores"


def test_private_values_are_configured_as_shown(tmp_path: Path) -> None:
    (tmp_path / "opsdebug.toml").write_text(block("toml"))
    assert load_configuration(tmp_path).bundle_values is False


def test_the_page_names_every_field() -> None:
    table = PAGE.split("| field of the manifest |")[1].split("\n\n")[0]
    named = {name for row in table.splitlines() for name in re.findall(r"`(\w+)`", row.split(" | ")[0])}
    assert named == {field.name for field in dataclasses.fields(BundleManifest)} - {"schema", "tool_version"}


def test_the_page_names_the_limits_of_the_code() -> None:
    sizes = [MOST_MANIFEST_BYTES, MOST_INPUT_BYTES, MOST_RUN_BYTES, ROOM_BYTES]
    assert [f"{size // 1024**2} MiB" for size in sizes] == ["1 MiB", "16 MiB", "256 MiB", "62 MiB"]
    assert all(f"{size // 1024**2} MiB" in PAGE for size in sizes)
    assert f"schema {BUNDLE_SCHEMA}" in PAGE
    assert {"CUDA_VISIBLE_DEVICES", "OMP_NUM_THREADS", "TRITON_INTERPRET"} <= set(SETTINGS)

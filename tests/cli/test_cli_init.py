"""`opsdebug init` as a person types it."""

from __future__ import annotations

from pathlib import Path

from cli_notation import opsdebug


def test_one_workflow_for_machines_of_ones_own(tmp_path: Path) -> None:
    words = ("--workflow", "pull-request, report", "--runs-on", "self-hosted, gpu", "--container", "acme/torch:2.13")
    ended = opsdebug("init", *words, "--gpus", "--shards", "2", at=tmp_path)
    assert (ended.code, ended.err) == (0, "")
    assert (
        ended.out
        == """\
wrote .github/workflows/opsdebug.yml
wrote .github/workflows/opsdebug-report.yml
wrote opsdebug.toml
wrote opsdebug_operators.py
next: opsdebug ci --stage smoke
"""
    )
    written = (tmp_path / ".github/workflows/opsdebug.yml").read_text()
    assert "runs-on: [self-hosted, gpu]" in written
    assert 'image: "acme/torch:2.13"' in written
    assert "options: --gpus all" in written


def test_mistakes_are_told_and_nothing_is_written(tmp_path: Path) -> None:
    unknown = opsdebug("init", "--workflow", "weekly", at=tmp_path)
    assert (unknown.code, unknown.err) == (
        2,
        "opsdebug [usage]: `--workflow` is 'weekly'; wanted pull-request, report, nightly, release, accept, all, "
        "joined by commas\n  next: opsdebug init --help\n",
    )
    hostile = opsdebug("init", "--runs-on", "gpu ]\nrun: x", at=tmp_path)
    assert (hostile.code, hostile.err) == (
        2,
        "opsdebug [usage]: `--runs-on` is 'gpu ]\\nrun: x'; wanted labels of letters, digits, `.`, `_`, `-`, joined by "
        "commas\n  next: opsdebug init --help\n",
    )
    assert list(tmp_path.iterdir()) == []

"""Draws docs/images/comment.png, the comment that README shows.

    python tests/browser/picture.py

Runs the smoke stage over three operators as two pushes would, the second of which puts one of them right: what they
fail by is what those runs found. The slowdown and its past are numbers of the tests, since times differ from machine to
machine. Needs chromium and torch; takes some minutes.
"""

# ruff: noqa: E402 - the notation of other tests is found by its path

from __future__ import annotations

import subprocess
import sys
import tempfile
from dataclasses import replace
from pathlib import Path

sys.path[:0] = [str(Path(__file__).parents[1] / name) for name in ("report", "judge")]

from chromium import picture
from comment_pages import comment_page
from publication_notation import BASELINE, BEFORE, LINKS, publication, slower

from opsdebug_ci.model import RunDocument
from opsdebug_ci.model.speed import SpeedVerdict
from opsdebug_ci.pipeline.fetched_bundles import fetching
from opsdebug_ci.report import decode
from opsdebug_ci.report.changes import changes_since, reported_head
from opsdebug_ci.report.comment import rungs

TARGET = Path(__file__).parents[2] / "docs" / "images" / "comment.png"

WIDTH, HEIGHT = 880, 906
"""CSS pixels: a column of GitHub's, and as high as this comment is."""

BUNDLES = f"`{fetching('acme/kernels', 7)}`, beside the configuration"

OPERATORS = """
import torch
from opsdebug_ci import operator, tensor


@operator(kind="softmax", x=tensor("B S H"))
def softmax(x):
    y = torch.softmax(x, -1)
    whole = x.shape[-1] // 16 * 16
    y[..., whole:] = 0
    return y


@softmax.reference("torch")
def _(x):
    return torch.softmax(x, -1)


@operator(kind="norm", x=tensor("B S H"))
def rms_norm(x):
    return x * torch.rsqrt(x.square().mean(-1, keepdim=True) + 1e-3)


@rms_norm.reference("torch")
def _(x):
    return x * torch.rsqrt(x.square().mean(-1, keepdim=True) + 1e-6)


@operator(kind="elementwise", x=tensor("B S H"))
def gelu(x):
    return torch.nn.functional.gelu(x, approximate=APPROXIMATE)


@gelu.reference("torch")
def _(x):
    return torch.nn.functional.gelu(x)
"""


def run(directory: Path, approximate: str) -> RunDocument:
    """One push: its smoke stage, with the bundles it leaves."""
    (directory / "kernels.py").write_text(OPERATORS.replace("APPROXIMATE", repr(approximate)), encoding="utf-8")
    (directory / "opsdebug.toml").write_text('operators = ["kernels.py"]\n', encoding="utf-8")
    command = [sys.executable, "-m", "opsdebug_ci", "ci", "--stage", "smoke", "--json"]
    ran = subprocess.run(command, cwd=directory, capture_output=True, check=False)
    assert ran.returncode == 1, ran.stderr.decode()
    return decode(ran.stdout)


def slowed(document: RunDocument) -> RunDocument:
    """The run with the slowdown of the tests, as one of `gelu`, and nothing else about speed."""
    told = slower(replace(document, baseline=BASELINE), "gelu")
    performance = told.performance
    regressed = [one for one in performance.comparison.comparisons if one.verdict is SpeedVerdict.REGRESSED]
    comparisons, trends = (
        tuple(replace(one, case=replace(one.case, operator="gelu")) for one in found)
        for found in (regressed, performance.trends)
    )
    comparison = replace(performance.comparison, comparisons=comparisons)
    return replace(told, performance=replace(performance, comparison=comparison, trends=trends))


def comment(before: RunDocument, now: RunDocument) -> str:
    """What is said of the second push."""
    changes = changes_since(reported_head(BEFORE, before), now, complete=True)
    links = replace(LINKS, attempt=1, bundles=BUNDLES)
    return rungs(publication(slowed(now), "fail", changes=changes, links=links), limit_bytes=65_000)[0]


def main() -> None:
    """Two pushes, one comment, one picture."""
    with tempfile.TemporaryDirectory() as name:
        directory = Path(name)
        page = comment_page(comment(run(directory, "tanh"), run(directory, "none")), "light")
        drawn = picture(page, directory, width=WIDTH, height=HEIGHT)
        TARGET.parent.mkdir(exist_ok=True)
        TARGET.write_bytes(drawn.read_bytes())


if __name__ == "__main__":
    main()

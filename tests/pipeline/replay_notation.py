"""Bundles made from cases that ran, and operators that fail in known ways."""

from __future__ import annotations

import tempfile
from collections.abc import Callable
from pathlib import Path

from pipeline_notation import Project

from opsdebug_ci.bundle.archive import packed
from opsdebug_ci.bundle.manifest import manifest_bytes
from opsdebug_ci.bundle.place import BundlePlace
from opsdebug_ci.failures import fingerprint
from opsdebug_ci.judge import judge
from opsdebug_ci.model import Observation, ReferenceKind, Stage
from opsdebug_ci.model.bundle import BUNDLE_SCHEMA, BundleManifest
from opsdebug_ci.model.message import KeepInputs, KeptInputs, RunCase
from opsdebug_ci.pipeline.workbench import Workbench, workbench
from opsdebug_ci.plan import Axes, cases

Change = Callable[[BundleManifest], BundleManifest]

SELDOM = """
import hashlib
import os
from pathlib import Path

import torch

from opsdebug_ci import operator

HERE = Path(__file__).parent
THREADS = HERE / "threads"
torch.set_num_threads(int(THREADS.read_text()) if THREADS.exists() else 1)


def draw(seed, dims, dtype):
    return [torch.rand(1000, generator=torch.Generator().manual_seed(seed))]


@operator(kind="elementwise", arguments=draw)
def seldom(x):
    digest = hashlib.sha256(x.numpy().tobytes()).hexdigest()
    with (HERE / "launches").open("a") as log:
        log.write(f"{os.getpid()} {torch.get_num_threads()} {digest}\\n")
    count = (HERE / "launches").read_text().count("\\n")
    return x - 1 if count % 10 == 0 else x + x


@seldom.reference("torch")
def _(x):
    return 2 * x
"""
"""An operator that is wrong in every tenth launch, whatever the process: it counts in a file, and writes down on which
bytes it was launched, where, and with how many threads."""


def bundle_of(bench: Workbench, operator: str, *, change: Change = lambda manifest: manifest) -> bytes:
    """The bundle of the operator's first case as it runs now, failing or not."""
    description = next(found for found in bench.catalogue.operators if found.name == operator)
    case = cases(description, Stage.RUN, Axes(), tuple(ReferenceKind), bench.devices)[0]
    observation = bench.pool.about(RunCase(case=case), Observation)
    judgement = judge(case, observation, description.contract)
    with tempfile.TemporaryDirectory() as directory:
        kept = bench.pool.about(KeepInputs(case=case, directory=directory, most_bytes=2**20), KeptInputs)
        assert isinstance(kept, KeptInputs)
        assert kept.table is not None, kept.reason
        stored = {entry.sha256: (Path(directory) / entry.sha256).read_bytes() for entry in kept.table.storages}
    manifest = BundleManifest(
        schema=BUNDLE_SCHEMA,
        tool_version="0",
        fingerprint=fingerprint(judgement) or "v2:0000000000000000",
        case=case,
        case_id=case.id,
        inputs=kept.table,
        stored=tuple(sorted(stored)),
        verdict=judgement.verdict,
        findings=judgement.findings,
        observation=observation,
        commit="",
        dirty=False,
        source=f"{operator}.py:1",
        machine=bench.machine,
    )
    return packed(manifest_bytes(change(manifest)), stored)


def failing_bundle_of(bench: Workbench, operator: str) -> bytes:
    """The bundle of the first run of the operator's first case that fails."""
    for _ in range(100):
        data = bundle_of(bench, operator)
        if b'"verdict": "fail"' in data:
            return data
    raise AssertionError(f"{operator} did not fail in 100 runs")


def bundles_of(project: Project, *operators: str) -> dict[str, bytes]:
    """Bundles of several operators."""
    with workbench(project.configuration(), project.world()) as bench:
        return {operator: bundle_of(bench, operator) for operator in operators}


def keep(project: Project, data: bytes) -> str:
    """Put a bundle into the project's own directory; its sha256."""
    return BundlePlace.beside(project.directory).put(data)

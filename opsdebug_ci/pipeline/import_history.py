"""`opsdebug baselines import`: what other tools recorded becomes runs of the store, each once.

Decides the identity of an imported run: its id is made of the source's time and of what the source says, so that the
same history imported again, or grown since, adds only what is new. Its machine key is comparable with none of ours, it
has no stage that records a commit, and nothing in it was judged.

The place of its commit in the history is not looked up: a file says nothing of ancestors, and its commits may be gone.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path

import opsdebug_ci
from opsdebug_ci.model import Machine, Revision, RunDocument, RunRecord, Stage, Summary, Verdict
from opsdebug_ci.model.document import RUN_SCHEMA
from opsdebug_ci.model.performance import PerformanceDocument
from opsdebug_ci.model.run import CiContext
from opsdebug_ci.store.baseline_store import BaselineStore
from opsdebug_ci.store.files.inventory import take_inventory
from opsdebug_ci.store.identity import ENTROPY_BYTES, new_run_id
from opsdebug_ci.store.imports.history import LeftOut, SourceMachine, SourceRun
from opsdebug_ci.store.imports.registry import AUTO, read_history
from opsdebug_ci.store.places.backend import Told, untold

KEY_PREFIX = "imported:"
"""What the machine key of an imported run begins with; none of ours does."""

KEY_DIGITS = 16
"""Digits of its hash: 64 bits."""

AT_ONCE = 200
"""Runs that are stored in one visit: a commit on a branch, or an exchange with a bucket; some megabytes at most."""

NOTHING_JUDGED = 4
"""Exit code of a run in which nothing was judged."""

NEXT = """opsdebug sql "from trend('*') where source = 'imported'\""""


@dataclass(frozen=True, slots=True, kw_only=True)
class ImportOutcome:
    """What an import came to."""

    sources: tuple[str, ...]
    """Tools and versions the times are of."""

    runs_added: int
    """Runs that were not in the store before."""

    runs_there: int
    """Runs that were."""

    times_added: int
    """Times in the runs that were added."""

    left_out: Mapping[str, int]
    """Benchmarks of the source that became no row, by reason, those of runs already there included."""


def import_history(
    path: Path,
    store: BaselineStore,
    *,
    wanted: str = AUTO,
    commit: str = "",
    now: datetime | None = None,
    told: Told = untold,
) -> ImportOutcome:
    """Read what another tool recorded and add to the store what it does not hold yet.

    Args:
        path: a file, or a directory of files of one tool.
        store: where it goes.
        wanted: name of a format; AUTO finds out.
        commit: full hash for a file that names none.
        now: see `read_history`.
        told: who is told how far it is.

    Raises:
        UsageError: the file is not what it should be; nothing was added.
        StoreError: the store cannot be read or written; what was added before stays, and the same command goes on.
        StoreFormatError: the store is of a newer format, or is not a store.
    """
    history = read_history(path, wanted, commit, now)
    store.check_writable()
    there = frozenset(take_inventory(store.mirror().root).contents.run_ids) if store.exists() else frozenset()
    documents = {document.run.id: document for document in map(run_document, history.runs)}
    new = [document for run_id, document in documents.items() if run_id not in there]
    for start in range(0, len(new), AT_ONCE):
        told("runs imported", start, len(new))
        store.append_all(new[start : start + AT_ONCE])
    return ImportOutcome(
        sources=tuple(dict.fromkeys(time.source for run in history.runs for time in run.times)),
        runs_added=len(new),
        runs_there=len(documents) - len(new),
        times_added=sum(len(document.performance.imported) for document in new if document.performance is not None),
        left_out={str(reason): history.left_out[reason] for reason in LeftOut if history.left_out.get(reason)},
    )


def run_document(run: SourceRun) -> RunDocument:
    """The document of an imported run; equal runs have equal documents."""
    key = f"{KEY_PREFIX}{_hash(run.machine.facts).hex()[:KEY_DIGITS]}"
    record = RunRecord(
        id=new_run_id(run.started_at, _hash(list(_identity(run, key)))[:ENTROPY_BYTES]),
        commit=run.commit,
        stage=Stage.IMPORT,
        started_at=run.started_at.isoformat(timespec="microseconds"),
        duration_ns=0,
        machine=_machine(run.machine, key, {run.tool: run.version}),
        revision=Revision(commit=run.commit, branch=run.branch, dirty=run.dirty),
        ci=CiContext(),
        tool_version=opsdebug_ci.__version__,
        config_hash="",
    )
    return RunDocument(
        schema=RUN_SCHEMA,
        run=record,
        observations=(),
        summary=Summary(verdict=Verdict.INCONCLUSIVE, exit_code=NOTHING_JUDGED, counts={}, groups=()),
        next=(NEXT,),
        notes=(f"imported from {run.tool}: nothing was judged here, and the ancestors of its commit are not recorded",),
        performance=PerformanceDocument(imported=run.times),
    )


def _identity(run: SourceRun, key: str) -> Iterator[object]:
    """What tells a run from every other: where, what, when, and its numbers."""
    yield from (run.tool, key, run.commit, run.started_at.isoformat())
    for time in run.times:
        yield [time.case.id, time.min_ns, time.median_ns, time.mean_ns]


def _machine(machine: SourceMachine, key: str, versions: Mapping[str, str]) -> Machine:
    return Machine(
        key=key,
        system=machine.system,
        cpu=machine.cpu,
        cores=machine.cores,
        memory_bytes=machine.memory_bytes,
        devices=(),
        python=machine.python,
        torch="",
        versions=versions,
        threads=0,
    )


def _hash(value: Sequence[object]) -> bytes:
    return hashlib.sha256(json.dumps(value).encode()).digest()

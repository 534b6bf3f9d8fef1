"""The bundle of a call that failed inside a service: what a run would have written, as far as one call can tell.

Decides what is claimed: that the call raised, or that its output has NaN or infinities where, its inputs having none,
numbers were taken for granted. No reference was asked and no cause sought; a replay does both.
"""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path
from typing import Any

import torch

import opsdebug_ci
from opsdebug_ci.bundle.archive import MIB, MOST_BYTES, packed
from opsdebug_ci.bundle.durable import Data, write_durably
from opsdebug_ci.bundle.entry_name import SUFFIX
from opsdebug_ci.bundle.manifest import manifest_bytes
from opsdebug_ci.bundle.privacy import (
    finding_without_values,
    observation_without_values,
    portable,
    settings_of,
    withheld_table,
)
from opsdebug_ci.model.accuracy import Accuracy, ClassMismatch, Quantiles
from opsdebug_ci.model.bundle import BUNDLE_SCHEMA, CAPTURED, CAPTURED_NOTE, BundleManifest
from opsdebug_ci.model.finding import Finding
from opsdebug_ci.model.machine import Machine
from opsdebug_ci.model.observation import Observation, OutputReading, TensorFacts
from opsdebug_ci.model.vocabulary import Blame, Cause, Confidence, Kind, ReferenceKind, Status, Verdict, Zone
from opsdebug_ci.operators import Arguments, Operator
from opsdebug_ci.trace.counts import Counts, Limits, count
from opsdebug_ci.worker.captured_case import case_of
from opsdebug_ci.worker.exceptions import facts_of, ran_out_of_memory
from opsdebug_ci.worker.input_table import HeldInputs, held_inputs, memory_of
from opsdebug_ci.worker.machine import identify

ROOM_BYTES = MOST_BYTES - 2 * MIB
"""Inputs that still fit beside a manifest. There is no recipe that makes a service's inputs again, so all are kept."""

BOUND = "none: no reference was asked; its inputs being finite, numbers were taken for granted"
"""What an output was held against."""

NEXT_STEP = "opsdebug failures import FILE"
"""What to do with what was captured."""

Seen = tuple[Observation, Finding]
"""What happened, and what is said of it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Captured:
    """A failed call, and the bytes it ran on."""

    manifest: BundleManifest
    """What is told of it."""

    blobs: Mapping[str, Data]
    """sha256 -> storage."""

    @property
    def key(self) -> tuple[str, str | None]:
        """The same for a call that failed in the same way on the same bits, wherever they were."""
        return self.manifest.fingerprint, self.manifest.observation.inputs_digest


def raised(case_id: str, error: Exception) -> Seen:
    """A call that raised."""
    memory = ran_out_of_memory(error)
    text = f"{type(error).__name__}: {error}"[:500]
    observation = Observation(
        case_id=case_id,
        status=Status.OUT_OF_MEMORY if memory else Status.RAISED,
        reason=text,
        exception=facts_of(error),
    )
    return observation, _finding(Cause.EXCEPTION, 1.0, f"the operator raised {text} in a service")


def unhealthy(case_id: str, position: int, output: torch.Tensor) -> Seen:
    """A call whose output has NaN or infinities though its inputs have none."""
    name, found = f"out{position}", count(output, Limits(magnitude=torch.finfo(output.dtype).max))
    facts = TensorFacts(shape=tuple(output.shape), dtype=str(output.dtype).removeprefix("torch."))
    reading = OutputReading(
        name=name,
        kind=Kind.AUTO,
        actual=facts,
        expected=facts,
        used=ReferenceKind.TORCH,
        accuracy=_accuracy(name, output.numel(), found),
        rejected=found.nan + found.infinite,
        disputed=0,
        votes=(),
        confidence=Confidence.LOW,
    )
    statement = f"`{name}` has {found.nan} NaN and {found.infinite} infinities in a service; its inputs have none"
    observation = Observation(case_id=case_id, status=Status.RAN, outputs=(reading,))
    return observation, _finding(Cause.NAN_INF_HANDLING, 0.5, statement)


def _accuracy(name: str, compared: int, found: Counts) -> Accuracy:
    """What one look at an output tells: classes, and nothing of sizes."""
    bad, nothing = found.nan + found.infinite, Quantiles(p50=None, p95=None, p99=None, max=None)
    return Accuracy(
        output=name,
        compared=compared,
        cosine=None,
        max_abs_err=None,
        max_abs_index=None,
        rel_err=nothing,
        ulp=nothing,
        significant_digits=None,
        misrounding_rate=None,
        zone=Zone.RED,
        over_tolerance=bad,
        over_worst_case=bad,
        class_mismatches=tuple(
            ClassMismatch(expected="normal", actual=actual, count=number, first_index=found.first or ())
            for actual, number in (("nan", found.nan), ("+inf", found.infinite))
            if number
        ),
        worst=None,
        bound=BOUND,
    )


def captured(
    operator: Callable[..., Any], arguments: Arguments, observe: Callable[[str], Seen], *, values: bool
) -> Captured:
    """One call as a bundle.

    Args:
        operator: what was called.
        arguments: what it was called with.
        observe: what happened, given the id of the case.
        values: False leaves out what is, or is worked out from, a value.
    """
    case = case_of(operator, arguments)
    observation, finding = observe(case.id)
    held = held_inputs(arguments)
    table = held.table
    notes, blobs = _kept(held, values)
    if not values:
        table, observation = withheld_table(table), observation_without_values(observation)
        finding = finding_without_values(finding)
    manifest = BundleManifest(
        schema=BUNDLE_SCHEMA,
        tool_version=opsdebug_ci.__version__,
        fingerprint=_provisional(case.operator, finding, observation),
        case=case,
        case_id=case.id,
        inputs=None,
        stored=tuple(sorted(blobs)),
        verdict=Verdict.FAIL,
        findings=(finding,),
        observation=replace(observation, inputs_digest=held.table.digest),
        commit="",
        dirty=False,
        source=_source(operator),
        machine=_machine(),
        environment=settings_of(os.environ),
        notes=notes,
    )
    return Captured(manifest=replace(portable(manifest, Path.cwd()), case=case, inputs=table), blobs=blobs)


def _kept(held: HeldInputs, values: bool) -> tuple[tuple[str, ...], dict[str, Data]]:
    """What a reader must know, and the storages that may be kept."""
    told = CAPTURED_NOTE
    if not values:
        return (told, "values are private: hashes only, so it cannot be replayed"), {}
    if held.table.size_bytes > ROOM_BYTES:
        return (told, f"its inputs take {held.table.size_bytes} bytes; at most {ROOM_BYTES} are kept"), {}
    pairs = zip(held.table.storages, held.storages, strict=True)
    return (told,), {entry.sha256: memory_of(storage) for entry, storage in pairs}


def keep_bundle(call: Captured, directory: Path) -> Path:
    """Lay a bundle into a directory, under its sha256; where.

    Raises:
        BundleError: it is too large.
        OSError: it cannot be written.
    """
    data = packed(manifest_bytes(call.manifest), call.blobs)
    directory.mkdir(parents=True, exist_ok=True)
    path = directory / f"{hashlib.sha256(data).hexdigest()}{SUFFIX}"
    if not path.exists():
        write_durably(path, data)
    return path


def _finding(cause: Cause, confidence: float, statement: str) -> Finding:
    return Finding(
        cause=cause,
        confidence=confidence,
        blame=Blame.OPERATOR,
        statement=statement,
        evidence={},
        next=NEXT_STEP,
    )


def _provisional(operator: str, finding: Finding, observation: Observation) -> str:
    """What stands for a fingerprint until somebody imports it who can make one."""
    kind = observation.exception.type if observation.exception else ""
    text = json.dumps([operator, str(finding.cause), kind])
    return CAPTURED + hashlib.sha256(text.encode()).hexdigest()[:16]


def _source(operator: Callable[..., Any]) -> str | None:
    function = operator.function if isinstance(operator, Operator) else operator
    code = getattr(function, "__code__", None)
    return f"{code.co_filename}:{code.co_firstlineno}" if code else None


@cache
def _machine() -> Machine:
    return identify()

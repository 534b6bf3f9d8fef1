"""The record of a run: which, when, where, at which revision.

Decides its id and how long it took. Deliberately nothing about what happened in it.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime

import opsdebug_ci
from opsdebug_ci.model import Stage
from opsdebug_ci.model.machine import Machine
from opsdebug_ci.model.run import CiContext, Revision, RunRecord
from opsdebug_ci.pipeline.world import World
from opsdebug_ci.plan import Configuration
from opsdebug_ci.store.identity import new_run_id


@dataclass(frozen=True, slots=True, kw_only=True)
class Start:
    """When a run began, by both clocks."""

    at: datetime
    """By the calendar."""

    ns: int
    """By the clock that never goes back; ns."""


def start(world: World) -> Start:
    """A run that begins now."""
    return Start(at=world.now(), ns=world.monotonic_ns())


def run_record(
    stage: Stage,
    machine: Machine,
    configuration: Configuration,
    world: World,
    *,
    began: Start,
    revision: Revision,
    ci: CiContext,
) -> RunRecord:
    """The record of a run that ends now."""
    return RunRecord(
        id=new_run_id(began.at, world.entropy(8)),
        commit=revision.commit,
        stage=stage,
        started_at=began.at.isoformat(timespec="milliseconds"),
        duration_ns=world.monotonic_ns() - began.ns,
        machine=machine,
        revision=revision,
        ci=ci,
        tool_version=opsdebug_ci.__version__,
        config_hash=configuration.config_hash,
    )

"""What crosses the pipe between control side and worker: one JSON object per line, `{"type": ..., ...}`."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Union

from opsdebug_ci.model.attribution import Attribution
from opsdebug_ci.model.case import Case
from opsdebug_ci.model.description import Catalogue
from opsdebug_ci.model.machine import Calibration, Machine
from opsdebug_ci.model.observation import Observation
from opsdebug_ci.model.region import Region
from opsdebug_ci.model.trace import CaseTrace
from opsdebug_ci.model.vocabulary import CheckpointMode, Phase


@dataclass(frozen=True, slots=True, kw_only=True)
class Describe:
    """Find operators in these modules and describe them."""

    modules: tuple[str, ...]
    """Files or dotted names, as configured."""

    root: str
    """Directory the configuration lies in."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RunCase:
    """Run one case; operators must have been described in this process before."""

    case: Case
    """What to run."""

    repeats: int = 1
    """Launches on the same inputs whose bits must agree, 1 to skip that check."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Calibrate:
    """Run the machine's probes."""

    device: str
    """Device to probe."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Identify:
    """Say which machine this is."""


@dataclass(frozen=True, slots=True, kw_only=True)
class AttributeCase:
    """Run one case and hold a region of one output against the rest of it."""

    case: Case
    """What to run."""

    region: Region | None
    """Which region; None: all of the output."""

    output: str | None = None
    """Which output; None: the worst one."""


@dataclass(frozen=True, slots=True, kw_only=True)
class TraceCase:
    """Run one case and hold its steps against those of its references."""

    case: Case
    """What to run."""

    mode: CheckpointMode
    """What to look at."""

    health_limit: float
    """Magnitude that counts as unhealthy."""

    health_limits: Mapping[str, float]
    """The same for some dtypes."""

    step_limit: int | None = None
    """Steps to look at besides the outputs, None: all of them."""


Request = Union[Describe, RunCase, AttributeCase, TraceCase, Calibrate, Identify]
"""Control side to worker."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Breadcrumb:
    """Written before each phase, so that a death can be placed."""

    phase: Phase
    """What begins now."""

    detail: str | None = None
    """Which reference or step."""

    observation: Observation | None = None
    """What was observed so far, before what only explains it or asks for more: it stands if the worker does not survive
    the explaining, or has no memory for more."""


Reply = Union[Breadcrumb, Catalogue, Observation, Attribution, CaseTrace, Calibration, Machine]
"""Worker to control side; a request is answered by any number of breadcrumbs and then one of the others."""

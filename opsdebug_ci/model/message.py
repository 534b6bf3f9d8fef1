"""What crosses the pipe between control side and worker: one JSON object per line, `{"type": ..., ...}`."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Union

from opsdebug_ci.model.attribution import Attribution
from opsdebug_ci.model.bundle import InputTable, StoredInputs
from opsdebug_ci.model.case import Case
from opsdebug_ci.model.clue import Clue
from opsdebug_ci.model.description import Catalogue
from opsdebug_ci.model.health import HealthEvent
from opsdebug_ci.model.machine import Calibration, Machine
from opsdebug_ci.model.observation import Observation
from opsdebug_ci.model.profile import CaseProfile
from opsdebug_ci.model.region import Region
from opsdebug_ci.model.timing import CaseTimed
from opsdebug_ci.model.trace import CaseTrace
from opsdebug_ci.model.vocabulary import CheckpointMode, PageMode, Phase, Profile


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

    hunt_s: float = 30.0
    """Seconds after which no further of these launches begins."""

    inputs: StoredInputs | None = None
    """Inputs kept from an earlier run; None: made from the case."""

    profile: Profile = Profile.QUICK
    """How much the guards do."""

    explaining: bool = True
    """What lies beyond values is asked too; not while a failure is only counted or shrunk."""

    causes: bool = True
    """Causes are looked for after a failure; not where `ExplainCases` follows."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ExplainCases:
    """Find out why cases of one operator fail."""

    case: Case
    """The first of them."""

    failing: tuple[Case, ...]
    """Cases with wrong outputs."""

    passing: tuple[Case, ...]
    """Some that pass."""

    only: str = ""
    """Key of the one hypothesis that is asked; empty: they are sought."""

    inputs: StoredInputs | None = None
    """Inputs kept from an earlier run, of the one failing case; None: made from the cases."""


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

    bisect: bool = False
    """Find by bisection which call spoils each wrong output."""


@dataclass(frozen=True, slots=True, kw_only=True)
class KeepInputs:
    """Make the inputs of a case and write their storages; launch nothing."""

    case: Case
    """What to make."""

    directory: str
    """An existing directory: every storage goes to a file named by its sha256."""

    most_bytes: int
    """Write nothing if all storages together are larger; the table is answered all the same."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PageCase:
    """Launch a case once with watched pages around its arguments; the worker may well die of it."""

    case: Case
    """What to run."""

    mode: PageMode
    """Which pages."""

    inputs: StoredInputs | None = None
    """Inputs kept from an earlier run; None: made from the case."""

    alignment: int = 1
    """Bytes that the beginnings of storages are multiples of; up to one less lies between an end and watched pages."""

    protected: bool = True
    """False: storages lie at the same places, but every page may be touched."""

    only: str | None = None
    """Argument whose pages alone are watched; None: those of all, and of what the operator makes."""


@dataclass(frozen=True, slots=True, kw_only=True)
class TimeCase:
    """Time the operator on a case: on a fresh copy of its inputs, warmed up, for a number of samples."""

    case: Case
    """What to time."""

    calls: int | None = None
    """Calls per sample; None: as many as a sample needs. All arms of a comparison use the same."""

    samples: int = 24
    """Most samples."""

    visit_s: float = 0.1
    """Seconds after which no further sample begins; at least three are taken."""

    inputs: StoredInputs | None = None
    """Inputs of another arm; None: made from the case."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ProfileCase:
    """Time the operator on a case in parts, and what it must move and compute."""

    case: Case
    """What to time."""

    budget_s: float = 2.0
    """Seconds in all, about; at least three samples are taken of everything."""

    cold: bool = False
    """Also after caches were flushed."""

    parts: bool = False
    """Also launch, execute and synchronise apart."""

    reference: bool = False
    """Also the torch reference, on the same inputs."""

    copied: bool = False
    """Also on contiguous copies of arguments that are not."""

    count: bool = False
    """Also count framework calls of operator and reference, what they handle, and what the host reads."""

    tame: bool = False
    """First replace NaN, infinities, zeros and subnormal values of the floating arguments by everyday ones; without
    any, nothing is timed."""


Request = Union[
    Describe,
    RunCase,
    ExplainCases,
    AttributeCase,
    TraceCase,
    KeepInputs,
    PageCase,
    TimeCase,
    ProfileCase,
    Calibrate,
    Identify,
]
"""Control side to worker."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Breadcrumb:
    """Written before each phase, so that a death can be placed."""

    phase: Phase
    """What begins now."""

    detail: str | None = None
    """Which reference or step."""

    inputs_digest: str | None = None
    """Digest of the inputs, once they are made."""

    observation: Observation | None = None
    """What was observed so far, before what only explains it or asks for more: it stands if the worker does not survive
    the explaining, or has no memory for more."""


@dataclass(frozen=True, slots=True, kw_only=True)
class CauseFound:
    """Why one case fails."""

    case_id: str
    """Which case."""

    clues: tuple[Clue, ...]
    """For every failing output, most probable first per output."""

    origin: HealthEvent | None
    """First step that lets NaN or infinities appear; None: there is none, or nobody looked."""

    mismatches: int
    """Output elements whose bits changed in another launch like the first."""


@dataclass(frozen=True, slots=True, kw_only=True)
class CasesExplained:
    """Answer to `ExplainCases`."""

    case_id: str
    """The first case."""

    found: tuple[CauseFound, ...]
    """One per case that failed again."""


@dataclass(frozen=True, slots=True, kw_only=True)
class KeptInputs:
    """Answer to `KeepInputs`."""

    case_id: str
    """Which case."""

    table: InputTable | None
    """What the inputs are; None: they could not be made."""

    written: bool = False
    """Every storage lies in the directory."""

    reason: str | None = None
    """Why there is no table, or nothing was written."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PagesKept:
    """Answer to `PageCase`: no watched page was touched."""

    case_id: str
    """Which case."""

    watched: bool
    """Pages could be watched; False: not on this system, or for none of the arguments."""

    reason: str | None = None
    """Why not, or what the launch ended in instead."""

    results: bool = True
    """What the operator allocates through the framework was watched too."""

    arguments: tuple[str, ...] = ()
    """Arguments that lie in such pages."""


Reply = Union[
    Breadcrumb,
    Catalogue,
    Observation,
    CasesExplained,
    Attribution,
    CaseTrace,
    KeptInputs,
    PagesKept,
    CaseTimed,
    CaseProfile,
    Calibration,
    Machine,
]
"""Worker to control side; a request is answered by one that is no breadcrumb: those are left on the way, in a file."""

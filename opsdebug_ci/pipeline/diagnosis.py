"""After the verdicts: what is asked about failures, once for every cause.

(1) group the failures; (2) launch the representative of a group under watched pages where memory is suspected, and
judge it again with what they caught; (3) shrink it, within what time is left; (4) write the bundles: one for every
failing case, one for every case that was shrunk; (5) say of each group where it begins and how to replay it.

Decides for whom there is time: groups take turns, largest first. Deliberately changes no verdict.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

from opsdebug_ci.execution.page_faults import page_faults
from opsdebug_ci.failures import fingerprints, group
from opsdebug_ci.judge import judge
from opsdebug_ci.model import Cause, Group, Judgement, OperatorDescription, Status
from opsdebug_ci.model.run import Revision
from opsdebug_ci.pipeline.workbench import Workbench
from opsdebug_ci.pipeline.world import World
from opsdebug_ci.plan import Configuration

SECOND_NS = 1_000_000_000

OF_MEMORY = frozenset({Cause.OOB_WRITE, Cause.OOB_READ, Cause.CRASH_SEGFAULT})
"""Causes after which pages are watched: they tell the line, and reads from writes."""

MEMORY_SIGNALS = frozenset({"SIGSEGV", "SIGBUS", "SIGABRT"})
"""How a process ends that touched what is not its own; others tell pages nothing."""

HASH_DIGITS = 12
"""Digits of a bundle's hash in a command: 48 bits, so ten thousand bundles collide with probability about 2e-7."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Diagnosis:
    """What is known of the failures of a run."""

    judgements: list[Judgement]
    """In the order given; representatives with what pages caught."""

    groups: tuple[Group, ...]
    """Failures by cause."""

    fingerprints: Mapping[str, str]
    """Case id -> fingerprint, of the cases that failed."""

    bundles: Mapping[str, str] = field(default_factory=dict)
    """Case id -> sha256 of its bundle."""

    notes: tuple[str, ...] = ()
    """What a reader must know."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Means:
    """What a diagnosis works with."""

    bench: Workbench
    """Workers and operators."""

    configuration: Configuration
    """Whether values are private, and where bundles go."""

    revision: Revision
    """Code that failed."""

    world: World
    """The clock."""

    seconds: float
    """Time for pages and shrinking, all groups together; bundles are written whatever is left of it."""


def undiagnosed(judgements: Sequence[Judgement]) -> Diagnosis:
    """The groups alone: nothing is launched, nothing written."""
    return Diagnosis(judgements=list(judgements), groups=group(judgements), fingerprints=fingerprints(judgements))


def diagnose(judgements: Sequence[Judgement], means: Means) -> Diagnosis:
    """Everything the module's list says."""
    deadline_ns = means.world.monotonic_ns() + round(means.seconds * SECOND_NS)
    watched = _with_pages(judgements, means, deadline_ns)
    return undiagnosed(watched)


def _with_pages(judgements: Sequence[Judgement], means: Means, deadline_ns: int) -> list[Judgement]:
    contracts = {operator.name: operator.contract for operator in means.bench.catalogue.operators}
    by_id = {judgement.case.id: judgement for judgement in judgements}
    for found in group(judgements):
        representative = by_id[found.cases[0]]
        if means.world.monotonic_ns() >= deadline_ns or not _suspects_memory(representative):
            continue
        faults = page_faults(means.bench.pool, representative.case).faults
        if faults:
            observation = replace(representative.observation, pages=faults)
            case = representative.case
            by_id[case.id] = judge(case, observation, contracts[case.operator])
    return [by_id[judgement.case.id] for judgement in judgements]


def _suspects_memory(judgement: Judgement) -> bool:
    observation = judgement.observation
    if judgement.case.device != "cpu" or not any(finding.cause in OF_MEMORY for finding in judgement.findings):
        return False
    if observation.status is Status.CRASHED:
        return observation.process is not None and observation.process.signal in MEMORY_SIGNALS
    return observation.status is Status.RAN


def _described(means: Means, operator: str) -> OperatorDescription:
    return next(found for found in means.bench.catalogue.operators if found.name == operator)

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
from opsdebug_ci.execution.pool import usable_cores
from opsdebug_ci.failures import fingerprints, group
from opsdebug_ci.failures.convergence import End, united
from opsdebug_ci.failures.shrinking import Budget
from opsdebug_ci.judge import judge
from opsdebug_ci.model import FAILING_VERDICTS, Cause, Group, Judgement, Status, Verdict
from opsdebug_ci.model.run import Revision
from opsdebug_ci.model.vocabulary import Profile
from opsdebug_ci.pipeline.bundles import FailedCase, write_bundles
from opsdebug_ci.pipeline.shrink import ShrunkFailure, shrink_case
from opsdebug_ci.pipeline.workbench import Workbench
from opsdebug_ci.pipeline.world import World
from opsdebug_ci.plan import Configuration

SECOND_NS = 1_000_000_000

OF_MEMORY = frozenset({Cause.OOB_WRITE, Cause.OOB_READ, Cause.CRASH_SEGFAULT})
"""Causes after which pages are watched: they tell the line, and reads from writes."""

MEMORY_SIGNALS = frozenset({"SIGSEGV", "SIGBUS", "SIGABRT"})
"""How a process ends that touched what is not its own; others tell pages nothing."""

TRIALS = 40
"""Runs for one cause: most are as small as they get after half as many."""

LEAST_S = 1.0
"""Seconds below which nothing is shrunk any more."""

PAGES_SHARE = 0.5
"""Share of the time for pages: each launch that dies costs a worker, and smaller cases are worth as much."""

NOT_SMALLER = "some failures were not made smaller:"
TAKES_ITS_TIME = "`opsdebug replay HASH --shrink` takes its own time"

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

    profile: Profile = Profile.QUICK
    """Deep: a case of every operator that passes is launched under watched pages as well, since a read beyond a tensor
    that no output follows shows there alone. It is a remark."""

    seconds: float
    """Time for pages and shrinking, all groups together; bundles are written whatever is left of it."""


def undiagnosed(judgements: Sequence[Judgement]) -> Diagnosis:
    """The groups alone: nothing is launched, nothing written."""
    return Diagnosis(judgements=list(judgements), groups=group(judgements), fingerprints=fingerprints(judgements))


def diagnose(judgements: Sequence[Judgement], means: Means) -> Diagnosis:
    """Everything the module's list says."""
    began_ns = means.world.monotonic_ns()
    deadline_ns = began_ns + round(means.seconds * SECOND_NS)
    told = undiagnosed(_with_pages(judgements, means, began_ns + round(PAGES_SHARE * means.seconds * SECOND_NS)))
    by_id = {judgement.case.id: judgement for judgement in told.judgements}
    notes: dict[str, None] = {}
    shrunk = {
        found.fingerprint: _shrunk(by_id[found.cases[0]], found, means, deadline_ns, waiting, notes)
        for waiting, found in zip(range(len(told.groups), 0, -1), told.groups, strict=True)
    }
    groups, taken = united(told.groups, {each: _end(found) for each, found in shrunk.items() if found is not None})
    told = replace(
        told,
        groups=groups,
        fingerprints={case: taken.get(found, found) for case, found in told.fingerprints.items()},
    )
    shrunk = {found.fingerprint: shrunk[found.fingerprint] for found in groups}
    smaller = [each for each in map(_smaller, shrunk, shrunk.values()) if each is not None]
    failing = [_failed(judgement, told.fingerprints, shrunk) for judgement in told.judgements if _fails(judgement)]
    known = {each.judgement.case.id for each in smaller}
    written = write_bundles(
        [*smaller, *(each for each in failing if each.judgement.case.id not in known)],
        means.bench,
        means.configuration,
        means.revision,
        means.world,
    )
    return replace(
        told,
        groups=tuple(_told(found, shrunk[found.fingerprint], written.bundles) for found in groups),
        bundles=written.bundles,
        notes=(*written.notes, *notes),
    )


def _with_pages(judgements: Sequence[Judgement], means: Means, deadline_ns: int) -> list[Judgement]:
    contracts = {operator.name: operator.contract for operator in means.bench.catalogue.operators}
    by_id = {judgement.case.id: judgement for judgement in judgements}
    suspects = [each for each in (by_id[found.cases[0]] for found in group(judgements)) if _suspects_memory(each)]
    for judgement in (*suspects, *(_passing_once(judgements) if means.profile is Profile.DEEP else ())):
        if means.world.monotonic_ns() >= deadline_ns:
            break
        faults = page_faults(means.bench.pool, judgement.case, left_s=lambda: _left_s(means, deadline_ns)).faults
        if faults:
            case, observation = judgement.case, replace(judgement.observation, pages=faults)
            by_id[case.id] = judge(case, observation, contracts[case.operator])
    return [by_id[judgement.case.id] for judgement in judgements]


def _passing_once(judgements: Sequence[Judgement]) -> list[Judgement]:
    """One passing case of every operator: of those with most elements in any dim, the first."""
    chosen: dict[str, Judgement] = {}
    for judgement in judgements:
        if judgement.verdict is Verdict.PASS and judgement.case.device == "cpu":
            known = chosen.get(judgement.case.operator)
            if known is None or _longest(known) < _longest(judgement):
                chosen[judgement.case.operator] = judgement
    return list(chosen.values())


def _longest(judgement: Judgement) -> int:
    return max(judgement.case.dims.values(), default=0)


def _suspects_memory(judgement: Judgement) -> bool:
    observation = judgement.observation
    if judgement.case.device != "cpu" or not any(finding.cause in OF_MEMORY for finding in judgement.findings):
        return False
    if observation.status is Status.CRASHED:
        return observation.process is not None and observation.process.signal in MEMORY_SIGNALS
    return observation.status is Status.RAN


def _shrunk(
    representative: Judgement, found: Group, means: Means, deadline_ns: int, waiting: int, notes: dict[str, None]
) -> ShrunkFailure | None:
    """The representative shrunk within its share of the time that is left; None: there is none, and a note why."""
    left_s = _left_s(means, deadline_ns)
    description = next(each for each in means.bench.catalogue.operators if each.name == found.operator)
    if left_s < LEAST_S:
        if means.seconds:
            notes[f"{NOT_SMALLER} the {means.seconds:g} s for it were over; {TAKES_ITS_TIME}"] = None
        return None
    means.world.progress.tell(f"shrinking {representative.case.name}")
    try:
        shrunk = shrink_case(
            representative,
            means.bench,
            description,
            budget=Budget(seconds=max(left_s / waiting, min(left_s, LEAST_S)), trials=TRIALS),
            clock=lambda: means.world.monotonic_ns() / SECOND_NS,
            width=usable_cores(),
        )
        if shrunk.ended:
            notes[f"{representative.case.operator}: there may be a smaller case: {TAKES_ITS_TIME}"] = None
        return shrunk
    except OSError as error:  # a full disk must not cost the run its verdict
        notes[f"{NOT_SMALLER} {error.strerror or error}"] = None
        return None


def _left_s(means: Means, deadline_ns: int) -> float:
    return (deadline_ns - means.world.monotonic_ns()) / SECOND_NS


def _end(shrunk: ShrunkFailure) -> End:
    return End(smallest=shrunk.judgement.case, passing=shrunk.nearest_passing)


def _fails(judgement: Judgement) -> bool:
    return judgement.verdict in FAILING_VERDICTS


def _failed(
    judgement: Judgement, fingerprints: Mapping[str, str], shrunk: Mapping[str, ShrunkFailure | None]
) -> FailedCase:
    fingerprint = fingerprints[judgement.case.id]
    known = shrunk.get(fingerprint)
    mine = known is not None and known.judgement.case.id == judgement.case.id
    return FailedCase(
        judgement=judgement,
        fingerprint=fingerprint,
        rate=known.rate if known is not None and mine else None,
        nearest_passing=known.nearest_passing if known is not None and mine else None,
    )


def _smaller(fingerprint: str, shrunk: ShrunkFailure | None) -> FailedCase | None:
    """The smaller case that was found; None: there is none."""
    if shrunk is None or shrunk.minimised_from is None:
        return None
    return FailedCase(
        judgement=shrunk.judgement,
        fingerprint=fingerprint,
        rate=shrunk.rate,
        minimised_from=shrunk.minimised_from,
        nearest_passing=shrunk.nearest_passing,
    )


def _told(found: Group, shrunk: ShrunkFailure | None, bundles: Mapping[str, str]) -> Group:
    mine = None if shrunk is None else bundles.get(shrunk.judgement.case.id)
    bundle = mine or bundles.get(found.cases[0])
    return replace(
        found,
        bundle=bundle,
        replay=None if bundle is None else f"opsdebug replay {bundle[:HASH_DIGITS]}",
        boundary=None if shrunk is None else shrunk.boundary,
        smallest="" if shrunk is None or shrunk.minimised_from is None or mine is None else _sizes(shrunk),
    )


def _sizes(shrunk: ShrunkFailure) -> str:
    case = shrunk.judgement.case
    return ", ".join([*(f"{dim}={size}" for dim, size in case.dims.items()), str(case.dtype)])

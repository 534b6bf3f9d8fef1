"""`opsdebug profile`: floor against measured, where the time goes, cliffs, what to do. Stores nothing.

Decides the order of work and how much time each operator gets. One worker, with one thread where the environment does
not say otherwise, and nothing beside it: what is timed must not share the machine with ourselves.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field, replace
from typing import final

from opsdebug_ci.model import Case, Machine, Observation, OperatorDescription
from opsdebug_ci.model.finding import Finding
from opsdebug_ci.model.message import ProfileCase
from opsdebug_ci.model.profile import CaseProfile
from opsdebug_ci.model.profile_document import PROFILE_SCHEMA, DevicePeaks, ProfileDocument, ProfileEntry, Sweep
from opsdebug_ci.pipeline.alone import alone
from opsdebug_ci.pipeline.cliff_search import CliffSearch
from opsdebug_ci.pipeline.workbench import Workbench, workbench
from opsdebug_ci.pipeline.world import World
from opsdebug_ci.plan import Axes, Configuration, mismatch, select
from opsdebug_ci.plan.profile_cases import ProfileCases, profile_cases
from opsdebug_ci.plan.selection import is_glob
from opsdebug_ci.regress.advice import INTERPRETED, judge_profile
from opsdebug_ci.regress.peaks import GivenPeaks, needs_calibration, peaks_of
from opsdebug_ci.regress.profiled import Profiled
from opsdebug_ci.report.document import case_document

ENTRY_S = 0.8
"""Seconds for one entry: warm, cold, parts and reference."""

OPERATOR_S = 6.0
"""Seconds for one operator, its search for cliffs included."""

EXIT_MEASURED, EXIT_DIED, EXIT_NOTHING = 0, 1, 4
"""Something was measured; no operator lived to be measured; nothing was."""

NEXT_COMMANDS = 5
"""Commands listed at the end."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ProfileSelection:
    """What to profile."""

    patterns: tuple[str, ...] = ()
    """Names and globs; empty: every operator."""

    axes: Axes = field(default_factory=Axes)
    """Values fixed by hand."""

    budget_s: float | None = None
    """Seconds in all, after which no further operator is begun and no further cliff looked for; None: no limit."""


def profile(selection: ProfileSelection, configuration: Configuration, world: World) -> ProfileDocument:
    """Profile the selected operators, one after another.

    Raises:
        UsageError: a pattern matches nothing, or a named operator lacks a value of an axis.
    """
    with alone(world), workbench(configuration, world, workers=1, threads=1) as bench:
        planned = plan_profiles(selection, bench)
        deadline = Deadline(world, selection.budget_s)
        return _document(measure(planned, bench, configuration, world, deadline), bench.machine)


@dataclass(frozen=True, slots=True, kw_only=True)
class Profiles:
    """What profiling some operators came to."""

    peaks: tuple[DevicePeaks, ...]
    """Of every device they ran on."""

    entries: tuple[ProfileEntry, ...]
    """In order of discovery."""

    sweeps: tuple[Sweep, ...]
    """In the same order."""

    notes: tuple[str, ...]
    """What a reader must know."""

    died: bool
    """Some operator raised, crashed or hung."""


@final
class Deadline:
    """When time is up: in all, and for one operator."""

    def __init__(self, world: World, budget_s: float | None) -> None:
        self._now_ns = world.monotonic_ns
        self._end_ns = None if budget_s is None else self._now_ns() + budget_s * 1e9

    def passed(self) -> bool:
        """No time is left in all."""
        return self._end_ns is not None and self._now_ns() >= self._end_ns

    def of_operator(self) -> Callable[[], bool]:
        """Whether the time is up of an operator that begins now."""
        end_ns = self._now_ns() + OPERATOR_S * 1e9
        return lambda: self.passed() or self._now_ns() >= end_ns


def plan_profiles(selection: ProfileSelection, bench: Workbench) -> tuple[ProfileCases, ...]:
    """Cases of every selected operator on every device here; one that a glob met is left out where an axis does not
    suit it.

    Raises:
        UsageError: as `profile`.
    """
    named = {pattern for pattern in selection.patterns if not is_glob(pattern)}
    chosen = select(bench.catalogue.operators, selection.patterns)
    fitting = [one for one in chosen if one.name in named or mismatch(one, selection.axes) is None] or chosen
    return tuple(
        profile_cases(description, selection.axes, device)
        for description in fitting
        for device in _devices(description, bench)
    )


def measure(
    planned: Sequence[ProfileCases], bench: Workbench, configuration: Configuration, world: World, deadline: Deadline
) -> Profiles:
    """Profile planned operators one after another; peaks first."""
    devices = dict.fromkeys(cases.base.device for cases in planned)
    world.progress.tell(f"measuring what {', '.join(devices) or 'nothing'} can do at best")
    peaks = {device: find_peaks(device, bench, configuration) for device in devices}
    done: list[_Operator] = []
    for number, cases in enumerate(planned, 1):
        if deadline.passed():
            break
        world.progress.tell(f"profiling {cases.base.operator} on {cases.base.device} ({number} of {len(planned)})")
        done.append(_profile_operator(cases, bench, peaks[cases.base.device], deadline.of_operator()))
    return Profiles(
        peaks=tuple(peaks.values()),
        entries=tuple(entry for one in done for entry in one.entries),
        sweeps=tuple(sweep for one in done for sweep in one.sweeps),
        notes=tuple(_notes(planned, done)),
        died=any(one.died for one in done),
    )


def find_peaks(device: str, bench: Workbench, configuration: Configuration) -> DevicePeaks:
    """Peaks of a device: configured, known or measured."""
    given = GivenPeaks(
        bandwidth_bytes_per_s=configuration.peaks.bandwidth_bytes_per_s, flops_per_s=configuration.peaks.flops_per_s
    )
    name = driver_name(device, bench.machine)
    calibration = bench.pool.calibrate(device) if needs_calibration(name, given) else None
    return peaks_of(device, name, given, calibration)


def driver_name(device: str, machine: Machine) -> str | None:
    """What the driver calls a device; None: the CPU."""
    kind, _, index = device.partition(":")
    position = int(index) if index else 0
    return None if kind == "cpu" or position >= len(machine.devices) else machine.devices[position]


@dataclass(frozen=True, slots=True, kw_only=True)
class _Operator:
    """One operator on one device."""

    entries: tuple[ProfileEntry, ...]
    """As shown."""

    sweeps: tuple[Sweep, ...] = ()
    """Its sweeps."""

    complete: bool = True
    """Everything was looked at."""

    died: bool = False
    """It raised, crashed or hung."""

    interpreted: bool = False
    """Its kernels ran in Triton's interpreter."""


def _profile_operator(
    cases: ProfileCases, bench: Workbench, peaks: DevicePeaks, expired: Callable[[], bool]
) -> _Operator:
    answers = [(case, *_ask(case, bench)) for case in cases.entries]
    entries = {case.id: _entry(case, answer, peaks) for case, answer, _ in answers}
    died = any(gone for *_, gone in answers)
    timed = tuple(Profiled(case=case, profile=answer) for case, answer, _ in answers if answer.operator is not None)
    if not timed:
        return _Operator(entries=tuple(entries.values()), died=died)
    found = CliffSearch(
        pool=bench.pool,
        cases=cases,
        timed=timed,
        bandwidth_bytes_per_s=peaks.bandwidth_bytes_per_s,
        expired=expired,
    ).run()
    last = timed[-1].case.id
    entries[last] = _with_findings(entries[last], found.findings)
    return _Operator(
        entries=tuple(entries.values()),
        sweeps=found.sweeps,
        complete=found.complete,
        died=died,
        interpreted=any(one.profile.interpreted for one in timed),
    )


def _ask(case: Case, bench: Workbench) -> tuple[CaseProfile, bool]:
    """The profile of an entry, and whether the operator died instead."""
    request = ProfileCase(case=case, budget_s=ENTRY_S, cold=True, parts=True, reference=True, copied=True, count=True)
    answer = bench.pool.about(request, CaseProfile)
    if isinstance(answer, CaseProfile):
        return answer, answer.operator is None and not answer.unsupported
    return _untimed(case, answer), True


def _untimed(case: Case, observation: Observation) -> CaseProfile:
    reason = observation.reason or f"it ended with status {observation.status}"
    return CaseProfile(case_id=case.id, operator=None, reason=reason)


def _entry(case: Case, answer: CaseProfile, peaks: DevicePeaks) -> ProfileEntry:
    judged = judge_profile(answer, case.dtype, peaks)
    return ProfileEntry(
        case=case_document(case),
        measured=answer.operator,
        parts=answer.parts,
        traffic=answer.traffic,
        floor=judged.floor,
        utilisation=judged.utilisation,
        bandwidth_bytes_per_s=judged.bandwidth_bytes_per_s,
        launch_share=judged.launch_share,
        reference=answer.reference,
        explanation=judged.explanation,
        advice=judged.advice,
        findings=(),
        clocks=answer.clocks,
        reason=answer.reason if answer.operator is None else None,
    )


def _with_findings(entry: ProfileEntry, findings: Sequence[Finding]) -> ProfileEntry:
    if not findings:
        return entry
    return replace(entry, findings=tuple(findings), advice=f"remove the cliff: {findings[0].statement}")


def _devices(description: OperatorDescription, bench: Workbench) -> Iterable[str]:
    return [device for device in bench.devices if device.partition(":")[0] in description.devices]


def _notes(planned: Sequence[ProfileCases], done: Sequence[_Operator]) -> Iterable[str]:
    left = [cases.base.operator for cases in planned[len(done) :]]
    if left:
        yield f"time was up before {len(left):,} of {len(planned):,} operators: {', '.join(left[:5])}" + (
            ", ..." if len(left) > 5 else ""
        )
    interpreted = dict.fromkeys(one.entries[0].case.operator for one in done if one.interpreted)
    if interpreted:
        yield f"{', '.join(interpreted)}: {INTERPRETED}"
    hurried = [one.entries[0].case.operator for one in done if not one.complete]
    if hurried:
        yield f"time was up before every size, layout and value was tried for cliffs: {', '.join(hurried)}"


def _document(profiled: Profiles, machine: Machine) -> ProfileDocument:
    measured = [entry for entry in profiled.entries if entry.measured is not None]
    code = EXIT_MEASURED if measured else EXIT_DIED if profiled.died else EXIT_NOTHING
    return ProfileDocument(
        schema=PROFILE_SCHEMA,
        machine=machine,
        peaks=profiled.peaks,
        entries=profiled.entries,
        sweeps=profiled.sweeps,
        notes=profiled.notes,
        next=next_commands(profiled.entries),
        exit_code=code,
    )


def next_commands(entries: Sequence[ProfileEntry]) -> tuple[str, ...]:
    """Commands that show the findings again; without any, how speed is compared."""
    commands = dict.fromkeys(finding.next for entry in entries for finding in entry.findings)
    return tuple(commands)[:NEXT_COMMANDS] or ("opsdebug compare --base HEAD~1",)

"""What a comparison times in which arms: found out by looking at all of them once.

Decides pairs of arms and controls.
"""

from __future__ import annotations

import math
import random
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from dataclasses import dataclass, replace
from pathlib import Path

from opsdebug_ci.execution import Limits, WorkerPool
from opsdebug_ci.model import Catalogue, Machine, OperatorDescription
from opsdebug_ci.model.speed import Comparing, Comparison, SpeedVerdict
from opsdebug_ci.pipeline.arm_look import ArmLook
from opsdebug_ci.pipeline.arms import ArmSpec, check_separate
from opsdebug_ci.pipeline.experiment import Series, arm_pool, describe_arm
from opsdebug_ci.pipeline.installed_copy import check_installed
from opsdebug_ci.pipeline.workbench import available_devices, discovery_error
from opsdebug_ci.plan import Axes, Configuration, select_names
from opsdebug_ci.plan.timing_cases import timing_cases
from opsdebug_ci.report.document import case_document

BASE_AGAIN = "base again"
"""Name of the control arm: another process of the first base."""

CONTROL_SHARE = 0.1
"""Share of the series that are also compared with themselves, at least one."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Duel:
    """A series in two arms."""

    series: Series
    """What is timed."""

    why: Comparing
    """Why."""

    base: str
    """Arm compared with."""

    head: str
    """Arm under test."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Plan:
    """What a comparison does."""

    arms: Mapping[str, ArmSpec]
    """By name; bases, control and head."""

    duels: tuple[Duel, ...]
    """Every pair, controls included."""

    one_sided: tuple[Comparison, ...]
    """Operators that one arm lacks."""

    probe: Series | None
    """What all arms share; None: their frameworks differ."""

    machine: Machine
    """Where."""

    notes: tuple[str, ...]
    """What a reader must know, e.g. which cases are not timed."""

    @property
    def tests(self) -> int:
        """How many pairs are compared, controls aside."""
        return max(1, sum(duel.why is not Comparing.CONTROL for duel in self.duels))

    @property
    def probe_arms(self) -> tuple[str, ...]:
        """The first base and the head, in which what all share is timed."""
        names = tuple(self.arms)
        return (names[0], names[-1])


@dataclass(frozen=True, slots=True, kw_only=True)
class Demand:
    """Which operators are compared, and how."""

    patterns: tuple[str, ...]
    """Names or globs; empty: all."""

    axes: Axes
    """Values fixed by hand."""

    untouched: frozenset[str]
    """Operators left out."""

    controls: bool
    """The base is compared with itself too."""

    seed: int
    """Which series are controls."""


def make_plan(
    bases: Sequence[tuple[ArmSpec, Comparing]],
    head: ArmSpec,
    demand: Demand,
    configuration: Configuration,
    scratch: Path,
) -> Plan:
    """Look at all arms once and decide what to time.

    Args:
        bases: arms and why each is compared with, the first for the control too.
        head: the code under test.
        demand: which operators.
        configuration: the head's.
        scratch: a directory that outlives the comparison, for inputs.

    Raises:
        DiscoveryError: an arm's operators cannot be described.
        UsageError: no operator matches.
        EnvironmentLimitError: nothing can be timed here, or two arms run the same files.
    """
    specs = {spec.name: spec for spec, _ in bases} | {head.name: head}
    with ExitStack() as stack:
        limits = Limits(timeout_s=configuration.timeout_s, memory_bytes=configuration.memory_bytes)
        pools = {name: stack.enter_context(arm_pool(spec, limits)) for name, spec in specs.items()}
        with ThreadPoolExecutor(len(specs)) as starters:
            found = dict(zip(specs, starters.map(lambda n: _described(pools[n], specs[n]), specs), strict=True))
        notes = [note for spec, _ in bases for note in check_separate(spec, found[spec.name], head)]
        notes += [note for spec, _ in bases[:1] for note in check_separate(head, found[head.name], spec)]
        for spec, _ in bases:
            notes += check_installed(spec, found[spec.name], head, found[head.name])
        notes += [note for spec in specs.values() for note in spec.notes]
        machine = pools[head.name].identify()
        devices = available_devices(configuration, machine)
        look = ArmLook(pools=pools, found=found, head=head.name, devices=devices, scratch=scratch)
        return _planned(bases, head, demand, look, machine, notes)


def _planned(
    bases: Sequence[tuple[ArmSpec, Comparing]],
    head: ArmSpec,
    demand: Demand,
    look: ArmLook,
    machine: Machine,
    notes: list[str],
) -> Plan:
    names = {o.name for name in (bases[0][0].name, head.name) for o in look.operators(name)}
    chosen = select_names(sorted(names), demand.patterns)
    wanted = [o for o in look.operators(head.name) if o.name in chosen and o.name not in demand.untouched]
    series = [one for operator in wanted for one in look.series(operator, demand.axes, notes)]
    duels = [
        Duel(series=one, why=why, base=spec.name, head=head.name)
        for spec, why in bases
        for one in series
        if look.has(spec.name, one.case.operator)
    ]
    arms = {spec.name: spec for spec, _ in bases}
    if demand.controls and duels:
        first = bases[0][0]
        arms[BASE_AGAIN] = replace(first, name=BASE_AGAIN)
        duels += _controls([duel for duel in duels if duel.base == first.name], demand.seed)
    probe = look.probe() if len({spec.facts.torch for spec in (bases[0][0], head)}) == 1 else None
    return Plan(
        arms={**arms, head.name: head},
        duels=tuple(duels),
        one_sided=tuple(_one_sided(bases[0][0].name, head.name, wanted, chosen - demand.untouched, look)),
        probe=probe,
        machine=machine,
        notes=tuple(dict.fromkeys(notes)),
    )


def first_pairs(duels: Sequence[Duel], most: int) -> Sequence[Duel]:
    """At most so many pairs, with the controls of their series; first those that have one, then declared sizes."""
    controls = {duel.series.case.id: duel for duel in duels if duel.why is Comparing.CONTROL}
    pairs = [duel for duel in duels if duel.why is not Comparing.CONTROL]
    if len(pairs) <= most:
        return duels
    chosen = sorted(pairs, key=lambda duel: (duel.series.case.id not in controls, not duel.series.first))[:most]
    series = {duel.series.case.id for duel in chosen}
    return [*chosen, *(control for key, control in controls.items() if key in series)]


def _controls(duels: Sequence[Duel], seed: int) -> list[Duel]:
    """The base against itself, for some series in turn."""
    count = math.ceil(CONTROL_SHARE * len(duels))
    chosen = random.Random(seed).sample(list(duels), min(count, len(duels)))  # noqa: S311 - a choice, no secret
    return [replace(duel, why=Comparing.CONTROL, head=BASE_AGAIN) for duel in chosen]


def _one_sided(
    base: str, head: str, wanted: Sequence[OperatorDescription], chosen: frozenset[str], look: ArmLook
) -> Iterator[Comparison]:
    for operator in wanted:
        if not look.has(base, operator.name):
            yield _only(operator, look.devices, base, SpeedVerdict.NEW, f"new: {base} does not have it")
    for operator in look.operators(base):
        if operator.name in chosen and not look.has(head, operator.name):
            yield _only(operator, look.devices, base, SpeedVerdict.MISSING, f"missing: {base} has it, {head} does not")


def _only(
    operator: OperatorDescription, devices: Sequence[str], base: str, verdict: SpeedVerdict, statement: str
) -> Comparison:
    case = (timing_cases(operator, Axes(), devices) or timing_cases(operator, Axes(), operator.devices))[0]
    return Comparison(
        case=case_document(case),
        why=Comparing.CHANGE,
        base=base,
        verdict=verdict,
        statement=statement,
        threshold=0.0,
        base_ns=None,
        head_ns=None,
        screen=None,
        confirm=None,
    )


def _described(pool: WorkerPool, spec: ArmSpec) -> Catalogue:
    catalogue = describe_arm(pool, spec)
    if catalogue.faults:
        raise discovery_error(catalogue)
    return catalogue

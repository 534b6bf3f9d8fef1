"""Which launches a case needs, and what differences between them mean.

(1) watched, everything varied at once: zones around arguments and around the operator's own memory hold the complement
    of the pattern, gaps hold it too, fresh memory and output buffers the second byte. It comes first because it alone
    survives writes beside the operator's own memory; where it finds some, every further launch is watched.
(2) plain: its outputs are what is compared with the references. Other bits than (1): (1) again, and bits that differ
    between those two mean that the operator is not deterministic.
(3) watched, with NaN around the arguments and in the gaps and the first byte in fresh memory. The deep profile adds
    large numbers (4) and their negatives (5).

Equal bits throughout: nothing else is launched. Bits that differ between (1) and a later one, and not between two like
(1), come from the one factor that changes them alone: fresh memory (never written), zones or gaps of the arguments,
zones of the operator's own memory (read beyond). Which argument and which end is asked one by one. Every such answer is
given by several launches in turn, so that a race does not pass for one. Bits that differ only from (2): a plain launch
with everything varied, and where that is as (2), the operator merely takes another path when watched, which is no
defect; else one more like (2) tells work done once from a factor. An operator that raises in (1) and not in (2) is
asked again: if it does not raise then, it is to blame, else it is watched less.

Bytes that changed are looked for after every launch; if there are any, one more launch is looked at after every step.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace

from opsdebug_ci.guard import FILL_A, FILL_B, Fill, ZoneFills, byte_for
from opsdebug_ci.model.memory import ForeignRead, GuardFacts, LayoutChange, MemoryReading
from opsdebug_ci.model.vocabulary import Profile, Role, Side
from opsdebug_ci.worker.launch_reading import (
    Conditions,
    Launch,
    LaunchReading,
    Outputs,
    differing,
    differing_elements,
    element_bytes,
)
from opsdebug_ci.worker.launches import Launcher, Watching, resizes

PLAIN = Conditions()
VARIED = Conditions(
    zones=ZoneFills(guards=Fill.COMPLEMENT, gaps=Fill.COMPLEMENT),
    fresh=FILL_B,
    scratch=Fill.COMPLEMENT,
    watched=True,
)
NUMBERS = {Profile.QUICK: (Fill.NAN,), Profile.DEEP: (Fill.NAN, Fill.HIGH, Fill.LOW)}

QUICK_LAUNCHES = 5
"""Launches the quick profile makes of an operator that shows nothing."""

CONFIRMATIONS = 6
"""Further launches of either kind that must agree before a factor is held to change bits: a race of two outcomes does
so by chance once in 2**12."""

AFFORDABLE_NS = 3_000_000_000
"""Time inside the operator after which nothing more is told apart, counted as if each launch were as long as its
quickest: a machine that stood still in one, or an operator that compiles in its first, takes nothing from the rest."""


@dataclass(frozen=True, slots=True, kw_only=True)
class _Difference:
    """Outputs that change with one factor."""

    base: Outputs
    """Before."""

    changed: Outputs
    """After."""


def observe(launcher: Launcher, repeats: int, profile: Profile = Profile.QUICK) -> LaunchReading:
    """Run the launches of the module's plan, then plain ones until there are `repeats`.

    Raises:
        Unsupported: the operator says that the case is outside its domain.
        OperatorFault: it raised anything else.
        NotAnOutput: it returned something that is no output.
    """
    return _Plan(launcher, profile).reading(repeats)


class _Plan:
    """One case's launches, and what they came to."""

    def __init__(self, launcher: Launcher, profile: Profile) -> None:
        self._launcher = launcher
        self._profile = profile
        self._memory: dict[tuple[str, Side], MemoryReading] = {}
        self._damaging: Conditions | None = None
        self._layouts: dict[tuple[str, str], LayoutChange] = {}
        self._reads: dict[tuple[Side, str | None, str], ForeignRead] = {}
        self._mismatches = 0
        self._unwritten = 0
        self._from_scratch = 0

    def reading(self, repeats: int) -> LaunchReading:
        """All of it."""
        launch, base = self._start()
        first = launch.outputs
        self._vary(first, base)
        for _ in range(repeats - 1):
            if self._mismatches:
                break
            self._mismatches = differing(first, self._launcher.once())
        if self._damaging is not None and self._affordable:
            self._locate(self._damaging)
        return LaunchReading(
            outputs=first,
            memory=tuple(self._memory.values()),
            reads=tuple(self._reads.values()),
            aliases=launch.aliases,
            layout_changes=tuple(self._layouts.values()),
            guard=self._facts(),
            repeat_mismatches=self._mismatches,
            unwritten=self._unwritten,
            from_scratch=self._from_scratch,
            careful=self._launcher.careful,
            drew=self._launcher.drew,
            duration_ns=self._launcher.duration_ns,
            quickest_ns=self._launcher.quickest_ns,
        )

    def _start(self) -> tuple[Launch, Outputs]:
        """The launch that is compared with the references, and the outputs of (1)."""
        varied = self._launcher.watched(VARIED)
        if isinstance(varied, Launch):
            self._remember(varied, VARIED)
            self._launcher.careful = any(reading.role is not Role.INPUT for reading in varied.memory)
            return (varied if self._launcher.careful else self._launch(PLAIN)), varied.outputs
        plain = self._launch(PLAIN)
        if not resizes(varied) and isinstance(self._launcher.watched(VARIED), Launch):
            raise varied
        self._launcher.watch_less(varied)
        return plain, self._outputs(VARIED)

    def _vary(self, first: Outputs, base: Outputs) -> None:
        if differing(first, base):
            again = self._outputs(VARIED)
            self._mismatches = differing(base, again)
            if self._mismatches:  # what nobody wrote may have held neither fill in (1), and holds both since
                self._unwritten = _still_filled(_Difference(base=again, changed=first), FILL_B, FILL_A)
                return
        for fill in NUMBERS[self._profile]:
            conditions = _with_numbers(fill)
            if self._may_go_on and differing(base, self._outputs(conditions)):
                self._tell_apart(VARIED, base, conditions)
            if self._mismatches:
                return
        if not self._settled and differing(first, base):
            self._explain_first(first)

    @property
    def _settled(self) -> bool:
        return bool(self._mismatches or self._unwritten or self._reads)

    @property
    def _may_go_on(self) -> bool:
        """Where nothing has shown, the quick profile ends with its last launch."""
        return self._affordable and (self._profile is Profile.DEEP or self._launcher.launches < QUICK_LAUNCHES)

    @property
    def _affordable(self) -> bool:
        return self._launcher.launches * self._launcher.quickest_ns < AFFORDABLE_NS

    def _explain_first(self, first: Outputs) -> None:
        """Watched launches agree with each other and not with the plain one."""
        unwatched = replace(VARIED, watched=False)
        if not differing(first, self._outputs(unwatched)):
            return
        self._mismatches = differing(first, self._outputs(PLAIN))
        if not self._mismatches:
            self._tell_apart(PLAIN, first, unwatched)

    def _tell_apart(self, start: Conditions, base: Outputs, end: Conditions) -> None:
        """Find the factors between two launches that change bits by themselves."""
        self._mismatches = differing(base, self._outputs(start))
        if self._mismatches:
            return
        any_alone = False
        for factor, changed in _single_factors(start, end):
            found = self._confirmed(start, base, changed)
            if self._mismatches:
                return
            any_alone |= found is not None
            if found is not None:
                self._note(factor, found, start, changed)
        if not any_alone:
            together = self._confirmed(start, base, end)
            if together is not None and not self._mismatches:
                self._tell(_reads(together, Side.TAIL, None, end.zones.guards.value))

    def _confirmed(self, start: Conditions, base: Outputs, changed: Conditions) -> _Difference | None:
        """What `changed` gives other than `base`: the same every time, while `start` goes on giving `base`."""
        other = self._outputs(changed)
        if not differing(base, other):
            return None
        for _ in range(CONFIRMATIONS):
            for conditions, known in ((start, base), (changed, other)):
                self._mismatches = differing(known, self._outputs(conditions))
                if self._mismatches:
                    return None
        return _Difference(base=base, changed=other)

    def _note(self, factor: str, found: _Difference, start: Conditions, changed: Conditions) -> None:
        if factor == "fresh":
            self._unwritten = differing(found.base, found.changed)
            self._from_scratch = self._unwritten - _still_filled(found, start.fresh, changed.fresh)
        elif factor == "scratch":
            self._tell(_reads(found, Side.TAIL, "memory of its own", changed.scratch.value))
        else:
            self._tell(self._whose(factor, found, start, changed))

    def _tell(self, reads: Iterable[ForeignRead]) -> None:
        for read in reads:
            self._reads.setdefault((read.side, read.argument, read.output), read)

    def _whose(self, factor: str, found: _Difference, start: Conditions, changed: Conditions) -> Iterable[ForeignRead]:
        """The same reads, told of the argument and the end they follow, where that can be told."""
        fill = getattr(changed.zones, factor)
        reads: list[ForeignRead] = []
        for name, side in self._launcher.grounds.sides:
            if (side is Side.GAP) == (factor == "gaps") and self._affordable:
                one = replace(start, zones=replace(start.zones, single=(name, side, fill)))
                alone = self._outputs(one)
                if differing(found.base, alone) and not differing(alone, self._outputs(one)):
                    reads += _reads(_Difference(base=found.base, changed=alone), side, name, fill.value)
        return reads or _reads(found, Side.GAP if factor == "gaps" else Side.TAIL, None, fill.value)

    def _outputs(self, conditions: Conditions) -> Outputs:
        return self._launch(conditions).outputs

    def _launch(self, conditions: Conditions) -> Launch:
        launch = self._launcher.launch(conditions)
        self._remember(launch, conditions)
        return launch

    def _remember(self, launch: Launch, conditions: Conditions) -> None:
        """Keep the widest reading of every tensor and side."""
        if launch.memory and self._damaging is None:
            self._damaging = conditions
        for reading in launch.memory:
            key = (reading.argument, reading.side)
            known = self._memory.get(key)
            if known is None or known.bytes_changed < reading.bytes_changed:
                self._memory[key] = reading
        for change in launch.layout_changes:
            self._layouts.setdefault((change.tensor, change.field), change)

    def _locate(self, conditions: Conditions) -> None:
        """One launch looked at after every step; nothing is added but steps."""
        watched = replace(conditions, watched=True)
        for reading in self._launcher.launch(watched, locating=True).memory:
            known = self._memory.get((reading.argument, reading.side))
            if known is not None:
                self._memory[known.argument, known.side] = replace(known, step=reading.step, place=reading.place)

    def _facts(self) -> GuardFacts:
        launcher = self._launcher
        return GuardFacts(
            profile=self._profile,
            zone_bytes=launcher.grounds.zone_bytes if launcher.between_zones else 0,
            launches=launcher.launches,
            scratch=launcher.watching is Watching.GUARDED,
            note=launcher.note,
        )


def _with_numbers(fill: Fill) -> Conditions:
    """As VARIED, with everything other than there."""
    scratch = Fill.PATTERN if fill is Fill.NAN else fill
    return Conditions(zones=ZoneFills(guards=fill, gaps=fill), fresh=FILL_A, scratch=scratch, watched=True)


def _single_factors(start: Conditions, end: Conditions) -> Iterator[tuple[str, Conditions]]:
    """`start` with one factor at a time as in `end`."""
    yield "fresh", replace(start, fresh=end.fresh)
    yield "guards", replace(start, zones=replace(start.zones, guards=end.zones.guards))
    yield "gaps", replace(start, zones=replace(start.zones, gaps=end.zones.gaps))
    if start.watched:
        yield "scratch", replace(start, scratch=end.scratch)


def _reads(found: _Difference, side: Side, argument: str | None, fill: str) -> Iterator[ForeignRead]:
    for name, before in found.base.items():
        count = differing_elements(before, found.changed.get(name, before.flatten()[:0]))
        if count:
            yield ForeignRead(side=side, argument=argument, output=name, elements=count, fill=fill)


def _still_filled(found: _Difference, before: int, after: int) -> int:
    """Elements that hold nothing but the fill, one and the other: nobody wrote them."""
    count = 0
    for name, one in found.base.items():
        other = found.changed.get(name)
        if other is not None and other.shape == one.shape and other.dtype is one.dtype and one.numel():
            kept = element_bytes(one) == byte_for(one.dtype, before)
            kept &= element_bytes(other) == byte_for(one.dtype, after)
            count += int(kept.all(dim=1).sum())
    return count

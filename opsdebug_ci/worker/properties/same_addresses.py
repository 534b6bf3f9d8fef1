"""Other values where earlier ones lay: does the operator look at its inputs, every time?

(1) the case's values, whose storages are kept; (2) other values as new tensors at these addresses; (3) the case's
values written into those very tensors. Meanwhile (1) watches for references. Where (2) and (3) change most of every
output, the operator looks. Else: (4) the other values at other addresses, and what the reference says of them.

Decides what is unambiguous: a result that is bit for bit the one of the launch before, although the reference tells
the two sets of values clearly apart and the operator is wrong about the second; and, on the case's own values, other
bits than the first time. Deliberately judges no accuracy: wrong values are the comparison's to find.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import torch

from opsdebug_ci.errors import OpsdebugError, Unsupported
from opsdebug_ci.guard import SameAddresses
from opsdebug_ci.model.finding import EvidenceValue
from opsdebug_ci.model.property import Property, PropertyReading
from opsdebug_ci.model.vocabulary import ReferenceKind
from opsdebug_ci.operators import Arguments
from opsdebug_ci.worker.arguments import make_arguments
from opsdebug_ci.worker.isolation import isolated
from opsdebug_ci.worker.launch_reading import LaunchReading, Outputs, differing_bits
from opsdebug_ci.worker.launches import Launcher, NotAnOutput, OperatorFault
from opsdebug_ci.worker.probes.scene import Scene
from opsdebug_ci.worker.properties.own_work import own_work, watching

ALL_BUT_FEW = 0.99
"""Share of the telling elements that must be stale: a kernel may well be right about a few by chance."""

APART = 0.01
"""Two of the reference's values tell launches apart when they differ by this share of the larger one: beyond what any
format with eight significand bits, or an approximation worth the name, leaves open."""

FEWEST_WORDS = 8
"""Whole numbers and truth values agree by chance; from so many on they do not: 2**-8 if every value had two choices."""

MESSAGE_LENGTH = 200
"""Characters kept of what a later launch raised."""


def same_addresses(scene: Scene, launch: LaunchReading) -> Iterator[PropertyReading]:
    """Three more launches, a fourth and the reference where bits stay. Silent where other inputs cannot be made or do
    not tell, and where memory is not written."""
    case = replace(scene.case, seed=scene.case.seed + 1)
    try:
        with isolated(case.seed):
            others = make_arguments(scene.operator, case)
    except (OpsdebugError, Unsupported):
        return
    held = SameAddresses(scene.arguments.values)
    torch_answers = ReferenceKind.TORCH in scene.operator.references
    if launch.unwritten or not torch_answers or others.names != scene.arguments.names or not held.fits(others.values):
        return
    trial = _Reuse(scene, others)
    try:
        yield from trial.readings(held, launch)
    except OperatorFault as fault:
        if trial.elsewhere is not None or scene.launch(scene.arguments) is None:
            yield _raised(scene, fault.__cause__ or fault)
    except (NotAnOutput, Unsupported):
        return


def _by_name(scene: Scene, answers: Sequence[torch.Tensor] | None) -> Outputs | None:
    """What the reference says, by name of the output; None: nothing, or too little."""
    if answers is None or len(answers) != len(scene.outputs):
        return None
    return dict(zip(scene.outputs, answers, strict=True))


def _raised(scene: Scene, error: BaseException) -> PropertyReading:
    elements = max(1, sum(output.numel() for output in scene.outputs.values()))
    evidence = {"raised": type(error).__name__, "message": str(error)[:MESSAGE_LENGTH]}
    return PropertyReading(property=Property.LATER_LAUNCHES, compared=elements, broken=elements, evidence=evidence)


@dataclass(frozen=True, slots=True, kw_only=True)
class _Elsewhere:
    """The others where nothing lay before."""

    own: Outputs
    """What the reference says of the case's values."""

    expected: Outputs
    """What it says of the others."""

    outputs: Outputs
    """What the operator says of them."""


class _Reuse:
    """The case's arguments against others of the same shapes, those of the next seed."""

    def __init__(self, scene: Scene, others: Arguments) -> None:
        self._scene = scene
        self._others = others

    @cached_property
    def elsewhere(self) -> _Elsewhere | None:
        """The others at addresses of their own; None: they lie outside the domain, or the operator is broken there in
        a way that the case of that seed shows."""
        scene = self._scene
        own = _by_name(scene, scene.precise or scene.reference(scene.arguments))
        expected = None if own is None else _by_name(scene, scene.reference(self._others))
        outputs = None if expected is None else scene.launch(self._others)
        if own is None or expected is None or outputs is None:
            return None
        return _Elsewhere(own=own, expected=expected, outputs=outputs)

    def readings(self, held: SameAddresses, launch: LaunchReading) -> Iterator[PropertyReading]:
        """The launches of the module's plan, in that order."""
        first, operator = self._scene.outputs, self._scene.operator
        launcher = Launcher(operator, self._scene.arguments, self._scene.case.seed)
        with watching(operator) as entered:
            again = launcher.on(held.values)
        renewed = launcher.on(held.renewed(self._others.values))
        back = launcher.on(held.overwritten(self._scene.arguments.values))
        yield from self._freshness(again, renewed, back)
        strict = operator.contract.deterministic and not launch.repeat_mismatches
        yield from _lateness(first, (again, back), strict=strict)
        yield from own_work(entered)

    def _freshness(self, again: Outputs, renewed: Outputs, back: Outputs) -> Iterator[PropertyReading]:
        """The first launch that is stale, or none.

        An output that does not change and is right about the other values need not change. Those very outputs are
        judged: another launch may find its values elsewhere, where an operator that goes by addresses is right.
        """
        later = (
            ("in new tensors at the same addresses", again, renewed),
            ("written into the same tensors", renewed, back),
        )
        changed = [_changed(before[name], now.get(name)) for _, before, now in later for name in before]
        if changed and all(changed):
            yield _stale(sum(changed), 0, {})
            return
        elsewhere = self.elsewhere
        if elsewhere is None:
            return
        launches = (("at other addresses", self._scene.outputs, elsewhere.outputs), *later)
        telling, rightly = 0, set()
        for where, before, now in launches:
            for name in [name for name in before if name not in rightly]:
                told, stale = _unchanged(before[name], now.get(name), (elsewhere.own[name], elsewhere.expected[name]))
                telling += told
                if not told or stale < ALL_BUT_FEW * told:
                    continue
                if now is elsewhere.outputs and self._scene.right(self._others, now) is not False:
                    rightly.add(name)
                    continue
                constant = _constant(before[name].double())
                if constant and self._depends(name, before[name]):
                    rightly.add(name)
                    continue
                yield _stale(told, stale, {"output": name, "where": where, "constant": constant})
                return
        if telling:
            yield _stale(telling, 0, {})

    def _depends(self, name: str, constant: torch.Tensor) -> bool:
        """Whether one value throughout is what these inputs saturate at or share: on zeros, or on their negatives, the
        operator gives another one. Negative whole numbers may be indices, and stay as they are."""
        return any(
            (now := self._scene.launch(self._scene.arguments.map(changed))) is not None
            and name in now
            and now[name].shape == constant.shape
            and bool(differing_bits(constant, now[name]).any())
            for changed in (_zeroed, _negated)
        )


def _zeroed(_: str, value: object) -> object:
    return torch.zeros_like(value) if isinstance(value, torch.Tensor) else value


def _negated(_: str, value: object) -> object:
    floating = isinstance(value, torch.Tensor) and value.is_floating_point() and value.element_size() > 1
    return -value if floating and isinstance(value, torch.Tensor) else value


def _stale(told: int, stale: int, evidence: dict[str, EvidenceValue]) -> PropertyReading:
    return PropertyReading(property=Property.FRESH_INPUTS, compared=told, broken=stale, evidence=evidence)


def _changed(before: torch.Tensor, now: torch.Tensor | None) -> int:
    """Elements with other bits than before where they are most of the output, else 0."""
    if now is None or now.shape != before.shape or now.dtype != before.dtype:
        return 0
    other = int(differing_bits(before, now).sum())
    return other if 2 * other > before.numel() else 0


def _unchanged(
    before: torch.Tensor, now: torch.Tensor | None, answers: tuple[torch.Tensor, torch.Tensor]
) -> tuple[int, int]:
    """(elements the reference gives clearly different `answers` for, those of them whose bits are as before).

    Non-finite values tell nothing, and zeros only where there is nothing else: many wrong operators return some.
    """
    shapes = {tensor.shape for tensor in (before, *answers)}
    if now is None or now.shape != before.shape or len(shapes) != 1 or before.dtype != now.dtype:
        return 0, 0
    one, other = (answer.to(before.device).double() for answer in answers)
    size = torch.maximum(one.abs(), other.abs())
    wide = before.double()  # 8-bit floats have next to no operations
    telling = torch.isfinite(size) & torch.isfinite(wide) & ((one - other).abs() > APART * size)
    if not _constant(wide):
        telling &= wide != 0
    if not before.is_floating_point() and int(telling.sum()) < FEWEST_WORDS:
        return 0, 0
    return int(telling.sum()), int((telling & ~differing_bits(before, now)).sum())


def _constant(output: torch.Tensor) -> bool:
    """One value throughout, of more than one element."""
    return output.numel() > 1 and bool((output == output.flatten()[0]).all())


def _lateness(first: Outputs, later: Sequence[Outputs], *, strict: bool) -> Iterator[PropertyReading]:
    """The same inputs again: zeros for what was none, and other bits where these are promised not to change."""
    compared = sum(output.numel() for output in first.values())
    for number, now in enumerate(later, start=1):
        for name, output in first.items():
            got = now.get(name)
            if got is None or got.shape != output.shape or got.dtype != output.dtype:
                continue
            written = output.double() != 0
            emptied = bool(written.any()) and not bool((written & (got.double() != 0)).any())
            broken = int(differing_bits(output, got).sum()) if strict or emptied else 0
            if broken:
                evidence: dict[str, EvidenceValue] = {"output": name, "zero": emptied, "launch": number}
                yield PropertyReading(
                    property=Property.LATER_LAUNCHES, compared=compared, broken=broken, evidence=evidence
                )
                return
    if compared:
        yield PropertyReading(property=Property.LATER_LAUNCHES, compared=compared, broken=0, evidence={})

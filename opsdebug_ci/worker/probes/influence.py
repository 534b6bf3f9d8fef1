"""Which entries of the arguments do outputs follow that they should not, and which should they follow and do not?"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import torch

from opsdebug_ci.model.clue import Clue
from opsdebug_ci.model.finding import EvidenceValue
from opsdebug_ci.model.vocabulary import Cause, Kind
from opsdebug_ci.numerics.failure import Failure
from opsdebug_ci.operators import Arguments
from opsdebug_ci.worker.probes.scene import Scene
from opsdebug_ci.worker.probes.steadiness import repeats

RULE = "influence"

MOST_SLICES = 24
"""Slices of one axis that are moved one by one; of longer axes the first, the last and some between."""

MOST_ELEMENTS = 1 << 22
"""Elements of an argument whose slices are moved: each move copies it."""

ASKED_AGAIN = 2
"""Slices that are followed and moved again: the first of many may be a launch that went wrong by itself."""

MASKING = frozenset(
    {"tril", "triu", "masked_fill", "where", "masked_select", "ge", "gt", "le", "lt", "eq", "ne", "index"}
)
"""Calls by which a reference leaves elements out."""

STEPPING = frozenset({"round", "floor", "ceil", "trunc", "floor_divide", "frac", "fix"})
"""Calls whose results stand still while what they are taken of moves, and jump elsewhere: at an element where operator
and reference round to two sides, its own entry looks like a foreign one."""

NOTICEABLE = 4.0
"""Tolerances by which the reference must move for the operator to have to."""

MOST = 0.9
"""Share of the bad elements that must be touched."""

FAR = 4
"""Entries along an axis from which what follows is no neighbour."""

STRAY = 0.02
"""Share of them up to which the opposite does not count against it."""


def influence(scene: Scene, failure: Failure) -> Iterator[Clue]:
    """Moves the entries of every floating argument, one slice at a time, and compares what follows.

    Elements that follow a slice which the reference does not let in are read beyond a row, a mask or a length; elements
    that stay where the reference moves ignore it: a tail, all but the first entry, or the whole argument. Silent where
    both happen, as when the operator reads other entries throughout, where launches do not repeat, as those in turn on
    the arguments and on the first slice that is followed show, and where the reference rounds.
    """
    position = scene.position(failure.output)
    calls = _Names()
    still = scene.reference(scene.arguments, calls)
    again = scene.launch(scene.arguments)
    if failure.tolerance is None or still is None or position >= len(still) or again is None:
        return
    if not _same(again[failure.output], failure.actual) or not _tells(failure) or calls.names & STEPPING:
        return
    found = []
    for name, value in scene.arguments.items():
        axes = range(value.ndim) if _is_movable(value) else ()
        found += [reading for axis in axes if (reading := _read(scene, failure, still, name, axis))]
    masked = bool(calls.names & MASKING)
    written = scene.operator.contract.mutates or scene.operator.contract.out  # else nothing can be read again
    yield from _told(failure, found, masked=masked, chained=bool(written))


def _is_movable(value: object) -> bool:
    if not isinstance(value, torch.Tensor) or value.layout is not torch.strided:
        return False
    return value.is_floating_point() and 2 <= value.numel() <= MOST_ELEMENTS


def _tells(failure: Failure) -> bool:
    """Bad elements that are finite on both sides and not all one value: others follow nothing whatever they read."""
    if failure.kind in (Kind.QUANTIZE, Kind.INDEX) or not failure.actual.is_floating_point():
        return False  # a rounded reference stands still while what it is rounded from moves
    bad = failure.actual[failure.bad].double()
    finite = torch.isfinite(bad) & torch.isfinite(failure.expected[failure.bad].double())
    return bool(finite.all()) and len(torch.unique(bad)) > min(2, bad.numel() - 1)


class _Names:
    """Observer that notes the names of the calls."""

    def __init__(self) -> None:
        self.names: set[str] = set()

    def __call__(self, func: Any, args: tuple[Any, ...], kwargs: dict[str, Any], result: Any) -> Any:
        del args, kwargs
        self.names.add(func.overloadpacket.__name__.rstrip("_"))
        return result


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class _Reading:
    """What moving the slices of one axis of one argument showed."""

    name: str
    """The argument."""

    axis: int
    """The axis."""

    length: int
    """How many slices it has."""

    extra: dict[int, torch.Tensor]
    """By slice: elements that follow it though the reference does not."""

    missing: dict[int, torch.Tensor]
    """By slice: elements that do not follow it though the reference does, noticeably."""

    follows: dict[int, torch.Tensor]
    """By slice: elements that follow it."""

    unused: frozenset[int]
    """Slices that no element of the reference follows."""

    def mixes(self, failure: Failure) -> bool:
        """The bad elements follow nearly all slices, as where a sum runs over the axis."""
        touched = torch.stack(list(self.extra.values()))[:, failure.bad].double().mean()
        return len(self.extra) >= FAR and float(touched) >= MOST * (1.0 - 1.0 / len(self.extra))

    def share(self, failure: Failure, touched: dict[int, torch.Tensor]) -> float:
        """Share of the bad elements in any of the masks."""
        if not touched:
            return 0.0
        union = torch.stack(list(touched.values())).any(0)
        return float(union[failure.bad].double().mean())


def _read(scene: Scene, failure: Failure, still: list[torch.Tensor], name: str, axis: int) -> _Reading | None:
    length = scene.arguments[name].shape[axis]
    if length < 2:
        return None
    position = scene.position(failure.output)
    extra: dict[int, torch.Tensor] = {}
    missing: dict[int, torch.Tensor] = {}
    followed: dict[int, torch.Tensor] = {}
    unused: set[int] = set()
    for place in _places(length):
        if scene.expired:
            return None
        moved = _with_slice_moved(scene.arguments, name, axis, place)
        wanted, got = scene.reference(moved), scene.launch(moved)
        if wanted is None or got is None or wanted[position].shape != failure.actual.shape:
            return None
        step = (wanted[position].double() - still[position].double()).abs()
        follows = ~_equal(wanted[position], still[position])
        actual = got.get(failure.output)
        if actual is None or actual.shape != failure.actual.shape:
            return None
        followed[place] = went = ~_equal(actual, failure.actual)
        if bool((went & ~follows).any()):
            if len(extra) < ASKED_AGAIN and not repeats(scene, (scene.arguments, scene.outputs), (moved, got)):
                return None
            extra[place] = went & ~follows
        stayed = ~went & (step > NOTICEABLE * (failure.tolerance if failure.tolerance is not None else 0))
        missing |= {place: stayed} if bool(stayed.any()) else {}
        unused |= set() if bool(follows.any()) else {place}
    return _Reading(
        name=name, axis=axis, length=length, extra=extra, missing=missing, follows=followed, unused=frozenset(unused)
    )


def _places(length: int) -> list[int]:
    if length <= MOST_SLICES:
        return list(range(length))
    some = {round(part * (length - 1) / 7) for part in range(8)}
    return sorted({*range(4), *range(length - 12, length), *some})


def _with_slice_moved(arguments: Arguments, name: str, axis: int, place: int) -> Arguments:
    """A quarter more than each entry of the slice; a quarter of the usual magnitude where it is zero."""

    def change(other: str, value: Any) -> Any:
        if other != name:
            return value
        size = torch.nan_to_num(value.double(), nan=0.0, posinf=0.0, neginf=0.0).square().mean().sqrt()
        entries = value.select(axis, place).double()
        moved = torch.where(entries == 0, 0.25 * size, entries * 1.25)
        copy = value.clone()
        copy.select(axis, place).copy_(moved.to(value.dtype))
        return copy

    return arguments.map(change)


def _same(one: torch.Tensor, other: torch.Tensor) -> bool:
    return one.shape == other.shape and bool(_equal(one, other).all())


def _equal(one: torch.Tensor, other: torch.Tensor) -> torch.Tensor:
    return (one == other) | ((one != one) & (other != other))  # noqa: PLR0124 - NaN equals NaN here


def _told(failure: Failure, found: list[_Reading], *, masked: bool, chained: bool) -> Iterator[Clue]:
    extra = max(found, key=lambda reading: reading.share(failure, reading.extra), default=None)
    missing = max(found, key=lambda reading: reading.share(failure, reading.missing), default=None)
    if extra is None or missing is None:
        return
    leaks, ignores = extra.share(failure, extra.extra), missing.share(failure, missing.missing)
    if leaks >= MOST and ignores <= STRAY:
        yield _leak(failure, extra, leaks, masked=masked, chained=chained)
    elif ignores >= MOST and leaks <= STRAY:
        yield from _ignored(failure, missing, ignores)


def _leak(failure: Failure, reading: _Reading, share: float, *, masked: bool, chained: bool) -> Clue:
    places = sorted(reading.extra)
    unused = [place for place in places if place in reading.unused]
    sure = 0.9
    where = f"`{reading.name}` along axis {reading.axis}"
    if unused:
        statement = (
            f"{100 * share:.3g} % of the bad elements follow entries of {where} that the reference leaves out "
            f"({_listed(unused)} of {reading.length})"
        )
        cause = Cause.MASK_SEMANTICS
    else:
        statement = (
            f"{100 * share:.3g} % of the bad elements follow entries of {where} that belong to other elements "
            f"({_listed(places)} of {reading.length})"
        )
        cause = Cause.MASK_SEMANTICS
        if reading.mixes(failure) and not masked:
            cause, statement = Cause.WRONG_AXIS, f"{statement}: a step runs over that axis too"
        chain = _is_chain(failure, reading) and not masked
        sure = 0.7 if chain else sure  # what is read again is told better by `overwritten`
        if chained and chain:
            cause, statement = Cause.ALIASING_INPLACE, f"{statement}, all those before them: results are read again"
    evidence: Mapping[str, EvidenceValue] = {
        "argument": reading.name,
        "axis": reading.axis,
        "entries": _listed(unused or places),
        "share": share,
    }
    return failure.clue(RULE, cause, 0.7 if cause is Cause.WRONG_AXIS else sure, statement, evidence)


def _is_chain(failure: Failure, reading: _Reading) -> bool:
    """Elements follow all earlier (or all later) entries along their own axis, as where results are read again."""
    if failure.actual.ndim <= reading.axis or failure.actual.shape[reading.axis] != reading.length:
        return False
    reaches = []
    for place, touched in reading.extra.items():
        others = [axis for axis in range(touched.ndim) if axis != reading.axis]
        along = touched.any(dim=others) if others else touched
        found = along.nonzero().flatten() - place
        if len(found):
            reaches.append((int(found.min()), int(found.max())))
    forward = all(low > 0 for low, _ in reaches) and max((high for _, high in reaches), default=0) >= FAR
    backward = all(high < 0 for _, high in reaches) and min((low for low, _ in reaches), default=0) <= -FAR
    return forward or backward


def _ignored(failure: Failure, reading: _Reading, share: float) -> Iterator[Clue]:
    places, tried = sorted(reading.missing), _places(reading.length)
    where = f"`{reading.name}` along axis {reading.axis}"
    evidence: Mapping[str, EvidenceValue] = {
        "argument": reading.name,
        "axis": reading.axis,
        "entries": _listed(places),
        "share": share,
    }
    said = f"{100 * share:.3g} % of the bad elements ignore entries {_listed(places)} of {reading.length} of {where}"
    ignored = {place: reading.follows[place] for place in places}
    if reading.share(failure, ignored) > STRAY:
        return  # each bad element follows some of them: it reads others, rather than fewer
    if places == tried:
        yield failure.clue(RULE, Cause.WRONG_DEFAULT, 0.7, f"{said}: it does not enter at all", evidence)
    elif places == tried[1:]:
        yield failure.clue(RULE, Cause.BROADCASTING, 0.85, f"{said}: the first alone enters", evidence)
    elif places == [place for place in tried if place >= places[0]]:
        yield failure.clue(RULE, Cause.TAIL_MASK, 0.85, f"{said}, its tail", evidence)


def _listed(places: list[int]) -> str:
    """`37, 38, 39, ...` shortened to its ends."""
    return ", ".join(map(str, places)) if len(places) <= 4 else f"{places[0]}, {places[1]}, ..., {places[-1]}"

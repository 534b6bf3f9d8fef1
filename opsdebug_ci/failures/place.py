"""Where a failure shows: which tensor, which step, which bytes of a storage, which elements of an output.

Decides what of a place stays the same when shapes and values change. A box around bad elements is classified only as
far as its edges tell: what lies inside it is not known here.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from opsdebug_ci.failures.kind import MEMORY, VALUES, bad_output
from opsdebug_ci.model import MemoryReading, Observation, Role, Side
from opsdebug_ci.model.dtype import FLOAT_FORMATS, INTEGER_FORMATS
from opsdebug_ci.model.observation import OutputReading
from opsdebug_ci.model.region import Region

BESIDE, LINE = 16, 128
"""Bytes within which a write counts as beside the storage, one vector store; and within a cache line's pair."""

_OCCURRENCE = re.compile(r"\s*#\d+\b")
_PLACE = re.compile(r"^.*[/\\]|:\d+$")
_ROLES = (Role.OUTPUT, Role.INPUT, Role.SCRATCH)


@dataclass(frozen=True, slots=True, kw_only=True)
class Place:
    """Where a failure shows; fields as in `Identity`."""

    target: str = ""
    """Role and name of the tensor."""

    node: str = ""
    """First bad step."""

    zone: str = ""
    """Side of the storage."""

    distance: str = ""
    """How far from it."""

    pattern: str = ""
    """Where bad elements lie."""


def place_of(observation: Observation, kind: str) -> Place:
    """Where a failure of this kind shows."""
    if kind in MEMORY:
        return _memory_place(observation, kind)
    output = bad_output(observation)
    if kind not in (*VALUES, "nondeterministic", "structure"):
        return Place(node=_page_node(observation))
    return Place(
        target="" if output is None else output.name,
        node="" if observation.origin is None or kind not in VALUES else step_name(observation.origin.name),
        pattern=pattern_of(output) if kind in VALUES else "",
    )


def step_name(name: str) -> str:
    """`scope/op#3` without the occurrence, which counts how often a loop went round; so `between a #3 and b #4`."""
    return _OCCURRENCE.sub("", name)


def pattern_of(output: OutputReading | None) -> str:
    """How the box around the bad elements lies in the output."""
    if output is None or output.bad_region is None or len(output.bad_region) != len(output.actual.shape):
        return ""
    return _box_pattern(output.bad_region, output.actual.shape)


def _box_pattern(region: Region, shape: Sequence[int]) -> str:
    partial = [axis for axis, span in enumerate(region) if span.length < shape[axis]]
    if not partial:
        return "all"
    if len(partial) == 1:
        axis = partial[0]
        if region[axis].last == shape[axis] - 1:
            return f"tail of dim {axis}"
        if region[axis].first == 0:
            return f"head of dim {axis}"
    return "one" if all(span.length == 1 for span in region) else "scattered"


def _memory_place(observation: Observation, kind: str) -> Place:
    if kind == "oob_read" and observation.reads:
        read = observation.reads[0]
        # NOTE: whose storage it was is told apart only sometimes; which output follows it always is.
        return Place(target=read.output, node=step_name(read.step or ""), zone=str(read.side))
    if kind == "uninit_output":
        return Place()
    readings = [r for r in observation.memory if r.inside is (kind == "input_mutated")]
    if kind not in ("oob_write", "scratch_oob", "input_mutated") or not readings:
        return Place(target=_paged_target(observation), node=_page_node(observation))
    first = min(readings, key=lambda reading: _ROLES.index(reading.role))
    # NOTE: no step from watched pages: they are watched for one case of many, which would part it from the others.
    node = step_name(first.step or "")
    if first.inside:
        return Place(target=_target(first), node=node)
    return Place(target=_target(first), node=node, zone=str(first.side), distance=_distance(first, observation))


def _target(reading: MemoryReading) -> str:
    """Scratch has no name that outlives a shape."""
    if reading.role is Role.SCRATCH:
        return "scratch"
    return f"in {reading.argument}" if reading.role is Role.INPUT else reading.argument


def _paged_target(observation: Observation) -> str:
    named = [fault.argument for fault in observation.pages if fault.argument is not None]
    return f"in {named[0]}" if named else ""


def _page_node(observation: Observation) -> str:
    """Function and file of the line that watched pages caught, without its number."""
    if not observation.pages:
        return ""
    fault = observation.pages[0]
    function = fault.frames[-1].rpartition(" ")[2] if fault.frames else ""
    return " ".join(filter(None, (function, _PLACE.sub("", fault.place or ""))))


def _distance(reading: MemoryReading, observation: Observation) -> str:
    if reading.side is Side.GAP or not reading.nearest_bytes:
        return "0"
    limits = ((BESIDE, "<=16 B"), (LINE, "<=128 B"), (_row_bytes(observation), "<=1 row"))
    return next((name for limit, name in limits if reading.nearest_bytes <= limit), "far")


def _row_bytes(observation: Observation) -> int:
    """The longest row of an output."""
    rows = (o.actual.shape[-1] * _item_bytes(o.actual.dtype) for o in observation.outputs if o.actual.shape)
    return max(rows, default=0)


def _item_bytes(dtype: str) -> int:
    known = FLOAT_FORMATS.get(dtype) or INTEGER_FORMATS.get(dtype)
    return known.bits // 8 if known is not None else 0

"""What a bundle tells about a cause, in words.

Decides which of a bundle's facts a person needs before running anything.
"""

from __future__ import annotations

from dataclasses import replace

from opsdebug_ci.model.bundle import BundleManifest
from opsdebug_ci.model.failure_list import CauseDetail
from opsdebug_ci.model.health import HealthEvent
from opsdebug_ci.model.memory import ForeignRead, MemoryReading, PageFault
from opsdebug_ci.model.observation import Observation
from opsdebug_ci.model.vocabulary import Side

_WHERE = {Side.HEAD: "before", Side.TAIL: "behind", Side.GAP: "between elements of", Side.INSIDE: "inside"}


def bundle_detail(manifest: BundleManifest, plain: CauseDetail) -> CauseDetail:
    """`plain` with what the bundle adds."""
    machine, seen = manifest.machine, manifest.observation
    facts = (
        ("system", machine.system),
        ("cpu", machine.cpu),
        ("devices", ", ".join(machine.devices)),
        ("python", machine.python),
        ("torch", machine.torch),
        ("threads", str(machine.threads)),
        ("opsdebug-ci", manifest.tool_version),
        ("commit", manifest.commit + (" (modified)" if manifest.dirty else "")),
        ("source", manifest.source or ""),
    )
    return replace(
        plain,
        evidence=plain.evidence or (dict(manifest.findings[0].evidence) if manifest.findings else {}),
        readings=_readings(seen),
        stack=_stack(seen),
        steps=tuple(_step(event) for event in manifest.steps),
        nearest_passing=None if manifest.nearest_passing is None else manifest.nearest_passing.name,
        environment=(*((name, value) for name, value in facts if value), *manifest.environment),
        notes=manifest.notes,
    )


def _readings(seen: Observation) -> tuple[str, ...]:
    return (
        *(_written(reading) for reading in seen.memory),
        *(_read(reading) for reading in seen.reads),
        *(_fault(fault) for fault in seen.pages),
        *(
            f"`{alias.output}` shares {_counted(alias.bytes_shared, 'byte')} with `{alias.other}`"
            for alias in seen.aliases
        ),
        *(f"{c.field} of `{c.tensor}` was {c.before} and is {c.after}" for c in seen.layout_changes),
        *([f"{_counted(seen.unwritten, 'output element')} never written"] if seen.unwritten else []),
    )


def _counted(number: int, noun: str) -> str:
    return f"{number:,} {noun}" + ("" if number == 1 else "s")


def _written(reading: MemoryReading) -> str:
    where = _WHERE[reading.side]
    values = f", {reading.wanted_hex} became {reading.found_hex}" if reading.found_hex else ""
    value = f" ({reading.value})" if reading.value is not None else ""
    return (
        f"{_counted(reading.bytes_changed, 'byte')} written {where} {reading.role} `{reading.argument}`, first at byte "
        f"{reading.first_offset:,}{values}{value}{_at(reading.step, reading.place)}"
    )


def _read(reading: ForeignRead) -> str:
    whose = f"`{reading.argument}`" if reading.argument is not None else "an argument"
    return (
        f"{_counted(reading.elements, 'element')} of `{reading.output}` made of bytes {_WHERE[reading.side]} {whose}"
        f"{_at(reading.step, reading.place)}"
    )


def _fault(fault: PageFault) -> str:
    whose = f"`{fault.argument}`" if fault.argument is not None else "an argument"
    return f"a {fault.access} {_WHERE[fault.side]} {whose} faulted{_at(None, fault.place)}"


def _at(step: str | None, place: str | None) -> str:
    return (f", in step {step}" if step else "") + (f", at {place}" if place else "")


def _stack(seen: Observation) -> tuple[str, ...]:
    if seen.exception is not None:
        return seen.exception.frames
    return () if seen.process is None else seen.process.frames


def _step(event: HealthEvent) -> str:
    return (
        f"{event.position}: {event.name} {event.flow}: {event.nan:,} NaN, {event.infinite:,} infinite, "
        f"{event.over_limit:,} over the limit"
    )

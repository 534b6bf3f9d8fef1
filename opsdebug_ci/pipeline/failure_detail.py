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
        *(f"`{alias.output}` shares {alias.bytes_shared:,} bytes with `{alias.other}`" for alias in seen.aliases),
        *(f"{c.field} of `{c.tensor}` was {c.before} and is {c.after}" for c in seen.layout_changes),
        *([f"{seen.unwritten:,} output elements were never written"] if seen.unwritten else []),
    )


def _written(reading: MemoryReading) -> str:
    where = "inside" if reading.inside else f"{reading.side} of"
    values = f", {reading.wanted_hex} became {reading.found_hex}" if reading.found_hex else ""
    value = f" ({reading.value})" if reading.value is not None else ""
    return (
        f"{reading.bytes_changed:,} bytes written {where} {reading.role} `{reading.argument}`, first at byte "
        f"{reading.first_offset:,}{values}{value}{_at(reading.step, reading.place)}"
    )


def _read(reading: ForeignRead) -> str:
    whose = f"`{reading.argument}`" if reading.argument is not None else "an argument"
    return (
        f"{reading.elements:,} elements of `{reading.output}` follow bytes {reading.side} of {whose}"
        f"{_at(reading.step, reading.place)}"
    )


def _fault(fault: PageFault) -> str:
    return f"a {fault.access} {fault.side} of {fault.argument or 'an argument'} faulted{_at(None, fault.place)}"


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

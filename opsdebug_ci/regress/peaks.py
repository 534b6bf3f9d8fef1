"""What a device can do at best: as configured, else as published, else as measured.

Decides which of the three holds, entry by entry, and says so. Deliberately measures nothing: `calibrate` does.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from opsdebug_ci.model.machine import Calibration, ProbeReading
from opsdebug_ci.model.profile_document import CachedBandwidth, DevicePeaks
from opsdebug_ci.regress.devices import known_device

CONFIGURATION = "configuration"
MEASURED = "measured"
UNKNOWN = "not known"

BUFFERS: dict[str, int] = {"memcpy": 2, "triad": 3}
"""Probes of bandwidth, and how many buffers of their size each works on: a copy has two, a triad three."""


@dataclass(frozen=True, slots=True, kw_only=True)
class GivenPeaks:
    """What the person says of a device; what is absent is looked up or measured."""

    bandwidth_bytes_per_s: float | None = None
    """Memory bandwidth."""

    flops_per_s: Mapping[str, float] = field(default_factory=dict)
    """Floating-point operations per second by dtype."""


def peaks_of(device: str, name: str | None, given: GivenPeaks, calibration: Calibration | None) -> DevicePeaks:
    """The peaks of one device.

    Args:
        device: as torch spells it.
        name: as its driver calls it; None: the CPU, or not known.
        given: what is configured, which wins.
        calibration: what its probes measured, which counts where neither the person nor the table says; the bandwidth
            of caches and the cost of an empty launch always come from it.
    """
    known, probes = known_device(name), () if calibration is None else calibration.probes
    working_sets = bandwidths(probes)
    table = UNKNOWN if known is None else f"table: {known.name}"
    bandwidth, bandwidth_from = _first(
        (given.bandwidth_bytes_per_s, CONFIGURATION),
        (None if known is None else known.bandwidth_bytes_per_s, table),
        (working_sets[-1].bandwidth_bytes_per_s if working_sets else None, MEASURED),
    )
    flops: dict[str, float] = {}
    origins: dict[str, str] = {}
    layers = (
        (given.flops_per_s, CONFIGURATION),
        ({} if known is None else known.flops_per_s, table),
        (measured_flops(probes), MEASURED),
    )
    for dtypes, origin in reversed(layers):  # the later overwrite the earlier
        flops.update(dtypes)
        origins.update(dict.fromkeys(dtypes, origin))
    return DevicePeaks(
        device=device,
        bandwidth_bytes_per_s=bandwidth,
        flops_per_s=dict(sorted(flops.items())),
        source=_told(bandwidth_from, origins),
        cached=tuple(one for one in working_sets[:-1] if bandwidth is None or one.bandwidth_bytes_per_s > bandwidth),
        launch_ns=_launch_ns(probes),
    )


def bandwidths(probes: Sequence[ProbeReading]) -> tuple[CachedBandwidth, ...]:
    """Measured bandwidth by working set, smallest first; of several probes of nearly one size, the fastest.

    Two working sets within a factor of 2 lie in the same cache, or one of them on its border, and what is asked for is
    what can be reached.
    """
    found: list[CachedBandwidth] = []
    for one in sorted(filter(None, map(_working_set, probes)), key=lambda one: one.working_set_bytes):
        if found and one.working_set_bytes < 2 * found[-1].working_set_bytes:
            if one.bandwidth_bytes_per_s > found[-1].bandwidth_bytes_per_s:
                found[-1] = one
        else:
            found.append(one)
    return tuple(found)


def measured_flops(probes: Sequence[ProbeReading]) -> dict[str, float]:
    """The fastest measured product by dtype."""
    fastest: dict[str, float] = {}
    for probe in probes:
        if probe.flops_per_s is not None and probe.dtype is not None:
            fastest[probe.dtype] = max(probe.flops_per_s, fastest.get(probe.dtype, 0.0))
    return fastest


def needs_calibration(name: str | None, given: GivenPeaks) -> bool:
    """Whether something that floors rest on is neither configured nor in the table."""
    known = known_device(name)
    return known is None and (given.bandwidth_bytes_per_s is None or not given.flops_per_s)


def _working_set(probe: ProbeReading) -> CachedBandwidth | None:
    if probe.probe not in BUFFERS or probe.bandwidth_bytes_per_s is None:
        return None
    return CachedBandwidth(
        working_set_bytes=BUFFERS[probe.probe] * probe.size_bytes, bandwidth_bytes_per_s=probe.bandwidth_bytes_per_s
    )


def _launch_ns(probes: Sequence[ProbeReading]) -> float | None:
    times = [min(probe.samples_ns) for probe in probes if probe.probe == "launch" and probe.samples_ns]
    return float(min(times)) if times else None


def _first(*offers: tuple[float | None, str]) -> tuple[float | None, str]:
    return next(((amount, origin) for amount, origin in offers if amount is not None), (None, UNKNOWN))


def _told(bandwidth_from: str, flops_from: Mapping[str, str]) -> str:
    """One word where everything has one origin, else each entry with its own."""
    origins = {bandwidth_from, *flops_from.values()}
    if len(origins) == 1:
        return bandwidth_from
    by_origin = {origin: sorted(d for d, o in flops_from.items() if o == origin) for origin in flops_from.values()}
    flops = (f"{', '.join(dtypes)} {origin}" for origin, dtypes in sorted(by_origin.items()))
    return "; ".join([f"bandwidth {bandwidth_from}", *flops])

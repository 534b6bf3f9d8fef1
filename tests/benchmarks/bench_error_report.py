"""The whole error report of a 16.8 M-element pair, beside `torch.testing.assert_close` on the same pair.

The report is every reading (cosine, errors, ULP and their percentiles, digits, misrounding, worst index, classes) and
the element-wise judgement against given bounds. The reference is there in float64, as it is in a run, and for float32
also in float32. Each pair has a process to itself, so that the memory one needs beside its tensors can be told.
"""

from __future__ import annotations

import multiprocessing
import re
from collections.abc import Callable
from pathlib import Path

import torch
from side_by_side import Spent, against, show, spent

from opsdebug_ci.numerics.bounds import Bound
from opsdebug_ci.numerics.formats import float_format
from opsdebug_ci.numerics.readings import read
from opsdebug_ci.numerics.violations import float_violations

SIDE = 4096
ROUNDS = 5
THREADS = 2
BUDGET = 1.0
"""Times what `assert_close` takes."""
MEMORY_MIB = 64
"""Beyond the two tensors."""

PAIRS = ("float32", "float32, reference float32", "float32, transposed", "float32, every other", "float16", "bfloat16")


def main() -> None:
    """Measure and print."""
    rows = []
    for name in PAIRS:
        with multiprocessing.get_context("spawn").Pool(1) as process:
            rows += process.apply(_rows, (name,))
    title = f"Error report, {SIDE * SIDE:,} elements, {THREADS} threads, median of {ROUNDS}"
    show(title, ("what", "seconds", "CPU s", "x assert_close", "in CPU", "budget", "", "MiB", "budget", ""), rows)


def _rows(name: str) -> list[tuple[str, ...]]:
    """Of one pair."""
    torch.set_num_threads(THREADS)
    actual, expected = _pair(name)
    reference = expected if "reference float32" in name else expected.double()
    u = float_format(actual.dtype).unit_roundoff
    tolerance = 16 * u * expected.double().abs() + u
    number_format = float_format(actual.dtype)

    def report(rows: int = SIDE) -> None:
        shares = tolerance[:rows]
        bound = Bound(rounding=shares, tolerance=shares, worst_case=shares, exact=False, text="given")
        read(actual[:rows], reference[:rows])
        float_violations(actual[:rows], reference[:rows], bound, number_format)

    report(1)  # loads code, which is no memory of the tensors
    extra_mib = _extra_mib(report)
    found = spent(
        {
            "assert_close": lambda: torch.testing.assert_close(actual, expected, rtol=16 * u, atol=u),
            "readings": lambda: read(actual, reference),
            "report": report,
        },
        rounds=ROUNDS,
    )
    peer = found["assert_close"]
    ratio = found["report"].seconds / peer.seconds
    return [
        (f"{name}: assert_close", *_cells(peer, peer)),
        ("  readings", *_cells(found["readings"], peer)),
        (
            *("  readings and judgement", *_cells(found["report"], peer)),
            *(f"{BUDGET:g}", against(ratio, BUDGET)),
            *(f"{extra_mib:.0f}", f"{MEMORY_MIB}", against(extra_mib, MEMORY_MIB)),
        ),
    ]


def _cells(own: Spent, peer: Spent) -> tuple[str, ...]:
    return (
        *(f"{own.seconds:.3f}", f"{own.cpu_seconds:.3f}"),
        *(f"{own.seconds / peer.seconds:.2f}", f"{own.cpu_seconds / peer.cpu_seconds:.2f}"),
    )


def _pair(name: str) -> tuple[torch.Tensor, torch.Tensor]:
    """An output and its reference in the same dtype and layout, about an ulp apart."""
    dtype = getattr(torch, name.split(",", maxsplit=1)[0])
    generator = torch.Generator().manual_seed(0)
    columns = 2 * SIDE if "every other" in name else SIDE
    values = torch.randn(SIDE, columns, generator=generator, dtype=torch.float64)
    noise = torch.randn(SIDE, columns, generator=generator, dtype=torch.float64)
    expected = values.to(dtype)
    actual = values.addcmul_(noise, values, value=float_format(dtype).unit_roundoff).to(dtype)
    if "every other" in name:
        return actual[:, ::2], expected[:, ::2]
    return (actual.t(), expected.t()) if "transposed" in name else (actual, expected)


def _extra_mib(action: Callable[[], None]) -> float:
    """By how much the most memory held during `action` exceeds that before it, of the whole process."""
    Path("/proc/self/clear_refs").write_text("5")
    before = _status_kib("VmRSS")
    action()
    return (_status_kib("VmHWM") - before) / 1024


def _status_kib(field: str) -> int:
    found = re.search(rf"{field}:\s*(\d+) kB", Path("/proc/self/status").read_text())
    assert found is not None, f"no {field} in /proc/self/status"
    return int(found[1])


if __name__ == "__main__":
    main()

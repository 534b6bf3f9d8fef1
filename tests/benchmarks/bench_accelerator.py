"""The path of an accelerator, run for real where there is one: probes, parts by device events, cold caches, clocks.

Says plainly that there is none where there is none. Nothing here is a budget: it shows whether the numbers are sane.
"""

from __future__ import annotations

import statistics

import torch
from side_by_side import show

from opsdebug_ci import Cost, Operator, tensor
from opsdebug_ci.model.case import Case
from opsdebug_ci.model.message import ProfileCase
from opsdebug_ci.model.vocabulary import Family, Layout
from opsdebug_ci.timing import calibrate
from opsdebug_ci.worker.profiling import profile

SIDE = 4096

OPERATORS = (
    Operator("relu", torch.relu, {"x": tensor("M N")}, {"torch": torch.relu}, dims={"M": SIDE, "N": SIDE}),
    Operator("tiny relu", torch.relu, {"x": tensor("M N")}, {"torch": torch.relu}, dims={"M": 16, "N": 16}),
    Operator("reads back", lambda x: x.sum().item(), {"x": tensor("M N")}, {}, dims={"M": SIDE, "N": SIDE}),
    Operator(
        "matmul",
        torch.matmul,
        {"x": tensor("M K"), "y": tensor("K N")},
        {"torch": torch.matmul},
        dims={"M": SIDE, "K": SIDE, "N": SIDE},
        cost=lambda dims, dtype: Cost(2.0 * dims["M"] * dims["K"] * dims["N"]),
    ),
)


def main() -> None:
    """Measure on the current accelerator, and print."""
    device = torch.accelerator.current_accelerator(check_available=True)
    if device is None:
        print("no accelerator here: nothing was measured, and nothing is claimed")  # noqa: T201 - a script shows
        return
    found = calibrate(device.type)
    show(
        f"Probes of {device.type}",
        ("probe", "dtype", "MiB", "median us", "GB/s", "TFLOP/s"),
        [
            (
                probe.probe,
                probe.dtype or "-",
                f"{probe.size_bytes / 2**20:g}",
                f"{statistics.median(probe.samples_ns) / 1e3:.1f}",
                f"{(probe.bandwidth_bytes_per_s or 0) / 1e9:.1f}",
                f"{(probe.flops_per_s or 0) / 1e12:.1f}",
            )
            for probe in found.probes
        ],
    )
    print(f"clocks before {found.clocks_before}, after {found.clocks_after}")  # noqa: T201 - a script shows
    show(
        f"Profiles on {device.type}",
        ("operator", "warm us", "cold us", "launch", "execute", "sync", "GB/s", "TFLOP/s", "how"),
        [_row(operator, device.type) for operator in OPERATORS],
    )


def _row(operator: Operator, device: str) -> tuple[object, ...]:
    case = Case(
        operator=operator.name,
        dims=operator.dims,
        dtype="float32",
        layout=Layout.CONTIGUOUS,
        inputs=Family.NORMAL,
        seed=0,
        device=device,
    )
    told = profile(operator, ProfileCase(case=case, cold=True, parts=True))
    if told.operator is None or told.parts is None or told.traffic is None:
        return (operator.name, *["-"] * 7, told.reason)
    parts, seconds = told.parts, max(told.parts.execute_ns, 1.0) * 1e-9
    times = (told.operator.warm_ns, told.operator.cold_ns or 0.0, parts.launch_ns, parts.execute_ns, parts.sync_ns)
    return (
        operator.name,
        *(f"{time / 1e3:.1f}" for time in times),
        f"{told.traffic.bytes / seconds / 1e9:.1f}",
        f"{(told.traffic.flops or 0) / seconds / 1e12:.1f}",
        parts.how,
    )


if __name__ == "__main__":
    main()

"""Guards, quick profile: launches of clean operators, and what the guards of a launch cost in passes over its bytes.

A pass is what copying the arguments into memory that is there already takes: one read and one write of every byte. What
is subtracted is the operator itself on arguments that are there already.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import torch
from side_by_side import against, medians, show

from opsdebug_ci import Contract, Operator, tensor
from opsdebug_ci.guard import Fill, ZoneFills
from opsdebug_ci.operators import Arguments
from opsdebug_ci.worker.differences import VARIED, observe
from opsdebug_ci.worker.launch_reading import Conditions
from opsdebug_ci.worker.launches import Launcher

LAUNCHES_BUDGET = 5
PASSES_BUDGET = 4.0
ELEMENTS = 1 << 22

LAYOUTS: dict[str, Callable[[], torch.Tensor]] = {
    "contiguous": lambda: torch.rand(2048, ELEMENTS // 2048),
    "transposed": lambda: torch.rand(ELEMENTS // 2048, 2048).t(),
    "every other": lambda: torch.rand(2048, ELEMENTS // 1024)[:, ::2],
}


def main() -> None:
    """Time every layout, and print."""
    show(
        f"Guards, add of two tensors of {ELEMENTS:,} float32 into a third, median of 7",
        ("launch", "ms", "operator ms", "a pass ms", "passes", "budget", ""),
        [row for layout in LAYOUTS for row in _rows(layout)],
    )
    show(
        "Launches of a clean operator, quick profile",
        ("operator", "launches", "budget", ""),
        [_launches("allocates", torch.add), _launches("writes into out", torch.add, out=True)],
    )


def _rows(layout: str) -> list[tuple[object, ...]]:
    launcher, arguments = _launcher(torch.add, layout, out=True)
    x, y, out = arguments.values
    storages = [value.untyped_storage() for value in arguments.values]
    places = [storage.clone() for storage in storages]
    poisoned = replace(VARIED, zones=ZoneFills(guards=Fill.NAN, gaps=Fill.NAN))
    taken = medians(
        {
            "operator": lambda: torch.add(x, y, out=out),
            "pass": lambda: [place.copy_(storage) for place, storage in zip(places, storages, strict=True)],
            "plain": lambda: launcher.launch(Conditions()),
            "watched, NaN in the gaps": lambda: launcher.launch(poisoned),
        },
        rounds=7,
    )
    operator, single = taken.pop("operator"), taken.pop("pass")
    return [
        (
            f"{layout}: {name}",
            f"{seconds * 1e3:.1f}",
            f"{operator * 1e3:.1f}",
            f"{single * 1e3:.1f}",
            f"{(seconds - operator) / single:.1f}",
            f"{PASSES_BUDGET:g}",
            against((seconds - operator) / single, PASSES_BUDGET),
        )
        for name, seconds in taken.items()
    ]


def _launches(name: str, function: Callable[..., object], *, out: bool = False) -> tuple[object, ...]:
    launcher, _ = _launcher(function, "contiguous", out=out)
    count = observe(launcher, 1).guard.launches
    return name, count, LAUNCHES_BUDGET, against(count, LAUNCHES_BUDGET)


def _launcher(function: Callable[..., object], layout: str, *, out: bool) -> tuple[Launcher, Arguments]:
    names = ("x", "y", "out") if out else ("x", "y")

    def called(x: torch.Tensor, y: torch.Tensor, out: torch.Tensor | None = None) -> object:
        return function(x, y) if out is None else function(x, y, out=out)

    contract = Contract(out="out" if out else None)
    operator = Operator("add", called, {name: tensor("N") for name in names}, {}, dims={"N": 1}, contract=contract)
    arguments = Arguments(names=names, values=tuple(LAYOUTS[layout]() for _ in names))
    return Launcher(operator, arguments, seed=0), arguments


if __name__ == "__main__":
    main()

"""What a case of a right operator costs, beside the operator and one float64 reference.

Every right operator of tests/bank that needs no compiler and no interpreter: of the cases that `run` plans for it, an
everyday one in each dtype and every ninth of all; processor seconds of `run_case` on one thread. The budget is for the
median over the planned ones. Everyday cases, one in nine of a plan, pay for properties beyond values too.
"""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import torch
from side_by_side import show

from opsdebug_ci.errors import OpsdebugError, Unsupported
from opsdebug_ci.model.case import Case
from opsdebug_ci.model.message import RunCase
from opsdebug_ci.model.vocabulary import Direction, ReferenceKind, Stage, Status
from opsdebug_ci.numerics.lifting import call_lifted, widen
from opsdebug_ci.operators import Operator
from opsdebug_ci.operators.describe import describe
from opsdebug_ci.operators.discovery import discover
from opsdebug_ci.plan.axes import Axes
from opsdebug_ci.plan.stages import cases
from opsdebug_ci.worker.case_run import run_case
from opsdebug_ci.worker.preservation import inputs_of
from opsdebug_ci.worker.properties import is_everyday

BANK = Path(__file__).parents[1] / "bank"
FACTOR, OVERHEAD_S = 3.0, 0.010
SLOWEST = 8
EVERY = 9


def main() -> None:
    """Measure and print."""
    torch.set_num_threads(1)
    rows = [(case, *measured) for operator, case in _planned() if (measured := _measured(operator, case)) is not None]
    rows.sort(key=lambda row: -(row[3] - FACTOR * (row[1] + row[2])))
    table: list[tuple[str, ...]] = [
        (
            f"{case.operator} {case.dtype} {case.inputs}",
            *(f"{1000 * value:.2f}" for value in measured),
            f"{_excess(*measured):.2f}",
        )
        for case, *measured in rows[:SLOWEST]
    ]
    for what, ratios in (
        ("cases", [_excess(*measured) for _, *measured in rows]),
        ("everyday cases", [_excess(*measured) for case, *measured in rows if is_everyday(case)]),
    ):
        table.append((f"median of {len(ratios)} {what}", "", "", "", f"{statistics.median(ratios):.2f}"))
        if what == "cases":
            table[-1] += ("1", _kept(ratios))
    show(
        "A case's processor milliseconds, the most costly first",
        ("case", "operator", "reference", "case", "x budget", "limit", ""),
        table,
    )


def _excess(own: float, reference: float, case: float) -> float:
    """Times what the budget allows."""
    return case / (FACTOR * (own + reference) + OVERHEAD_S)


def _kept(ratios: list[float]) -> str:
    return "kept" if statistics.median(ratios) <= 1.0 else "EXCEEDED"


def _planned() -> Iterator[tuple[Operator, Case]]:
    """Of every right operator, its everyday cases and every ninth of all."""
    names = sorted(path.name for path in BANK.glob("*.py") if not path.stem.startswith(("c_", "triton_", "test_")))
    discovery = discover(tuple(names), BANK)
    operators = {item.operator.name: item.operator for item in discovery.found}
    for description in describe(discovery, BANK).operators:
        if not description.name.endswith("_right"):
            continue
        planned = cases(description, Stage.RUN, Axes(), tuple(ReferenceKind), ("cpu",))
        forward = [case for case in planned if case.direction is Direction.FORWARD]
        chosen = forward[: len(description.dtypes)] + forward[len(description.dtypes) :: EVERY]
        yield from ((operators[description.name], case) for case in chosen)


def _measured(operator: Operator, case: Case) -> tuple[float, float, float] | None:
    """Seconds of the operator, of its reference in float64, and of the case; None where the case is skipped."""
    request = RunCase(case=case, causes=False)  # as `run` judges it
    if run_case(operator, request, lambda _: None).status is not Status.RAN:
        return None
    try:
        arguments = inputs_of(operator, case, None)
        wide = arguments.map(lambda _, value: widen(value))
        reference = operator.references[ReferenceKind.TORCH]
        own = _seconds(lambda: arguments.call(operator.function))
        once = _seconds(lambda: call_lifted(lambda: wide.call(reference)))
    except (OpsdebugError, Unsupported, RuntimeError):  # the reference refuses, which makes it no case to measure
        return None
    return own, once, _seconds(lambda: run_case(operator, request, lambda _: None), rounds=3)


def _seconds(action: Callable[[], object], rounds: int = 5) -> float:
    """Median processor seconds, the first time left out."""
    action()
    samples = []
    for _ in range(rounds):
        began = time.process_time()
        action()
        samples.append(time.process_time() - began)
    return statistics.median(samples)


if __name__ == "__main__":
    main()

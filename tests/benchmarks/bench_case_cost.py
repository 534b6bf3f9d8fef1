"""What a case of a right operator costs, beside the operator and one float64 reference.

Every right operator of tests/bank that needs no compiler and no interpreter, on everyday values at its declared sizes,
in each dtype: processor seconds of `run_case` on one thread. The budget is for the median over cases.
"""

from __future__ import annotations

import importlib.util
import statistics
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import torch
from side_by_side import show

from opsdebug_ci.model.case import Case
from opsdebug_ci.model.message import RunCase
from opsdebug_ci.model.vocabulary import Family, Layout, ReferenceKind
from opsdebug_ci.numerics.lifting import call_lifted, widen
from opsdebug_ci.operators import Operator
from opsdebug_ci.worker.case_run import run_case
from opsdebug_ci.worker.preservation import inputs_of

BANK = Path(__file__).parents[1] / "bank"
FACTOR, OVERHEAD_S = 3.0, 0.010
SLOWEST = 8


def main() -> None:
    """Measure and print."""
    torch.set_num_threads(1)
    rows = [row for operator in _operators() for row in _measured(operator)]
    rows.sort(key=lambda row: -(row[3] - FACTOR * (row[1] + row[2])))
    table: list[tuple[str, ...]] = [
        (name, *(f"{1000 * value:.2f}" for value in (own, reference, case)), f"{_excess(own, reference, case):.2f}")
        for name, own, reference, case in rows[:SLOWEST]
    ]
    ratios = [_excess(own, reference, case) for _, own, reference, case in rows]
    table.append((f"median of {len(rows)} cases", "", "", "", f"{statistics.median(ratios):.2f}", "1", _kept(ratios)))
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


def _operators() -> Iterator[Operator]:
    sys.path.insert(0, str(BANK))
    for path in sorted(BANK.glob("*.py")):
        if path.stem.startswith(("c_", "triton_", "test_")):
            continue
        spec = importlib.util.spec_from_file_location(path.stem, path)
        assert spec is not None and spec.loader is not None
        module = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(module)
        yield from (v for v in vars(module).values() if isinstance(v, Operator) and v.name.endswith("_right"))


def _measured(operator: Operator) -> Iterator[tuple[str, float, float, float]]:
    reference = operator.references[ReferenceKind.TORCH]
    for dtype in operator.dtypes:
        case = Case(
            operator=operator.name,
            dims=operator.dims,
            dtype=dtype,
            layout=Layout.CONTIGUOUS,
            inputs=Family.NORMAL,
            seed=0,
        )
        arguments = inputs_of(operator, case, None)
        wide = arguments.map(lambda _, value: widen(value))
        own = _seconds(lambda arguments=arguments: arguments.call(operator.function))
        once = _seconds(lambda wide=wide: call_lifted(lambda: wide.call(reference)))
        whole = _seconds(lambda case=case: run_case(operator, RunCase(case=case), lambda _: None), rounds=3)
        yield f"{operator.name} {dtype}", own, once, whole


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

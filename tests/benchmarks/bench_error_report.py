"""The whole error report of a 16.8 M-element float32 pair, beside `torch.testing.assert_close` on the same pair.

The report is every reading (cosine, errors, ULP and their percentiles, digits, misrounding, worst index) and the
element-wise judgement against given bounds. The reference is there in float64, as it is in a run.
"""

from __future__ import annotations

import torch
from side_by_side import against, medians, show

from opsdebug_ci.model.dtype import FLOAT_FORMATS
from opsdebug_ci.numerics.bounds import Bound
from opsdebug_ci.numerics.readings import read
from opsdebug_ci.numerics.violations import float_violations

SHAPE = (4096, 4096)
ROUNDS = 5
BUDGET = 1.0
"""Times what `assert_close` takes."""


def main() -> None:
    """Measure and print."""
    generator = torch.Generator().manual_seed(0)
    expected = torch.randn(SHAPE, generator=generator, dtype=torch.float64)
    actual = (expected * (1 + 1e-7 * torch.randn(SHAPE, generator=generator, dtype=torch.float64))).float()
    narrow = expected.float()
    tolerance = 1e-6 * expected.abs() + 1e-9
    bound = Bound(rounding=tolerance / 10, tolerance=tolerance, worst_case=4 * tolerance, exact=False, text="given")
    output = FLOAT_FORMATS["float32"]
    subjects = {
        "assert_close": lambda: torch.testing.assert_close(actual, narrow, rtol=1e-5, atol=1e-8),
        "readings": lambda: read(actual, expected),
        "violations": lambda: float_violations(actual, expected, bound, output),
    }
    found = medians(subjects, rounds=ROUNDS)
    peer, report = found["assert_close"], found["readings"] + found["violations"]
    rows = [(name, f"{seconds:.3f}", f"{seconds / peer:.2f}", "", "") for name, seconds in found.items()]
    rows.append(
        ("report: both", f"{report:.3f}", f"{report / peer:.2f}", f"{BUDGET:g}", against(report / peer, BUDGET))
    )
    title = f"Error report, {actual.numel():,} float32 elements, {torch.get_num_threads()} threads, median of {ROUNDS}"
    show(title, ("what", "seconds", "x assert_close", "budget", ""), rows)


if __name__ == "__main__":
    main()

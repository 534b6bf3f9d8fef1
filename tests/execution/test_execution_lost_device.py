"""A lost device context: its worker is let go, and the case at which it showed is asked again alone."""

from __future__ import annotations

import sys
from pathlib import Path

from execution_notation import make_case

from opsdebug_ci.execution import Limits, WorkerPool
from opsdebug_ci.model import Observation, Status
from opsdebug_ci.model.device_fault import context_lost
from opsdebug_ci.model.message import RunCase

ILLEGAL = "CUDA error: an illegal memory access was encountered\nCUDA kernel errors might be asynchronously reported"

OPERATORS = f'''
from opsdebug_ci import operator, tensor

LOST = []
ILLEGAL = {ILLEGAL!r}


@operator(kind="elementwise", x=tensor("N"))
def loses(x):
    """Loses the device in a way that only the next launch in the process reports."""
    LOST.append(1)
    return x + x


@operator(kind="elementwise", x=tensor("N"))
def twice(x):
    if LOST:
        raise RuntimeError(ILLEGAL)
    return x + x


@operator(kind="elementwise", x=tensor("N"))
def illegal(x):
    LOST.append(1)
    raise RuntimeError(ILLEGAL)


for each in (loses, twice, illegal):

    @each.reference("torch")
    def _(x):
        if LOST and each.name != "loses":
            raise RuntimeError(ILLEGAL)
        return 2 * x
'''


def test_the_victim_of_a_lost_context_is_asked_again_alone(tmp_path: Path) -> None:
    (tmp_path / "ops.py").write_text(OPERATORS)
    with WorkerPool(sys.executable, workers=1, limits=Limits(timeout_s=60), directory=tmp_path) as pool:
        pool.describe(["ops.py"], tmp_path)
        cases = [make_case("loses"), make_case("twice"), make_case("illegal"), make_case("twice", seed=1)]
        seen = {(case.operator, case.seed): observation for case, observation in pool.run(cases)}
        asked = [RunCase(case=make_case(name), explaining=False) for name in ("illegal", "twice")]
        later = [pool.about(request, Observation).status for request in asked]
    # (1) the victim is right alone, and what its first process came to is told
    assert [output.rejected for output in seen["twice", 0].outputs] == [0]
    said = ILLEGAL.splitlines()[0]
    assert seen["twice", 0].rerun == f"in a process that had run other cases before, it ended in: {said}"
    # (2) the culprit does it alone as well, and is no skipped case although its reference cannot run any more either
    assert (seen["illegal", 0].status, seen["illegal", 0].rerun) == (
        Status.RAISED,
        f"alone in a fresh process it ended the same way: {said}",
    )
    # (3) what follows runs in a process of its own
    assert (seen["twice", 1].status, seen["twice", 1].rerun) == (Status.RAN, None)
    # (4) so does what is asked in any other way
    assert later == [Status.RAISED, Status.RAN]


def test_only_errors_that_last_count() -> None:
    lasting = [
        ("AcceleratorError", ILLEGAL),
        ("RuntimeError", "CUDA error: device-side assert triggered"),
        ("RuntimeError", "CUDA error: misaligned address"),
        ("RuntimeError", "HIP error: hipErrorIllegalAddress"),
        ("RuntimeError", "level_zero backend failed with error: 20 (UR_RESULT_ERROR_DEVICE_LOST)"),
    ]
    passing = [
        ("OutOfMemoryError", "CUDA out of memory. Tried to allocate 20.00 GiB"),
        ("RuntimeError", "CUDA error: invalid configuration argument"),
        ("ValueError", "misaligned address: q must be a multiple of 16 bytes"),
        ("OutOfResources", "out of resource: shared memory, Required: 270336, Hardware limit: 232448"),
    ]
    assert [context_lost(*each) for each in lasting] == [True] * len(lasting)
    assert [context_lost(*each) for each in passing] == [False] * len(passing)

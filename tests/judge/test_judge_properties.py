"""Properties beyond values: which of them fail a case, and what is said of them."""

from __future__ import annotations

import pytest
from judge_notation import causes, judged, output, ran

from opsdebug_ci.model import Contract, Property, PropertyReading, Verdict


def broken(which, elements=6, of=6, **evidence):
    return PropertyReading(property=Property(which), compared=of, broken=elements, evidence=evidence)


ROWS = {"output": "out0", "dim": "B", "rows": 3, "largest": 1.5e-8}
PLANTED = {
    "stale": (
        broken("fresh_inputs", output="out0", where="in new tensors at the same addresses"),
        Contract(),
        ("fail", "cheating"),
        "`out0`: on other values, in new tensors at the same addresses, 6 of 6 elements that had to change kept",
    ),
    "zeros": (
        broken("later_launches", output="out0", zero=True, launch=2),
        Contract(deterministic=False),
        ("fail", "cheating"),
        "`out0`: a later launch on the same inputs gave zeros for all that was none at first",
    ),
    "other bits": (
        broken("later_launches", elements=1, output="out0", zero=False, launch=2),
        Contract(),
        ("fail", "nondeterminism_race"),
        "`out0`: 1 element changed bits in a later launch on the same inputs",
    ),
    "other seed": (
        broken("other_seeds", elements=2, seed=1),
        Contract(),
        ("fail", "nondeterminism_race"),
        "2 output elements changed their bits with the seed of the process's random generators",
    ),
    "raised": (
        broken("later_launches", raised="RuntimeError", message="tired"),
        Contract(),
        ("fail", "exception"),
        "a later launch on the same inputs raised RuntimeError: tired",
    ),
    "rows": (
        broken("batch_invariance", elements=2, **ROWS),
        Contract(batch_invariant=True),
        ("fail", "accumulation_order"),
        "`out0`: 2 elements of the first row alone (`B` = 1) differ in bits, by at most 1.5e-08",
    ),
    "own work": (
        broken("own_work", elements=1, of=2, torch="ops.py:7"),
        Contract(),
        ("pass", "cheating"),
        "the operator called reference `torch` (ops.py:7) while it ran",
    ),
    "undeclared write": (
        broken("opcheck", elements=1, of=3, undeclared="mutation", test_schema="Argument x was mutated"),
        Contract(),
        ("fail", "input_mutated"),
        "`torch.library.opcheck` test_schema: Argument x was mutated",
    ),
    "undeclared alias": (
        broken("opcheck", elements=1, of=3, undeclared="aliasing", test_schema="may not alias any inputs"),
        Contract(),
        ("fail", "aliasing_inplace"),
        "`torch.library.opcheck` test_schema: may not alias any inputs",
    ),
    "declared alias": (
        broken("opcheck", elements=1, of=3, undeclared="aliasing", test_schema="may not alias any inputs"),
        Contract(may_alias=True),
        ("pass", "unknown"),
        "`torch.library.opcheck` test_schema: may not alias any inputs",
    ),
    "untraceable": (
        broken("opcheck", elements=1, of=3, undeclared=None, test_faketensor="There was no fake impl"),
        Contract(),
        ("pass", "unknown"),
        "`torch.library.opcheck` test_faketensor: There was no fake impl",
    ),
}


@pytest.mark.parametrize("name", PLANTED)
def test_what_is_broken_is_said(name: str) -> None:
    reading, contract, (verdict, cause), statement = PLANTED[name]
    found = judged(ran(output(), properties=(reading,)), contract)
    assert (str(found.verdict), causes(found)) == (verdict, [cause])
    assert found.findings[0].statement.startswith(statement)


@pytest.mark.parametrize("which", list(Property), ids=str)
def test_what_holds_is_not_mentioned(which: Property) -> None:
    reading = broken(which, elements=0)
    found = judged(ran(output(), properties=(reading,)), Contract(batch_invariant=True))
    assert (found.verdict, found.findings) == (Verdict.PASS, ())


def test_a_promise_nobody_made_cannot_be_broken() -> None:
    found = judged(ran(output(), properties=(broken("batch_invariance", **ROWS),)), Contract())
    assert (found.verdict, found.findings) == (Verdict.PASS, ())

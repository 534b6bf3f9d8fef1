"""What a caught access is called, how surely, and that it turns no passing case red."""

from __future__ import annotations

from dataclasses import replace

import pytest

from opsdebug_ci.judge import judge
from opsdebug_ci.judge.rules import Subject
from opsdebug_ci.judge.rules.pages import fault_text, pages
from opsdebug_ci.model import Case, Contract, Family, Layout, Observation, Status
from opsdebug_ci.model.memory import ForeignRead, MemoryReading, PageFault
from opsdebug_ci.model.vocabulary import Access, Cause, PageMode, Side, Verdict

CASE = Case(operator="f", dims={"N": 4}, dtype="float32", layout=Layout.CONTIGUOUS, inputs=Family.NORMAL, seed=0)
RAN = Observation(case_id=CASE.id, status=Status.RAN)
FOLLOWED = ForeignRead(side=Side.TAIL, argument="x", output="out0", elements=1, fill="NaN")

WRITE = PageFault(
    access=Access.WRITE,
    side=Side.TAIL,
    place="/p/ops.py:20",
    frames=("/p/run.py:3 <module>", "/p/ops.py:20 bad_store", "/x/site-packages/triton/i.py:9 store"),
    modes=(PageMode.TAIL, PageMode.TAIL_READABLE),
    source="tl.store(out + i, y)",
)
READ = replace(WRITE, access=Access.READ, side=Side.HEAD, modes=(PageMode.HEAD,), argument="x", source=None)
INSIDE = replace(WRITE, side=Side.INSIDE, modes=(PageMode.INPUTS_READABLE,), source=None)

TEXTS = {
    "write": (
        WRITE,
        "writes behind the end of a tensor at ops.py:20 in bad_store: `tl.store(out + i, y)` "
        "(dies when the pages there cannot be written)",
    ),
    "read": (
        READ,
        "reads before the beginning of `x` at ops.py:20 in bad_store "
        "(dies when the pages there cannot be touched, not when they can be read)",
    ),
    "inside": (
        INSIDE,
        "writes into an argument that the contract lets nobody write at ops.py:20 in bad_store "
        "(dies when it can only be read)",
    ),
    "no line of one's own": (
        replace(WRITE, place=None, source=None),
        "writes behind the end of a tensor at i.py:9 in store (dies when the pages there cannot be written)",
    ),
    "a tensor of its own": (
        replace(WRITE, own=True, source=None),
        "writes behind the end of a tensor of its own at ops.py:20 in bad_store "
        "(dies when the pages there cannot be written)",
    ),
    "no frames": (
        replace(INSIDE, place=None, frames=(), argument="x"),
        "writes into argument `x` that the contract lets nobody write (dies when it can only be read)",
    ),
}


@pytest.mark.parametrize("name", TEXTS)
def test_a_fault_in_one_clause(name: str) -> None:
    fault, text = TEXTS[name]
    assert fault_text(fault) == text


@pytest.mark.parametrize(
    ("observation", "wanted"),
    [
        (RAN, []),
        (replace(RAN, pages=(WRITE,)), [(Cause.OOB_WRITE, 0.98)]),
        (replace(RAN, pages=(INSIDE,)), [(Cause.INPUT_MUTATED, 0.98)]),
        (replace(RAN, pages=(READ,)), [(Cause.OOB_READ, 0.7)]),
        (replace(RAN, pages=(READ,), reads=(FOLLOWED,)), [(Cause.OOB_READ, 0.98)]),
        (replace(RAN, status=Status.CRASHED, pages=(READ,)), [(Cause.OOB_READ, 0.98)]),
        (replace(RAN, status=Status.CRASHED, pages=(WRITE, READ)), [(Cause.OOB_WRITE, 0.98), (Cause.OOB_READ, 0.7)]),
    ],
)
def test_every_fault_is_a_finding(observation: Observation, wanted: list[tuple[Cause, float]]) -> None:
    found = list(pages(Subject(case=CASE, observation=observation, contract=Contract())))
    assert [(finding.cause, finding.confidence) for finding in found] == wanted


def test_the_evidence_has_line_source_and_modes() -> None:
    (finding,) = pages(Subject(case=CASE, observation=replace(RAN, pages=(WRITE,)), contract=Contract()))
    assert finding.evidence == {
        "access": "write",
        "side": "tail",
        "argument": None,
        "place": "/p/ops.py:20",
        "source": "tl.store(out + i, y)",
        "frame": "/x/site-packages/triton/i.py:9 store",
        "modes": "tail, tail_readable",
    }


@pytest.mark.parametrize("fault", [WRITE, READ, INSIDE])
def test_a_verdict_does_not_change_with_pages(fault: PageFault) -> None:
    before = judge(CASE, RAN, Contract())
    after = judge(CASE, replace(RAN, pages=(fault,)), Contract())
    assert after.verdict == before.verdict
    assert after.verdict not in (Verdict.FAIL, Verdict.CRASH)
    assert len(after.findings) == len(before.findings) + 1


def test_what_killed_a_case_comes_before_that_it_died() -> None:
    crashed = Observation(case_id=CASE.id, status=Status.CRASHED, pages=(WRITE,))
    judged = judge(CASE, crashed, Contract())
    assert judged.verdict is Verdict.CRASH
    assert judged.findings[0].cause is Cause.OOB_WRITE


def test_what_guard_zones_saw_of_the_same_access_is_said_besides() -> None:
    beside = MemoryReading(argument="out0", side=Side.TAIL, bytes_changed=252, first_offset=4, nearest_bytes=1)
    elsewhere = replace(beside, side=Side.HEAD)
    for zones, said in (((beside,), "; 252 bytes beside `out0` changed, the nearest 1 byte away"), ((elsewhere,), "")):
        seen = replace(RAN, pages=(WRITE,), memory=zones)
        (finding,) = pages(Subject(case=CASE, observation=seen, contract=Contract()))
        assert finding.statement == fault_text(WRITE) + said
    follows = replace(RAN, pages=(replace(READ, side=Side.TAIL),), reads=(FOLLOWED,))
    (finding,) = pages(Subject(case=CASE, observation=follows, contract=Contract()))
    assert finding.statement.endswith("; 1 element of `out0` follows it")

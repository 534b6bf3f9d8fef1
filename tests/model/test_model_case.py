"""Identity of cases: stable across machines and versions."""

from __future__ import annotations

from dataclasses import replace

import pytest

from opsdebug_ci.model import Case, Direction, Family, Layout, ReferenceKind

PLAIN = Case(
    operator="softmax",
    dims={"B": 1, "S": 128, "H": 128},
    dtype="float32",
    layout=Layout.CONTIGUOUS,
    inputs=Family.NORMAL,
    seed=0,
)
LONG = Case(
    operator="varlen_attention",
    dims={"T": 64, "N": 3},
    dtype="bfloat16",
    layout=Layout.MIXED,
    inputs=Family.SPECIAL_ROWS,
    seed=2**62,
    device="cuda:1",
    checks=(ReferenceKind.TORCH,),
)
EMPTY = Case(
    operator="héllo",
    dims={},
    dtype="float8_e4m3fn",
    layout=Layout.OWN,
    inputs=Family.OWN,
    seed=7,
    checks=(),
)


@pytest.mark.parametrize(
    ("case", "identity", "name"),
    [
        (PLAIN, "94f22ac2ebc98283", "softmax[B=1,S=128,H=128 float32 contiguous normal seed=0 cpu]"),
        (
            LONG,
            "d6a4a0f964477985",
            "varlen_attention[T=64,N=3 bfloat16 mixed special_rows seed=4611686018427387904 cuda:1]",
        ),
        (EMPTY, "2b5615908c80465d", "héllo[ float8_e4m3fn own own seed=7 cpu]"),
    ],
)
def test_identities_and_names_never_change(case: Case, identity: str, name: str) -> None:
    """A stored id must mean the same case for ever: these literals may be added to, not edited."""
    assert (case.id, case.name) == (identity, name)


def test_the_order_of_dims_is_not_part_of_the_identity() -> None:
    assert replace(PLAIN, dims={"H": 128, "B": 1, "S": 128}).id == PLAIN.id


@pytest.mark.parametrize(
    "changed",
    [
        {"operator": "log_softmax"},
        {"dims": {"B": 1, "S": 128, "H": 127}},
        {"dtype": "float16"},
        {"layout": Layout.OFFSET},
        {"inputs": Family.HEAVY},
        {"seed": 1},
        {"device": "cuda"},
        {"direction": Direction.BACKWARD},
        {"checks": (ReferenceKind.TORCH, ReferenceKind.NAIVE)},
    ],
    ids=lambda changed: next(iter(changed)),
)
def test_every_field_is_part_of_the_identity(changed: dict[str, object]) -> None:
    assert replace(PLAIN, **changed).id != PLAIN.id

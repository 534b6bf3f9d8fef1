"""Which pairs are screened when there is no time for all."""

from __future__ import annotations

from opsdebug_ci.model import Case, Family, Layout
from opsdebug_ci.model.speed import Comparing
from opsdebug_ci.pipeline.comparison_plan import BASE_AGAIN, Duel, first_pairs
from opsdebug_ci.pipeline.experiment import Series


def duel(operator: str, size: int = 4, *, first: bool = True, why: Comparing = Comparing.CHANGE) -> Duel:
    case = Case(
        operator=operator,
        dims={"N": size},
        dtype="float32",
        layout=Layout.CONTIGUOUS,
        inputs=Family.NORMAL,
        seed=0,
    )
    head = BASE_AGAIN if why is Comparing.CONTROL else "head"
    return Duel(series=Series(case=case, calls=1, first=first), why=why, base="base", head=head)


DUELS = (
    duel("softmax"),
    duel("softmax", 64, first=False),
    duel("gelu"),
    duel("gelu", 64, first=False),
    duel("gelu", 64, first=False, why=Comparing.CONTROL),
)


def told(most: int) -> list[tuple[str, int, str]]:
    return [(one.series.case.operator, one.series.case.dims["N"], one.why.value) for one in first_pairs(DUELS, most)]


def test_with_time_for_all_all_are_screened() -> None:
    assert list(first_pairs(DUELS, 4)) == list(DUELS)


def test_no_comparison_is_without_its_control() -> None:
    assert told(1) == [("gelu", 64, "change"), ("gelu", 64, "control")]


def test_declared_sizes_come_before_grown_ones() -> None:
    assert told(3) == [
        ("gelu", 64, "change"),
        ("softmax", 4, "change"),
        ("gelu", 4, "change"),
        ("gelu", 64, "control"),
    ]

"""Timing a case in a worker: what is inside the clock, what is kept between visits, what a fault comes to."""

from __future__ import annotations

import pytest
import torch
from worker_notation import Counting, case_of, unary

from opsdebug_ci import Contract, Operator, Unsupported
from opsdebug_ci.model.message import TimeCase
from opsdebug_ci.model.timing import CaseTimed
from opsdebug_ci.operators import Arguments
from opsdebug_ci.worker.timed_case import NotTimed, TimedCases, call_of, guarded, subject_of


def request(operator: Operator, **fields: object) -> TimeCase:
    return TimeCase(case=case_of(operator), **{"samples": 3, "calls": 2, **fields})


def visited(operator: Operator, **fields: object) -> CaseTimed:
    return TimedCases().visit(operator, request(operator, **fields))


def test_a_first_visit_tells_the_first_call_and_a_second_does_not() -> None:
    operator, cases = unary(torch.neg), TimedCases()
    first, second = (cases.visit(operator, request(operator)).visit for _ in range(2))
    assert first is not None and second is not None
    assert first.first_call_ns is not None and first.first_call_ns > 0
    assert second.first_call_ns is None
    assert second.warm_calls >= 1


def test_samples_and_calls_are_those_asked_for() -> None:
    visit = visited(unary(torch.neg), samples=5, calls=7, visit_s=60.0).visit
    assert visit is not None
    assert (visit.calls, len(visit.samples_ns)) == (7, 5)
    assert min(visit.samples_ns) > 0 and visit.resolution_ns > 0
    assert visit.cpu_share is not None


def test_without_a_number_a_sample_has_as_many_calls_as_it_needs() -> None:
    visit = visited(unary(lambda x: x), calls=None).visit
    assert visit is not None and visit.calls > 100


def test_every_visit_has_inputs_of_its_own_with_the_same_values() -> None:
    addresses: set[int] = set()
    values: set[tuple[float, ...]] = set()

    def look(x: torch.Tensor) -> torch.Tensor:
        addresses.add(x.data_ptr())
        values.add(tuple(x.tolist()))
        held.append(x)
        return x

    held: list[torch.Tensor] = []
    operator, cases = unary(look), TimedCases()
    for _ in range(2):
        cases.visit(operator, request(operator))
    assert (len(addresses), len(values)) == (2, 1)


def test_what_the_operator_changes_is_put_back_before_every_call() -> None:
    seen: set[tuple[float, ...]] = set()

    def double(x: torch.Tensor) -> None:
        seen.add(tuple(x.tolist()))
        x.mul_(2)

    assert visited(unary(double, contract=Contract(mutates=("x",)))).visit is not None
    assert len(seen) == 1


def test_an_operator_that_raises_is_not_timed() -> None:
    counting = Counting(lambda x: {}["key"])
    timed = visited(unary(counting))
    assert (timed.visit, timed.unsupported) == (None, False)
    assert timed.reason == "the operator raised KeyError: 'key'"
    assert counting.launches == 1


@pytest.mark.parametrize("ending", [SystemExit(3), KeyboardInterrupt()], ids=["exit", "interrupt"])
def test_an_operator_that_would_end_the_process_does_not(ending: BaseException) -> None:
    def leave(x: torch.Tensor) -> None:
        raise ending

    assert visited(unary(leave)).visit is None


def test_a_case_outside_the_domain_is_no_fault() -> None:
    outside = visited(unary(torch.neg, requires=lambda case: "not this one"))
    assert (outside.visit, outside.reason, outside.unsupported) == (None, "not this one", True)


def test_a_guarded_call_hands_on_results_and_refusals() -> None:
    def refuse() -> None:
        raise Unsupported("no")

    assert guarded(lambda: 5)() == 5
    with pytest.raises(Unsupported, match="no"):
        guarded(refuse)()
    with pytest.raises(NotTimed, match="its cost raised ZeroDivisionError"):
        guarded(lambda: 1 / 0, "its cost")()


@pytest.mark.parametrize("by_keyword", [False, True])
def test_the_bare_call_passes_arguments_as_they_were_made(by_keyword: bool) -> None:
    operator = Operator("two", lambda x, y: (x, y), lambda seed, dims, dtype: [], {})
    arguments = Arguments(names=("x", "y"), values=(1, 2), by_keyword=by_keyword)
    assert call_of(operator, arguments)() == (1, 2)
    assert call_of(operator, arguments, lambda x, y: (y, x))() == (2, 1)


def test_a_subject_works_on_copies_and_restores_only_what_is_declared() -> None:
    pristine = Arguments(names=("x",), values=(torch.ones(3),))
    plain = subject_of(unary(lambda x: x.mul_(2)), pristine)
    plain.call()
    assert (plain.restore, pristine["x"].tolist()) == (None, [1, 1, 1])
    restoring = subject_of(unary(lambda x: x.mul_(2), contract=Contract(mutates=("x",))), pristine)
    restoring.call()
    assert restoring.restore is not None
    restoring.restore()
    assert restoring.call().tolist() == [2, 2, 2]

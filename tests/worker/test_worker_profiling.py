"""What a profile says of operators of every temper: structure and facts, never speed."""

from __future__ import annotations

import time

import pytest
import torch
from worker_notation import Counting, case_of, unary

from opsdebug_ci import Contract, Cost, Operator, Unsupported, tensor
from opsdebug_ci.model.message import ProfileCase
from opsdebug_ci.model.profile import CaseProfile
from opsdebug_ci.model.vocabulary import Direction
from opsdebug_ci.worker.profiling import profile


def profiled(
    operator: Operator, *, budget_s: float = 0.05, case: dict[str, object] | None = None, **also: bool
) -> CaseProfile:
    return profile(operator, ProfileCase(case=case_of(operator, **(case or {})), budget_s=budget_s, **also))


def test_only_what_was_asked_for_is_there() -> None:
    found = profiled(unary(torch.neg))
    assert found.operator is not None
    assert found.operator.cold_ns is None
    assert (found.parts, found.reference, found.copied, found.copying_ns) == (None, None, None, None)
    assert (found.torch_calls, found.reference_calls, found.handled_bytes, found.host_reads) == (None,) * 4
    assert found.traffic is not None
    assert (found.traffic.read_bytes, found.traffic.written_bytes, found.reason) == (24, 24, None)


def test_everything_that_was_asked_for_is_there() -> None:
    wanted = {"cold": True, "parts": True, "reference": True, "copied": True, "count": True}
    found = profiled(unary(torch.neg, torch.neg), case={"layout": "strided", "N": 6}, **wanted)
    assert found.operator is not None and found.reference is not None and found.copied is not None
    assert found.operator.cold_ns is not None and found.operator.cold_ns > 0
    assert found.operator.best_ns <= found.operator.warm_ns
    assert found.operator.first_call_ns > 0 and found.operator.warm_calls >= 2 and found.operator.timer_ns > 0
    assert found.copying_ns is not None and found.copying_ns > 0
    assert (found.torch_calls, found.reference_calls, found.host_reads, found.reference_host_reads) == (1, 1, 0, 0)
    assert found.parts is not None
    assert found.parts.total_ns == pytest.approx(found.operator.best_ns)
    assert found.parts.sync_ns == 0.0
    assert "at N=1" in found.parts.how


def test_a_contiguous_argument_is_not_copied() -> None:
    found = profiled(unary(torch.neg), copied=True)
    assert (found.copied, found.copying_ns) == (None, None)


def test_an_operator_without_elements_moves_nothing() -> None:
    found = profiled(unary(torch.neg), case={"N": 0}, parts=True)
    assert found.operator is not None and found.operator.warm_ns > 0
    assert found.traffic is not None and found.traffic.bytes == 0


def test_an_operator_shorter_than_the_clock_is_timed_by_the_thousand() -> None:
    found = profiled(unary(lambda x: x))
    assert found.operator is not None and found.operator.calls > 100
    assert found.traffic is not None and found.traffic.written_bytes == 0


def test_a_first_call_that_compiles_is_told_apart() -> None:
    ready: list[int] = []

    def compiling(x: torch.Tensor) -> torch.Tensor:
        if not ready:
            time.sleep(0.05)
            ready.append(1)
        return x

    found = profiled(unary(compiling))
    assert found.operator is not None
    assert found.operator.first_call_ns >= 50e6
    assert found.operator.warm_ns < found.operator.first_call_ns


def test_an_operator_that_sleeps_hardly_uses_the_processor() -> None:
    def sleeping(x: torch.Tensor) -> torch.Tensor:
        time.sleep(0.002)
        return x

    found = profiled(unary(sleeping))
    assert found.operator is not None and found.operator.cpu_share is not None
    assert found.operator.cpu_share < 0.5
    assert found.operator.best_ns >= 2e6


def test_an_operator_that_takes_longer_than_the_time_still_answers() -> None:
    counting = Counting(lambda x: time.sleep(0.03) or x)
    found = profiled(unary(counting), budget_s=0.01, cold=True)
    assert found.operator is not None
    assert (len(found.operator.samples_ns), found.operator.calls, found.operator.cold_ns) == (3, 1, None)
    assert counting.launches <= 10


def test_an_operator_that_raises_on_its_fifth_call_has_no_times() -> None:
    counting = Counting(lambda x: x)

    def fifth(x: torch.Tensor) -> object:
        if counting.launches == 4:
            raise ValueError("enough")
        return counting(x)

    found = profiled(unary(fifth), reference=True)
    assert (found.operator, found.reference, found.traffic) == (None, None, None)
    assert (found.reason, found.unsupported) == ("the operator raised ValueError: enough", False)


def test_a_reference_that_raises_costs_the_reference_alone() -> None:
    def broken(x: torch.Tensor) -> torch.Tensor:
        raise RuntimeError("no reference")

    found = profiled(unary(torch.neg, broken), reference=True, count=True)
    assert found.operator is not None
    assert (found.reference, found.reference_calls, found.reason, found.torch_calls) == (None, None, None, 1)


def test_a_cost_that_raises_costs_the_flops_alone() -> None:
    found = profiled(unary(torch.neg, cost=lambda dims, dtype: Cost(flops=dims["M"])))
    assert found.operator is not None
    assert found.traffic is not None and found.traffic.flops is None
    assert found.reason == "its cost raised KeyError: 'M'"


def test_a_cost_is_asked_with_dims_and_dtype() -> None:
    found = profiled(unary(torch.neg, cost=lambda dims, dtype: Cost(flops=dims["N"], bytes=float(len(dtype)))))
    assert found.traffic is not None
    assert (found.traffic.flops, found.traffic.bytes) == (6, 7.0)


def test_a_refusal_is_no_fault() -> None:
    def refusing(x: torch.Tensor) -> torch.Tensor:
        raise Unsupported("only on Sundays")

    found = profiled(unary(refusing))
    assert (found.operator, found.reason, found.unsupported) == (None, "only on Sundays", True)


def test_an_argument_that_is_changed_is_put_back_before_every_call() -> None:
    seen: set[tuple[float, ...]] = set()

    def doubling(x: torch.Tensor) -> None:
        seen.add(tuple(x.tolist()))
        x.mul_(2)

    found = profiled(unary(doubling, contract=Contract(mutates=("x",))), cold=True, parts=True)
    assert found.operator is not None
    assert {len(values) for values in seen} == {1, 6}  # the case, and its smallest sizes
    assert len(seen) == 2


def test_gradients_are_profiled_as_an_operator_of_their_own() -> None:
    operator = unary(torch.sin, torch.sin)
    case = case_of(operator)
    request = ProfileCase(
        case=type(case)(**{**_fields(case), "direction": Direction.BACKWARD}),
        budget_s=0.05,
        parts=True,
        reference=True,
        count=True,
    )
    found = profile(operator, request)
    assert found.operator is not None and found.reference is not None
    assert found.traffic is not None and found.traffic.written_bytes == 24
    assert found.torch_calls is not None and found.torch_calls > 1
    assert found.parts is not None and "at N=1" in found.parts.how


def _fields(case: object) -> dict[str, object]:
    return {name: getattr(case, name) for name in case.__dataclass_fields__}


def own(function: object, size: int) -> Operator:
    """Inputs that do not shrink."""
    return Operator("own", function, lambda seed, dims, dtype: [torch.ones(size)], {}, dims={"N": size})


def test_inputs_that_do_not_shrink_leave_the_framework_calls() -> None:
    found = profiled(own(lambda x: x + x + x, 1 << 16), parts=True)
    assert found.parts is not None and "2 framework calls at the" in found.parts.how


def test_without_framework_calls_launch_is_said_not_to_be_told() -> None:
    found = profiled(own(lambda x: sum(range(1000)), 1 << 16), parts=True)
    assert found.parts is not None and found.operator is not None
    assert (found.parts.launch_ns, found.parts.execute_ns) == (0.0, found.operator.best_ns)
    assert "cannot be told" in found.parts.how


def test_sizes_an_operator_refuses_are_passed_over() -> None:
    operator = unary(lambda x: x.view(-1, 4).sum(1), requires=lambda case: case.dims["N"] >= 2 or "too short")
    found = profiled(operator, case={"N": 64}, parts=True)
    assert found.parts is not None and "at N=4" in found.parts.how


def test_everyday_values_in_place_of_wild_ones() -> None:
    seen: list[torch.Tensor] = []
    wild = Operator("wild", lambda x: seen.append(x.clone()), lambda seed, dims, dtype: [torch.zeros(6)], {})
    assert profiled(wild, tame=True).operator is not None
    assert seen
    assert all(bool(x.eq(1).all()) for x in seen)


def test_without_wild_values_nothing_is_timed() -> None:
    found = profiled(
        Operator(
            "tame",
            torch.neg,
            {"x": tensor("N", values=lambda seed, dims, args: torch.ones(dims["N"]))},
            {},
            dims={"N": 3},
        ),
        tame=True,
    )
    assert found.operator is None
    assert found.reason == "its floating arguments hold no NaN, infinity, zero or subnormal number"

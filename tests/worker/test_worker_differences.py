"""One factor at a time: what each planted defect of memory is found by, and its clean twin is not."""

from __future__ import annotations

import ctypes
import inspect
import itertools
import random
import time

import numpy as np
import pytest
import torch
from worker_notation import case_of, judged, unary

from opsdebug_ci import Contract, Operator, Unsupported, checkpoint, tensor
from opsdebug_ci.model import Observation, Role, Side, Status, Verdict
from opsdebug_ci.model.message import RunCase
from opsdebug_ci.model.vocabulary import Profile
from opsdebug_ci.worker.case_run import run_case


def observed(function, *, profile: Profile = Profile.QUICK, layout: str = "contiguous", **options) -> Observation:
    """One case on uniform values; no cause is sought."""
    operator = function if isinstance(function, Operator) else unary(function, **options)
    request = RunCase(case=case_of(operator, inputs="uniform", layout=layout), profile=profile, explaining=False)
    observation = run_case(operator, request, lambda crumb: None)
    assert observation.status is Status.RAN, observation.reason
    return observation


def behind(x: torch.Tensor, count: int = 1, *, offset: int | None = None) -> torch.Tensor:
    """Elements behind the storage of `x`, or `offset` bytes from its start, as a stray pointer has them."""
    storage = x.untyped_storage()
    address = storage.data_ptr() + (storage.nbytes() if offset is None else offset)
    size = count * x.element_size()
    return torch.frombuffer((ctypes.c_uint8 * size).from_address(address), dtype=torch.uint8).view(x.dtype)


def line_of(function, words: str) -> str:
    lines, first = inspect.getsourcelines(function)
    return f"{__file__}:{first + next(n for n, line in enumerate(lines) if words in line)}"


def sums_two_more(x):
    return 2 * x + behind(x, 2).sum()


def greatest_with_one_more(x):
    more = behind(x).nan_to_num(0.0)
    return torch.where(more > 1e6, more, 2 * x)


def least_with_one_more(x):
    more = behind(x).nan_to_num(0.0)
    return torch.where(more < -1e36, more, 2 * x)


def multiplies_by_a_mask(x):
    return 2 * x + behind(x) * 0


def adds_what_lies_before(x):
    return 2 * x + behind(x, offset=-4).clamp(-1, 1)


READS = {
    "sum": (sums_two_more, Profile.QUICK, Side.TAIL),
    "mask": (multiplies_by_a_mask, Profile.QUICK, Side.TAIL),
    "before": (adds_what_lies_before, Profile.QUICK, Side.HEAD),
    "maximum": (greatest_with_one_more, Profile.DEEP, Side.TAIL),
    "minimum": (least_with_one_more, Profile.DEEP, Side.TAIL),
}


@pytest.mark.parametrize("name", READS)
def test_a_read_beyond_an_argument_is_told_of_it_and_of_the_end(name: str) -> None:
    function, profile, side = READS[name]
    found = observed(function, profile=profile)
    assert {(read.argument, read.side, read.output, read.elements) for read in found.reads} == {("x", side, "out0", 6)}
    assert (found.memory, found.unwritten, found.repeat_mismatches) == ((), 0, 0)


WHOLE_READS = {
    "smallest": torch.amin,
    "largest": torch.amax,
    "union": lambda x: torch.tensor(np.bitwise_or.reduce(x.numpy())),
}


@pytest.mark.parametrize("dtype", ["int32", "uint8"])
@pytest.mark.parametrize("beyond", [True, False])
@pytest.mark.parametrize("name", WHOLE_READS)
def test_one_whole_number_too_many_shows_in_an_extreme_and_a_union(name: str, beyond: bool, dtype: str) -> None:
    reduce = WHOLE_READS[name]
    found = observed(lambda x: reduce(torch.cat([x, behind(x)]) if beyond else x), dtypes=(dtype,), reference=reduce)
    expected = {("x", Side.TAIL)} if beyond else set()
    assert {(read.argument, read.side) for read in found.reads} == expected


def test_an_index_read_behind_the_last_leads_beside_its_table_and_is_told() -> None:
    def adds_one_more(table, index):
        at = int(behind(index)) * table.stride(0) * table.element_size()
        return torch.cat([table[index].flatten(), behind(table, offset=at)])

    index = tensor("6", dtype="int64", values=lambda seed, dims, args: [0, 7, 3, 3, 1, 2])
    arguments = {"table": tensor("8 4"), "index": index}
    operator = Operator("gather", adds_one_more, arguments, {"torch": lambda table, index: table[index].sum()})
    assert ("index", Side.TAIL) in {(read.argument, read.side) for read in observed(operator).reads}


def test_a_first_launch_that_is_slow_leaves_time_to_tell_the_others_apart(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("opsdebug_ci.worker.differences.AFFORDABLE_NS", 50_000_000)
    compiled: list[bool] = []

    def compiles(x):
        if not compiled:
            time.sleep(0.06)
            compiled.append(True)
        return sums_two_more(x)

    assert [(read.argument, read.side) for read in observed(compiles).reads] == [("x", Side.TAIL)]


@pytest.mark.parametrize("profile", list(Profile))
def test_what_is_read_and_not_used_is_no_defect(profile: Profile) -> None:
    def reads_ahead(x):
        assert behind(x, 4).numel() == 4
        return torch.cat([x, behind(x, 4)])[:-4] * 2

    found = observed(reads_ahead, profile=profile)
    assert (found.reads, found.memory, found.unwritten, found.repeat_mismatches) == ((), (), 0, 0)


def test_a_read_is_told_of_the_argument_it_follows() -> None:
    def second_alone(x, y):
        return x + y + behind(y).clamp(-1, 1)

    operator = Operator("two", second_alone, {"x": tensor("N"), "y": tensor("N")}, {"torch": torch.add}, dims={"N": 6})
    assert {(read.argument, read.side) for read in observed(operator).reads} == {("y", Side.TAIL)}


def test_a_read_of_the_gaps_is_told_of_them() -> None:
    def ignores_the_stride(x):
        return 2 * torch.empty(0).set_(x.untyped_storage())[x.storage_offset() :][: x.numel()]

    assert observed(ignores_the_stride).reads == ()
    found = observed(ignores_the_stride, layout="strided")
    assert {(read.argument, read.side) for read in found.reads} == {("x", Side.GAP)}


def test_a_read_beyond_the_operators_own_memory_is_told_of_that() -> None:
    def strays(x):
        scratch = torch.empty(3)
        scratch.fill_(1.0)
        return 2 * x + behind(scratch).clamp(-1, 1)

    (read,) = observed(strays).reads
    assert (read.argument, read.elements) == ("memory of its own", 6)


def test_what_nobody_wrote_and_what_is_computed_from_it_are_told_apart() -> None:
    def forgets_two(x):
        out = torch.empty_like(x)
        out[:4] = 2 * x[:4]
        return out

    def adds_to_garbage(x):
        return torch.empty_like(x).clamp(-1, 1) + 2 * x

    assert [(o.unwritten, o.from_scratch) for o in map(observed, (forgets_two, adds_to_garbage))] == [(2, 0), (6, 6)]


def into(function):
    """An operator that writes 2 * x into `out`."""
    return Operator(
        "into",
        function,
        {"x": tensor("N"), "out": tensor("N")},
        {"torch": lambda x, out: 2 * x},
        dims={"N": 6},
        contract=Contract(out="out"),
    )


@pytest.mark.parametrize("value", [0.0, -1.0, float("nan"), 3.5])
@pytest.mark.parametrize("layout", ["contiguous", "offset", "transposed"])
def test_a_write_behind_an_output_is_told_with_value_and_line(value: float, layout: str) -> None:
    def one_too_many(x, out):
        out.copy_(2 * x)
        behind(out)[:] = value

    (found,) = observed(into(one_too_many), layout=layout).memory
    assert (found.argument, found.role, found.side) == ("out", Role.OUTPUT, Side.TAIL)
    assert (found.nearest_bytes, found.farthest_bytes, found.bytes_changed) == (1, 4, 4)
    assert found.value == {"0.0": "0", "-1.0": "-1", "nan": "NaN", "3.5": "3.5"}[str(value)]
    assert found.place == line_of(one_too_many, "behind(out)")


def test_code_that_makes_no_calls_is_blamed_by_its_line_between_two_steps() -> None:
    def through_a_pointer(x):
        out = torch.empty_like(x)
        ctypes.memset(out.data_ptr() + 24, 0, 8)
        return torch.mul(x, 2, out=out)

    found = observed(through_a_pointer)
    (reading,) = found.memory
    assert (reading.argument, reading.role, reading.side) == ("out0", Role.OUTPUT, Side.TAIL)
    assert reading.step == "between aten.empty_like and aten.mul"
    assert reading.place == line_of(through_a_pointer, "memset")
    assert found.outputs[0].rejected == 0


def test_a_launch_of_a_kernel_is_a_step_whatever_is_called_in_it() -> None:
    kernels = pytest.importorskip("worker_kernels")

    def launches(x):
        out = torch.empty_like(x)
        kernels.bad_store[(1,)](x, out, x.numel(), SIZE=8)
        return out.mul_(1)

    (reading,) = observed(launches).memory
    assert (reading.argument, reading.side, reading.bytes_changed) == ("out0", Side.TAIL, 8)
    assert reading.step == "launch bad_store"
    assert reading.place == kernels.STORE


def test_a_checkpoint_is_a_step() -> None:
    def marked(x):
        y = checkpoint("doubled", 2 * x)
        ctypes.memset(x.data_ptr() - 8, 0, 4)
        return checkpoint("done", y)

    (reading,) = observed(marked).memory
    assert (reading.side, reading.nearest_bytes) == (Side.HEAD, 5)
    assert reading.step == "between checkpoint doubled and checkpoint done"


def test_writes_beyond_the_zones_are_not_seen_and_the_facts_say_how_wide_they_are() -> None:
    def writes(x, distance):
        behind(x, offset=x.numel() * 4 + distance - 4)[:] = 1.0
        return 2 * x

    near = observed(lambda x: writes(x, 4096))
    assert [(r.nearest_bytes, r.farthest_bytes) for r in near.memory] == [(4093, 4096)]
    assert near.guard is not None
    assert (near.guard.zone_bytes, near.guard.scratch, near.guard.profile) == (4096, True, Profile.QUICK)


@pytest.mark.parametrize(("profile", "launches"), [(Profile.QUICK, 3), (Profile.DEEP, 5)])
def test_a_clean_operator_costs_few_launches(profile: Profile, launches: int) -> None:
    found = observed(lambda x: x + x, profile=profile)
    assert found.guard is not None
    assert (found.guard.launches, found.guard.note) == (launches, None)


def test_an_operator_that_resizes_an_argument_is_launched_on_plain_copies() -> None:
    def resizes(x, out):
        out.resize_(0).resize_(12)[:6].copy_(2 * x)
        out.resize_(6)

    found = observed(into(resizes))
    assert found.guard is not None
    assert (found.guard.zone_bytes, found.memory, found.layout_changes) == (0, (), ())
    assert "not resizable" in str(found.guard.note)
    assert found.outputs[0].rejected == 0


def test_an_operator_that_raises_once_is_to_blame() -> None:
    counter = itertools.count()

    def first_time_unlucky(x):
        if next(counter) == 0:
            raise RuntimeError("not yet")
        return 2 * x

    operator = unary(first_time_unlucky)
    observation = run_case(operator, RunCase(case=case_of(operator)), lambda crumb: None)
    assert (observation.status, observation.reason) == (Status.RAISED, "RuntimeError: not yet")


def test_a_refusal_stays_a_refusal() -> None:
    def refuses(x):
        raise Unsupported("not today")

    operator = unary(refuses)
    observation = run_case(operator, RunCase(case=case_of(operator)), lambda crumb: None)
    assert (observation.status, observation.reason) == (Status.SKIPPED, "not today")


@pytest.mark.parametrize("profile", list(Profile))
@pytest.mark.parametrize("promised", [True, False])
def test_a_race_is_no_read_and_no_garbage(profile: Profile, promised: bool) -> None:
    """Two outcomes, by a coin of its own that no seed reaches."""
    coin = random.SystemRandom()
    for _ in range(8):
        found = observed(
            lambda x: 2 * x + coin.choice((0.0, 1.0)), profile=profile, contract=Contract(deterministic=promised)
        )
        assert (found.reads, found.unwritten, found.memory, found.layout_changes) == ((), 0, (), ())


def test_undeclared_sharing_is_told_unless_the_reference_shares_too() -> None:
    def as_it_is(x):
        return x

    same = unary(as_it_is, reference=lambda x: x + 0)
    (alias,) = observed(same).aliases
    assert (alias.output, alias.other, alias.role, alias.bytes_shared) == ("out0", "x", Role.INPUT, 24)
    judgement = judged(same, case_of(same))
    assert judgement.verdict is Verdict.PASS
    assert "aliasing_inplace" in {str(finding.cause) for finding in judgement.findings}
    assert observed(unary(as_it_is, reference=lambda x: x[:])).aliases == ()
    assert observed(unary(as_it_is, reference=lambda x: x + 0, contract=Contract(may_alias=True))).aliases == ()
    assert observed(unary(lambda x: 2 * x)).aliases == ()


def test_two_outputs_in_one_memory_are_told() -> None:
    def halves(x):
        y = 2 * x
        return y, y[3:]

    operator = unary(halves, reference=lambda x: (2 * x, 2 * x[3:]))
    (alias,) = observed(operator).aliases
    assert (alias.output, alias.other, alias.role, alias.bytes_shared) == ("out1", "out0", Role.OUTPUT, 12)
    apart = unary(lambda x: (2 * x).split(3), reference=lambda x: (2 * x[:3], 2 * x[3:]))
    assert observed(apart).aliases == ()


def test_an_argument_turned_into_another_tensor_fails_as_mutated() -> None:
    def adds_an_axis(x):
        y = 2 * x
        x.unsqueeze_(0)
        return y

    operator = unary(adds_an_axis)
    assert {change.field for change in observed(operator).layout_changes} == {"shape", "stride"}
    judgement = judged(operator, case_of(operator))
    assert judgement.verdict is Verdict.FAIL
    assert str(judgement.findings[0].cause) == "input_mutated"
    declared = unary(adds_an_axis, reference=lambda x: (2 * x, x), contract=Contract(mutates=("x",)))
    assert observed(declared).layout_changes == ()

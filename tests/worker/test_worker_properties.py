"""Operators that cheat, each beside an honest twin, and properties beyond values."""

from __future__ import annotations

import itertools
import random
import sys
import time
import weakref

import numpy as np
import pytest
import torch
from worker_notation import Counting, case_of, judged, run, unary

from opsdebug_ci import Contract, Operator, tensor
from opsdebug_ci.model import Blame, Cause, Judgement, Property, PropertyReading, Status, Verdict
from opsdebug_ci.model.wire import decode, encode


def verdict_of(function, reference=None, **options) -> Judgement:
    operator = unary(function, reference, **options)
    return judged(operator, case_of(operator))


def top(judgement: Judgement) -> str:
    return str(judgement.findings[0].cause) if judgement.findings else "none"


def reading(operator: Operator, which: Property, **case: object) -> PropertyReading | None:
    return next((found for found in run(operator, **case).properties if found.property is which), None)


# -- results that do not come from the inputs --------------------------------------------------------------------------


def cached_by(key):
    known: dict[object, torch.Tensor] = {}

    def doubles(x):
        if key(x) not in known:
            known[key(x)] = x + x
        return known[key(x)].clone()

    return doubles


def cached_by_object(x_known: list):
    def doubles(x):
        if not x_known or x_known[0] is not x:
            x_known[:] = [x, x + x]
        return x_known[1].clone()

    return doubles


STALE = {
    "one result for ever": lambda: cached_by(lambda x: x.shape),
    "keyed on the address": lambda: cached_by(lambda x: x.data_ptr()),
    "keyed on address and version": lambda: cached_by(lambda x: (x.data_ptr(), x._version)),
    "keyed on the object": lambda: cached_by_object([]),
}


@pytest.mark.parametrize("name", STALE)
def test_a_cached_result_is_cheating(name: str) -> None:
    found = verdict_of(STALE[name]())
    assert (found.verdict, top(found)) == (Verdict.FAIL, "cheating")
    assert found.findings[0].evidence["unchanged"] == 6


@pytest.mark.parametrize("again", range(7))
def test_a_cache_that_is_stale_by_chance_of_some_other_addresses_is_cheating(again: int) -> None:
    """Stale at the first launch on other values and at one more, as where an address happens to come again."""
    state = {"first": None, "others": 0}

    def doubles(x):
        if state["first"] is None:
            state["first"] = x.clone()
        if torch.equal(x, state["first"]):
            return x + x
        state["others"] += 1
        return state["first"] + state["first"] if state["others"] in (1, 1 + again) else x + x

    found = verdict_of(doubles)
    assert (found.verdict, top(found)) == (Verdict.FAIL, "cheating")


def test_a_cache_that_knows_its_tensors_is_honest() -> None:
    known: list[tuple[weakref.ref, int, torch.Tensor]] = []

    def doubles(x):
        for held, version, result in known:
            if held() is x and version == x._version:
                return result.clone()
        known[:] = [(weakref.ref(x), x._version, x + x)]
        return known[0][2].clone()

    found = verdict_of(doubles)
    assert (found.verdict, found.findings) == (Verdict.PASS, ())


def test_fresh_inputs_are_looked_at() -> None:
    found = reading(unary(lambda x: x + x), Property.FRESH_INPUTS)
    assert found is not None
    assert (found.compared, found.broken) == (12, 0)  # six elements, two launches on other values


@pytest.mark.parametrize("function", [torch.ones_like, torch.zeros_like])
def test_an_operator_that_ignores_its_inputs_is_called_so_with_less_confidence(function) -> None:
    """Wrong anyhow, and perhaps from no cache: work skipped for good looks the same as work forgotten."""
    found = verdict_of(function)
    assert found.verdict is Verdict.FAIL
    (ignoring,) = [finding for finding in found.findings if finding.cause is Cause.CHEATING]
    assert (ignoring.confidence, ignoring.evidence["constant"]) == (0.6, True)


def tenths(seed, dims, dtype):
    """The same for every seed; their product underflows, so float32 is far from the reference at its end."""
    return [torch.full((50,), 0.1)]


def drawn(seed, dims, dtype):
    return [torch.randn(64, generator=torch.Generator().manual_seed(seed))]


def product_of_tenths(x):
    return torch.cumprod(torch.full((50,), 0.1, dtype=x.dtype), 0)


def rounding_noise(x):
    """Nothing but what rounding leaves of it."""
    return (x / 10 + 1) - x / 10 - 1


UNCHANGING = {
    "inputs that ignore the seed": (tenths, lambda x: torch.cumprod(x, 0), lambda x: torch.cumprod(x, 0)),
    "an input that does not matter": (drawn, product_of_tenths, product_of_tenths),
    "an input that matters less than rounding": (drawn, torch.zeros_like, rounding_noise),
}


@pytest.mark.parametrize("name", UNCHANGING)
def test_an_operator_that_is_right_without_change_does_not_cheat(name: str) -> None:
    values, function, reference = UNCHANGING[name]
    operator = Operator("unchanging", function, values, {"torch": reference})
    found = judged(operator, case_of(operator, layout="own", inputs="own"))
    blamed = [finding for finding in found.findings if finding.blame is Blame.OPERATOR]
    assert (found.verdict, blamed) == (Verdict.PASS, [])  # how well the framework sums is the processor's affair


@pytest.mark.parametrize("name", STALE)
def test_a_cached_result_is_cheating_on_inputs_of_a_callable_too(name: str) -> None:
    operator = Operator("stale", STALE[name](), drawn, {"torch": lambda x: 2 * x})
    found = judged(operator, case_of(operator, layout="own", inputs="own"))
    assert (found.verdict, top(found)) == (Verdict.FAIL, "cheating")


def test_a_saturating_operator_does_not_cheat() -> None:
    found = verdict_of(lambda x: torch.where(x > -9, torch.sign(x) * 1.0, x), torch.sign, kind="exact")
    assert found.verdict is Verdict.PASS


@pytest.mark.parametrize("inputs", ["ties", "specials"])
def test_other_than_everyday_cases_are_not_asked(inputs: str) -> None:
    assert run(unary(lambda x: x + x), inputs=inputs).properties == ()


# -- work that is skipped ----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("calls", [1, 2, 3, 4, 5])
def test_work_skipped_after_some_calls_is_cheating(calls: int) -> None:
    counter = itertools.count()
    found = verdict_of(lambda x: x + x if next(counter) < calls else torch.zeros_like(x))
    # what works in the first launch alone, which is watched, is wrong ever after: nothing later is lost
    assert (found.verdict, top(found)) == (Verdict.FAIL, "cheating" if calls > 1 else "nondeterminism_race")


def test_stale_output_after_some_calls_is_cheating() -> None:
    counter, kept = itertools.count(), []

    def doubles(x):
        if next(counter) < 2:
            kept[:] = [x + x]
        return kept[0].clone()

    found = verdict_of(doubles)
    assert (found.verdict, top(found)) == (Verdict.FAIL, "cheating")


def test_raising_in_a_later_launch_is_no_pass() -> None:
    counter = itertools.count()

    def doubles(x):
        if next(counter) > 3:
            raise RuntimeError("tired")
        return x + x

    found = verdict_of(doubles)
    assert (found.verdict, top(found)) == (Verdict.FAIL, "exception")
    assert "tired" in found.findings[0].statement


def test_set_up_in_the_first_call_is_honest() -> None:
    tables: list[torch.Tensor] = []

    def doubles(x):
        if not tables:
            tables.append(torch.tensor(2.0))
        return x * tables[0]

    found = verdict_of(doubles)
    assert (found.verdict, found.findings) == (Verdict.PASS, ())


# -- inputs and references ---------------------------------------------------------------------------------------------

TENSORS = {"tensor": torch.ones(8), "array": np.ones(8, dtype=np.float32)}


def pooled(function, pool) -> Operator:
    pool[:] = 3.0
    return Operator(
        "pooled", function, lambda seed, dims, dtype: [pool], {"torch": lambda x: 2 * torch.as_tensor(x)}, kind="exact"
    )


def test_zeroing_the_inputs_does_not_make_the_reference_agree() -> None:
    def zeroes(x):
        x.zero_()
        return torch.zeros(6)

    found = verdict_of(zeroes)
    assert (found.verdict, top(found)) == (Verdict.FAIL, "input_mutated")
    assert found.observation.outputs[0].rejected == 6


@pytest.mark.parametrize("pool", TENSORS.values(), ids=TENSORS)
def test_writing_the_reference_inputs_through_a_global_does_not_make_it_agree(pool) -> None:
    def zeroes_the_pool(x):
        pool[:] = 0
        return torch.zeros(8)

    operator = pooled(zeroes_the_pool, pool)
    found = judged(operator, case_of(operator, layout="own", inputs="own"))
    assert found.verdict is Verdict.FAIL
    assert found.observation.outputs[0].rejected == 8


@pytest.mark.parametrize("pool", TENSORS.values(), ids=TENSORS)
def test_reading_a_global_is_honest(pool) -> None:
    operator = pooled(lambda x: torch.as_tensor(x) + torch.as_tensor(pool), pool)
    found = judged(operator, case_of(operator, layout="own", inputs="own"))
    assert (found.verdict, found.findings) == (Verdict.PASS, ())


def reference_of_two(x):
    return 2 * x


def test_entering_the_reference_is_remarked_and_passes() -> None:
    found = verdict_of(lambda x: reference_of_two(x) + 0, reference_of_two)
    assert (found.verdict, top(found)) == (Verdict.PASS, "cheating")
    assert found.findings[0].confidence == 0.5
    assert found.findings[0].evidence["reference"] == "torch"


def test_a_reference_found_on_the_stack_is_remarked() -> None:
    def reference(x):
        return 2 * x

    def climbs(x):
        frame = sys._getframe()
        while frame is not None:
            operator = getattr(frame.f_locals.get("self"), "operator", None)
            if isinstance(operator, Operator):
                return next(iter(operator.references.values()))(x)
            frame = frame.f_back
        return x + x

    assert top(verdict_of(climbs, reference)) == "cheating"


@pytest.mark.parametrize(
    ("function", "reference"),
    [
        (reference_of_two, reference_of_two),
        (lambda x: torch.nn.functional.silu(x) + 0, torch.nn.functional.silu),
        (lambda x: x + x, reference_of_two),
    ],
    ids=["the reference itself", "the framework's function", "its own work"],
)
def test_what_is_no_foul_is_not_remarked(function, reference) -> None:
    found = verdict_of(function, reference, kind="transcendental")
    assert (found.verdict, found.findings) == (Verdict.PASS, ())


def test_watching_leaves_another_profiler_alone() -> None:
    seen = []
    sys.setprofile(lambda *event: seen.append(event[1]))
    try:
        found = verdict_of(lambda x: reference_of_two(x) + 0, reference_of_two)
        kept = sys.getprofile() is not None
    finally:
        sys.setprofile(None)
    assert kept
    assert found.findings == ()


# -- shapes and memory -------------------------------------------------------------------------------------------------


def test_a_broadcastable_output_is_no_output() -> None:
    operator = Operator(
        "means",
        lambda x: x.mean(-1),
        {"x": tensor("M N")},
        {"torch": lambda x: x.mean(-1, keepdim=True)},
        kind="reduction",
        dims={"M": 4, "N": 8},
    )
    found = judged(operator, case_of(operator))
    assert (found.verdict, top(found)) == (Verdict.FAIL, "broadcasting")


@pytest.mark.parametrize(
    "memory",
    [torch.empty_like, lambda x: torch.from_numpy(np.empty(tuple(x.shape), dtype=np.float32))],
    ids=["torch", "numpy"],
)
def test_memory_recycled_from_the_reference_is_no_output(memory) -> None:
    operator = unary(memory)
    case = case_of(operator, N=300)
    honest = unary(lambda x: x + x)
    assert judged(honest, case_of(honest, N=300)).verdict is Verdict.PASS  # its reference's memory is free now
    assert judged(operator, case).verdict is Verdict.FAIL


# -- one row alone -----------------------------------------------------------------------------------------------------


def softmax(function, *, promised: bool = True, **dims: int) -> Operator:
    return Operator(
        "rows",
        function,
        {"x": tensor("B H"), "scale": tensor("H")},
        {"torch": lambda x, scale: torch.softmax(x, -1) * scale},
        kind="softmax",
        dims={"B": 1, "H": 40, **dims},
        contract=Contract(batch_invariant=promised),
    )


def by_rows(x, scale):
    """Another last bit where there are several rows, as a kernel that splits its sum by the size of the batch has."""
    return torch.softmax(x, -1) * scale * (1 + 2**-23 * (x.shape[0] > 1))


@pytest.mark.parametrize("rows", [1, 5])
def test_a_row_that_depends_on_the_batch_breaks_a_promise(rows: int) -> None:
    operator = softmax(by_rows, B=rows)
    found = judged(operator, case_of(operator))
    assert (found.verdict, top(found)) == (Verdict.FAIL, "accumulation_order")
    assert found.findings[0].evidence["rows"] == max(rows, 3)
    assert found.findings[0].evidence["differing"] >= 30


def test_nobody_asks_where_nothing_is_promised() -> None:
    operator = softmax(by_rows, promised=False)
    assert reading(operator, Property.BATCH_INVARIANCE) is None
    assert judged(operator, case_of(operator)).verdict is Verdict.PASS


def test_independent_rows_keep_the_promise() -> None:
    found = reading(softmax(lambda x, scale: torch.softmax(x, -1) * scale), Property.BATCH_INVARIANCE)
    assert found is not None
    assert (found.compared, found.broken) == (40, 0)


def test_a_dim_that_is_no_batch_is_not_cut() -> None:
    """H leads an argument and is inside another; nothing leads every output alone."""
    operator = Operator(
        "gram",
        lambda x: x @ x.T,
        {"x": tensor("N N")},
        {"torch": lambda x: x @ x.T},
        kind="matmul",
        dims={"N": 6},
        contract=Contract(batch_invariant=True),
    )
    assert reading(operator, Property.BATCH_INVARIANCE) is None


# -- torch.library -----------------------------------------------------------------------------------------------------


@torch.library.custom_op("opsdebug_tests::doubled", mutates_args=())
def doubled(x: torch.Tensor) -> torch.Tensor:
    return x + x


@doubled.register_fake
def _(x):
    return torch.empty_like(x)


@torch.library.custom_op("opsdebug_tests::undeclared", mutates_args=())
def undeclared(x: torch.Tensor) -> torch.Tensor:
    result = x + x
    x.add_(1)
    return result


@undeclared.register_fake
def _(x):
    return torch.empty_like(x)


@torch.library.custom_op("opsdebug_tests::untraceable", mutates_args=())
def untraceable(x: torch.Tensor) -> torch.Tensor:
    return x + x


@pytest.mark.parametrize(
    "function", [doubled, torch.ops.opsdebug_tests.doubled.default], ids=["definition", "overload"]
)
def test_opcheck_is_content_with_a_sound_operator(function) -> None:
    operator = Operator("doubled", function, {"x": tensor("N")}, {"torch": lambda x: 2 * x}, dims={"N": 6})
    found = reading(operator, Property.OPCHECK)
    assert found is not None
    assert (found.compared, found.broken) == (3, 0)
    assert judged(operator, case_of(operator)).findings == ()


def test_an_undeclared_write_fails_and_opcheck_agrees() -> None:
    operator = Operator("undeclared", undeclared, {"x": tensor("N")}, {"torch": lambda x: 2 * x}, dims={"N": 6})
    found = judged(operator, case_of(operator))
    assert (found.verdict, top(found)) == (Verdict.FAIL, "input_mutated")
    assert any("opcheck" in finding.statement for finding in found.findings)


def test_what_cannot_be_traced_passes_with_a_remark() -> None:
    operator = Operator("untraceable", untraceable, {"x": tensor("N")}, {"torch": lambda x: 2 * x}, dims={"N": 6})
    found = judged(operator, case_of(operator))
    assert found.verdict is Verdict.PASS
    assert [finding.statement.split(": ")[0] for finding in found.findings] == [
        "`torch.library.opcheck` test_faketensor"
    ]


def test_plain_functions_are_not_handed_to_opcheck() -> None:
    assert reading(unary(lambda x: x + x), Property.OPCHECK) is None


def test_readings_cross_the_pipe() -> None:
    observation = run(unary(lambda x: x + x))
    assert observation.status is Status.RAN
    assert observation.properties
    assert decode(encode(observation), type(observation)) == observation


def test_properties_are_left_out_where_references_are_dear(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("opsdebug_ci.worker.properties.AFFORDABLE_REFERENCES_NS", 30_000_000)

    def slow(x):
        time.sleep(0.05)
        return 2 * x

    counting = Counting(lambda x: x + x)
    assert run(unary(counting, slow)).properties == ()
    assert counting.launches == 3


# -- outputs that follow random generators -----------------------------------------------------------------------------


def shuffled(order):
    """The sum of x, added up in an order of its own every time."""

    def sums(x):
        total = torch.zeros(1)
        for position in order(len(x)):
            total = total + x[position]
        return total

    return sums


def shuffled_by_random(count):
    order = list(range(count))
    random.shuffle(order)
    return order


DRAWING = {
    "random": shuffled_by_random,
    "numpy": np.random.permutation,
    "torch": lambda count: torch.randperm(count).tolist(),
}
DRAWING_NOTHING = {
    "one order": range,
    "a seed of its own": lambda count: random.Random(7).sample(range(count), count),
    "a generator of its own": lambda count: torch.randperm(count, generator=torch.Generator().manual_seed(1)).tolist(),
}


@pytest.mark.parametrize("order", DRAWING.values(), ids=DRAWING)
def test_bits_that_follow_the_seed_of_the_process_fail(order) -> None:
    operator = unary(shuffled(order), lambda x: x.sum().reshape(1), kind="reduction")
    judgement = judged(operator, case_of(operator, N=200))
    assert (judgement.verdict, top(judgement)) == (Verdict.FAIL, "nondeterminism_race")
    free = unary(
        shuffled(order), lambda x: x.sum().reshape(1), kind="reduction", contract=Contract(deterministic=False)
    )
    assert judged(free, case_of(free, N=200)).verdict is Verdict.PASS


@pytest.mark.parametrize("order", DRAWING_NOTHING.values(), ids=DRAWING_NOTHING)
def test_an_order_that_no_seed_changes_passes(order) -> None:
    operator = unary(shuffled(order), lambda x: x.sum().reshape(1), kind="reduction")
    assert judged(operator, case_of(operator, N=200)).verdict is Verdict.PASS
    assert reading(operator, Property.OTHER_SEEDS, N=200) is None


def test_drawing_what_the_reference_draws_passes() -> None:
    def drops(x):
        return x * (torch.rand(x.shape) > 0.5)

    operator = unary(drops, lambda x: torch.where(torch.rand(x.shape) > 0.5, x, 0 * x))
    assert judged(operator, case_of(operator)).verdict is Verdict.PASS
    assert reading(operator, Property.OTHER_SEEDS) is None


def test_drawing_what_changes_no_bits_passes() -> None:
    operator = unary(lambda x: x + x + 0 * random.random())
    assert judged(operator, case_of(operator)).verdict is Verdict.PASS
    found = reading(operator, Property.OTHER_SEEDS)
    assert found is not None
    assert (found.compared, found.broken) == (6, 0)


def test_what_goes_wrong_in_one_launch_of_twenty_fails() -> None:
    def corrupts(x):
        out = x + x
        if random.random() < 0.05:
            out[-1] = 0.0
        return out

    operator = unary(corrupts)
    assert top(judged(operator, case_of(operator))) == "nondeterminism_race"

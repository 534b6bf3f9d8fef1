"""How often an operator is launched, and what its launches show."""

from __future__ import annotations

import itertools
import random

import numpy as np
import torch
from worker_notation import Counting, case_of, judged, run, unary

from opsdebug_ci import Contract, Operator, tensor
from opsdebug_ci.model import Role, Side, Status, Verdict


def twice(x):
    return x + x


def observed(function, **options):
    """(launches, repeat mismatches, unwritten) of one case; nothing more is asked on uniform values."""
    counting, repeats = Counting(function), options.pop("repeats", 1)
    observation = run(unary(counting, **options), repeats=repeats, inputs="uniform")
    assert observation.status is Status.RAN, observation.reason
    return counting.launches, observation.repeat_mismatches, observation.unwritten


def test_a_deterministic_operator_is_launched_three_times() -> None:
    assert observed(twice) == (3, 0, 0)


def test_repeats_add_launches() -> None:
    assert observed(twice, repeats=4) == (6, 0, 0)


def test_an_operator_that_changes_its_mind_is_reported() -> None:
    counter = itertools.count()
    assert observed(lambda x: x + x + next(counter))[1:] == (6, 0)


def test_an_operator_that_changes_its_mind_late_is_reported() -> None:
    counter = itertools.count()

    def third_time_unlucky(x):
        result = x + x
        if next(counter) >= 2:
            result[0] += 1
        return result

    assert observed(third_time_unlucky) == (4, 1, 0)


def test_an_element_never_written_is_reported() -> None:
    def forgets_two(x):
        out = torch.empty_like(x)
        out[:4] = 2 * x[:4]
        return out

    launches, mismatches, unwritten = observed(forgets_two)
    assert (mismatches, unwritten) == (0, 2)
    assert launches >= 4  # probes launch it further


def test_a_sum_over_memory_never_written_is_reported() -> None:
    def uses_scratch(x):
        return 2 * x + torch.empty_like(x)[0].nan_to_num(0.0) * 0.5

    assert observed(uses_scratch)[1:] == (0, 6)


def test_an_out_buffer_never_written_is_reported() -> None:
    def forgets_the_last(x, out):
        out[:-1] = 2 * x[:-1]

    operator = Operator(
        "into",
        forgets_the_last,
        {"x": tensor("N"), "out": tensor("N")},
        {"torch": lambda x, out: 2 * x},
        dims={"N": 6},
        contract=Contract(out="out"),
    )
    observation = run(operator)
    assert (observation.unwritten, observation.repeat_mismatches, observation.outputs[0].name) == (1, 0, "out")


def test_another_path_under_observation_alone_is_no_defect() -> None:
    """Like a library that dispatches on whether a mode is active: other bits, yet the same ones every time."""

    def dispatches(x):
        watched = torch.utils._python_dispatch._get_current_dispatch_mode() is not None
        return (x + x) * (1 + 2**-23 if watched else 1)

    assert observed(dispatches) == (5, 0, 0)


def test_an_operator_that_works_once_is_reported() -> None:
    counter = itertools.count()
    assert observed(lambda x: x + x if next(counter) == 0 else torch.zeros_like(x))[1:] == (6, 0)


def test_an_operator_that_works_only_while_nobody_watches_memory_is_reported() -> None:
    """It computes when a dispatch mode is active, and else hands out memory that holds the result of before."""
    kept = []

    def recycles(x):
        if torch.utils._python_dispatch._get_current_dispatch_mode() is not None or not kept:
            kept.append(x + x)
            return kept[0].clone() + 0
        out = np.empty(x.numel(), dtype=np.float32)
        return torch.from_numpy(out)

    observation = run(unary(recycles), repeats=2)
    assert observation.status is Status.RAN
    assert observation.unwritten + observation.repeat_mismatches > 0


def test_memory_of_numpy_that_nobody_wrote_is_reported() -> None:
    def forgets(x):
        return torch.from_numpy(np.empty(x.numel(), dtype=np.float32))

    observation = run(unary(forgets), N=300)
    assert observation.unwritten + observation.repeat_mismatches > 0  # the allocator writes a few bytes of its own


def test_memory_of_numpy_that_held_something_else_at_first_was_never_written_and_is_no_race() -> None:
    launches = itertools.count()

    def forgets_one(x):
        if next(launches) == 0:  # blocks of that size that hold neither fill, for the first launch to find
            held = [np.full(6, 7.0, dtype=np.float32) for _ in range(8)]
            del held
        out = np.empty(6, dtype=np.float32)
        out[:5] = 2 * x.numpy()[:5]
        return torch.from_numpy(out)

    operator = unary(forgets_one)
    found = judged(operator, case_of(operator))
    assert (found.verdict, str(found.findings[0].cause)) == (Verdict.FAIL, "uninitialised")


def test_an_operator_that_cannot_be_watched_is_not_to_blame() -> None:
    def refuses(x):
        if torch.utils._python_dispatch._get_current_dispatch_mode() is not None:
            raise RuntimeError("no dispatch modes, please")
        return x + x

    assert observed(refuses) == (5, 0, 0)


def test_an_operator_that_raises_the_second_time_is() -> None:
    counter = itertools.count()

    def once(x):
        if next(counter):
            raise RuntimeError("only once")
        return x + x

    observation = run(unary(once))
    assert (observation.status, observation.reason) == (Status.RAISED, "RuntimeError: only once")


def test_every_launch_gets_fresh_arguments() -> None:
    seen = []

    def doubles_in_place(x):
        seen.append(x.clone())
        x.mul_(2)

    observation = run(unary(doubles_in_place, contract=Contract(mutates=("x",))), inputs="uniform")
    assert len(seen) == 3
    assert all(torch.equal(seen[0], other) for other in seen)
    assert (observation.memory, [output.name for output in observation.outputs]) == ((), ["x"])
    assert observation.outputs[0].rejected == 0


def test_tensors_inside_a_list_are_fresh_too() -> None:
    def doubles_all(xs):
        for x in xs:
            x.mul_(2)
        return xs[0] + 0

    operator = Operator(
        "listed", doubles_all, lambda seed, dims, dtype: [[torch.ones(2)]], {"torch": lambda xs: 2 * xs[0]}
    )
    observation = run(operator, layout="own", inputs="own")
    assert (observation.outputs[0].rejected, observation.repeat_mismatches) == (0, 0)
    assert [reading.argument for reading in observation.memory] == ["xs[0]"]


def test_an_undeclared_write_is_reported() -> None:
    def nudges(x):
        result = x + x
        x.view(torch.int32)[3] ^= 1
        return result

    (found,) = run(unary(nudges)).memory
    assert (found.argument, found.side, found.role) == ("x", Side.INSIDE, Role.INPUT)
    assert (found.bytes_changed, found.first_offset, found.step) == (1, 12, "aten.bitwise_xor_")
    assert int(found.wanted_hex, 16) ^ int(found.found_hex, 16) == 1
    assert found.place == f"{__file__}:{nudges.__code__.co_firstlineno + 2}"


def test_a_single_element_with_a_stride_is_compared_like_any_other() -> None:
    """A strided output of one element; found by the AdamW proof."""
    observation = run(unary(lambda x: x.mul_(2), contract=Contract(mutates=("x",))), N=1, layout="strided")
    assert (observation.status, observation.outputs[0].rejected) == (Status.RAN, 0)


def test_random_numbers_repeat_in_every_launch_and_reference() -> None:
    def draws(x):
        return x * torch.rand(6) + float(np.random.rand()) + random.random()

    observation = run(unary(draws, reference=draws))
    assert (observation.repeat_mismatches, observation.unwritten) == (0, 0)
    assert observation.outputs[0].rejected == 0


def test_random_numbers_differ_between_seeds() -> None:
    drawn = []
    operator = unary(lambda x: drawn.append(random.random()) or x + x)
    for seed in (1, 1, 2):
        run(operator, seed=seed, inputs="uniform")
    assert len(drawn) == 9
    assert len(set(drawn[:6])) == 1
    assert drawn[5] != drawn[6]

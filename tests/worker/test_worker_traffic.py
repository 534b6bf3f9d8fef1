"""Bytes of distinct memory behind arguments and outputs."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import torch

from opsdebug_ci import Contract, Cost, Operator, tensor
from opsdebug_ci.model.profile import Traffic
from opsdebug_ci.operators import Arguments
from opsdebug_ci.worker.call_count import counted
from opsdebug_ci.worker.taming import tame
from opsdebug_ci.worker.traffic import distinct_bytes, extents, traffic_of

BASE = torch.zeros(8, 16)  # 512 bytes

MEMORY: dict[str, tuple[list[Any], int]] = {
    "whole": ([BASE], 512),
    "the same twice": ([BASE, BASE.view(128)], 512),
    "a view inside": ([BASE, BASE[2:4]], 512),
    "transposed": ([BASE.t()], 512),
    "every other": ([BASE[:, ::2]], 256),
    "both halves of every other": ([BASE[:, ::2], BASE[:, 1::2]], 512),
    "apart in one storage": ([BASE[:2], BASE[6:]], 256),
    "overlapping in part": ([BASE[:5], BASE[3:]], 512),
    "expanded": ([torch.zeros(1, 16).expand(1000, 16)], 64),
    "windows over itself": ([torch.zeros(16).unfold(0, 8, 1)], 64),
    "nothing": ([torch.zeros(0, 4)], 0),
    "a number of the framework": ([torch.zeros(())], 4),
    "in a list and a dict": ([[BASE[:2], {"y": BASE[2:4]}], 3, "word", None], 256),
    "an array backwards": ([np.zeros(10)[::-1]], 80),
    "an array beside itself": ([np.broadcast_to(np.zeros(10), (5, 10))], 80),
    "coordinates": (
        [torch.sparse_coo_tensor(torch.tensor([[0, 2]]), torch.ones(2), (4,), check_invariants=True)],
        2 * 8 + 2 * 4,
    ),
    "without memory": ([torch.zeros(9, device="meta")], 0),
}


@pytest.mark.parametrize("name", MEMORY)
def test_distinct_memory(name: str) -> None:
    values, size = MEMORY[name]
    assert distinct_bytes(extents(values)) == size


def launched(function: object, contract: Contract | None = None, **values: Any) -> Traffic:
    names = tuple(values)
    operator = Operator("it", function, {name: tensor("N") for name in names}, {}, contract=contract)
    arguments = Arguments(names=names, values=tuple(values.values()))
    return traffic_of(operator, arguments, arguments.call(operator.function), None)


def test_a_new_output_is_written() -> None:
    found = launched(torch.add, x=torch.ones(10), y=torch.ones(10))
    assert (found.read_bytes, found.written_bytes, found.bytes) == (80, 40, 120)


def test_an_output_inside_an_argument_is_not() -> None:
    found = launched(lambda x: (x[2:], x + 1), x=torch.ones(10))
    assert (found.read_bytes, found.written_bytes) == (40, 40)


def test_a_declared_write_is_though_it_is_returned() -> None:
    found = launched(lambda x: x.mul_(2), Contract(mutates=("x",)), x=torch.ones(10))
    assert (found.read_bytes, found.written_bytes) == (40, 40)


def test_a_buffer_for_the_result_is_not_read() -> None:
    def add(x: torch.Tensor, out: torch.Tensor) -> None:
        torch.add(x, 1, out=out)

    found = launched(add, Contract(out="out"), x=torch.ones(10), out=torch.empty(10))
    assert (found.read_bytes, found.written_bytes) == (40, 40)


def test_what_the_cost_states_goes_first() -> None:
    operator = Operator("it", torch.neg, {"x": tensor("N")}, {})
    arguments = Arguments(names=("x",), values=(torch.ones(10),))
    found = traffic_of(operator, arguments, torch.ones(10), Cost(flops=10.0, bytes=64.0))
    assert (found.flops, found.bytes, found.read_bytes) == (10.0, 64.0, 40)


def test_calls_views_and_host_reads_are_counted() -> None:
    x = torch.ones(4, 4)
    returned, found = counted(lambda: (x + x.t()).sum().item())
    assert returned == 32.0
    assert (found.calls, found.host_reads) == (4, 1)  # t, add, sum, and the number read
    assert found.handled_bytes == (64 + 64) + (64 + 4) + 4  # x and its view are one memory; a view handles nothing


def test_a_function_that_stays_outside_the_framework_makes_no_call() -> None:
    _, found = counted(lambda: sum(range(9)))
    assert (found.calls, found.handled_bytes, found.host_reads) == (0, 0, 0)


def test_wild_numbers_are_tamed_where_they_lie() -> None:
    x = torch.tensor([0.0, -0.0, 1e-40, float("nan"), float("-inf"), 3.0, -2.0])
    count = tame(Arguments(names=("x", "n"), values=([x], 7)))
    assert (count, x.tolist()) == (5, [1.0, 1.0, 1.0, 1.0, 1.0, 3.0, -2.0])


def test_an_expanded_tensor_is_tamed_through_its_storage() -> None:
    x = torch.zeros(1, 3).expand(4, 3)
    assert tame(Arguments(names=("x",), values=(x,))) == 12
    assert x.eq(1).all()


@pytest.mark.parametrize("x", [torch.tensor([1.0, -2.0]), torch.tensor([0, 1]), torch.zeros(0), 0.0], ids=str)
def test_tame_arguments_stay_as_they_are(x: object) -> None:
    assert tame(Arguments(names=("x",), values=(x,))) == 0

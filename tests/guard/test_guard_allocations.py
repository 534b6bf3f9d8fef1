"""An operator's own memory between zones, inside custom operators too."""

from __future__ import annotations

import gc
from collections.abc import Callable

import pytest
import torch
from guard_layouts import beside

from opsdebug_ci.guard import FILL_A, FILL_B, Fill, FreshFills, FreshMemory
from opsdebug_ci.guard import allocations as module
from opsdebug_ci.model import Role, Side

GUARDED = FreshFills(byte=FILL_A, zones=Fill.PATTERN, inside=True)
LIBRARY = torch.library.Library("guard_scratch", "DEF")
LIBRARY.define("strays(Tensor x) -> Tensor")
LIBRARY.define("tidy(Tensor x) -> Tensor")


def doubled(x: torch.Tensor, *, stray: int) -> torch.Tensor:
    scratch = torch.empty(4)
    scratch.copy_(x)
    if stray:
        beside(scratch, 16, 4).view(torch.float32).fill_(stray)
    return scratch * 2


LIBRARY.impl("strays", lambda x: doubled(x, stray=7), "CPU")
LIBRARY.impl("tidy", lambda x: doubled(x, stray=0), "CompositeExplicitAutograd")


@torch.library.custom_op("guard_scratch::derived", mutates_args=())
def derived(x: torch.Tensor) -> torch.Tensor:
    return doubled(x, stray=7)


derived.register_autograd(lambda ctx, grad: 2 * grad, setup_context=lambda ctx, inputs, output: None)

ALLOCATIONS = {
    "empty": lambda x: torch.empty(3, 4),
    "empty_like": torch.empty_like,
    "new_empty": lambda x: x.new_empty(12),
    "empty_strided": lambda x: torch.empty_strided((3, 4), (1, 3)),
    "new_empty_strided": lambda x: x.new_empty_strided((3, 4), (8, 2)),
    "empty_permuted": lambda x: torch.empty_permuted((3, 4), (1, 0)),
}


@pytest.mark.parametrize("call", ALLOCATIONS)
@pytest.mark.parametrize(("byte", "zones"), [(FILL_A, Fill.PATTERN), (FILL_B, Fill.COMPLEMENT), (FILL_B, Fill.NAN)])
def test_a_guarded_allocation_is_the_one_asked_for_and_strays_are_found(call: str, byte: int, zones: Fill) -> None:
    x = torch.ones(3, 4)
    plain = ALLOCATIONS[call](x)
    with FreshMemory(FreshFills(byte=byte, zones=zones)) as memory:
        fresh = ALLOCATIONS[call](x)
    facts = [(t.shape, t.stride(), t.dtype, t.storage_offset(), t.untyped_storage().nbytes()) for t in (plain, fresh)]
    assert facts[0] == facts[1]
    assert set(fresh.untyped_storage().tolist()) == {byte}
    assert (memory.guarded, memory.intact(), memory.changes({})) == (1, True, ())
    beside(fresh, -3).bitwise_not_()
    (found,) = memory.changes({})
    assert (found.role, found.side, found.nearest_bytes) == (Role.SCRATCH, Side.HEAD, 3)
    assert found.argument == f"scratch float32[{', '.join(map(str, fresh.shape))}] of aten.{call}"
    (named,) = memory.changes({"out0": fresh})
    assert (named.role, named.argument) == (Role.OUTPUT, "out0")


MADE: dict[str, Callable[[torch.Tensor], torch.Tensor]] = {
    "zeros": lambda x: torch.zeros(3, 4),
    "zeros_like": torch.zeros_like,
    "new_zeros": lambda x: x.new_zeros(12),
    "ones": lambda x: torch.ones(5, dtype=torch.int8),
    "ones_like": torch.ones_like,
    "new_ones": lambda x: x.new_ones(3),
    "full": lambda x: torch.full((2, 2), 7.0),
    "full_like": lambda x: torch.full_like(x, 7.0),
    "new_full": lambda x: x.new_full((4,), 7.0),
    "clone": lambda x: x.t().clone(),
    "contiguous": lambda x: x.t().contiguous(),
    "cast": lambda x: x.half(),
    "pad": lambda x: torch.nn.functional.pad(x, (0, 3)),
    "pad by nothing": lambda x: torch.nn.functional.pad(x, (0, 0)),
    "cat": lambda x: torch.cat([x, x]),
    "cat of one": lambda x: torch.cat([x]),
    "stack": lambda x: torch.stack([x, x], 1),
    "complex": lambda x: torch.zeros(3, dtype=torch.complex64),
}


@pytest.mark.parametrize("call", MADE)
def test_what_is_made_with_values_keeps_them_and_strays_are_found(call: str) -> None:
    x = torch.arange(12.0).reshape(3, 4)
    plain = MADE[call](x)
    with FreshMemory(GUARDED) as memory:
        made = MADE[call](x)
    assert torch.equal(plain, made)
    assert (plain.stride(), plain.dtype, plain.untyped_storage().nbytes()) == (
        made.stride(),
        made.dtype,
        made.untyped_storage().nbytes(),
    )
    assert (memory.guarded, memory.intact()) == (1, True)
    beside(made, made.untyped_storage().nbytes(), 4).add_(1)
    (found,) = memory.changes({"out0": made})
    assert (found.argument, found.side, found.role, found.bytes_changed) == ("out0", Side.TAIL, Role.OUTPUT, 4)


def test_nothing_and_what_cannot_lie_between_zones_is_filled_at_most() -> None:
    with FreshMemory(GUARDED) as memory:
        empty = torch.empty(0, 3)
        empty.resize_(2, 3)
        assert torch.empty(3, device="meta").shape == (3,)
        assert torch.empty(2, 2, layout=torch.sparse_coo).layout is torch.sparse_coo
        assert torch.empty(2, dtype=torch.bool).tolist() == [True, True]
    assert memory.guarded == 1


@pytest.mark.parametrize("name", ["strays", "derived"])
def test_scratch_inside_a_custom_operator_is_guarded(name: str) -> None:
    x = torch.ones(4, requires_grad=name == "derived")
    with FreshMemory(GUARDED) as memory:
        result = getattr(torch.ops.guard_scratch, name)(x)
    assert result.tolist() == [2.0] * 4
    (found,) = memory.changes({})
    assert (found.argument, found.value) == ("scratch float32[4] of aten.empty", "7")
    assert (found.nearest_bytes, found.farthest_bytes, found.role) == (1, 4, Role.SCRATCH)


def test_a_tidy_custom_operator_has_the_same_bits_and_gradients() -> None:
    x = torch.ones(4, requires_grad=True)
    with FreshMemory(GUARDED) as memory:
        doubled_x = torch.ops.guard_scratch.tidy(x.detach())
        derived_x = torch.ops.guard_scratch.derived(x)
    assert doubled_x.tolist() == [2.0] * 4
    derived_x.sum().backward()
    assert x.grad is not None
    assert x.grad.tolist() == [2.0] * 4
    assert memory.guarded == 2


def test_custom_operators_are_left_alone_unless_asked() -> None:
    x = torch.ones(4)
    with FreshMemory(FreshFills(byte=FILL_A, zones=Fill.PATTERN)) as memory:
        torch.ops.guard_scratch.strays(x)
    assert memory.guarded == 0


def test_what_is_given_back_is_looked_at_and_let_go(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "MOST_HELD_BYTES", 1 << 16)
    with FreshMemory(GUARDED) as memory:
        memory._limit_bytes = 1 << 16
        stray = torch.empty(4)
        beside(stray, 16).bitwise_not_()
        del stray
        for _ in range(50):
            torch.empty(100)
        gc.collect()
    assert len(memory._allocations) < 20
    assert [found.argument for found in memory.changes({})] == ["scratch float32[4] of aten.empty"]


def test_steps_are_told_in_order_with_their_number() -> None:
    heard: list[str] = []

    class Listener:
        def entered(self, name: str) -> None:
            heard.append(f"> {name}")

        def left(self, name: str) -> None:
            heard.append(f"< {name}")

    x = torch.ones(4)
    with FreshMemory(GUARDED, steps=Listener()):
        torch.ops.guard_scratch.tidy(x).add_(1).add_(2)
    assert heard == [
        "> guard_scratch.tidy",
        "> aten.empty",
        "< aten.empty",
        "> aten.copy_",
        "< aten.copy_",
        "> aten.mul",
        "< aten.mul",
        "< guard_scratch.tidy",
        "> aten.add_",
        "< aten.add_",
        "> aten.add_ #2",
        "< aten.add_ #2",
    ]

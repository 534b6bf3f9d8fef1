"""Undeclared writes: each planted one is reported where it is, declared ones are not."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest
import torch

from opsdebug_ci.guard import Snapshot
from opsdebug_ci.model import MemoryReading, Side

SIZE = 4
"""Bytes of a float32."""


Found = tuple[str, Side, int, int]


def reading(argument: str, where: str, count: int, first: int) -> Found:
    return (argument, Side.INSIDE if where == "inside" else Side.GAP, count, first)


def changes(
    arguments: dict[str, object], write: Callable[..., object], written: frozenset[str] = frozenset()
) -> tuple[Found, ...]:
    return tuple((r.argument, r.side, r.bytes_changed, r.first_offset) for r in read(arguments, write, written))


def read(
    arguments: dict[str, object], write: Callable[..., object], written: frozenset[str] = frozenset()
) -> tuple[MemoryReading, ...]:
    snapshot = Snapshot(tuple(arguments), tuple(arguments.values()), written)
    write(**arguments)
    return snapshot.changes()


def one_ulp(x: torch.Tensor) -> None:
    """Flip the lowest bit of element 2; bytes in memory are little endian."""
    x.view(torch.int32)[2] ^= 1


def test_a_change_by_one_ulp_is_reported() -> None:
    assert changes({"x": torch.ones(5)}, one_ulp) == (reading("x", "inside", 1, 2 * SIZE),)


def test_a_change_of_the_sign_of_zero_is_reported() -> None:
    assert changes({"x": torch.zeros(5)}, lambda x: x.neg_()) == (reading("x", "inside", 5, 3),)


def test_another_nan_of_other_bits_is_reported_and_the_same_nan_is_not() -> None:
    nan = torch.full((3,), float("nan"))
    assert changes({"x": nan}, lambda x: x.copy_(x.clone())) == ()
    assert changes({"x": nan}, one_ulp) == (reading("x", "inside", 1, 2 * SIZE),)


def test_reading_changes_nothing() -> None:
    assert changes({"x": torch.ones(5), "n": 3, "s": [torch.ones(2)]}, lambda x, n, s: x.sum() + n + s[0]) == ()


def test_a_declared_write_is_silent_and_an_undeclared_one_beside_it_is_not() -> None:
    arguments = {"x": torch.ones(4), "out": torch.zeros(4)}
    assert changes(arguments, lambda x, out: out.copy_(x), frozenset({"out"})) == ()

    def nudges_too(x: torch.Tensor, out: torch.Tensor) -> None:
        out.copy_(x + 1)
        x[1] = 3.0

    assert changes(arguments, nudges_too, frozenset({"out"})) == (reading("x", "inside", 2, SIZE + 2),)


def padded(rows: int = 3, columns: int = 4, row_stride: int = 6) -> torch.Tensor:
    """`rows` x `columns` inside rows of `row_stride`, one element after the start of the storage."""
    return torch.zeros(1 + rows * row_stride + 5)[1:].as_strided((rows, columns), (row_stride, 1), 1)


def at(tensor: torch.Tensor, element: int) -> torch.Tensor:
    """Element of the storage counted from the view's first one."""
    return tensor.as_strided((1,), (1,), tensor.storage_offset() + element)


@pytest.mark.parametrize(
    ("element", "place"), [(-1, "before"), (4, "gap"), (5, "gap"), (10, "gap of the next row"), (16, "after")]
)
def test_a_write_around_an_out_view_is_reported_by_its_offset(element: int, place: str) -> None:
    def writes_around(out: torch.Tensor) -> None:
        out.fill_(2.0)
        at(out, element).view(torch.int32).fill_(0x01010101)

    found = changes({"out": padded()}, writes_around, frozenset({"out"}))
    assert found == (reading("out", "outside", SIZE, element * SIZE),), place


def test_writes_inside_and_outside_are_two_readings() -> None:
    def writes_past(x: torch.Tensor) -> None:
        x.as_strided((5,), (1,), x.storage_offset()).view(torch.int32).fill_(0x01010101)

    assert changes({"x": torch.zeros(9)[2:5]}, writes_past) == (
        reading("x", "inside", 3 * SIZE, 0),
        reading("x", "outside", 2 * SIZE, 3 * SIZE),
    )


def test_every_element_of_an_overlapping_view_belongs_to_it() -> None:
    windows = torch.zeros(8).as_strided((3, 4), (2, 1))
    assert changes({"x": windows}, lambda x: x.as_strided((8,), (1,)).fill_(1.0), frozenset({"x"})) == ()
    assert changes({"x": torch.zeros(8)[:4].expand(3, 4)}, lambda x: x[0].fill_(1.0), frozenset({"x"})) == ()


def test_a_shared_storage_is_reported_once_for_whom_the_bytes_belong_to() -> None:
    storage = torch.zeros(10)
    arguments = {"x": storage[:4], "y": storage[4:8], "z": storage[2:6]}

    def writes_y(x: torch.Tensor, y: torch.Tensor, z: torch.Tensor) -> None:
        y.view(torch.int32).fill_(0x01010101)

    assert changes(arguments, writes_y) == (reading("y", "inside", 4 * SIZE, 0),)


def test_declared_elements_of_a_shared_storage_are_silent_under_every_name() -> None:
    storage = torch.zeros(10)
    arguments = {"x": storage[:6], "out": storage[4:8]}

    def writes_out(x: torch.Tensor, out: torch.Tensor) -> None:
        out.fill_(1.0)

    def writes_past_out(x: torch.Tensor, out: torch.Tensor) -> None:
        at(out, 4).view(torch.int32).fill_(0x01010101)

    assert changes(arguments, writes_out, frozenset({"out"})) == ()
    assert changes(arguments, writes_past_out, frozenset({"out"})) == (reading("out", "outside", SIZE, 4 * SIZE),)


def test_tensors_and_arrays_inside_containers_are_watched_by_their_place() -> None:
    arguments = {"states": [torch.zeros(3), torch.zeros(3)], "table": {"k": torch.zeros(2)}, "array": np.zeros(2)}

    def writes_all(states: list[torch.Tensor], table: dict[str, torch.Tensor], array: np.ndarray) -> None:
        states[1].view(torch.uint8)[5] = 1
        table["k"].view(torch.uint8)[0] = 1
        array.view(np.uint8)[9] = 1

    assert changes(arguments, writes_all) == (
        reading("states[1]", "inside", 1, 5),
        reading("table['k']", "inside", 1, 0),
        reading("array", "inside", 1, 9),
    )
    assert changes(arguments, lambda states, table, array: states[0].fill_(1), frozenset({"states"})) == ()


def test_a_resized_argument_is_a_change_and_no_fault_of_ours() -> None:
    x = torch.arange(1, 5, dtype=torch.uint8)
    assert changes({"x": x}, lambda x: x.untyped_storage().resize_(2)) == (reading("x", "inside", 2, 2),)
    grown = torch.arange(4, dtype=torch.float32)
    assert changes({"x": grown}, lambda x: x.resize_(50)) == ()


def test_an_argument_turned_in_place_is_still_read_where_it_was() -> None:
    """`t_()` changes the tensor object, not its bytes; what is written afterwards is."""

    def turns(x: torch.Tensor) -> None:
        x.t_()
        x[3, 0] = 1.0

    assert changes({"x": torch.zeros(2, 4)}, turns) == (reading("x", "inside", 2, 3 * SIZE + 2),)


@pytest.mark.parametrize("dtype", [torch.bool, torch.float8_e4m3fn, torch.complex64, torch.int16, torch.bfloat16])
def test_every_dtype_is_watched(dtype: torch.dtype) -> None:
    x = torch.zeros(6, dtype=torch.uint8).repeat(8).view(dtype)[1:]

    def writes(x: torch.Tensor) -> None:
        x.view(torch.uint8)[-1] = 1

    assert changes({"x": x}, writes) == (reading("x", "inside", 1, x.numel() * x.element_size() - 1),)


def test_empty_and_zero_dimensional_arguments_are_watched() -> None:
    assert changes({"x": torch.empty(0, 3)}, lambda x: x.fill_(1)) == ()
    assert changes({"x": torch.zeros(())}, lambda x: x.fill_(1)) == (reading("x", "inside", 2, 2),)
    slice_of_ten = torch.zeros(10)[4:4]
    assert changes({"x": slice_of_ten}, lambda x: at(x, -2).fill_(1)) == (reading("x", "outside", 2, -6),)

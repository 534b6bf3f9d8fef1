"""Tensors in watched pages: same values, views and sizes, flush with their pages."""

from __future__ import annotations

import mmap
from pathlib import Path

import numpy as np
import pytest
import torch

from opsdebug_ci.guard.pages import ZONE_BYTES, Placement, has_pages, unavailable_reason, watch_results, watch_values
from opsdebug_ci.model.vocabulary import PageMode

pytestmark = pytest.mark.skipif(unavailable_reason() is not None, reason=f"no pages: {unavailable_reason()}")

TAIL = Placement(mode=PageMode.TAIL)
BASE = torch.arange(24, dtype=torch.float32)

LAYOUTS = {
    "contiguous": BASE.reshape(4, 6),
    "transposed": BASE.reshape(4, 6).t(),
    "sliced": BASE[1:20:3],
    "offset": BASE[5:].reshape(19),
    "expanded": BASE[:3].expand(4, 3),
    "overlapping": torch.as_strided(BASE, (5, 4), (2, 1)),
    "zero-dimensional": torch.tensor(2.5),
    "bool": torch.tensor([True, False, True]),
    "bfloat16": BASE[:7].to(torch.bfloat16),
    "fp8": BASE[:5].to(torch.float8_e4m3fn),
    "int64": torch.arange(9),
    "complex": torch.complex(BASE[:3], BASE[3:6]),
}


def bits(tensor: torch.Tensor) -> bytes:
    whole = torch.empty(0, dtype=torch.uint8).set_(tensor.untyped_storage())
    return whole.numpy().tobytes()


@pytest.mark.parametrize("mode", PageMode)
@pytest.mark.parametrize("layout", LAYOUTS)
def test_a_view_keeps_everything_but_its_address(layout: str, mode: PageMode) -> None:
    given = LAYOUTS[layout]
    (moved,), count = watch_values((given,), (True,), Placement(mode=mode))
    assert count == 1
    assert (moved.shape, moved.stride(), moved.storage_offset(), moved.dtype) == (
        given.shape,
        given.stride(),
        given.storage_offset(),
        given.dtype,
    )
    assert bits(moved) == bits(given)
    assert moved.untyped_storage().data_ptr() != given.untyped_storage().data_ptr()


@pytest.mark.parametrize(
    ("mode", "alignment", "slack"),
    [("tail", 1, 0), ("tail_readable", 1, 0), ("inputs_readable", 1, 0), ("tail", 16, 13), ("tail", 64, 61)],
)
def test_an_end_is_flush_with_its_page_to_the_byte(mode: str, alignment: int, slack: int) -> None:
    (moved,), _ = watch_values(
        (torch.zeros(67, dtype=torch.uint8),), (True,), Placement(mode=PageMode(mode), alignment=alignment)
    )
    start = moved.untyped_storage().data_ptr()
    assert start % alignment == 0
    assert -(start + 67) % mmap.PAGESIZE == slack


@pytest.mark.parametrize("mode", ["head", "head_readable"])
def test_a_beginning_is_flush_with_its_page(mode: str) -> None:
    (moved,), _ = watch_values((torch.zeros(67),), (True,), Placement(mode=PageMode(mode)))
    assert moved.data_ptr() % mmap.PAGESIZE == 0


def test_views_of_one_storage_stay_views_of_one_in_nested_arguments() -> None:
    values = (BASE[2:], {"a": [BASE[:5], 3]}, torch.zeros(2))
    (first, nested, other), count = watch_values(values, (True, True, True), TAIL)
    assert count == 2
    assert first.untyped_storage().data_ptr() == nested["a"][0].untyped_storage().data_ptr()
    assert nested["a"][1] == 3
    assert other.untyped_storage().nbytes() == 8


@pytest.mark.parametrize("order", ["C", "F"])
def test_an_array_is_moved_with_its_order(order: str) -> None:
    given = np.asarray(np.arange(12, dtype=np.float32).reshape(3, 4), order=order)
    (moved,), count = watch_values((given,), (False,), TAIL)
    assert count == 1
    assert np.array_equal(moved, given)
    assert moved.strides == given.strides
    assert (moved.ctypes.data + moved.nbytes) % mmap.PAGESIZE == 0


def test_what_has_no_bytes_is_left_alone() -> None:
    values = (torch.empty(0, 3), None, 2.5, np.zeros(0), torch.zeros(2, 2).to_sparse())
    moved, count = watch_values(values, (True,) * len(values), TAIL)
    assert count == 0
    assert moved[0].shape == (0, 3)
    assert torch.equal(moved[4].to_dense(), torch.zeros(2, 2))


def test_writing_where_it_is_allowed_changes_the_copy_alone() -> None:
    given = torch.zeros(5)
    (locked, free), _ = watch_values((BASE, given), (True, False), Placement(mode=PageMode.INPUTS_READABLE))
    free.fill_(7.0)
    assert torch.equal(locked, BASE)
    assert torch.equal(given, torch.zeros(5))


def test_a_storage_that_anybody_may_write_stays_writable() -> None:
    (_, free), _ = watch_values((BASE[:4], BASE[4:]), (True, False), Placement(mode=PageMode.INPUTS_READABLE))
    free.zero_()
    assert not free.any()


def test_pages_of_an_argument_that_is_not_asked_for_stay_open() -> None:
    placement = Placement(mode=PageMode.INPUTS_READABLE)
    values = (torch.zeros(3), np.zeros(3), torch.ones(3))
    (first, array, last), count = watch_values(values, (True, True, True), placement, (False, False, True))
    first.fill_(1.0)
    array[:] = 1.0
    assert (count, bool(first.all()), bool(array.all())) == (3, True, True)
    assert torch.equal(last, torch.ones(3))


def test_only_what_has_bytes_has_pages() -> None:
    assert has_pages([BASE[:2], 3])
    assert has_pages({"a": np.zeros(2)})
    assert not has_pages((3, "x", torch.empty(0)))


def test_results_are_moved_and_views_and_writes_stay_where_they_were() -> None:
    with watch_results(TAIL):
        fresh = torch.empty(21)
        view = fresh[3:]
        fresh.fill_(1.0)
        parts = (fresh * 2).split([10, 11])
        values, order = fresh.topk(2)
    for tensor in (fresh, parts[0], values, order):
        storage = tensor.untyped_storage()
        assert (storage.data_ptr() + storage.nbytes()) % mmap.PAGESIZE == 0
    assert view.untyped_storage().data_ptr() == fresh.untyped_storage().data_ptr()
    assert parts[0].untyped_storage().data_ptr() == parts[1].untyped_storage().data_ptr()
    assert bool((view == 1.0).all())


def test_gradients_come_through_watched_results() -> None:
    x = torch.arange(6.0, requires_grad=True)
    with watch_results(TAIL):
        (x * x).sum().backward()
    assert torch.equal(x.grad, 2 * x.detach())


def test_pages_go_with_the_last_tensor_in_them() -> None:
    maps = Path("/proc/self/maps")
    if not maps.exists():
        pytest.skip("the mappings of a process cannot be read here")
    (kept,), _ = watch_values((BASE,), (True,), TAIL)
    before = len(maps.read_text().splitlines())
    for _ in range(50):
        watch_values((torch.zeros(5),), (True,), TAIL)
    assert len(maps.read_text().splitlines()) < before + 50
    assert torch.equal(kept, BASE)


def test_a_zone_is_whole_pages() -> None:
    assert ZONE_BYTES % mmap.PAGESIZE == 0

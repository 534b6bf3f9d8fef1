"""Copies of arguments: the same views of copied storages, whatever the layout."""

from __future__ import annotations

import numpy as np
import pytest
import torch

from opsdebug_ci.guard import clone_values
from opsdebug_ci.model.dtype import DTYPE_NAMES

BASE = torch.arange(48, dtype=torch.float32)

VIEWS = {
    "contiguous": BASE.view(6, 8),
    "transposed": BASE.view(6, 8).t(),
    "strided": BASE[::2],
    "offset": BASE[5:17],
    "padded": BASE.view(6, 8)[:, :5],
    "expanded": BASE[:8].expand(4, 8),
    "overlapping": BASE.as_strided((5, 4), (2, 1)),
    "zero_dim": BASE[7].reshape(()),
    "empty": BASE[:0].reshape(0, 3),
    "empty_middle": torch.empty(2, 0, 3),
    "complex": torch.complex(BASE, -BASE)[3:9],
    "bool": (BASE > 10)[::3],
}


def as_bytes(tensor: torch.Tensor) -> bytes:
    return bytes(tensor.untyped_storage().tolist())


def same_place(one: torch.Tensor, other: torch.Tensor) -> bool:
    return one.untyped_storage().data_ptr() == other.untyped_storage().data_ptr()


@pytest.mark.parametrize("layout", VIEWS)
def test_a_copy_is_the_same_view_of_other_memory(layout: str) -> None:
    original = VIEWS[layout]
    (copy,) = clone_values([original])
    facts = [(t.shape, t.stride(), t.storage_offset(), t.dtype, as_bytes(t)) for t in (original, copy)]
    assert facts[0] == facts[1]
    assert original.untyped_storage().nbytes() == 0 or not same_place(original, copy)


@pytest.mark.parametrize("name", DTYPE_NAMES)
def test_every_dtype_is_copied_bit_for_bit(name: str) -> None:
    dtype = getattr(torch, name)
    size = torch.empty(0, dtype=dtype).element_size()
    modulus = 2 if dtype is torch.bool else 251
    original = torch.arange(6 * size, dtype=torch.uint8).remainder(modulus).view(dtype).view(2, 3).t()
    (copy,) = clone_values([original])
    assert (copy.dtype, copy.stride(), as_bytes(copy)) == (dtype, (1, 3), as_bytes(original))


def test_views_of_one_storage_stay_views_of_one() -> None:
    storage = torch.zeros(10)
    first, second, other = clone_values([storage[:6], storage[4:], torch.zeros(10)])
    first[5] = 7.0
    assert second[1] == 7.0
    assert same_place(first, second)
    assert not same_place(first, other)
    assert storage.abs().sum() == 0


def test_tensors_inside_containers_are_copied_and_still_shared() -> None:
    whole = torch.zeros(4)
    states, options, alias = clone_values([[whole, whole[1:]], {"scale": whole, "axis": 1}, whole])
    states[1][0] = 5.0
    assert options["scale"][1] == 5.0
    assert alias[1] == 5.0
    assert options["axis"] == 1
    assert whole.abs().sum() == 0


def test_arrays_are_copied_in_their_order() -> None:
    array = np.asfortranarray(np.arange(6.0).reshape(2, 3))
    (copy,) = clone_values([array])
    copy[0, 0] = 9.0
    assert copy.flags.f_contiguous
    assert array[0, 0] == 0.0


def test_other_values_are_passed_as_they_are() -> None:
    value = object()
    assert clone_values([value, 3, "sum", None, (1, "x")]) == (value, 3, "sum", None, (1, "x"))


def test_a_sparse_tensor_goes_through_the_frameworks_own_copy() -> None:
    sparse = torch.eye(3).to_sparse()
    (copy,) = clone_values([sparse])
    assert torch.equal(copy.to_dense(), torch.eye(3))
    assert copy._values().data_ptr() != sparse._values().data_ptr()


def test_a_copy_does_not_ask_for_gradients() -> None:
    (copy,) = clone_values([torch.ones(2, requires_grad=True)])
    assert not copy.requires_grad

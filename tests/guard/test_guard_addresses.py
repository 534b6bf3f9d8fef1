"""Other values at the addresses of earlier ones."""

from __future__ import annotations

import gc

import numpy as np
import pytest
import torch

from opsdebug_ci.guard import FILL_B, SameAddresses, soil_heap

ONE, TWO = torch.arange(6.0), torch.arange(6.0) + 10


def strided(start: float) -> torch.Tensor:
    return (torch.arange(12.0) + start)[1::2]


def test_new_tensors_have_the_old_address_and_version_and_the_new_values() -> None:
    held = SameAddresses((ONE,))
    before = held.values[0]
    address, version, identity = before.data_ptr(), before._version, id(before)
    keep = before  # so that no new tensor can have its id
    (after,) = held.renewed((TWO,))
    assert (after.data_ptr(), after._version) == (address, version)
    assert id(after) != identity
    assert torch.equal(after, TWO)
    assert torch.equal(keep, TWO)


def test_overwritten_tensors_are_the_old_objects_at_a_later_version() -> None:
    held = SameAddresses((ONE,))
    before, version = held.values[0], held.values[0]._version
    (after,) = held.overwritten((TWO,))
    assert after is before
    assert after._version > version
    assert torch.equal(after, TWO)


@pytest.mark.parametrize("way", ["renewed", "overwritten"])
def test_layouts_lists_and_plain_values_survive(way: str) -> None:
    held = SameAddresses((strided(0), [torch.tensor(1), {"k": torch.ones(2, 3).t()}], 4))
    x, (scalar, named), plain = getattr(held, way)((strided(5), [torch.tensor(2), {"k": torch.zeros(2, 3).t()}], 7))
    assert (x.stride(), x.storage_offset(), named["k"].stride()) == ((2,), 1, (1, 3))
    assert torch.equal(x, strided(5))
    assert (int(scalar), float(named["k"].sum()), plain) == (2, 0.0, 7)


def test_the_given_values_stay_as_they_are() -> None:
    one, two = ONE.clone(), TWO.clone()
    held = SameAddresses((one,))
    held.renewed((two,))[0].zero_()
    held.overwritten((two,))[0].zero_()
    assert torch.equal(one, ONE)
    assert torch.equal(two, TWO)


@pytest.mark.parametrize(
    ("other", "fits"),
    [
        ((TWO,), True),
        ((TWO.double(),), False),
        ((torch.arange(7.0),), False),
        ((strided(0),), False),
        ((TWO, TWO), False),
        ((3.0,), False),
    ],
)
def test_only_values_of_the_same_form_fit(other: tuple[object, ...], fits: bool) -> None:
    assert SameAddresses((ONE,)).fits(other) is fits


def test_without_tensors_nothing_fits() -> None:
    assert SameAddresses((3.0,)).fits((3.0,)) is False


def test_soiled_memory_comes_back_filled() -> None:
    gc.collect()
    soil_heap((300,), FILL_B, torch.device("cpu"))
    memory = np.empty(300, dtype=np.uint8)
    assert int((memory == FILL_B).sum()) >= 300 - 32  # the allocator keeps its own records in the first bytes

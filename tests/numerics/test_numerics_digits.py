"""Keys at given ranks against sorting in plain Python."""

from __future__ import annotations

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from opsdebug_ci.numerics.digits import Visit, float_keys, float_of_key, keys_at_ranks


def found(keys: list[int], ranks: list[int], bits: int = 63) -> list[int]:
    def show(visit: Visit) -> None:
        for block in torch.split(torch.tensor(keys, dtype=torch.int64), 7):
            visit(block)

    return keys_at_ranks(show, ranks, bits)


@given(keys=st.lists(st.integers(0, 2**63 - 1) | st.integers(0, 3), min_size=1, max_size=60), data=st.data())
def test_every_rank(keys: list[int], data: st.DataObject) -> None:
    ranks = data.draw(st.lists(st.integers(0, len(keys) - 1), min_size=1, max_size=5), label="ranks")
    assert found(keys, ranks) == [sorted(keys)[rank] for rank in ranks]


@pytest.mark.parametrize("bits", [0, 1, 15, 16, 17, 32, 48, 49])
def test_no_more_digits_are_counted_than_there_are(bits: int) -> None:
    keys = [(1 << bits) - 1, 0, (1 << bits) // 2]
    assert found(keys, [0, 1, 2], bits) == sorted(keys)


@given(errors=st.lists(st.floats(min_value=0, allow_nan=False), min_size=1, max_size=40))
def test_floats_are_ordered_as_their_keys(errors: list[float]) -> None:
    keys = float_keys(torch.tensor([abs(error) for error in errors], dtype=torch.float64)).tolist()
    ordered = [float_of_key(key) for key in sorted(keys)]
    assert ordered == sorted(map(abs, errors))

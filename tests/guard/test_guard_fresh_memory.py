"""Known fills: of output buffers, and of everything torch allocates and leaves unwritten."""

from __future__ import annotations

import pytest
import torch

from opsdebug_ci.guard import FILL_A, FILL_B, fill_bytes, fresh_memory
from opsdebug_ci.model.dtype import DTYPE_NAMES, FLOAT_FORMATS

LIKE = torch.zeros(3, 4, dtype=torch.int32)

ALLOCATIONS = {
    "empty": lambda: torch.empty(3, 4, dtype=torch.int32),
    "empty_like": lambda: torch.empty_like(LIKE),
    "empty_like_transposed": lambda: torch.empty_like(LIKE.t()),
    "new_empty": lambda: LIKE.new_empty(3, 4),
    "empty_strided": lambda: torch.empty_strided((3, 4), (1, 3), dtype=torch.int32),
    "new_empty_strided": lambda: LIKE.new_empty_strided((3, 4), (4, 1)),
    "empty_permuted": lambda: torch.empty_permuted((3, 4), (1, 0), dtype=torch.int32),
    "legacy_constructor": lambda: torch.IntTensor(3, 4),
}


@pytest.mark.parametrize("byte", [FILL_A, FILL_B])
@pytest.mark.parametrize("allocation", ALLOCATIONS)
def test_fresh_memory_holds_the_fill(allocation: str, byte: int) -> None:
    with fresh_memory(byte):
        fresh = ALLOCATIONS[allocation]()
    assert fresh.untyped_storage().tolist() == [byte] * 48


def test_an_element_nobody_wrote_shows_and_written_ones_do_not() -> None:
    def forgets_the_last() -> torch.Tensor:
        out = torch.empty(4)
        out[:3] = torch.ones(3)
        return out

    outputs = []
    for byte in (FILL_A, FILL_B):
        with fresh_memory(byte):
            outputs.append(forgets_the_last())
    assert torch.equal(outputs[0][:3], outputs[1][:3])
    assert torch.isnan(outputs[0][3])
    assert outputs[1][3] == torch.full((4,), 0x55, dtype=torch.uint8).view(torch.float32).item()


def test_other_operators_are_left_alone() -> None:
    x = torch.arange(6, dtype=torch.float32)
    plain = [torch.zeros(3), torch.full((2,), 7), x + 1, x.view(2, 3) @ x.view(3, 2), torch.cat([x, x]), x.clone()]
    with fresh_memory(FILL_A):
        watched = [
            torch.zeros(3),
            torch.full((2,), 7),
            x + 1,
            x.view(2, 3) @ x.view(3, 2),
            torch.cat([x, x]),
            x.clone(),
        ]
    assert all(torch.equal(one, other) for one, other in zip(plain, watched, strict=True))
    assert torch.equal(x, torch.arange(6, dtype=torch.float32))


def test_the_callers_own_memory_is_not_filled() -> None:
    storage = torch.ones(8)
    with fresh_memory(FILL_A):
        torch.empty(4, out=storage[2:6])
    assert torch.equal(storage, torch.ones(8))


def test_odd_allocations_work() -> None:
    with fresh_memory(FILL_A):
        assert torch.empty(0).numel() == 0
        assert torch.empty(3, device="meta").shape == (3,)
        assert torch.empty(2, 2, layout=torch.sparse_coo).layout is torch.sparse_coo
        assert torch.isnan(torch.empty_strided((3,), (0,))).all()
        assert torch.empty(2, dtype=torch.bool).tolist() == [True, True]
    with fresh_memory(FILL_B):
        assert torch.empty(2, dtype=torch.bool).tolist() == [False, False]


def test_the_block_over_nothing_is_filled_any_more() -> None:
    with fresh_memory(FILL_B):
        pass
    fresh = torch.empty_like(LIKE).fill_(0)
    assert fresh.sum() == 0


@pytest.mark.parametrize("name", [name for name in DTYPE_NAMES if name != "bool"])
def test_fill_bytes_sets_every_byte_of_every_dtype(name: str) -> None:
    filled = torch.zeros(3, 2, dtype=torch.uint8).repeat(1, 8).view(getattr(torch, name))
    fill_bytes(filled, FILL_B)
    assert set(filled.view(torch.uint8).flatten().tolist()) == {FILL_B}


@pytest.mark.parametrize("name", FLOAT_FORMATS)
def test_fill_a_is_nan_and_fill_b_an_ordinary_number(name: str) -> None:
    filled = torch.empty(2, dtype=getattr(torch, name))
    fill_bytes(filled, FILL_A)
    assert torch.isnan(filled.double()).all()
    fill_bytes(filled, FILL_B)
    assert torch.isfinite(filled.double()).all()
    assert (filled.double() != 0).all()


def test_both_fills_of_bool_differ() -> None:
    filled = torch.zeros(3, dtype=torch.bool)
    fill_bytes(filled, FILL_A)
    assert filled.tolist() == [True] * 3
    fill_bytes(filled, FILL_B)
    assert filled.tolist() == [False] * 3


@pytest.mark.parametrize(
    ("layout", "elements"),
    [
        (lambda base: base, "1111111111"),
        (lambda base: base.view(2, 5).t(), "1111111111"),
        (lambda base: base[::3], "1001001001"),
        (lambda base: base[2:5], "0011100000"),
        (lambda base: base.view(2, 5)[:, :3], "1110011100"),
        (lambda base: base[1:3].expand(4, 2), "0110000000"),
        (lambda base: base.as_strided((3, 3), (2, 1)), "1111111000"),
        (lambda base: base[4].reshape(()), "0000100000"),
        (lambda base: base[4:4], "0000000000"),
    ],
)
def test_fill_bytes_fills_a_view_and_nothing_else(layout: object, elements: str) -> None:
    base = torch.zeros(10, dtype=torch.int16)
    fill_bytes(layout(base), FILL_A)
    assert "".join("1" if value == -1 else "0" for value in base.tolist()) == elements


def test_fill_bytes_leaves_what_has_no_bytes_alone() -> None:
    sparse = torch.eye(2).to_sparse()
    fill_bytes(sparse, FILL_A)
    assert torch.equal(sparse.to_dense(), torch.eye(2))

"""Inputs kept and brought back: every bit, every view, every refusal."""

from __future__ import annotations

import hashlib
import math
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from opsdebug_ci import Operator
from opsdebug_ci.errors import InputsError
from opsdebug_ci.model.bundle import StoredInputs, ValueKind
from opsdebug_ci.model.case import Case
from opsdebug_ci.model.message import KeepInputs
from opsdebug_ci.model.vocabulary import Family, Layout
from opsdebug_ci.model.wire import decode, encode
from opsdebug_ci.operators import Arguments
from opsdebug_ci.worker.input_table import table_of
from opsdebug_ci.worker.preservation import keep_inputs, write_storages
from opsdebug_ci.worker.restoration import rebuilt

CASE = Case(operator="op", dims={}, dtype="float32", layout=Layout.OWN, inputs=Family.OWN, seed=3)

DTYPES = [
    torch.float64,
    torch.float32,
    torch.float16,
    torch.bfloat16,
    torch.float8_e4m3fn,
    torch.float8_e5m2,
    torch.complex64,
    torch.int64,
    torch.uint8,
    torch.bool,
]

LAYOUTS: dict[str, tuple[int, tuple[int, ...], tuple[int, ...], int]] = {
    # storage elements, shape, stride, offset
    "contiguous": (12, (3, 4), (4, 1), 0),
    "transposed": (12, (4, 3), (1, 4), 0),
    "strided": (24, (3, 4), (8, 2), 0),
    "offset": (20, (3, 4), (4, 1), 7),
    "padded": (33, (3, 4), (9, 1), 2),
    "expanded": (4, (3, 4), (0, 1), 0),
    "overlapping": (9, (3, 4), (2, 1), 1),
    "empty": (5, (0, 4), (4, 1), 0),
    "no storage": (0, (0,), (1,), 0),
    "0-d": (3, (), (), 2),
    "far offset": (70001, (2,), (1,), 69999),
}


def never_called(seed: int, dims: Any, dtype: str) -> Any:
    raise AssertionError("stored inputs are loaded, not made")


def operator(make: Any = never_called) -> Operator:
    return Operator("op", lambda *values: values[0], make, {})


def random_bytes(count: int) -> torch.Tensor:
    """Every byte pattern, so that NaN of every payload are among the values."""
    generator = torch.Generator().manual_seed(5)
    return torch.randint(0, 256, (count,), dtype=torch.uint8, generator=generator)


def view(dtype: torch.dtype, layout: str) -> torch.Tensor:
    elements, shape, stride, offset = LAYOUTS[layout]
    raw = random_bytes(elements * dtype.itemsize)
    if dtype is torch.bool:
        raw &= 1
    return torch.empty(0, dtype=dtype).set_(raw.untyped_storage(), offset, shape, stride)


def storage_bytes(tensor: torch.Tensor) -> bytes:
    return bytes(torch.empty(0, dtype=torch.uint8).set_(tensor.untyped_storage()).numpy())


def back(arguments: Arguments, directory: Path) -> Arguments:
    """Through the files and through JSON."""
    write_storages(arguments, directory)
    stored = StoredInputs(table=table_of(arguments), directory=str(directory))
    return rebuilt(operator(), CASE, decode(encode(stored), StoredInputs))


@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("dtype", DTYPES, ids=lambda dtype: str(dtype).removeprefix("torch."))
def test_a_tensor_comes_back_with_every_byte_and_its_place(dtype: torch.dtype, layout: str, tmp_path: Path) -> None:
    tensor = view(dtype, layout)
    (got,) = back(Arguments(names=("x",), values=(tensor,)), tmp_path).values
    assert (got.dtype, got.shape, got.stride(), got.storage_offset()) == (
        tensor.dtype,
        tensor.shape,
        tensor.stride(),
        tensor.storage_offset(),
    )
    assert storage_bytes(got) == storage_bytes(tensor)
    if got.untyped_storage().nbytes():
        assert got.untyped_storage().data_ptr() % 512 == tensor.untyped_storage().data_ptr() % 512
        assert got.untyped_storage().data_ptr() != tensor.untyped_storage().data_ptr()


def test_views_of_one_storage_stay_views_of_one(tmp_path: Path) -> None:
    base = torch.arange(12.0)
    twin = base.clone()
    values = (base[2:6], [base[4:8], {"k": base[0]}], twin)
    first, (second, third), other = back(Arguments(names=("a", "b", "c"), values=values), tmp_path).values
    first[2] = -1.0  # element 4 of the base
    assert second[0] == -1.0
    assert third["k"].untyped_storage().data_ptr() == first.untyped_storage().data_ptr()
    assert other[4] == 4.0
    assert len(list(tmp_path.iterdir())) == 1  # equal bytes are one file


PLAIN = [
    None,
    True,
    False,
    0,
    -(10**300),
    1.5,
    0.1,
    -0.0,
    math.inf,
    -math.inf,
    math.nan,
    5e-324,
    complex(0.1, -0.0),
    "text \x00 ü 🙂",
    "",
    torch.bfloat16,
    [1, (2.0, "x")],
    {"a": 1, 2: [None]},
    (),
]


@pytest.mark.parametrize("value", PLAIN, ids=repr)
def test_plain_values_come_back_exactly(value: Any, tmp_path: Path) -> None:
    (got,) = back(Arguments(names=("v",), values=(value,), by_keyword=True), tmp_path).values
    assert type(got) is type(value)
    assert repr(got) == repr(value)


@pytest.mark.parametrize(
    "array",
    [
        np.arange(6.0).reshape(2, 3),
        np.asfortranarray(np.arange(6, dtype=">i4").reshape(2, 3)),
        np.arange(24, dtype=np.int16).reshape(2, 3, 4).transpose(1, 0, 2),
        np.arange(6, dtype=np.float16)[::-2],
        np.array(3.5),
        np.zeros((0, 4)),
        np.array(["ab", "c"]),
        np.array([1 + 2j]),
        np.float32(0.1),
        np.bool_(True),
    ],
    ids=lambda array: f"{array.dtype.str} {np.shape(array)}",
)
def test_arrays_come_back(array: Any, tmp_path: Path) -> None:
    (got,) = back(Arguments(names=("v",), values=(array,)), tmp_path).values
    assert type(got) is type(array)
    assert got.dtype == array.dtype
    assert np.array_equal(got, array)


def test_fortran_order_stays(tmp_path: Path) -> None:
    """A format in wide use turns such an array over without a word."""
    array = np.asfortranarray([[0, 1, 2], [3, 4, 5]])
    (got,) = back(Arguments(names=("v",), values=(array,)), tmp_path).values
    assert got.strides == array.strides
    assert got.tolist() == [[0, 1, 2], [3, 4, 5]]
    got[0, 0] = 9  # it may be written


def test_lazily_conjugated_values_are_kept_as_they_read(tmp_path: Path) -> None:
    tensor = torch.tensor([1 + 2j, 3 - 4j]).conj()
    (got,) = back(Arguments(names=("v",), values=(tensor,)), tmp_path).values
    assert not got.is_conj()
    assert got.tolist() == [1 - 2j, 3 + 4j]


def test_a_wanted_gradient_is_kept(tmp_path: Path) -> None:
    (got,) = back(Arguments(names=("v",), values=(torch.ones(2, requires_grad=True),)), tmp_path).values
    assert got.requires_grad


def digest(*values: Any, names: tuple[str, ...] = (), by_keyword: bool = False) -> str:
    named = names or tuple(f"a{i}" for i in range(len(values)))
    return table_of(Arguments(names=named, values=values, by_keyword=by_keyword)).digest


def test_the_digest_tells_apart_what_an_operator_could() -> None:
    base = torch.arange(6.0)
    nan = torch.tensor([math.nan])
    payload = nan.view(torch.int32).add(1).view(torch.float32)
    gap = torch.arange(6.0)
    gap[1] = -5.0
    digests = [
        digest(base),
        digest(base[::2]),
        digest(gap[::2]),  # the same elements as before, other bytes between them
        digest(base.view(2, 3)),
        digest(base.view(torch.int32)),
        digest(base, base),
        digest(base, base.clone()),
        digest(base, names=("other",)),
        digest(base, by_keyword=True),
        digest(nan),
        digest(payload),
        digest(0.0),
        digest(-0.0),
        digest(0),
        digest(False),
        digest([1]),
        digest((1,)),
        digest("1"),
    ]
    assert len(set(digests)) == len(digests)
    assert digest(base) == digest(base.clone())


def test_opaque_values_are_named_and_made_again_from_the_case(tmp_path: Path) -> None:
    def make(seed: int, dims: Any, dtype: str) -> list[Any]:
        return [torch.full((3,), float(seed)), range(seed), {1, 2}]

    kept = keep_inputs(operator(make), KeepInputs(case=CASE, directory=str(tmp_path), most_bytes=1 << 20))
    assert kept.written
    assert kept.table is not None
    assert [value.kind for value in kept.table.values] == [ValueKind.TENSOR, ValueKind.OPAQUE, ValueKind.OPAQUE]
    assert kept.table.values[1].text == "builtins.range"
    got = rebuilt(operator(make), CASE, StoredInputs(table=kept.table, directory=str(tmp_path)))
    assert got.values[1] == range(3)
    with pytest.raises(InputsError, match=r"got digest .*, wanted .*1 of 1 storages hold other bytes"):
        rebuilt(operator(make), replace(CASE, seed=4), StoredInputs(table=kept.table, directory=str(tmp_path)))


def test_a_storage_is_written_under_the_sha256_of_its_bytes(tmp_path: Path) -> None:
    write_storages(Arguments(names=("x",), values=(torch.arange(4, dtype=torch.uint8),)), tmp_path)
    (file,) = tmp_path.iterdir()
    assert file.read_bytes() == b"\x00\x01\x02\x03"
    assert file.name == hashlib.sha256(b"\x00\x01\x02\x03").hexdigest()


def test_too_many_bytes_are_described_and_not_written(tmp_path: Path) -> None:
    kept = keep_inputs(
        operator(lambda seed, dims, dtype: [torch.zeros(100)]),
        KeepInputs(case=CASE, directory=str(tmp_path), most_bytes=399),
    )
    assert (kept.written, kept.reason) == (False, "its inputs take 400 bytes; at most 399 are kept")
    assert kept.table is not None
    assert list(tmp_path.iterdir()) == []


def test_inputs_that_cannot_be_made_are_told(tmp_path: Path) -> None:
    def make(seed: int, dims: Any, dtype: str) -> list[Any]:
        raise ValueError("no")

    kept = keep_inputs(operator(make), KeepInputs(case=CASE, directory=str(tmp_path), most_bytes=1))
    assert kept.table is None
    assert "ValueError: no" in (kept.reason or "")


class TestRefusals:
    """What comes back is exactly what was kept, or nothing."""

    @pytest.fixture
    def stored(self, tmp_path: Path) -> StoredInputs:
        arguments = Arguments(names=("x",), values=(torch.arange(8.0),))
        write_storages(arguments, tmp_path)
        return StoredInputs(table=table_of(arguments), directory=str(tmp_path))

    def file(self, stored: StoredInputs) -> Path:
        return Path(stored.directory or "") / stored.table.storages[0].sha256

    def test_the_clean_twin_is_taken(self, stored: StoredInputs) -> None:
        assert rebuilt(operator(), CASE, stored).values[0].tolist() == list(range(8))

    def test_a_flipped_bit(self, stored: StoredInputs) -> None:
        data = bytearray(self.file(stored).read_bytes())
        data[17] ^= 1
        self.file(stored).write_bytes(data)
        with pytest.raises(InputsError, match=r"got 32 bytes with sha256 .*, wanted 32 with"):
            rebuilt(operator(), CASE, stored)

    def test_a_missing_file(self, stored: StoredInputs) -> None:
        self.file(stored).unlink()
        with pytest.raises(InputsError, match="is missing"):
            rebuilt(operator(), CASE, stored)

    def test_a_view_beyond_its_storage(self, stored: StoredInputs) -> None:
        entry = replace(stored.table.tensors[0], offset=1)
        with pytest.raises(InputsError, match="reaches byte 36 of a storage of 32"):
            rebuilt(operator(), CASE, replace(stored, table=replace(stored.table, tensors=(entry,))))

    def test_others_made_from_the_case(self, stored: StoredInputs) -> None:
        recipe = replace(stored, directory=None)
        same = operator(lambda seed, dims, dtype: [torch.arange(8.0)])
        assert rebuilt(same, CASE, replace(recipe, table=replace(recipe.table, names=("arg0",)))).values[0][7] == 7
        other = operator(lambda seed, dims, dtype: [torch.arange(8.0) + 2.0**-20])
        with pytest.raises(InputsError, match="are not those of the bundle: got digest") as refused:
            rebuilt(other, CASE, replace(recipe, table=replace(recipe.table, names=("arg0",))))
        assert refused.value.next_step
        called_otherwise = replace(recipe.table, names=("arg0",), by_keyword=True)
        with pytest.raises(InputsError, match="given by position; wanted by keyword"):
            rebuilt(same, CASE, replace(recipe, table=called_otherwise))

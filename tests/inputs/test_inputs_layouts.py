"""Layouts keep logical values bit for bit, have the promised strides, and fill what lies outside the view."""

from __future__ import annotations

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from opsdebug_ci.errors import InternalError
from opsdebug_ci.inputs import arrange, gap_value, to_device, torch_dtype
from opsdebug_ci.model.vocabulary import Layout

SHAPES = [(), (0,), (1,), (7,), (33,), (1, 1), (3, 4), (2, 3, 5), (0, 4), (4, 0), (1, 5), (2, 0, 3), (2, 1, 4, 3)]
DTYPES = ["float64", "float32", "bfloat16", "float8_e4m3fn", "int32", "bool"]
KEEPING = [Layout.CONTIGUOUS, Layout.TRANSPOSED, Layout.STRIDED, Layout.OFFSET, Layout.PADDED]
INTEGER_OF_SIZE = {1: torch.uint8, 2: torch.int16, 4: torch.int32, 8: torch.int64}


def numbered(shape: tuple[int, ...], dtype: str) -> torch.Tensor:
    """Distinct bit patterns where the width allows, NaN payloads among them for floats."""
    form = torch_dtype(dtype)
    values = torch.arange(torch.Size(shape).numel()).reshape(shape)
    if form is torch.bool:
        return values % 2 == 0
    return (values * 37 + 250).to(INTEGER_OF_SIZE[form.itemsize]).view(form)


def bits(values: torch.Tensor) -> torch.Tensor:
    return values.view(INTEGER_OF_SIZE[values.element_size()])


def storage_elements(values: torch.Tensor) -> torch.Tensor:
    """Every element of the storage, the gaps included."""
    return torch.empty(0, dtype=values.dtype).set_(values.untyped_storage())


@pytest.mark.parametrize("shape", SHAPES, ids=str)
@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("layout", KEEPING, ids=str)
def test_values_survive_bit_for_bit(layout: Layout, dtype: str, shape: tuple[int, ...]) -> None:
    values = numbered(shape, dtype)
    arranged = arrange(values, layout)
    assert (arranged.shape, arranged.dtype) == (values.shape, values.dtype)
    assert torch.equal(bits(arranged), bits(values))


@pytest.mark.parametrize("shape", SHAPES, ids=str)
@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("layout", [Layout.TRANSPOSED, Layout.STRIDED, Layout.OFFSET, Layout.PADDED], ids=str)
def test_everything_outside_the_view_is_the_gap_value(layout: Layout, dtype: str, shape: tuple[int, ...]) -> None:
    arranged = arrange(numbered(shape, dtype), layout)
    elements = storage_elements(arranged)
    outside = torch.ones(elements.numel(), dtype=torch.bool)
    outside.as_strided(arranged.shape, arranged.stride(), arranged.storage_offset()).fill_(False)
    assert int(outside.sum()) == elements.numel() - arranged.numel() > 0
    gaps = elements.to(torch.float64)[outside]
    assert gaps.isnan().all() if arranged.is_floating_point() else (gaps == float(gap_value(arranged.dtype))).all()


STRIDES = [
    (Layout.CONTIGUOUS, (2, 3, 5), (15, 5, 1), 0),
    (Layout.TRANSPOSED, (2, 3, 5), (15, 1, 3), 0),
    (Layout.TRANSPOSED, (3, 4), (1, 3), 0),
    (Layout.TRANSPOSED, (7,), (2,), 0),
    (Layout.STRIDED, (2, 3, 5), (30, 10, 2), 0),
    (Layout.STRIDED, (7,), (2,), 0),
    (Layout.OFFSET, (2, 3, 5), (15, 5, 1), 3),
    (Layout.OFFSET, (), (), 3),
    (Layout.PADDED, (2, 3, 5), (30, 10, 1), 0),
    (Layout.PADDED, (7,), (1,), 0),
    (Layout.EXPANDED, (2, 3, 5), (0, 5, 1), 0),
    (Layout.EXPANDED, (1, 3, 5), (5, 0, 1), 0),
    (Layout.EXPANDED, (7,), (0,), 0),
]


@pytest.mark.parametrize("dtype", ["float32", "bfloat16", "int64"])
@pytest.mark.parametrize(("layout", "shape", "strides", "offset"), STRIDES, ids=str)
def test_strides_and_offset(
    layout: Layout, shape: tuple[int, ...], strides: tuple[int, ...], offset: int, dtype: str
) -> None:
    arranged = arrange(numbered(shape, dtype), layout)
    assert (arranged.stride(), arranged.storage_offset()) == (strides, offset)


@pytest.mark.parametrize("shape", SHAPES, ids=str)
@pytest.mark.parametrize("dtype", DTYPES)
def test_expanded_repeats_its_first_slice(dtype: str, shape: tuple[int, ...]) -> None:
    values = numbered(shape, dtype)
    arranged = arrange(values, Layout.EXPANDED)
    assert arranged.shape == values.shape
    axis = next((axis for axis, size in enumerate(shape) if size > 1), None)
    expected = values if axis is None else values.narrow(axis, 0, 1).expand(shape)
    assert torch.equal(bits(arranged), bits(expected))
    assert axis is None or arranged.stride(axis) == 0


@pytest.mark.parametrize("layout", [Layout.MIXED, Layout.OWN], ids=str)
def test_layouts_of_whole_cases_are_refused(layout: Layout) -> None:
    with pytest.raises(InternalError, match=f"internal error: `layout` is `{layout}`; wanted one of contiguous, "):
        arrange(torch.zeros(2), layout)


@settings(max_examples=80, deadline=None)
@given(data=st.data())
def test_the_original_is_not_shared_with_other_layouts(data: st.DataObject) -> None:
    shape = tuple(data.draw(st.lists(st.integers(0, 5), max_size=4), label="shape"))
    layout = data.draw(
        st.sampled_from([Layout.TRANSPOSED, Layout.STRIDED, Layout.OFFSET, Layout.PADDED]), label="layout"
    )
    values = numbered(shape, "int32")
    kept = values.clone()
    arrange(values, layout).fill_(-1)
    assert torch.equal(values, kept)


@pytest.mark.parametrize("shape", SHAPES, ids=str)
@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("layout", [*KEEPING, Layout.EXPANDED], ids=str)
def test_transfer_keeps_storage_strides_and_offset(layout: Layout, dtype: str, shape: tuple[int, ...]) -> None:
    source = arrange(numbered(shape, dtype), layout)
    moved = to_device({"x": source}, "cpu")["x"]
    assert (moved.shape, moved.dtype, moved.stride(), moved.storage_offset()) == (
        source.shape,
        source.dtype,
        source.stride(),
        source.storage_offset(),
    )
    assert torch.equal(bits(storage_elements(moved)), bits(storage_elements(source)))
    assert not source.numel() or moved.data_ptr() != source.data_ptr()


def test_transfer_keeps_shared_storage_nesting_and_plain_values() -> None:
    base = torch.arange(12.0)
    moved = to_device(
        {"head": base[:6], "tail": base[4:], "many": [base[::3], (base, 1)], "eps": 1e-5, "no": None}, "cpu"
    )
    moved["head"][5] = -1.0
    assert moved["tail"][1] == -1.0
    assert moved["many"][1][0][5] == -1.0
    assert moved["many"][0].tolist() == [0.0, 3.0, 6.0, 9.0]
    assert (moved["many"][1][1], moved["eps"], moved["no"]) == (1, 1e-5, None)
    assert base[5] == 5.0


def test_transfer_keeps_the_gradient_flag_and_sparse_tensors() -> None:
    leaf = torch.ones(3, requires_grad=True)
    sparse = torch.eye(3).to_sparse()
    moved = to_device({"leaf": leaf, "sparse": sparse, "empty": torch.empty(0, 3)}, "cpu")
    assert moved["leaf"].requires_grad
    assert torch.equal(moved["sparse"].to_dense(), torch.eye(3))
    assert moved["empty"].shape == (0, 3)


def test_transfer_resolves_lazy_conjugation() -> None:
    lazy = torch.tensor([1 + 2j, 3 - 4j]).conj()
    moved = to_device({"x": lazy, "imaginary": lazy.imag}, "cpu")
    assert moved["x"].tolist() == [1 - 2j, 3 + 4j]
    assert moved["imaginary"].tolist() == [-2.0, 4.0]

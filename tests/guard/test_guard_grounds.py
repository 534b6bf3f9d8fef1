"""Arguments between zones: the same tensors elsewhere, and every stray byte around them seen."""

from __future__ import annotations

import operator
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import torch
from guard_layouts import DTYPES, LAYOUTS, as_bytes, base_of, beside, laid_out

from opsdebug_ci.guard.grounds import Grounds, Laid, ZoneFills
from opsdebug_ci.guard.patterns import Fill
from opsdebug_ci.guard.readings import spelled
from opsdebug_ci.model import Side

PLAIN = ZoneFills()
FILLS = [Fill.PATTERN, Fill.COMPLEMENT, Fill.NAN, Fill.HIGH, Fill.LOW]


def ready(values: dict[str, object], fills: ZoneFills = PLAIN, written: frozenset[str] = frozenset()) -> Laid:
    laid = Grounds(tuple(values), tuple(values.values()), written).laid(fills)
    laid.remember()
    return laid


@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("dtype", DTYPES)
def test_a_guarded_tensor_is_the_same_view_of_other_memory_and_nothing_changes_by_itself(
    layout: str, dtype: str
) -> None:
    original = laid_out(layout, dtype)
    before = as_bytes(original)
    for fill in FILLS:
        laid = ready({"x": original}, ZoneFills(guards=fill))
        (copy,) = laid.values
        facts = [(t.shape, t.stride(), t.storage_offset(), t.dtype, as_bytes(t)) for t in (original, copy)]
        assert facts[0] == facts[1]
        places = [t.untyped_storage().data_ptr() for t in (original, copy)]
        assert places[0] != places[1]
        assert (places[0] - places[1]) % 512 == 0
        assert (laid.changes(), laid.layout_changes(), laid.damaged()) == ((), (), set())
    assert as_bytes(original) == before


@pytest.mark.parametrize("layout", [name for name in LAYOUTS if name != "empty"])
@pytest.mark.parametrize("dtype", DTYPES)
def test_elements_survive_poisoned_gaps_and_a_stray_byte_in_any_zone_is_found(layout: str, dtype: str) -> None:
    original = laid_out(layout, dtype)
    grounds = Grounds(("x",), (original,), frozenset())
    for gaps in (Fill.COMPLEMENT, Fill.NAN):
        laid = grounds.laid(ZoneFills(gaps=gaps))
        (copy,) = laid.values
        assert copy.tolist() == original.tolist()
        laid.remember()
        size = copy.untyped_storage().nbytes()
        for side, offset, first in ((Side.HEAD, -1, -1), (Side.TAIL, size, size)):
            there = beside(copy, offset)
            kept = there.clone()
            there ^= 0x40
            (found,) = laid.changes()
            start = copy.storage_offset() * copy.element_size()
            assert (found.side, found.nearest_bytes, found.first_offset) == (side, 1, first - start)
            assert {found for _, found in laid.damaged()} == {side}
            there.copy_(kept)
        assert laid.changes() == ()


def test_views_of_one_storage_stay_views_of_one_between_one_pair_of_zones() -> None:
    storage = torch.zeros(10)
    laid = ready({"a": storage[:6], "b": [storage[4:]], "c": torch.zeros(10)})
    a, (b,), c = laid.values
    a[5] = 7.0
    assert b[1] == 7.0
    assert [(r.argument, r.side) for r in laid.changes()] == [("a", Side.INSIDE)]
    assert c.untyped_storage().data_ptr() != a.untyped_storage().data_ptr()


def test_a_gap_is_what_lies_in_no_view_of_a_storage() -> None:
    packed = torch.arange(24.0).view(4, 6)
    grounds = Grounds(("q", "k"), (packed[:, :2], packed[:, 2:4]), frozenset())
    laid = grounds.laid(ZoneFills(gaps=Fill.NAN))
    whole = torch.empty(0).set_(laid.values[0].untyped_storage()).view(4, 6)
    assert torch.equal(whole[:, :4], packed[:, :4])
    assert bool(whole[:, 4:].isnan().all())
    assert grounds.sides == (("q", Side.TAIL), ("q", Side.HEAD), ("q", Side.GAP))


def test_gaps_of_what_may_be_written_are_never_left_as_they_were() -> None:
    out = torch.zeros(4, 6)[:, :3]
    one, other = (ready({"out": out}, ZoneFills(guards=f), frozenset({"out"})) for f in (Fill.PATTERN, Fill.COMPLEMENT))
    gaps = [torch.empty(0, dtype=torch.uint8).set_(laid.values[0].untyped_storage()) for laid in (one, other)]
    differing = gaps[0] ^ gaps[1]
    assert int((differing == 0xFF).sum()) == 4 * 3 * 4
    assert int((differing == 0).sum()) == 4 * 3 * 4


@pytest.mark.parametrize("value", range(256))
def test_no_byte_value_is_invisible_under_both_a_pattern_and_its_complement(value: int) -> None:
    seen = 0
    for fill in (Fill.PATTERN, Fill.COMPLEMENT):
        laid = ready({"out": torch.zeros(8)}, ZoneFills(guards=fill), frozenset({"out"}))
        beside(laid.values[0], 32 + value).fill_(value)
        seen += len(laid.changes())
    assert seen >= 1


@pytest.mark.parametrize(("shape", "zone"), [((8,), 4096), ((3, 1000), 8192), ((2, 1 << 20), 1 << 20)])
def test_writes_closer_than_the_zone_is_wide_are_seen(shape: tuple[int, ...], zone: int) -> None:
    grounds = Grounds(("x",), (torch.zeros(shape),), frozenset())
    assert grounds.zone_bytes == zone
    laid = grounds.laid(ZoneFills())
    laid.remember()
    (x,) = laid.values
    size = x.numel() * 4
    for offset, distance in ((size + zone - 1, zone), (-zone, zone), (size + 17, 18)):
        there = beside(x, offset)
        there ^= 1
        (found,) = laid.changes()
        assert found.nearest_bytes == found.farthest_bytes == distance
        there ^= 1


@pytest.mark.parametrize("dtype", ["float32", "float16", "bfloat16", "float8_e4m3fn", "complex64"])
@pytest.mark.parametrize("fill", [Fill.NAN, Fill.HIGH, Fill.LOW])
def test_numbers_around_floats_are_what_their_dtype_calls_so(dtype: str, fill: Fill) -> None:
    laid = ready({"x": base_of(dtype)[3:9]}, ZoneFills(guards=fill))
    x = laid.values[0]
    size = x.element_size()
    for offset in (-size, x.untyped_storage().nbytes(), x.untyped_storage().nbytes() + 8 * size):
        read = beside(x, offset, size).clone().view(x.dtype)
        number = torch.view_as_real(read)[0, 0].double() if x.is_complex() else read[0].double()
        half = 0.5 * torch.finfo(x.dtype).max
        wanted = {Fill.NAN: float("nan"), Fill.HIGH: half, Fill.LOW: -half}[fill]
        assert torch.isclose(number, torch.tensor(wanted).double(), rtol=0.1, equal_nan=True)


@pytest.mark.parametrize(
    ("dtype", "held", "below", "above"),
    [
        ("int64", [3, 0, 7, 5], -1, 8),
        ("int32", [3, -4, 90], -5, 91),
        ("int16", [5, 9], -1, 10),
        ("uint8", [3, 2], 0, 4),
        ("uint8", [90, 0], 0, 128),
        ("uint8", [0, 255], 0, 255),
        ("int8", [-128, 127], -128, 127),
        ("bool", [True], 0, 1),
    ],
)
def test_around_indices_lie_the_values_next_to_theirs(dtype: str, held: list[int], below: int, above: int) -> None:
    index = torch.tensor(held).to(getattr(torch, dtype))
    for fill in FILLS:
        (x,) = ready({"i": index}, ZoneFills(guards=fill)).values
        size = x.element_size()
        for start in (-64 * size, x.numel() * size):
            values = beside(x, start, 64 * size).clone().view(x.dtype)
            assert set(values.tolist()) == {below if fill in (Fill.COMPLEMENT, Fill.LOW) else above}


def test_a_written_value_is_spelled_and_recognised() -> None:
    x = torch.tensor([[1.5, 2.25], [3.75, 4.0]])
    for bits, wanted in (
        (torch.tensor([3.75]), "3.75, element [1, 0] of `x`"),
        (torch.tensor([0.0]), "0"),
        (torch.tensor([float("nan")]), "NaN"),
        (torch.tensor([-1.0]), "-1"),
    ):
        grounds = Grounds(("x", "out"), (x, torch.zeros(3)), frozenset({"out"}))
        laid = grounds.laid(ZoneFills())
        laid.remember()
        beside(laid.values[1], 12, 4).copy_(bits.view(torch.uint8))
        (found,) = laid.changes(grounds.places)
        assert (found.argument, found.side, found.value) == ("out", Side.TAIL, wanted)
        assert found.found_hex == bits.view(torch.uint8).numpy().tobytes().hex()
        assert found.wanted_hex != found.found_hex


@pytest.mark.parametrize("order", ["C", "F"])
def test_arrays_lie_between_zones_too(order: str) -> None:
    array = np.array(np.arange(6.0).reshape(2, 3), order=order)
    laid = ready({"x": array})
    copy = laid.values[0]
    assert (copy.strides, copy.dtype, copy.tolist()) == (array.strides, array.dtype, array.tolist())
    assert laid.changes() == ()
    flat = torch.from_numpy(copy.ravel(order="K"))
    beside(flat, 48).fill_(int(beside(flat, 48)[0]) ^ 1)
    assert [(r.argument, r.side, r.nearest_bytes) for r in laid.changes()] == [("x", Side.TAIL, 1)]


def test_what_cannot_lie_between_zones_is_copied() -> None:
    sparse, loose, value = torch.eye(3).to_sparse(), np.arange(8)[::2], object()
    laid = ready({"s": sparse, "a": loose, "v": value, "e": torch.empty(0, 3)})
    copied = laid.values
    assert torch.equal(copied[0].to_dense(), torch.eye(3))
    assert copied[1].tolist() == loose.tolist()
    assert not np.shares_memory(copied[1], loose)
    assert copied[2] is value
    assert copied[3].shape == (0, 3)


@pytest.mark.parametrize(
    ("change", "fields"),
    [
        (lambda x: x.t_(), {"shape", "stride"}),
        (lambda x: x.unsqueeze_(0), {"shape", "stride"}),
        (lambda x: x.set_(torch.zeros(2, 4)), {"storage"}),
        (lambda x: setattr(x, "data", torch.zeros(2, 4, dtype=torch.float64)), {"dtype", "storage"}),
        (lambda x: x.unsqueeze_(0).squeeze_(0), set()),
        (lambda x: x.mul_(2), set()),
    ],
)
def test_a_tensor_object_turned_in_place_is_found(change: object, fields: set[str]) -> None:
    laid = ready({"x": torch.ones(2, 4), "out": torch.ones(2, 4)}, written=frozenset({"out"}))
    change(laid.values[0])
    laid.values[1].t_()
    assert {found.field for found in laid.layout_changes()} == fields
    assert {found.tensor for found in laid.layout_changes()} <= {"x"}


ITEMS: dict[str, tuple[Callable[[Any], object], set[tuple[str, str]]]] = {
    "one taken": (lambda x: x.pop(), {("x", "content")}),
    "all taken": (lambda x: x.clear(), {("x", "content")}),
    "one added": (lambda x: x.append(3), {("x", "content")}),
    "one exchanged": (lambda x: operator.setitem(x, 0, x[0] * 2), {("x[0]", "object")}),
    "one exchanged for its like": (lambda x: operator.setitem(x, 0, x[0].clone()), {("x[0]", "object")}),
    "turned round": (lambda x: x.reverse(), {("x[0]", "object"), ("x[2]", "object")}),
    "in a dict": (lambda x: x[1].update(m=torch.ones(2)), {("x[1]['m']", "object")}),
    "key added": (lambda x: x[1].update(seen=1), {("x[1]", "content")}),
    "number exchanged": (lambda x: operator.setitem(x, 2, 8), {("x[2]", "object")}),
    "number exchanged for its like": (lambda x: operator.setitem(x, 2, float("7.5")), set()),
    "taken and put back": (lambda x: x.append(x.pop()), set()),
    "a copy changed": (lambda x: list(x).pop(), set()),
}


@pytest.mark.parametrize(("change", "expected"), ITEMS.values(), ids=ITEMS)
def test_a_list_or_dict_with_other_items_is_found(
    change: Callable[[Any], object], expected: set[tuple[str, str]]
) -> None:
    laid = ready({"x": [torch.ones(2), {"m": torch.zeros(3)}, 7.5], "out": [torch.ones(2)]}, written=frozenset({"out"}))
    change(laid.values[0])
    laid.values[1].clear()
    assert {(found.tensor, found.field) for found in laid.layout_changes()} == expected


def test_plain_copies_can_be_resized() -> None:
    grounds = Grounds(("out",), (torch.zeros(3),), frozenset({"out"}))
    grounds.plain().values[0].resize_(100)
    with pytest.raises(RuntimeError, match="not resizable"):
        grounds.laid(ZoneFills()).values[0].resize_(100)


@pytest.mark.parametrize("dtype", [torch.float4_e2m1fn_x2, torch.bits8, torch.int4])
def test_a_format_without_numbers_is_spelled_by_its_bytes(dtype: torch.dtype) -> None:
    assert spelled(torch.tensor([0x41], dtype=torch.uint8), dtype, ()) == "41"


def test_what_a_lost_device_raises_is_not_taken_for_such_a_format() -> None:
    class Lost(torch.Tensor):
        def item(self) -> float:
            raise RuntimeError("CUDA error: an illegal memory access was encountered")

    with pytest.raises(RuntimeError, match="illegal memory access"):
        spelled(torch.zeros(4, dtype=torch.uint8).as_subclass(Lost), torch.float32, ())

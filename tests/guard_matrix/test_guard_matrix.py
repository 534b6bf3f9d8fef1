"""Kernels that stray x eleven layouts x nine dtypes: each defect is found and named, and nothing else is said.

A cell is one kernel launched on one tensor of one layout and dtype, under the guards' deep profile. The tensor is the
one the kernel strays from: `out` of a kernel that writes to one, else its only argument `x`. The table in
`guard_matrix_kernels` says of every cell, from the tensor's sizes and strides alone, what must be found:

- facts, such as `write tail output out`: exactly these, no more and no less;
- nothing, where the kernel does nothing wrong in this layout: a correct kernel, or `as if contiguous` where it is;
- nothing, with a reason, where what it does cannot be found without watched pages. These are the limits.

Kernels without a defect run in every cell as well, so that silence is checked as often as any defect.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field

import pytest
import torch
from guard_matrix_kernels import KERNELS, NO_TRACE, NOTHING, TIMES_ZERO, VALUES, Facts, Kernel
from guard_matrix_layouts import DTYPES, LAYOUTS, OWN_ELEMENTS, values

from opsdebug_ci import Contract, Operator
from opsdebug_ci.catalogue.planted import PLANTED, UNAVAILABLE, strays
from opsdebug_ci.errors import EnvironmentLimitError
from opsdebug_ci.model.vocabulary import Profile
from opsdebug_ci.operators import Arguments
from opsdebug_ci.worker.differences import observe
from opsdebug_ci.worker.launch_reading import LaunchReading
from opsdebug_ci.worker.launches import Launcher

try:
    strays.library()
except EnvironmentLimitError as reason:  # pragma: no cover - only without a compiler
    pytest.skip(str(reason), allow_module_level=True)


@pytest.fixture(autouse=True, scope="module")
def one_thread() -> Iterator[None]:
    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(threads)


def launched(kernel: Kernel, tensor: torch.Tensor) -> LaunchReading:
    given = {"x": tensor}
    if kernel.into:
        given = {"x": values(tensor.dtype, *tensor.shape, seed=1), "out": tensor}
    operator = Operator(
        "cell",
        kernel.function,
        lambda seed, dims, dtype: given,
        {"torch": kernel.function},
        contract=Contract(out="out") if kernel.into else None,
    )
    arguments = Arguments.of_sequence(tuple(given.values()), tuple(given))
    return observe(Launcher(operator, arguments, seed=0), 1, Profile.DEEP)


def facts(reading: LaunchReading) -> Facts:
    found = {("write", str(item.side), str(item.role), item.argument) for item in reading.memory}
    found |= {("read", str(item.side), str(item.argument)) for item in reading.reads}
    found |= {("alias", item.output, item.other) for item in reading.aliases}
    found |= {("layout", item.tensor, item.field) for item in reading.layout_changes}
    found |= {("unwritten",)} if reading.unwritten else set()
    return frozenset(found | ({("changed",)} if reading.repeat_mismatches else set()))


@dataclass(slots=True)
class Tally:
    """What the cells of one dtype came to."""

    defects: int = 0
    """Cells with a defect that must be found."""

    silent: int = 0
    """Cells in which a kernel does nothing wrong."""

    limits: Counter[str] = field(default_factory=Counter)
    """Reason -> cells with a defect that cannot be found."""

    wrong: list[tuple[str, str, list[tuple[str, ...]], list[tuple[str, ...]]]] = field(default_factory=list)
    """Kernel, layout, facts wanted, facts found, of every cell that is not as the table says."""


def judged(dtype: torch.dtype) -> Tally:
    tally = Tally()
    for kernel in KERNELS:
        for layout in OWN_ELEMENTS if kernel.into else LAYOUTS:
            tensor = LAYOUTS[layout](dtype)
            wanted, limit = kernel.found(tensor), kernel.hidden(tensor)
            if wanted and limit:
                tally.limits[limit] += 1
                wanted = NOTHING
            elif wanted:
                tally.defects += 1
            else:
                tally.silent += 1
            got = facts(launched(kernel, tensor))
            if got != wanted:
                tally.wrong.append((kernel.name, layout, sorted(wanted), sorted(got)))
    return tally


@pytest.mark.parametrize("dtype", [dtype for dtype in DTYPES if dtype.is_floating_point], ids=str)
def test_every_defect_of_floats_is_found_and_named_and_nothing_else_is_said(dtype: torch.dtype) -> None:
    tally = judged(dtype)
    assert tally.wrong == []
    assert (tally.defects, tally.silent, tally.limits) == (212, 90, {NO_TRACE: 30})


@pytest.mark.parametrize("dtype", [dtype for dtype in DTYPES if not dtype.is_floating_point], ids=str)
def test_every_defect_of_whole_numbers_is_found_but_for_the_limits(dtype: torch.dtype) -> None:
    tally = judged(dtype)
    assert tally.wrong == []
    assert (tally.defects, tally.silent, tally.limits) == (202, 90, {NO_TRACE: 30, TIMES_ZERO: 10})


def test_every_defect_of_truth_values_is_found_but_for_the_limits() -> None:
    tally = judged(torch.bool)
    assert tally.wrong == []
    assert (tally.defects, tally.silent, tally.limits) == (176, 90, {NO_TRACE: 30, VALUES: 26, TIMES_ZERO: 10})


def test_what_lands_beyond_the_guards_is_not_seen_and_the_reading_says_how_far_they_reach() -> None:
    """A store 12,000 bytes and more behind `out`, into memory that the contract lets be written."""
    far = torch.zeros(1 << 20, dtype=torch.uint8)

    def strays_far(x: torch.Tensor, out: torch.Tensor, far: torch.Tensor) -> None:
        strays.copy(x, out)
        middle = far.data_ptr() + far.numel() // 2
        strays.store(out, middle - out.data_ptr(), strays.element(1.0, out.dtype))

    names = ("x", "out", "far")
    operator = Operator(
        "far", strays_far, lambda *given: None, {"torch": strays_far}, contract=Contract(mutates=("out", "far"))
    )
    arguments = Arguments.of_sequence((values(torch.float32, 5, 6), values(torch.float32, 5, 6), far), names)
    reading = observe(Launcher(operator, arguments, seed=0), 1, Profile.DEEP)
    assert facts(reading) == NOTHING
    assert 0 < reading.guard.zone_bytes < 12_000


@pytest.mark.parametrize(
    ("name", "wanted"),
    [
        ("c_behind", {("write", "tail", "output", "out")}),
        ("c_ahead", {("write", "head", "output", "out")}),
        ("scratch", {("write", "tail", "scratch", "scratch float32[24] of aten.empty")}),
        ("triton_store", {("write", "tail", "output", "out")}),
        ("c_masked_read", {("read", "tail", "x")}),
        ("c_largest_read", {("read", "tail", "x")}),
        ("triton_load", {("read", "tail", "x")}),
        ("turned", {("layout", "x", "shape"), ("layout", "x", "stride")}),
    ],
)
def test_planted_operators_show_what_they_were_planted_for(name: str, wanted: set[tuple[str, ...]]) -> None:
    if name in UNAVAILABLE:
        pytest.skip(UNAVAILABLE[name])
    planted = next(planted for planted in PLANTED if planted.name == name)
    assert facts(_everyday(planted.wrong)) == wanted
    assert facts(_everyday(planted.right)) == NOTHING


def _everyday(operator: Operator) -> LaunchReading:
    sizes = tuple(operator.dims.values())
    drawn = [
        torch.randn(sizes, generator=torch.Generator().manual_seed(i)) for i in range(len(operator.argument_names))
    ]
    arguments = Arguments.of_sequence(tuple(drawn), operator.argument_names)
    return observe(Launcher(operator, arguments, seed=0), 1, Profile.DEEP)

"""Kept values: which bytes are elements, what is written into them, and the fewest that still fail."""

import hashlib
import struct

import numpy as np
import pytest
import torch
from shrinking_notation import Clock, case

from opsdebug_ci.failures.shrinking import Candidate, Outcome, Space, Trial, Trials, Values, minimise
from opsdebug_ci.failures.shrinking.values import rounded, slots, special, with_words, words, written
from opsdebug_ci.model import ValueDomain
from opsdebug_ci.model.bundle import InputTable, InputValue, StorageEntry, TensorEntry, ValueKind
from opsdebug_ci.model.dtype import FLOAT_FORMATS

TORCH = {name: getattr(torch, name) for name in FLOAT_FORMATS}


def values(*arguments):
    """`values(("x", "float32", blob, (shape, stride, offset), ...), ...)`: one storage per argument, and its views."""
    storages, tensors, inputs, blobs = [], [], [], {}
    for name, dtype, blob, *views in arguments:
        digest = hashlib.sha256(blob).hexdigest()
        blobs[digest] = blob
        storages.append(StorageEntry(sha256=digest, size_bytes=len(blob), device="cpu", alignment=0))
        for shape, stride, offset in views:
            inputs.append((name, InputValue(kind=ValueKind.TENSOR, tensor=len(tensors))))
            tensors.append(
                TensorEntry(storage=len(storages) - 1, dtype=dtype, shape=shape, stride=stride, offset=offset)
            )
    table = InputTable(
        names=tuple(name for name, _ in inputs),
        by_keyword=False,
        values=tuple(value for _, value in inputs),
        tensors=tuple(tensors),
        storages=tuple(storages),
    )
    return Values(table=table, blobs=blobs)


def floats(*numbers):
    return struct.pack(f"<{len(numbers)}f", *numbers)


def read(held, storage=0):
    return np.frombuffer(held.blobs[held.table.storages[storage].sha256], dtype=np.float32)


def reduce(held, fails, domains=None, **facts):
    """Shrinks the values of one case that fails where `fails` says so of its values."""

    def run(candidate):
        same = candidate.values is None or fails(candidate.values)
        return Trial(outcome=Outcome.SAME if same else Outcome.PASSES)

    return minimise(
        Candidate(case=case(n=1)),
        Trials(quick=run, full=run),
        Space(domains=domains or {}),
        clock=Clock(),
        keep=lambda _: held,
        **facts,
    )


@pytest.mark.parametrize("dtype", FLOAT_FORMATS)
def test_whole_numbers_are_written_as_the_framework_writes_them(dtype):
    shape = FLOAT_FORMATS[dtype]
    numbers = [n for n in range(-8, 9) if float(torch.tensor(float(n)).to(TORCH[dtype])) == n]
    wanted = torch.tensor(numbers, dtype=torch.float64).to(TORCH[dtype])
    got = np.array([written(n, shape) for n in numbers], dtype=f"<u{shape.bits // 8}")
    assert torch.equal(torch.from_numpy(got.view(np.uint8)).view(TORCH[dtype]).double(), wanted.double())


@pytest.mark.parametrize("dtype", FLOAT_FORMATS)
def test_specials_and_rounding_follow_the_framework(dtype):
    numbers = torch.tensor([0.4, -0.6, 1.4, -2.7, 7.9, 300.0, -1e9, 0.0, float("nan"), float("inf"), -float("inf")])
    tensor = numbers.to(TORCH[dtype])
    blob = tensor.view(torch.uint8).numpy().tobytes()
    held = values(("x", dtype, blob, ((11,), (1,), 0)))
    (slot,) = slots(held, {})
    row = words(held, slot)
    assert special(row, slot.format).tolist() == (~torch.isfinite(tensor.float())).tolist()
    changed = with_words(held, [(slot, rounded(row, slot))])
    found = torch.frombuffer(bytearray(changed.blobs[changed.table.storages[0].sha256]), dtype=TORCH[dtype]).float()
    finite = torch.isfinite(tensor.float())
    wanted = tensor.float().round().clamp(-8, 8).to(TORCH[dtype]).float()
    assert torch.equal(found[finite].abs(), wanted[finite].abs())
    assert torch.equal(found[~finite].nan_to_num(7), tensor.float()[~finite].nan_to_num(7))


def test_elements_are_those_of_every_view_once():
    blob = floats(*range(12))
    held = values(("x", "float32", blob, ((2, 3), (6, 2), 0), ((2,), (0,), 11)))
    (slot,) = slots(held, {})
    assert slot.places.tolist() == [0, 2, 4, 6, 8, 10, 11]
    assert (slot.argument, slot.quiet) == ("x", 0)


def test_gaps_and_other_storages_stay_as_they_were():
    held = values(
        ("x", "float32", floats(1, 2, 3, 4), ((2,), (2,), 0)), ("i", "int64", struct.pack("<2q", 7, 9), ((2,), (1,), 0))
    )
    (slot,) = slots(held, {})
    changed = with_words(held, [(slot, np.zeros(2, dtype=np.uint32))])
    assert read(changed).tolist() == [0, 2, 0, 4]
    assert changed.table.storages[1] == held.table.storages[1]
    assert changed.table.storages[0].sha256 == hashlib.sha256(floats(0, 2, 0, 4)).hexdigest()
    assert read(held).tolist() == [1, 2, 3, 4]


def test_storages_read_in_two_formats_and_whole_numbers_are_left_alone():
    held = values(("x", "float32", floats(1, 2), ((2,), (1,), 0)))
    both = held.table.tensors[0], TensorEntry(storage=0, dtype="float16", shape=(4,), stride=(1,), offset=0)
    mixed = InputTable(
        names=("x", "y"),
        by_keyword=False,
        values=tuple(InputValue(kind=ValueKind.TENSOR, tensor=i) for i in range(2)),
        tensors=both,
        storages=held.table.storages,
    )
    assert slots(Values(table=mixed, blobs=held.blobs), {}) == ()
    assert slots(values(("i", "int32", floats(1), ((1,), (1,), 0))), {}) == ()


def test_values_that_do_not_matter_become_zero():
    shrunk = reduce(values(("x", "float32", floats(*range(1, 9)), ((8,), (1,), 0))), lambda held: True)
    assert read(shrunk.smallest.values).tolist() == [0] * 8
    assert shrunk.reduction.text == "it fails whatever the values are"


def test_the_domain_is_kept():
    held = values(("x", "float32", floats(*np.linspace(0.1, 9, 8)), ((8,), (1,), 0)))
    seen = []

    def fails(tried):
        seen.append(read(tried).min())
        return read(tried)[3] > 3

    shrunk = reduce(held, fails, {"x": ValueDomain.POSITIVE})
    assert min(seen) > 0
    assert read(shrunk.smallest.values).tolist() == [1, 1, 1, 4, 1, 1, 1, 1]
    assert shrunk.reduction.text == "1 element decides: x[3]"


def test_one_culprit_among_many_is_found():
    numbers = np.random.default_rng(0).standard_normal(1 << 16).astype(np.float32)
    numbers[54321] = 20.0
    held = values(("x", "float32", numbers.tobytes(), ((256, 256), (256, 1), 0)))
    shrunk = reduce(held, lambda tried: abs(read(tried)[54321]) > 3)
    assert shrunk.reduction.places == ("x[212, 49]",)
    assert (shrunk.reduction.kept, shrunk.reduction.capped) == (1, False)
    assert read(shrunk.smallest.values)[54321] == 8  # a small whole number does
    assert shrunk.trials < 60


def test_specials_are_kept():
    numbers = [1.0, float("nan"), 3.0, float("inf")]
    shrunk = reduce(
        values(("x", "float32", floats(*numbers), ((4,), (1,), 0))), lambda tried: bool(np.isnan(read(tried)[1]))
    )
    assert np.array_equal(read(shrunk.smallest.values), [0, np.nan, 0, np.inf], equal_nan=True)
    assert shrunk.reduction.text == "at most 2 NaN or infinite elements decide, whatever the others are"


def test_too_many_culprits_are_told_as_such():
    numbers = floats(*np.linspace(-5, 5, 4096))
    places = np.arange(0, 4096, 97)
    shrunk = reduce(
        values(("x", "float32", numbers, ((4096,), (1,), 0))),
        lambda tried: bool((read(tried)[places] == np.linspace(-5, 5, 4096).astype(np.float32)[places]).all()),
    )
    assert shrunk.reduction.capped
    assert shrunk.reduction.text.startswith("at most ")
    assert shrunk.reduction.kept >= len(places)


def test_kept_values_that_alone_fail_are_reduced_where_they_are():
    held = values(("x", "float32", floats(*range(1, 9)), ((8,), (1,), 0)))

    def run(candidate):
        same = candidate.values is not None and read(candidate.values)[5] != 0
        return Trial(outcome=Outcome.SAME if same else Outcome.PASSES)

    start = Candidate(case=case(n=8), values=held)
    shrunk = minimise(start, Trials(quick=run, full=run), Space(), clock=Clock())
    assert shrunk.smallest.case.dims == {"n": 8}
    assert read(shrunk.smallest.values).tolist() == [0, 0, 0, 0, 0, 1, 0, 0]


def test_a_reduction_that_slips_is_not_taken():
    held = values(("x", "float32", floats(*range(1, 9)), ((8,), (1,), 0)))

    def quick(candidate):
        return Trial(outcome=Outcome.SAME)

    def full(candidate):
        slipped = candidate.values is not None and not read(candidate.values).any()
        return Trial(outcome=Outcome.OTHER, finding="zeros") if slipped else Trial(outcome=Outcome.SAME)

    start = Candidate(case=case(n=1))
    shrunk = minimise(start, Trials(quick=quick, full=full), Space(), clock=Clock(), keep=lambda _: held)
    assert shrunk.reduction is None and shrunk.smallest.values is None
    assert [other.finding for other in shrunk.others] == ["zeros"]

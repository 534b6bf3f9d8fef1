"""Kept values as raw bytes, and the elements in them that may be changed.

Decides which bytes are elements, and how numbers are written into them. Deliberately works on bytes by the width of an
element, so that NaN payloads, narrow formats and gaps come through as they were; numpy is all it needs.
"""

from __future__ import annotations

import hashlib
import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import numpy.typing as npt

from opsdebug_ci.bundle.extents import item_bytes
from opsdebug_ci.model.bundle import InputTable, InputValue
from opsdebug_ci.model.dtype import FLOAT_FORMATS, FloatFormat
from opsdebug_ci.model.vocabulary import ValueDomain

Words = npt.NDArray[Any]
"""Elements as unsigned whole numbers of their width."""

Places = npt.NDArray[np.int64]
"""Positions of elements in their storage, in elements."""

MOST_SMALL = 8
"""Largest of the small whole numbers that are tried: exact in every format, float8_e5m2 rounded."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Values:
    """The inputs of one case, held in memory."""

    table: InputTable
    """What they are."""

    blobs: Mapping[str, bytes]
    """Bytes of every storage, by sha256."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Slot:
    """The elements of one storage that may be changed, each once however many views hold it."""

    storage: int
    """Position in the table's storages."""

    argument: str
    """Name of the argument whose view comes first."""

    format: FloatFormat
    """How its elements are read."""

    places: Places
    """Which elements, ascending."""

    quiet: int
    """What an element is set to when it does not matter: the bits of 0, or of 1 where the domain has no 0."""

    signed: bool
    """Negative numbers lie in the domain."""


def slots(values: Values, domains: Mapping[str, ValueDomain | None]) -> tuple[Slot, ...]:
    """Every storage of floating-point elements, by the views of it.

    Whole numbers stay: they may be indices. So do storages that are read in two formats, and formats that are unknown.
    """
    found: list[Slot] = []
    names = _owners(values.table)
    for position, storage in enumerate(values.table.storages):
        views = [(index, view) for index, view in enumerate(values.table.tensors) if view.storage == position]
        formats = {view.dtype for _, view in views}
        if len(formats) != 1 or not formats <= FLOAT_FORMATS.keys():
            continue
        shape = FLOAT_FORMATS[views[0][1].dtype]
        places = np.unique(np.concatenate([_places(view.shape, view.stride, view.offset) for _, view in views]))
        if not places.size or (int(places[-1]) + 1) * shape.bits // 8 > storage.size_bytes:
            continue
        name = names.get(views[0][0], "")
        domain = domains.get(name) or ValueDomain.ANY
        zero_free = domain in (ValueDomain.NONZERO, ValueDomain.POSITIVE)
        signed = domain not in (ValueDomain.NONNEGATIVE, ValueDomain.POSITIVE)
        quiet = written(1, shape) if zero_free else 0
        found.append(Slot(storage=position, argument=name, format=shape, places=places, quiet=quiet, signed=signed))
    return tuple(found)


def words(values: Values, slot: Slot) -> Words:
    """The elements of a slot; a copy."""
    blob = values.blobs[values.table.storages[slot.storage].sha256]
    return np.frombuffer(blob, dtype=_word(slot.format), count=len(blob) // _width(slot.format))[slot.places]


def with_words(values: Values, changed: Sequence[tuple[Slot, Words]]) -> Values:
    """The same values with other elements in some slots; gaps stay as they were."""
    storages, blobs = list(values.table.storages), dict(values.blobs)
    for slot, elements in changed:
        entry = storages[slot.storage]
        whole = bytearray(blobs[entry.sha256])
        np.frombuffer(whole, dtype=_word(slot.format), count=len(whole) // _width(slot.format))[slot.places] = elements
        blob = bytes(whole)
        digest = hashlib.sha256(blob).hexdigest()
        blobs[digest] = blob
        storages[slot.storage] = replace(entry, sha256=digest)
    used = {entry.sha256 for entry in storages}
    return Values(
        table=replace(values.table, storages=tuple(storages)),
        blobs={digest: blob for digest, blob in blobs.items() if digest in used},
    )


def special(elements: Words, shape: FloatFormat) -> npt.NDArray[np.bool_]:
    """Which elements are NaN or infinite: all exponent bits set (IEEE 754-2019, section 3.4).

    float8_e4m3fn has no infinity and keeps one pattern for NaN, all bits but the sign set (OFP8 specification 1.0,
    table 1).
    """
    fraction = shape.precision - 1
    magnitude = elements & ((1 << (shape.bits - 1)) - 1)
    if not shape.has_infinity:
        return np.asarray(magnitude == (1 << (shape.bits - 1)) - 1)
    return np.asarray(magnitude >> fraction == (1 << (shape.bits - 1 - fraction)) - 1)


def written(number: int, shape: FloatFormat) -> int:
    """The bits of a small whole number, its fraction cut where the format has no room for it.

    Biased exponent, then fraction (IEEE 754-2019, section 3.4), with bias = 1 - the smallest normal exponent.
    """
    if number == 0:
        return 0
    size, fraction_bits = abs(number), shape.precision - 1
    exponent = size.bit_length() - 1
    fraction = (size << fraction_bits >> exponent) - (1 << fraction_bits)
    sign = (number < 0) << (shape.bits - 1)
    return sign | (exponent + 1 - shape.min_exponent) << fraction_bits | fraction


def rounded(elements: Words, slot: Slot) -> Words:
    """Every finite element as the nearest small whole number of its domain, at most 8 in size; the others as they are.

    Zeros become what is quiet there, so that a domain without zero is not left.
    """
    shape = slot.format
    fraction = shape.precision - 1
    exponents = ((elements >> fraction) & ((1 << (shape.bits - 1 - fraction)) - 1)).astype(np.int64)
    bits = elements.astype(np.uint64) & np.uint64((1 << fraction) - 1)
    power = (exponents + shape.min_exponent - 1).clip(-2, 4)  # beyond, it is 0 or the largest anyway
    sizes = np.rint((1 + bits.astype(np.float64) / 2.0**fraction) * 2.0**power).clip(0, MOST_SMALL).astype(np.int64)
    negative = elements >> (shape.bits - 1) == 1
    table = np.array(
        [slot.quiet if not n else written(n, shape) for n in (*range(MOST_SMALL + 1), *range(0, -MOST_SMALL - 1, -1))],
        dtype=elements.dtype,
    )
    chosen = table[np.where(negative & slot.signed, sizes + MOST_SMALL + 1, sizes)]
    return np.where(special(elements, shape), elements, chosen)


def index_of(values: Values, slot: Slot, place: int) -> str:
    """Where an element lies, as `argument[i, j]` in the first view that holds it."""
    for view in values.table.tensors:
        if view.storage == slot.storage:
            hits = np.flatnonzero(_places(view.shape, view.stride, view.offset) == place)
            if hits.size:
                index = np.unravel_index(int(hits[0]), view.shape) if view.shape else ()
                return f"{slot.argument}[{', '.join(str(int(i)) for i in index)}]"
    return slot.argument


def _places(shape: tuple[int, ...], stride: tuple[int, ...], offset: int) -> Places:
    """offset + sum of index times stride, in C order of the indices."""
    places = np.full(1, offset, dtype=np.int64)
    for size, step in zip(shape, stride, strict=True):
        places = (places[:, None] + np.arange(size, dtype=np.int64) * step).reshape(-1)
    return places if math.prod(shape) else places[:0]


def _owners(table: InputTable) -> dict[int, str]:
    """Tensor -> the argument that holds it."""
    owners: dict[int, str] = {}
    for name, value in zip(table.names, table.values, strict=True):
        for tensor in _tensors(value):
            owners.setdefault(tensor, name)
    return owners


def _tensors(value: InputValue) -> Iterator[int]:
    if value.tensor is not None:
        yield value.tensor
    for item in value.items:
        yield from _tensors(item)


def _width(shape: FloatFormat) -> int:
    return item_bytes(shape.name) or shape.bits // 8


def _word(shape: FloatFormat) -> np.dtype[Any]:
    return np.dtype(f"<u{_width(shape)}")

"""Key and value caches: appending, slots, ring buffers, int8 codes, gathering pages, beams, eviction."""

import numpy as np
import torch

from opsdebug_ci import Contract, operator, scalar, tensor

HALVES = ("float32", "float16", "bfloat16")


def start_of(dims, args):
    return dims["P"] // 3


APPEND = {
    "k_cache": tensor("B P+S H D", layouts=("contiguous", "offset", "padded")),
    "v_cache": tensor("B P+S H D", layouts=("contiguous", "offset", "padded")),
    "k": tensor("B S H D"),
    "v": tensor("B S H D"),
    "start": scalar(start_of),
}
APPEND_SIZES = {"B": 2, "P": 16, "S": 5, "H": 2, "D": 16}


def append_reference(k_cache, v_cache, k, v, start):
    stop = start + k.shape[1]
    return (
        torch.cat([k_cache[:, :start], k, k_cache[:, stop:]], dim=1),
        torch.cat([v_cache[:, :start], v, v_cache[:, stop:]], dim=1),
    )


@operator(
    kind="exact", dtypes=HALVES, dims=APPEND_SIZES, contract=Contract(mutates=("k_cache", "v_cache")), arguments=APPEND
)
def kv_cache_append_right(k_cache, v_cache, k, v, start):
    k_cache.narrow(1, start, k.shape[1]).copy_(k)
    v_cache.narrow(1, start, v.shape[1]).copy_(v)


kv_cache_append_right.reference("torch")(append_reference)


def slots_of(seed, dims, args):
    generator = np.random.default_rng(seed)
    slots = generator.permutation(dims["C"] + dims["T"])[: dims["T"]]
    return np.where(generator.random(dims["T"]) < 0.25, -1, slots)


SLOTS = {
    "cache": tensor("C+T H D"),
    "fresh": tensor("T H D"),
    "slots": tensor("T", dtype="int64", values=slots_of),
}
SLOT_SIZES = {"C": 24, "T": 12, "H": 2, "D": 16}


def slots_reference(cache, fresh, slots):
    cache = cache.clone()
    for i, slot in enumerate(slots.tolist()):
        if slot >= 0:
            cache[slot] = fresh[i]
    return cache


@operator(kind="exact", dtypes=HALVES, dims=SLOT_SIZES, contract=Contract(mutates=("cache",)), arguments=SLOTS)
def kv_cache_slots_right(cache, fresh, slots):
    """Token i goes to row slots[i]; padding has slot -1 and is not written."""
    kept = slots >= 0
    cache.index_copy_(0, slots[kept], fresh[kept])


kv_cache_slots_right.reference("torch")(slots_reference)


RING = {
    "ring": tensor("B W+S H D", layouts="contiguous"),
    "fresh": tensor("B S H D"),
    "position": scalar(lambda dims, args: 3 * (dims["W"] + dims["S"]) + dims["W"] + dims["S"] // 2),
}


def ring_reference(ring, fresh, position):
    ring = ring.clone()
    for i in range(fresh.shape[1]):
        ring[:, (position + i) % ring.shape[1]] = fresh[:, i]
    return ring


@operator(
    kind="exact",
    dtypes=("float32", "bfloat16"),
    dims={"B": 2, "W": 10, "S": 6, "H": 2, "D": 8},
    contract=Contract(mutates=("ring",)),
    arguments=RING,
)
def kv_cache_ring_right(ring, fresh, position):
    """At most two copies: up to the end of the buffer, and on from its start."""
    size, count = ring.shape[1], fresh.shape[1]
    if count == 0:
        return
    begin = position % size
    first = min(count, size - begin)
    ring[:, begin : begin + first] = fresh[:, :first]
    if first < count:
        ring[:, : count - first] = fresh[:, first:]


kv_cache_ring_right.reference("torch")(ring_reference)


def quantized_reference(codes, scales, fresh, start):
    codes, scales = codes.clone(), scales.clone()
    step = fresh.abs().amax(-1).clamp(min=1e-8) / 127
    codes[:, start : start + fresh.shape[1]] = torch.round(fresh / step[..., None]).clamp(-127, 127).to(torch.int8)
    scales[:, start : start + fresh.shape[1]] = step
    return codes, scales


@operator(
    kind={"codes": "quantize", "scales": "elementwise"},
    dims={"B": 2, "P": 12, "S": 4, "H": 2, "D": 16},
    contract=Contract(mutates=("codes", "scales")),
    codes=tensor("B P+S H D", dtype="int8"),
    scales=tensor("B P+S H", dtype="float32", values="positive"),
    fresh=tensor("B S H D", values="finite"),
    start=scalar(start_of),
)
def kv_cache_quantized_append_right(codes, scales, fresh, start):
    """One scale per token and head, codes rounded to nearest even."""
    for token in range(fresh.shape[1]):
        row = fresh[:, token]
        peak = torch.maximum(row.amax(-1), -row.amin(-1)).clamp(min=1e-8)
        step = peak / 127.0
        codes[:, start + token] = (row / step.unsqueeze(-1)).round_().clamp_(-127, 127).to(torch.int8)
        scales[:, start + token] = step


kv_cache_quantized_append_right.reference("torch")(quantized_reference)


def page_table(seed, dims, args):
    return np.random.default_rng(seed).integers(0, dims["P"], size=(dims["B"], dims["M"]))


@operator(
    kind="exact",
    dtypes=HALVES,
    dims={"B": 2, "P": 10, "M": 4, "H": 2, "D": 8},
    requires=lambda case: case.dims["P"] > 0 or "no pages",
    pages=tensor("P 4 H D"),
    table=tensor("B M", dtype="int32", values=page_table),
)
def kv_cache_gather_pages_right(pages, table):
    """Pages become contiguous sequences, through the flat index of each row."""
    rows = (table.long()[:, :, None] * 4 + torch.arange(4)).flatten(1)
    flat = pages.reshape(-1, *pages.shape[2:])
    return flat.index_select(0, rows.flatten()).reshape(*rows.shape, *pages.shape[2:])


@kv_cache_gather_pages_right.reference("torch")
def _(pages, table):
    return pages[table.long()].flatten(1, 2)


def parents_of(seed, dims, args):
    return np.random.default_rng(seed).integers(0, dims["N"], size=dims["N"]) if dims["N"] else []


BEAMS = {"cache": tensor("N T H D"), "parents": tensor("N", dtype="int64", values=parents_of)}
BEAM_SIZES = {"N": 6, "T": 8, "H": 2, "D": 8}


@operator(kind="exact", dtypes=HALVES, dims=BEAM_SIZES, contract=Contract(mutates=("cache",)), arguments=BEAMS)
def kv_cache_reorder_right(cache, parents):
    """Each beam continues the cache of its parent; only beams that changed are moved, from a copy."""
    moved = torch.nonzero(parents != torch.arange(len(parents))).flatten()
    cache[moved] = cache[parents[moved]]


@kv_cache_reorder_right.reference("torch")
def _(cache, parents):
    return cache.index_select(0, parents)


STREAM = {
    "cache": tensor("B 4+W+S H D", layouts=("contiguous", "offset")),
    "fresh": tensor("B S H D"),
}


def stream_reference(cache, fresh):
    return torch.cat([cache[:, :4], cache[:, 4 + fresh.shape[1] :], fresh], dim=1)


@operator(
    kind="exact",
    dtypes=("float32", "float16"),
    dims={"B": 2, "W": 9, "S": 3, "H": 2, "D": 8},
    contract=Contract(mutates=("cache",)),
    arguments=STREAM,
)
def kv_cache_evict_right(cache, fresh):
    """Four sink tokens stay, the oldest others make room for the new ones; rows move one at a time, from the left."""
    count = fresh.shape[1]
    for row in range(4, cache.shape[1] - count):
        cache[:, row] = cache[:, row + count]
    cache[:, cache.shape[1] - count :] = fresh


kv_cache_evict_right.reference("torch")(stream_reference)


@operator(kind="exact", dtypes=HALVES, dims=SLOT_SIZES, contract=Contract(mutates=("cache",)), arguments=SLOTS)
def kv_cache_padding_slot_wrong(cache, fresh, slots):
    """Slot -1 is not skipped, so padding is written to the last row."""
    for i, slot in enumerate(slots.tolist()):
        cache[slot] = fresh[i]


kv_cache_padding_slot_wrong.reference("torch")(slots_reference)


@operator(
    kind="exact",
    dims={"B": 2, "W": 10, "S": 6, "H": 2, "D": 8},
    contract=Contract(mutates=("ring",)),
    arguments=RING,
)
def kv_cache_ring_end_wrong(ring, fresh, position):
    """What does not fit before the end of the buffer is dropped instead of wrapping around."""
    if fresh.shape[1]:
        begin = position % ring.shape[1]
        first = min(fresh.shape[1], ring.shape[1] - begin)
        ring[:, begin : begin + first] = fresh[:, :first]


kv_cache_ring_end_wrong.reference("torch")(ring_reference)


@operator(kind="exact", dtypes=HALVES, dims=BEAM_SIZES, contract=Contract(mutates=("cache",)), arguments=BEAMS)
def kv_cache_reorder_in_place_wrong(cache, parents):
    """Beams are moved one by one, so later ones read rows that were overwritten."""
    for beam, parent in enumerate(parents.tolist()):
        if beam != parent:
            cache[beam].copy_(cache[parent])


@kv_cache_reorder_in_place_wrong.reference("torch")
def _(cache, parents):
    return cache.index_select(0, parents)


@operator(
    kind="exact",
    dtypes=("float32", "bfloat16"),
    dims={"B": 2, "P": 12, "S": 4, "H": 2, "D": 8},
    contract=Contract(mutates=("cache",)),
    cache=tensor("B H P+S D"),
    fresh=tensor("B H S D"),
    start=scalar(start_of),
)
def kv_cache_contiguous_copy_wrong(cache, fresh, start):
    """The cache is made contiguous first, so a view is not written itself."""
    rows = cache.contiguous()
    rows[:, :, start : start + fresh.shape[2]] = fresh


@kv_cache_contiguous_copy_wrong.reference("torch")
def _(cache, fresh, start):
    return torch.cat([cache[:, :, :start], fresh, cache[:, :, start + fresh.shape[2] :]], dim=2)


@operator(
    kind={"codes": "quantize", "scales": "elementwise"},
    dims={"B": 2, "P": 12, "S": 4, "H": 2, "D": 16},
    contract=Contract(mutates=("codes", "scales")),
    codes=tensor("B P+S H D", dtype="int8"),
    scales=tensor("B P+S H", dtype="float32", values="positive"),
    fresh=tensor("B S H D", values="finite"),
    start=scalar(start_of),
)
def kv_cache_quantized_signed_peak_wrong(codes, scales, fresh, start):
    """The scale comes from the largest value instead of the largest magnitude, so negative peaks are clipped."""
    step = fresh.amax(-1).clamp(min=1e-8) / 127
    stop = start + fresh.shape[1]
    codes[:, start:stop] = torch.round(fresh / step[..., None]).clamp(-127, 127).to(torch.int8)
    scales[:, start:stop] = step


kv_cache_quantized_signed_peak_wrong.reference("torch")(quantized_reference)

"""Scans: prefix sums, products and maxima, exclusive and segmented ones."""

import torch
import torch.nn.functional as F  # noqa: N812 - as everybody writes it

from opsdebug_ci import operator, tensor

HALVES = ("float32", "float16", "bfloat16")


# Inclusive sums in two levels: inside blocks of 16, then over the totals of blocks.


@operator(kind="scan", dtypes=HALVES, dims={"B": 3, "L": 75}, x=tensor("B L"))
def scan_cumsum_right(x):
    rows, length = x.shape
    padded = F.pad(x.float(), (0, -length % 16)).view(rows, (length + 15) // 16, 16)
    for shift in (1, 2, 4, 8):  # Hillis and Steele
        padded = torch.cat([padded[..., :shift], padded[..., shift:] + padded[..., :-shift]], dim=-1)
    out = torch.empty_like(padded)
    carry = torch.zeros(rows, 1)
    for block in range(padded.shape[1]):
        out[:, block] = padded[:, block] + carry
        carry = out[:, block, -1:]
    return out.flatten(1)[:, :length].to(x.dtype)


@scan_cumsum_right.reference("torch")
def _(x):
    return torch.cumsum(x, dim=-1)


@operator(kind="scan", dtypes=HALVES, dims={"B": 3, "L": 75}, x=tensor("B L"))
def scan_cumsum_carry_wrong(x):
    """The carry into a block is the total of the block before it alone."""
    rows, length = x.shape
    local = torch.cumsum(F.pad(x.float(), (0, -length % 16)).view(rows, (length + 15) // 16, 16), -1)
    out = local.clone()
    out[:, 1:] += local[:, :-1, -1:]
    return out.flatten(1)[:, :length].to(x.dtype)


@scan_cumsum_carry_wrong.reference("torch")
def _(x):
    return torch.cumsum(x, dim=-1)


# Inclusive products.


@operator(kind="scan", dims={"B": 4, "L": 24}, x=tensor("B L"))
def scan_cumprod_right(x):
    out = torch.empty(x.shape)
    product = torch.ones(x.shape[0], dtype=torch.float64)
    for i in range(x.shape[1]):
        product = product * x[:, i]
        out[:, i] = product
    return out


@scan_cumprod_right.reference("torch")
def _(x):
    return torch.cumprod(x, dim=-1)


# Exclusive sums down the first axis.


def exclusive_reference(x):
    out = torch.zeros_like(x)
    out[1:] = torch.cumsum(x, 0)[:-1]
    return out


@operator(kind="scan", dims={"L": 40, "C": 6}, x=tensor("L C"))
def scan_exclusive_right(x):
    out = torch.empty(x.shape)
    carry = torch.zeros(x.shape[1])
    for start in range(0, x.shape[0], 8):
        tile = x[start : start + 8]
        lower = torch.tril(torch.ones(tile.shape[0], tile.shape[0]), -1)
        inside = torch.where(lower.bool().unsqueeze(-1), tile.unsqueeze(0), 0.0).sum(1)
        out[start : start + 8] = inside + carry
        carry = carry + tile.sum(0)
    return out


scan_exclusive_right.reference("torch")(exclusive_reference)


@operator(kind="scan", dims={"L": 40, "C": 6}, x=tensor("L C"))
def scan_exclusive_boundary_wrong(x):
    """The first element of each block of eight but the first is the inclusive sum."""
    inclusive = torch.cumsum(x, 0)
    out = torch.zeros_like(x)
    for start in range(0, x.shape[0], 8):
        stop = min(start + 8, x.shape[0])
        out[start + 1 : stop] = inclusive[start : stop - 1]
        if start:
            out[start] = inclusive[start]
    return out


scan_exclusive_boundary_wrong.reference("torch")(exclusive_reference)


# Sums that start anew where a flag is set.


def segmented_reference(x, start):
    out, total = [], torch.zeros_like(x[:, 0])
    for i in range(x.shape[1]):
        total = torch.where(start[:, i], x[:, i], total + x[:, i])
        out.append(total)
    return torch.stack(out, dim=1)


SEGMENTED = {"x": tensor("B L", values="finite"), "start": tensor("B L", dtype="bool")}


@operator(
    kind="scan",
    dims={"B": 3, "L": 30},
    requires=lambda case: case.dims["L"] > 0 or "nothing to scan",
    arguments=SEGMENTED,
)
def scan_segmented_right(x, start):
    value, flag = x.clone(), start.clone()
    shift = 1
    while shift < x.shape[1]:
        added = torch.where(flag[:, shift:], value[:, shift:], value[:, shift:] + value[:, :-shift])
        either = flag[:, shift:] | flag[:, :-shift]
        value = torch.cat([value[:, :shift], added], 1)
        flag = torch.cat([flag[:, :shift], either], 1)
        shift *= 2
    return value


scan_segmented_right.reference("torch")(segmented_reference)


@operator(
    kind="scan",
    dims={"B": 3, "L": 30},
    requires=lambda case: case.dims["L"] > 0 or "nothing to scan",
    arguments=SEGMENTED,
)
def scan_segmented_flag_wrong(x, start):
    """A step of the doubling does not merge the flags, so later steps add across a start."""
    value = x.clone()
    shift = 1
    while shift < x.shape[1]:
        added = torch.where(start[:, shift:], value[:, shift:], value[:, shift:] + value[:, :-shift])
        value = torch.cat([value[:, :shift], added], 1)
        shift *= 2
    return value


scan_segmented_flag_wrong.reference("torch")(segmented_reference)


# Running maximum, and the running sum from the right.


@operator(kind="exact", dtypes=("float32", "float16"), dims={"B": 4, "L": 33}, x=tensor("B L"))
def scan_cummax_right(x):
    out, shift = x.clone(), 1
    while shift < x.shape[1]:
        out = torch.cat([out[:, :shift], torch.maximum(out[:, shift:], out[:, :-shift])], 1)
        shift *= 2
    return out


@scan_cummax_right.reference("torch")
def _(x):
    return torch.cummax(x, dim=1).values


@operator(kind="scan", dims={"B": 4, "L": 50}, x=tensor("B L"))
def scan_cumsum_reverse_right(x):
    out = torch.empty(x.shape)
    total = torch.zeros(x.shape[0])
    for i in reversed(range(x.shape[1])):
        total = total + x[:, i]
        out[:, i] = total
    return out


@scan_cumsum_reverse_right.reference("torch")
def _(x):
    return x.flip(-1).cumsum(-1).flip(-1)


@operator(kind="scan", dims={"B": 4, "L": 50}, x=tensor("B L"))
def scan_cumsum_reverse_difference_wrong(x):
    """The sum from the right is the total minus the inclusive sum, which leaves the element itself out."""
    return x.sum(-1, keepdim=True) - torch.cumsum(x, -1)


@scan_cumsum_reverse_difference_wrong.reference("torch")
def _(x):
    return x.flip(-1).cumsum(-1).flip(-1)

"""Rotary position embeddings: halves and interleaved pairs, partial, by position ids, in place, two axes, inverse."""

import numpy as np
import torch

from opsdebug_ci import Contract, operator, scalar, tensor

HALVES = ("float32", "float16", "bfloat16")
TABLES = {
    "cos": tensor("S D", dtype="float32", values="finite"),
    "sin": tensor("S D", dtype="float32", values="finite"),
}
SIZES = {"B": 2, "S": 12, "H": 3, "D": 8}


def rotate_half(x):
    first, second = x.chunk(2, dim=-1)
    return torch.cat([-second, first], dim=-1)


def halves_reference(x, cos, sin):
    cos, sin = torch.cat([cos, cos], -1)[:, None], torch.cat([sin, sin], -1)[:, None]
    return (x * cos + rotate_half(x) * sin).to(x.dtype)


def pairs_reference(x, cos, sin):
    even, odd = x[..., 0::2], x[..., 1::2]
    cos, sin = cos[:, None], sin[:, None]
    return torch.stack([even * cos - odd * sin, even * sin + odd * cos], dim=-1).flatten(-2).to(x.dtype)


@operator(kind="elementwise", dtypes=HALVES, dims=SIZES, x=tensor("B S H 2*D"), **TABLES)
def rope_halves_right(x, cos, sin):
    half = x.shape[-1] // 2
    out = torch.empty_like(x, memory_format=torch.contiguous_format)
    a, b = x[..., :half].float(), x[..., half:].float()
    cos, sin = cos.unsqueeze(1), sin.unsqueeze(1)
    out[..., :half] = a * cos - b * sin
    out[..., half:] = torch.addcmul(b * cos, a, sin)
    return out


rope_halves_right.reference("torch")(halves_reference)


@operator(kind="elementwise", dtypes=HALVES, dims=SIZES, x=tensor("B S H 2*D"), **TABLES)
def rope_pairs_right(x, cos, sin):
    """Neighbours are one complex number, which is multiplied by the unit number of its angle."""
    numbers = torch.view_as_complex(x.float().contiguous().unflatten(-1, (-1, 2)))
    turned = numbers * torch.complex(cos, sin)[:, None]
    return torch.view_as_real(turned).flatten(-2).to(x.dtype)


rope_pairs_right.reference("torch")(pairs_reference)


@operator(kind="elementwise", dtypes=("float32", "bfloat16"), dims=SIZES, x=tensor("B S H 2*D+6"), **TABLES)
def rope_partial_right(x, cos, sin):
    """Only the first columns turn, the others pass."""
    turning = 2 * cos.shape[-1]
    out = x.clone(memory_format=torch.contiguous_format)
    a, b = x[..., : turning // 2].float(), x[..., turning // 2 : turning].float()
    out[..., :turning] = torch.cat([a * cos[:, None] - b * sin[:, None], b * cos[:, None] + a * sin[:, None]], dim=-1)
    return out


@rope_partial_right.reference("torch")
def _(x, cos, sin):
    turning = 2 * cos.shape[-1]
    return torch.cat([halves_reference(x[..., :turning], cos, sin), x[..., turning:]], dim=-1)


def position_ids(seed, dims, args):
    return np.random.default_rng(seed).integers(0, dims["P"], size=(dims["B"], dims["S"]))


@operator(
    kind="elementwise",
    dtypes=HALVES,
    dims={"B": 2, "S": 7, "H": 4, "D": 8, "P": 64},
    requires=lambda case: case.dims["P"] > 0 or "an empty table",
    q=tensor("B H S 2*D"),
    k=tensor("B 1 S 2*D"),
    table=tensor("P 2*D", dtype="float32", values="finite"),
    positions=tensor("B S", dtype="int64", values=position_ids),
)
def rope_position_ids_right(q, k, table, positions):
    """Cosines, then sines, are in one row of the table for each position."""
    cos, sin = table.index_select(0, positions.flatten()).view(*positions.shape, -1).unsqueeze(1).chunk(2, dim=-1)

    def turned(x):
        a, b = x.float().tensor_split(2, dim=-1)
        return torch.cat((a * cos - b * sin, a * sin + b * cos), dim=-1).to(x.dtype)

    return turned(q), turned(k)


@rope_position_ids_right.reference("torch")
def _(q, k, table, positions):
    half = table.shape[-1] // 2
    rows = table[positions][:, None]
    cos, sin = rows[..., :half].repeat(1, 1, 1, 2), rows[..., half:].repeat(1, 1, 1, 2)
    return (q * cos + rotate_half(q) * sin).to(q.dtype), (k * cos + rotate_half(k) * sin).to(k.dtype)


@operator(
    kind="elementwise",
    dtypes=HALVES,
    dims=SIZES,
    contract=Contract(mutates=("q", "k")),
    q=tensor("B S H 2*D"),
    k=tensor("B S 1 2*D"),
    **TABLES,
)
def rope_in_place_right(q, k, cos, sin):
    for x in (q, k):
        first, second = x.chunk(2, dim=-1)
        a, b = first.float(), second.float().clone()
        turned = a * cos[:, None] - b * sin[:, None]
        second.copy_(b * cos[:, None] + a * sin[:, None])
        first.copy_(turned)


@rope_in_place_right.reference("torch")
def _(q, k, cos, sin):
    return halves_reference(q, cos, sin), halves_reference(k, cos, sin)


PAST = {"x": tensor("B S H 2*D"), "past": scalar(lambda dims, args: 100 + dims["S"])}


def computed_reference(x, past):
    width = x.shape[-1]
    frequencies = 1.0 / (10000.0 ** (torch.arange(0, width, 2).double() / width))
    angles = torch.outer(torch.arange(past, past + x.shape[1]).double(), frequencies)
    return halves_reference(x, angles.cos().to(x.dtype), angles.sin().to(x.dtype))


@operator(kind="elementwise", dims=SIZES, arguments=PAST)
def rope_computed_right(x, past):
    """Angles are computed in double precision, per pair, as numpy would cache them."""
    half = x.shape[-1] // 2
    frequencies = np.power(10000.0, -np.arange(half) / max(half, 1))
    angles = np.arange(past, past + x.shape[1])[:, None] * frequencies[None, :]
    cos = torch.from_numpy(np.cos(angles)).to(torch.float32)[:, None]
    sin = torch.from_numpy(np.sin(angles)).to(torch.float32)[:, None]
    a, b = x[..., :half], x[..., half:]
    return torch.cat([torch.addcmul(a * cos, b, sin, value=-1), torch.addcmul(b * cos, a, sin)], dim=-1)


rope_computed_right.reference("torch")(computed_reference)


@operator(kind="elementwise", dtypes=("float32", "float16"), dims=SIZES, gradient=tensor("B S H 2*D"), **TABLES)
def rope_backward_right(gradient, cos, sin):
    """The gradient turns back: the transposed rotation of each pair."""
    g = gradient.float().unflatten(-1, (cos.shape[-1], 2))
    cos, sin = cos[:, None], sin[:, None]
    out = torch.empty_like(g)
    out[..., 0] = g[..., 0] * cos + g[..., 1] * sin
    out[..., 1] = g[..., 1] * cos - g[..., 0] * sin
    return out.flatten(-2).to(gradient.dtype)


@rope_backward_right.reference("torch")
def _(gradient, cos, sin):
    return pairs_reference(gradient, cos, -sin)


@operator(
    kind="elementwise",
    dtypes=("float32", "bfloat16"),
    dims={"B": 1, "R": 4, "C": 5, "H": 2, "D": 4},
    x=tensor("B R C H 4*D"),
    cos_row=tensor("R D", dtype="float32"),
    sin_row=tensor("R D", dtype="float32"),
    cos_column=tensor("C D", dtype="float32"),
    sin_column=tensor("C D", dtype="float32"),
)
def rope_two_axes_right(x, cos_row, sin_row, cos_column, sin_column):
    """Patches of an image: the first half of the columns turns with the row, the second with the column."""
    rows, columns, width = x.shape[1], x.shape[2], cos_row.shape[-1]
    cos = torch.stack([cos_row[:, None].expand(rows, columns, width), cos_column[None].expand(rows, columns, width)], 2)
    sin = torch.stack([sin_row[:, None].expand(rows, columns, width), sin_column[None].expand(rows, columns, width)], 2)
    parts = x.float().unflatten(-1, (2, 2, width))
    a, b = parts.unbind(-2)
    cos, sin = cos[:, :, None], sin[:, :, None]
    return torch.stack([a * cos - b * sin, b * cos + a * sin], dim=-2).flatten(-3).to(x.dtype)


@rope_two_axes_right.reference("torch")
def _(x, cos_row, sin_row, cos_column, sin_column):
    by_row, by_column = x.chunk(2, dim=-1)
    by_row = halves_reference(by_row.transpose(1, 2), cos_row, sin_row).transpose(1, 2)
    return torch.cat([by_row, halves_reference(by_column, cos_column, sin_column)], dim=-1)


@operator(kind="elementwise", dtypes=HALVES, dims=SIZES, x=tensor("B S H 2*D"), **TABLES)
def rope_sign_wrong(x, cos, sin):
    """The minus sign is on the wrong half, so vectors turn backwards."""
    a, b = x.float().chunk(2, dim=-1)
    cos, sin = cos[:, None], sin[:, None]
    return torch.cat([a * cos + b * sin, b * cos - a * sin], dim=-1).to(x.dtype)


rope_sign_wrong.reference("torch")(halves_reference)


@operator(kind="elementwise", dtypes=("float32", "float16"), dims=SIZES, x=tensor("B S H 2*D"), **TABLES)
def rope_convention_wrong(x, cos, sin):
    """Halves are rotated with a table that is laid out for neighbouring pairs."""
    cos, sin = cos.repeat_interleave(2, dim=-1)[:, None], sin.repeat_interleave(2, dim=-1)[:, None]
    return (x.float() * cos + rotate_half(x.float()) * sin).to(x.dtype)


rope_convention_wrong.reference("torch")(halves_reference)


@operator(kind="elementwise", dims=SIZES, arguments=PAST)
def rope_forgotten_past_wrong(x, past):
    """Positions start at 0 whatever is in the cache already."""
    half = x.shape[-1] // 2
    frequencies = 10000.0 ** (-torch.arange(half, dtype=torch.float64) / max(half, 1))
    angles = torch.arange(x.shape[1], dtype=torch.float64)[:, None] * frequencies
    cos, sin = angles.cos().float()[:, None], angles.sin().float()[:, None]
    a, b = x[..., :half], x[..., half:]
    return torch.cat([a * cos - b * sin, b * cos + a * sin], dim=-1)


rope_forgotten_past_wrong.reference("torch")(computed_reference)


@operator(kind="elementwise", dtypes=("float16", "bfloat16"), dims=SIZES, x=tensor("B S H 2*D"), past=1500)
def rope_narrow_angles_wrong(x, past):
    """Angles are computed in the dtype of x, where late positions are rounded."""
    half = x.shape[-1] // 2
    frequencies = 10000.0 ** (-torch.arange(half) / max(half, 1))
    angles = torch.arange(past, past + x.shape[1]).to(x.dtype)[:, None] * frequencies.to(x.dtype)
    cos, sin = angles.float().cos()[:, None], angles.float().sin()[:, None]
    a, b = x[..., :half].float(), x[..., half:].float()
    return torch.cat([a * cos - b * sin, b * cos + a * sin], dim=-1).to(x.dtype)


@rope_narrow_angles_wrong.reference("torch")
def _(x, past):
    width = x.shape[-1]
    frequencies = 1.0 / (10000.0 ** (torch.arange(0, width, 2).double() / width))
    angles = torch.outer(torch.arange(past, past + x.shape[1]).double(), frequencies)
    return halves_reference(x, angles.cos().float(), angles.sin().float())

"""RMS norms and their relatives: offset weights, fused residuals, gates and groups."""

import torch
from torch.nn import functional

from opsdebug_ci import Contract, operator, tensor

HALVES = ("float32", "float16", "bfloat16")
ROWS = {"x": tensor("S H"), "weight": tensor("H")}


def plain_reference(x, weight):
    return functional.rms_norm(x, x.shape[-1:], weight, 1e-6)


def offset_reference(x, weight):
    wide = x.float()
    return (wide * torch.rsqrt(wide.pow(2).mean(-1, keepdim=True) + 1e-6) * (1.0 + weight.float())).to(x.dtype)


@operator(kind="norm", dtypes=HALVES, dims={"S": 6, "H": 96}, arguments=ROWS)
def rms_norm_tiled_right(x, weight):
    """The squares of 32 columns at a time go to 32 partial sums, added at the end."""
    lanes = torch.zeros(x.shape[0], 32)
    for start in range(0, x.shape[-1], 32):
        tile = x[:, start : start + 32].float()
        lanes[:, : tile.shape[-1]] += tile * tile
    inverse = torch.rsqrt(lanes.sum(-1, keepdim=True) / max(x.shape[-1], 1) + 1e-6)
    return (x.float() * inverse * weight.float()).to(x.dtype)


rms_norm_tiled_right.reference("torch")(plain_reference)


@operator(kind="norm", dtypes=HALVES, dims={"S": 6, "H": 64}, arguments=ROWS)
def rms_norm_offset_right(x, weight):
    """Weights are stored less 1."""
    wide = x.float()
    inverse = 1 / torch.sqrt(torch.linalg.vecdot(wide, wide).unsqueeze(-1) / x.shape[-1] + 1e-6)
    normed = wide * inverse
    return torch.addcmul(normed, normed, weight.float()).to(x.dtype)


rms_norm_offset_right.reference("torch")(offset_reference)


def add_reference(x, residual, weight):
    total = x + residual
    return functional.rms_norm(total, total.shape[-1:], weight, 1e-5), total


ADDED = {"x": tensor("S H"), "residual": tensor("S H"), "weight": tensor("H")}


@operator(
    kind="norm", dtypes=HALVES, dims={"S": 5, "H": 56}, contract=Contract(mutates=("x", "residual")), arguments=ADDED
)
def rms_norm_add_in_place_right(x, residual, weight):
    """The residual takes the sum, x the normalised sum."""
    total = x.float() + residual.float()
    residual.copy_(total)
    inverse = torch.rsqrt(total.square().mean(-1, keepdim=True) + 1e-5)
    x.copy_(total.mul_(inverse).mul_(weight.float()))


rms_norm_add_in_place_right.reference("torch")(add_reference)


@operator(
    kind="norm",
    dtypes=("float32", "bfloat16"),
    dims={"S": 6, "H": 48},
    x=tensor("S H"),
    gate=tensor("S H"),
    weight=tensor("H"),
)
def rms_norm_gated_right(x, gate, weight):
    """State space models: the gate is applied before the norm."""
    gate32 = gate.float()
    gated = x.float() * gate32 * torch.sigmoid(gate32)
    squares = torch.einsum("sh,sh->s", gated, gated)[:, None]
    return (gated * torch.rsqrt(squares / x.shape[-1] + 1e-5) * weight.float()).to(x.dtype)


@rms_norm_gated_right.reference("torch")
def _(x, gate, weight):
    gated = x * functional.silu(gate)
    return functional.rms_norm(gated, gated.shape[-1:], weight, 1e-5)


@operator(kind="norm", dims={"S": 5, "H": 40}, x=tensor("S H", values="finite"), weight=tensor("H"))
def rms_norm_scaled_right(x, weight):
    """Rows with large values are scaled down by their peak first, so that squares do not overflow."""
    if x.shape[-1] == 0:
        return torch.empty_like(x)
    peak = x.abs().amax(-1, keepdim=True).clamp(min=1.0)
    small = x / peak
    mean = small.square().mean(-1, keepdim=True)
    return small * torch.rsqrt(mean + (1e-6 / peak) / peak) * weight


rms_norm_scaled_right.reference("torch")(plain_reference)


@operator(kind="norm", dtypes=("float32", "float16"), dims={"S": 6, "G": 12}, x=tensor("S 4*G"), weight=tensor("4*G"))
def rms_norm_grouped_right(x, weight):
    """Four groups of columns, each with its own mean square."""
    width = x.shape[-1] // 4
    out = torch.empty(x.shape, dtype=x.dtype)
    for group in range(4):
        columns = slice(group * width, (group + 1) * width)
        part = x[:, columns].float()
        out[:, columns] = (
            part / (part.pow(2).sum(-1, keepdim=True) / max(width, 1) + 1e-5).sqrt() * weight[columns].float()
        )
    return out


@rms_norm_grouped_right.reference("torch")
def _(x, weight):
    groups = x.reshape(x.shape[0], 4, x.shape[1] // 4)
    return functional.rms_norm(groups, groups.shape[-1:], None, 1e-5).reshape(x.shape) * weight


@operator(kind="norm", dtypes=HALVES, dims={"S": 6, "H": 48}, arguments=ROWS)
def rms_norm_sum_wrong(x, weight):
    """Squares are added and never divided by their number."""
    wide = x.float()
    return (wide * torch.rsqrt(wide.square().sum(-1, keepdim=True) + 1e-6) * weight.float()).to(x.dtype)


rms_norm_sum_wrong.reference("torch")(plain_reference)


@operator(kind="norm", dtypes=("float32", "float16"), dims={"S": 6, "H": 48}, arguments=ROWS)
def rms_norm_padded_width_wrong(x, weight):
    """The mean is over the row padded to a power of two."""
    padded = 1 << max(x.shape[-1] - 1, 0).bit_length()
    wide = functional.pad(x.float(), (0, padded - x.shape[-1]))
    inverse = torch.rsqrt(wide.square().mean(-1, keepdim=True) + 1e-6)
    return (x.float() * inverse * weight.float()).to(x.dtype)


rms_norm_padded_width_wrong.reference("torch")(plain_reference)


@operator(kind="norm", dtypes=("float32", "bfloat16"), dims={"S": 6, "H": 64}, arguments=ROWS)
def rms_norm_offset_rows_wrong(x, weight):
    """The 1 is added to the normalised value instead of the weight."""
    wide = x.float()
    normed = wide * torch.rsqrt(wide.square().mean(-1, keepdim=True) + 1e-6)
    return ((1.0 + normed) * weight.float()).to(x.dtype)


rms_norm_offset_rows_wrong.reference("torch")(offset_reference)


@operator(
    kind="norm", dtypes=HALVES, dims={"S": 5, "H": 56}, contract=Contract(mutates=("x", "residual")), arguments=ADDED
)
def rms_norm_stale_residual_wrong(x, residual, weight):
    """The sum is not written back to the residual."""
    total = x.float() + residual.float()
    x.copy_(total * torch.rsqrt(total.square().mean(-1, keepdim=True) + 1e-5) * weight.float())


rms_norm_stale_residual_wrong.reference("torch")(add_reference)


@operator(kind="norm", dtypes=("float16",), dims={"S": 6, "H": 48}, arguments=ROWS)
def rms_norm_narrow_squares_wrong(x, weight):
    """Squares are taken in float16, where they overflow from 256 on."""
    inverse = torch.rsqrt((x * x).float().mean(-1, keepdim=True) + 1e-6)
    return (x.float() * inverse * weight.float()).to(x.dtype)


rms_norm_narrow_squares_wrong.reference("torch")(plain_reference)

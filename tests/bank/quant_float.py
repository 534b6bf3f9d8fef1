"""Eight-bit floats, fake quantisation and four-bit tables."""

import numpy as np
import torch

from opsdebug_ci import operator, tensor

NF4 = [
    -1.0,
    -0.6961928009986877,
    -0.5250730514526367,
    -0.39491748809814453,
    -0.28444138169288635,
    -0.18477343022823334,
    -0.09105003625154495,
    0.0,
    0.07958029955625534,
    0.16093020141124725,
    0.24611230194568634,
    0.33791524171829224,
    0.44070982933044434,
    0.5626170039176941,
    0.7229568362236023,
    1.0,
]


# Cast to e4m3 under a given scale, saturating.


def cast_reference(x, scale):
    return (x.float() / scale).clamp(-448, 448).to(torch.float8_e4m3fn)


@operator(
    dtypes=("float32", "bfloat16"),
    dims={"T": 16, "H": 32},
    x=tensor("T H", values="finite"),
    scale=0.25,
)
def fp8_cast_scaled_right(x, scale):
    flat = x.contiguous().view(-1)
    out = torch.empty(flat.shape, dtype=torch.float8_e4m3fn)
    inverse = 1.0 / scale  # a power of two
    for start in range(0, flat.numel(), 256):
        block = flat[start : start + 256].float() * inverse
        out[start : start + 256] = torch.minimum(torch.maximum(block, torch.tensor(-448.0)), torch.tensor(448.0)).to(
            torch.float8_e4m3fn
        )
    return out.view(x.shape)


fp8_cast_scaled_right.reference("torch")(cast_reference)


@operator(
    dtypes=("float32", "bfloat16"),
    dims={"T": 16, "H": 32},
    x=tensor("T H", values="finite"),
    scale=0.005,
)
def fp8_cast_fnuz_range_wrong(x, scale):
    """It saturates at 240, the range of the other e4m3 variant."""
    return (x.float() / scale).clamp(-240, 240).to(torch.float8_e4m3fn)


fp8_cast_fnuz_range_wrong.reference("torch")(cast_reference)


# Round to the e4m3 grid and stay in the wide dtype.


def grid_reference(x):
    return x.float().clamp(-448, 448).to(torch.float8_e4m3fn).to(x.dtype)


@operator(kind="exact", dtypes=("float32", "float16", "bfloat16"), dims={"N": 96}, x=tensor("N", values="finite"))
def fp8_round_to_grid_right(x):
    wide = x.float().clamp(-448, 448)
    _, exponent = torch.frexp(wide)  # wide = m * 2**exponent with m in [0.5, 1)
    quantum = torch.ldexp(torch.ones_like(wide), exponent.clamp(min=-5) - 4)
    return (torch.round(wide / quantum) * quantum).to(x.dtype)


fp8_round_to_grid_right.reference("torch")(grid_reference)


@operator(kind="exact", dtypes=("float32", "float16", "bfloat16"), dims={"N": 96}, x=tensor("N", values="finite"))
def fp8_round_to_grid_subnormal_wrong(x):
    """Values below 2**-6 keep three bits of mantissa, as though e4m3 had no subnormal numbers."""
    wide = x.float().clamp(-448, 448)
    _, exponent = torch.frexp(wide)
    quantum = torch.ldexp(torch.ones_like(wide), exponent - 4)
    return (torch.round(wide / quantum) * quantum).to(x.dtype)


fp8_round_to_grid_subnormal_wrong.reference("torch")(grid_reference)


# A scale per token from its largest magnitude.


@operator(dtypes=("float32", "bfloat16"), dims={"T": 12, "H": 64}, x=tensor("T H", values="finite"))
def fp8_per_token_scale_right(x):
    wide = x.float()
    top = torch.maximum(wide.amax(-1, keepdim=True), -wide.amin(-1, keepdim=True))
    return torch.where(top > 1e-10, top, 1e-10) / 448.0


@fp8_per_token_scale_right.reference("torch")
def _(x):
    return x.abs().amax(-1, keepdim=True).float().clamp(min=1e-10) / 448


# Block-scaled product: a has a scale per token and 32 inputs, b per 16 outputs and 32 inputs.


def positive(*names):
    def make(seed, dims, args):
        return 0.01 + 0.1 * np.random.default_rng(seed + 3).random([dims[name] for name in names])

    return make


def block_reference(a, a_scale, b, b_scale):
    wide_a = a.float() * a_scale.repeat_interleave(32, dim=1)
    wide_b = b.float() * b_scale.repeat_interleave(32, dim=1).repeat_interleave(16, dim=0)
    return (wide_a @ wide_b.t()).to(torch.bfloat16)


BLOCKED = {
    "a": tensor("M 32*G", dtype="float8_e4m3fn", values="finite"),
    "a_scale": tensor("M G", dtype="float32", values=positive("M", "G")),
    "b": tensor("16*P 32*G", dtype="float8_e4m3fn", values="finite"),
    "b_scale": tensor("P G", dtype="float32", values=positive("P", "G")),
}


@operator(kind="matmul", dims={"M": 8, "G": 3, "P": 2}, arguments=BLOCKED)
def fp8_block_scaled_matmul_right(a, a_scale, b, b_scale):
    out = torch.empty(a.shape[0], b.shape[0], dtype=torch.bfloat16)
    for p in range(b_scale.shape[0]):
        acc = torch.zeros(a.shape[0], 16)
        for g in range(a_scale.shape[1]):
            part = a[:, g * 32 : g * 32 + 32].float() @ b[p * 16 : p * 16 + 16, g * 32 : g * 32 + 32].float().t()
            acc += part * (a_scale[:, g : g + 1] * b_scale[p, g])
        out[:, p * 16 : p * 16 + 16] = acc.to(torch.bfloat16)
    return out


fp8_block_scaled_matmul_right.reference("torch")(block_reference)


@operator(kind="matmul", dims={"M": 8, "G": 3, "P": 2}, arguments=BLOCKED)
def fp8_block_scaled_matmul_promotion_wrong(a, a_scale, b, b_scale):
    """The scale of a block multiplies everything summed so far, not the block alone."""
    out = torch.empty(a.shape[0], b.shape[0], dtype=torch.bfloat16)
    for p in range(b_scale.shape[0]):
        acc = torch.zeros(a.shape[0], 16)
        for g in range(a_scale.shape[1]):
            acc += a[:, g * 32 : g * 32 + 32].float() @ b[p * 16 : p * 16 + 16, g * 32 : g * 32 + 32].float().t()
            acc *= a_scale[:, g : g + 1] * b_scale[p, g]
        out[:, p * 16 : p * 16 + 16] = acc.to(torch.bfloat16)
    return out


fp8_block_scaled_matmul_promotion_wrong.reference("torch")(block_reference)


# Fake quantisation with a zero point.


def fake_reference(x, scale, zero):
    codes = (torch.round(x / scale) + zero).clamp(0, 255)
    return (codes - zero) * scale


@operator(kind="auto", dims={"B": 3, "H": 40}, x=tensor("B H", values="finite"), scale=0.03125, zero=117)
def fake_quantize_right(x, scale, zero):
    steps = torch.round(x * 32.0)  # 1 / scale, a power of two
    return torch.clamp(steps, min=float(-zero), max=float(255 - zero)) * scale


fake_quantize_right.reference("torch")(fake_reference)


@operator(kind="auto", dims={"B": 3, "H": 40}, x=tensor("B H", values="finite"), scale=0.03125, zero=117)
def fake_quantize_zero_wrong(x, scale, zero):
    """The clamp uses the bounds of signed codes though the zero point is an unsigned one."""
    codes = (torch.round(x / scale) + zero).clamp(-128, 127)
    return (codes - zero) * scale


fake_quantize_zero_wrong.reference("torch")(fake_reference)


# Four-bit table: high nibble first, an absolute maximum per 64 values.


def nf4_reference(packed, absmax):
    table = torch.tensor(NF4)
    codes = torch.stack([packed >> 4, packed & 15], dim=-1).flatten(1).long()
    return table[codes] * absmax.unsqueeze(1)


NF4_ARGUMENTS = {"packed": tensor("N 32", dtype="uint8"), "absmax": tensor("N", values="finite")}


@operator(kind="elementwise", dims={"N": 12}, arguments=NF4_ARGUMENTS)
def nf4_decode_right(packed, absmax):
    table = torch.tensor(NF4)
    pairs = torch.stack([table.repeat_interleave(16), table.repeat(16)], dim=1)  # both values of every byte
    return (pairs[packed.long()] * absmax.view(-1, 1, 1)).reshape(packed.shape[0], 64)


nf4_decode_right.reference("torch")(nf4_reference)


@operator(kind="elementwise", dims={"N": 12}, arguments=NF4_ARGUMENTS)
def nf4_decode_order_wrong(packed, absmax):
    """The low nibble is decoded first."""
    table = torch.tensor(NF4)
    codes = torch.stack([packed & 15, packed >> 4], dim=-1).flatten(1).long()
    return table[codes] * absmax.unsqueeze(1)


nf4_decode_order_wrong.reference("torch")(nf4_reference)


@operator(kind="quantize", dims={"N": 6}, x=tensor("N 64", values="finite"))
def nf4_encode_right(x):
    table = torch.tensor(NF4)
    middles = (table[1:] + table[:-1]) / 2
    absmax = x.abs().amax(dim=1, keepdim=True).clamp(min=1e-12)
    return torch.bucketize((x / absmax).contiguous(), middles).to(torch.uint8)


@nf4_encode_right.reference("torch")
def _(x):
    scaled = x / x.abs().amax(dim=1, keepdim=True).clamp(min=1e-12)
    return (scaled.unsqueeze(-1) - torch.tensor(NF4)).abs().argmin(dim=-1).to(torch.uint8)

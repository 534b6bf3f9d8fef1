"""Integer quantisation: int8 and int4 codes, packing, dequantisation and the linear layers on top of them."""

import numpy as np
import torch

from opsdebug_ci import operator, tensor

HALVES = ("float32", "float16", "bfloat16")
MAGIC = 12582912.0  # 1.5 * 2**23: adding it to a float32 below 2**22 rounds half to even


def codes_between(low, high, *shape):
    """Make random integers in [low, high] of the shape given by dim names or numbers."""

    def make(seed, dims, args):
        sizes = [eval_dim(dim, dims) for dim in shape]
        return np.random.default_rng(seed).integers(low, high, size=sizes, endpoint=True)

    return make


def eval_dim(dim, dims):
    if isinstance(dim, int):
        return dim
    factor, _, name = dim.rpartition("*")
    return int(factor or 1) * dims[name]


def small_scales(*shape):
    def make(seed, dims, args):
        sizes = [eval_dim(dim, dims) for dim in shape]
        return (0.002 + 0.03 * np.random.default_rng(seed + 7).random(sizes)).astype(np.float32)

    return make


# Dynamic symmetric int8, one scale for the whole tensor.


@operator(
    kind={"out0": "quantize", "out1": "elementwise"},
    dtypes=HALVES,
    dims={"T": 24, "H": 40},
    x=tensor("T H", values="finite"),
)
def quant_int8_per_tensor_right(x):
    flat = x.contiguous().view(-1)
    top = torch.zeros((), dtype=torch.float32)
    for start in range(0, flat.numel(), 1024):
        top = torch.maximum(top, flat[start : start + 1024].float().abs().max())
    scale = torch.clamp(top / 127, min=1e-8)
    scaled = torch.clamp(flat.float() / scale, -127, 127)
    return ((scaled + MAGIC) - MAGIC).to(torch.int8).view(x.shape), scale


@quant_int8_per_tensor_right.reference("torch")
def _(x):
    scale = (x.abs().max().float() / 127).clamp(min=1e-8) if x.numel() else torch.tensor(1e-8)
    return torch.round(x.float() / scale).clamp(-127, 127).to(torch.int8), scale


# Dynamic symmetric int8, one scale per token.


def per_token_reference(x):
    x = x.float()
    scale = x.abs().amax(dim=-1, keepdim=True).clamp(min=1e-6) / 127
    return torch.round(x / scale).clamp(-128, 127).to(torch.int8), scale


@operator(
    kind={"out0": "quantize", "out1": "elementwise"},
    dtypes=("float32", "bfloat16"),
    dims={"T": 12, "H": 64},
    x=tensor("T H", values="finite"),
)
def quant_int8_per_token_right(x):
    tokens, _ = x.shape
    codes = torch.empty(x.shape, dtype=torch.int8)
    scales = torch.empty(tokens, 1, dtype=torch.float32)
    for start in range(0, tokens, 8):
        block = x[start : start + 8].float()
        top = torch.maximum(block.amax(-1), -block.amin(-1))
        scale = (torch.clamp(top, min=1e-6) / 127).unsqueeze(-1)
        scales[start : start + 8] = scale
        codes[start : start + 8] = torch.round(block / scale).to(torch.int8)
    return codes, scales


quant_int8_per_token_right.reference("torch")(per_token_reference)


@operator(
    kind={"out0": "quantize", "out1": "elementwise"},
    dtypes=("float32", "bfloat16"),
    dims={"T": 12, "H": 64},
    x=tensor("T H", values="finite"),
)
def quant_int8_per_token_truncates_wrong(x):
    """The conversion to int8 truncates toward zero where it should round to nearest."""
    wide = x.float()
    scale = wide.abs().amax(dim=-1, keepdim=True).clamp(min=1e-6) / 127
    return (wide / scale).clamp(-128, 127).to(torch.int8), scale


quant_int8_per_token_truncates_wrong.reference("torch")(per_token_reference)


# Dynamic asymmetric uint8, one scale and zero point per channel.


def asymmetric_reference(w):
    low = w.amin(dim=1, keepdim=True).float().clamp(max=0)
    high = w.amax(dim=1, keepdim=True).float().clamp(min=0)
    scale = ((high - low) / 255).clamp(min=1e-7)
    zero = torch.round(-low / scale)
    codes = (torch.round(w.float() / scale) + zero).clamp(0, 255)
    return codes.to(torch.uint8), scale, zero.to(torch.int32)


@operator(
    kind={"out0": "quantize", "out1": "elementwise", "out2": "quantize"},
    dims={"N": 16, "K": 48},
    dtypes=("float32", "float16"),
    w=tensor("N K", values="finite"),
)
def quant_uint8_per_channel_right(w):
    channels, _ = w.shape
    codes = torch.empty(w.shape, dtype=torch.uint8)
    scales = torch.empty(channels, 1)
    zeros = torch.empty(channels, 1, dtype=torch.int32)
    for start in range(0, channels, 8):
        row = w[start : start + 8].float()
        low = torch.minimum(row.amin(1, keepdim=True), torch.zeros(()))
        high = torch.maximum(row.amax(1, keepdim=True), torch.zeros(()))
        scale = torch.clamp((high - low) / 255, min=1e-7)
        zero = torch.round(-low / scale).to(torch.int32)
        shifted = torch.round(row / scale).to(torch.int32) + zero
        codes[start : start + 8] = torch.clamp(shifted, 0, 255).to(torch.uint8)
        scales[start : start + 8] = scale
        zeros[start : start + 8] = zero
    return codes, scales, zeros


quant_uint8_per_channel_right.reference("torch")(asymmetric_reference)


@operator(
    kind={"out0": "quantize", "out1": "elementwise", "out2": "quantize"},
    dims={"N": 16, "K": 4},
    dtypes=("float32", "float16"),
    w=tensor("N K", values="finite"),
)
def quant_uint8_per_channel_range_wrong(w):
    """The range is not widened to contain zero, so channels of one sign get a clipped zero point."""
    low = w.amin(dim=1, keepdim=True).float()
    high = w.amax(dim=1, keepdim=True).float()
    scale = ((high - low) / 255).clamp(min=1e-7)
    zero = torch.round(-low / scale).clamp(0, 255)
    codes = (torch.round(w.float() / scale) + zero).clamp(0, 255)
    return codes.to(torch.uint8), scale, zero.to(torch.int32)


quant_uint8_per_channel_range_wrong.reference("torch")(asymmetric_reference)


# Two signed nibbles a byte, the even column in the low half.


def pack_reference(codes):
    nibbles = codes.to(torch.int32) & 15
    return (nibbles[:, 0::2] + 16 * nibbles[:, 1::2]).to(torch.uint8)


@operator(
    kind="exact",
    dims={"N": 12, "K": 16},
    codes=tensor("N 2*K", dtype="int8", values=codes_between(-8, 7, "N", "2*K")),
)
def quant_int4_pack_right(codes):
    rows, columns = codes.shape
    pairs = codes.contiguous().view(torch.uint8).view(rows, columns // 2, 2)
    low, high = pairs.unbind(-1)
    return (high << 4) | (low & 0x0F)


quant_int4_pack_right.reference("torch")(pack_reference)


@operator(
    kind="exact",
    dims={"N": 12, "K": 16},
    codes=tensor("N 2*K", dtype="int8", values=codes_between(-8, 7, "N", "2*K")),
)
def quant_int4_pack_sign_wrong(codes):
    """The low nibble is not masked, so its sign extension overwrites the high nibble with ones."""
    return ((codes[:, 1::2] << 4) | codes[:, 0::2]).view(torch.uint8)


quant_int4_pack_sign_wrong.reference("torch")(pack_reference)


# Dequantise packed unsigned nibbles with a scale and a zero point per group of 32 columns.


def unpack_reference(packed, scales, zeros):
    codes = torch.stack([packed & 15, packed >> 4], dim=-1).flatten(1)
    groups = codes.unflatten(1, (-1, 32)).to(scales.dtype)
    return ((groups - zeros.unsqueeze(-1).to(scales.dtype)) * scales.unsqueeze(-1)).flatten(1)


GROUPED = {
    "packed": tensor("N 16*G", dtype="uint8"),
    "scales": tensor("N G"),
    "zeros": tensor("N G", dtype="uint8", values=codes_between(0, 15, "N", "G")),
}


@operator(kind="elementwise", dtypes=("float32", "float16", "bfloat16"), dims={"N": 10, "G": 3}, arguments=GROUPED)
def quant_int4_group_dequantize_right(packed, scales, zeros):
    rows, half = packed.shape
    out = torch.empty(rows, 2 * half, dtype=scales.dtype)
    for group in range(half // 16):
        block = packed[:, group * 16 : group * 16 + 16].to(torch.int32)
        zero = zeros[:, group : group + 1].to(torch.int32)
        scale = scales[:, group : group + 1].float()
        columns = out[:, group * 32 : group * 32 + 32]
        columns[:, 0::2] = (((block & 0x0F) - zero).float() * scale).to(scales.dtype)
        columns[:, 1::2] = (((block >> 4) - zero).float() * scale).to(scales.dtype)
    return out


quant_int4_group_dequantize_right.reference("torch")(unpack_reference)


@operator(kind="elementwise", dtypes=("float32", "float16", "bfloat16"), dims={"N": 10, "G": 3}, arguments=GROUPED)
def quant_int4_group_dequantize_zero_wrong(packed, scales, zeros):
    """The zero point is taken as stored minus one, as an older checkpoint format has it."""
    codes = torch.stack([packed & 15, packed >> 4], dim=-1).flatten(1).unflatten(1, (-1, 32))
    centred = codes.float() - (zeros.float() + 1).unsqueeze(-1)
    return (centred * scales.float().unsqueeze(-1)).to(scales.dtype).flatten(1)


quant_int4_group_dequantize_zero_wrong.reference("torch")(unpack_reference)


# int8 x int8 -> int32.


@operator(kind="exact", dtypes=("int8",), dims={"M": 12, "K": 80, "N": 20}, a=tensor("M K"), b=tensor("N K"))
def quant_int8_matmul_right(a, b):
    out = torch.zeros(a.shape[0], b.shape[0], dtype=torch.int32)
    for start in range(0, a.shape[1], 32):  # 32 products stay exact in float32
        left, right = a[:, start : start + 32].float(), b[:, start : start + 32].float()
        out += (left @ right.t()).to(torch.int32)
    return out


@quant_int8_matmul_right.reference("torch")
def _(a, b):
    return a.to(torch.int32) @ b.to(torch.int32).t()


@operator(kind="exact", dtypes=("int8",), dims={"M": 12, "K": 80, "N": 20}, a=tensor("M K"), b=tensor("N K"))
def quant_int8_matmul_narrow_wrong(a, b):
    """Partial sums are kept in int16 and wrap."""
    out = torch.zeros(a.shape[0], b.shape[0], dtype=torch.int16)
    for start in range(0, a.shape[1], 16):
        left, right = a[:, start : start + 16].to(torch.int16), b[:, start : start + 16].to(torch.int16)
        out += left @ right.t()
    return out.to(torch.int32)


@quant_int8_matmul_narrow_wrong.reference("torch")
def _(a, b):
    return a.to(torch.int32) @ b.to(torch.int32).t()

"""Hypotenuses, angles, remainders and floor divisions in torch and numpy."""

import numpy as np
import torch

from opsdebug_ci import operator, tensor

ALL = ("float32", "float16", "bfloat16")


@operator(
    kind="elementwise", dtypes=ALL, dims={"N": 600}, x=tensor("N", values="finite"), y=tensor("N", values="finite")
)
def point_hypot_scaled_right(x, y):
    a, b = x.float().abs(), y.float().abs()
    large, small = torch.maximum(a, b), torch.minimum(a, b)
    ratio = small / torch.where(large == 0, torch.ones_like(large), large)
    return (large * torch.sqrt(1 + ratio * ratio)).to(x.dtype)


@point_hypot_scaled_right.reference("torch")
def _(x, y):
    return torch.hypot(x.float(), y.float()).to(x.dtype)


@operator(
    kind="elementwise",
    dtypes=("float16",),
    dims={"N": 600},
    x=tensor("N", values=lambda seed, dims, args: np.random.default_rng(seed).normal(size=dims["N"]) * 200),
    y=tensor("N", values=lambda seed, dims, args: np.random.default_rng(seed + 1).normal(size=dims["N"]) * 200),
)
def point_hypot_narrow_squares_wrong(x, y):
    """Squares are taken in float16 and overflow above 256."""
    return torch.sqrt((x * x + y * y).float()).to(x.dtype)


@point_hypot_narrow_squares_wrong.reference("torch")
def _(x, y):
    return torch.hypot(x.float(), y.float()).to(x.dtype)


@operator(kind="elementwise", dims={"N": 600}, y=tensor("N", values="finite"), x=tensor("N", values="finite"))
def point_atan2_right(y, x):
    angles = np.arctan2(y.numpy().astype(np.float64), x.numpy().astype(np.float64))
    return torch.from_numpy(angles.astype(np.float32))


@point_atan2_right.reference("torch")
def _(y, x):
    return torch.atan2(y, x)


@operator(kind="elementwise", dims={"N": 600}, y=tensor("N", values="finite"), x=tensor("N", values="nonzero"))
def point_atan2_half_plane_wrong(y, x):
    """The arc tangent of the ratio knows only the right half-plane."""
    return torch.atan(y / x)


@point_atan2_half_plane_wrong.reference("torch")
def _(y, x):
    return torch.atan2(y, x)


@operator(kind="elementwise", dims={"N": 600}, x=tensor("N", values="finite"), y=tensor("N", values="nonzero"))
def point_remainder_right(x, y):
    rest = torch.fmod(x, y)
    return torch.where((rest != 0) & ((rest < 0) != (y < 0)), rest + y, rest)


@point_remainder_right.reference("torch")
def _(x, y):
    return torch.remainder(x, y)


@operator(kind="elementwise", dims={"N": 600}, x=tensor("N", values="finite"), y=tensor("N", values="nonzero"))
def point_remainder_as_fmod_wrong(x, y):
    """The remainder has the sign of the dividend, not of the divisor."""
    return torch.fmod(x, y)


@point_remainder_as_fmod_wrong.reference("torch")
def _(x, y):
    return torch.remainder(x, y)


@operator(kind="elementwise", dims={"N": 600}, x=tensor("N", values="finite"), y=tensor("N", values="nonzero"))
def point_fmod_numpy_right(x, y):
    with np.errstate(all="ignore"):
        return torch.from_numpy(np.fmod(x.numpy(), y.numpy()))


@point_fmod_numpy_right.reference("torch")
def _(x, y):
    return torch.fmod(x, y)


def divisors(seed, dims, args):
    generator = np.random.default_rng(seed)
    return generator.integers(1, 20, size=dims["N"]) * generator.choice([-1, 1], size=dims["N"])


@operator(
    kind="exact",
    dims={"N": 600},
    x=tensor("N", dtype="int32"),
    y=tensor("N", dtype="int32", values=divisors),
)
def point_floor_divide_right(x, y):
    wide_x, wide_y = x.long(), y.long()
    quotient = torch.div(wide_x, wide_y, rounding_mode="trunc")
    rest = wide_x - quotient * wide_y
    return (quotient - ((rest != 0) & ((rest < 0) != (wide_y < 0))).long()).to(x.dtype)


@point_floor_divide_right.reference("torch")
def _(x, y):
    return torch.div(x.long(), y.long(), rounding_mode="floor").to(x.dtype)


@operator(
    kind="exact",
    dims={"N": 600},
    x=tensor("N", dtype="int32"),
    y=tensor("N", dtype="int32", values=divisors),
)
def point_floor_divide_truncates_wrong(x, y):
    """Quotients are rounded towards zero, as C does, instead of downwards."""
    return torch.div(x.long(), y.long(), rounding_mode="trunc").to(x.dtype)


@point_floor_divide_truncates_wrong.reference("torch")
def _(x, y):
    return torch.div(x.long(), y.long(), rounding_mode="floor").to(x.dtype)

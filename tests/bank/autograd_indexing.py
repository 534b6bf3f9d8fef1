"""Pooling, scans, selections and losses with hand-written backward passes."""

import numpy as np
import torch
import torch.nn.functional as fn

from opsdebug_ci import operator, tensor


class MaxPool(torch.autograd.Function):
    """Windows of three at every second place, so that neighbours share an element."""

    @staticmethod
    def forward(ctx, x, add):
        windows = x.unfold(-1, 3, 2)
        best, place = windows.max(-1)
        ctx.save_for_backward(place + 2 * torch.arange(best.shape[-1]))
        ctx.size, ctx.add = x.shape, add
        return best

    @staticmethod
    def backward(ctx, grad):
        (index,) = ctx.saved_tensors
        grad_x = grad.new_zeros(ctx.size)
        return (grad_x.scatter_add_ if ctx.add else grad_x.scatter_)(-1, index, grad), None


def pool_fits(case):
    return (case.dims["L"] >= 3 and case.dims["C"] > 0) or "shorter than a window"


@operator(kind="exact", dims={"C": 6, "L": 41}, requires=pool_fits, backward=True, x=tensor("C L"))
def grad_max_pool_right(x):
    return MaxPool.apply(x, True)


@grad_max_pool_right.reference("torch")
def _(x):
    return fn.max_pool1d(x, 3, 2)


@operator(kind="exact", dims={"C": 6, "L": 41}, requires=pool_fits, backward=True, x=tensor("C L"))
def grad_max_pool_overlap_wrong(x):
    """Where two windows have the same maximum, one gradient overwrites the other."""
    return MaxPool.apply(x, False)


@grad_max_pool_overlap_wrong.reference("torch")
def _(x):
    return fn.max_pool1d(x, 3, 2)


class Cumsum(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x, reverse):
        ctx.reverse = reverse
        return x.cumsum(-1)

    @staticmethod
    def backward(ctx, grad):
        return grad.flip(-1).cumsum(-1).flip(-1) if ctx.reverse else grad.cumsum(-1), None


@operator(kind="scan", dims={"B": 3, "S": 50}, backward=True, x=tensor("B S"))
def grad_cumsum_right(x):
    return Cumsum.apply(x, True)


@grad_cumsum_right.reference("torch")
def _(x):
    return torch.cumsum(x, dim=-1)


@operator(kind="scan", dims={"B": 3, "S": 50}, backward=True, x=tensor("B S"))
def grad_cumsum_forward_wrong(x):
    """The gradient is summed from the front instead of from the back."""
    return Cumsum.apply(x, False)


@grad_cumsum_forward_wrong.reference("torch")
def _(x):
    return torch.cumsum(x, dim=-1)


class Clamp(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x, low, high, straight):
        ctx.save_for_backward(x)
        ctx.bounds, ctx.straight = (low, high), straight
        return x.clamp(low, high)

    @staticmethod
    def backward(ctx, grad):
        (x,) = ctx.saved_tensors
        inside = (x >= ctx.bounds[0]) & (x <= ctx.bounds[1])
        return grad if ctx.straight else grad * inside, None, None, None


@operator(
    kind="elementwise",
    dtypes=("float32", "bfloat16"),
    dims={"N": 200},
    backward=True,
    x=tensor("N"),
    low=-0.5,
    high=0.8,
)
def grad_clamp_right(x, low, high):
    return Clamp.apply(x, low, high, False)


@grad_clamp_right.reference("torch")
def _(x, low, high):
    return torch.clamp(x, low, high)


@operator(kind="elementwise", dims={"N": 200}, backward=True, x=tensor("N"), low=-0.5, high=0.8)
def grad_clamp_straight_through_wrong(x, low, high):
    """The gradient passes outside the bounds too."""
    return Clamp.apply(x, low, high, True)


@grad_clamp_straight_through_wrong.reference("torch")
def _(x, low, high):
    return torch.clamp(x, low, high)


class Where(torch.autograd.Function):
    @staticmethod
    def forward(ctx, mask, a, b):
        ctx.save_for_backward(mask)
        return torch.where(mask, a, b)

    @staticmethod
    def backward(ctx, grad):
        (mask,) = ctx.saved_tensors
        return None, grad.masked_fill(~mask, 0), grad.masked_fill(mask, 0).sum(0)


@operator(
    kind="exact",
    dims={"S": 9, "H": 20},
    backward=True,
    mask=tensor("S H", dtype="bool"),
    a=tensor("S H"),
    b=tensor("H"),
)
def grad_where_broadcast_right(mask, a, b):
    return Where.apply(mask, a, b)


@grad_where_broadcast_right.reference("torch")
def _(mask, a, b):
    return torch.where(mask, a, b)


class Gather(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x, index):
        ctx.save_for_backward(index)
        ctx.size = x.shape
        return x.gather(1, index)

    @staticmethod
    def backward(ctx, grad):
        (index,) = ctx.saved_tensors
        return grad.new_zeros(ctx.size).scatter_add_(1, index, grad), None


def columns(seed, dims, args):
    return np.random.default_rng(seed).integers(0, max(dims["H"], 1), size=(dims["S"], dims["K"]))


@operator(
    kind="exact",
    dims={"S": 6, "H": 14, "K": 9},
    requires=lambda case: case.dims["H"] > 0 or "nothing to gather",
    backward=True,
    x=tensor("S H"),
    index=tensor("S K", dtype="int64", values=columns),
)
def grad_gather_right(x, index):
    return Gather.apply(x, index)


@grad_gather_right.reference("torch")
def _(x, index):
    return torch.gather(x, 1, index)


class LogSoftmax(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        shifted = x - x.amax(-1, keepdim=True)
        y = shifted - shifted.exp().sum(-1, keepdim=True).log()
        ctx.save_for_backward(y)
        return y

    @staticmethod
    def backward(ctx, grad):
        (y,) = ctx.saved_tensors
        return grad - y.exp() * grad.sum(-1, keepdim=True)


@operator(
    kind="log_softmax",
    dims={"S": 6, "V": 40},
    requires=lambda case: case.dims["V"] > 0 or "no classes",
    backward=True,
    x=tensor("S V", values="finite"),
)
def grad_log_softmax_right(x):
    return LogSoftmax.apply(x)


@grad_log_softmax_right.reference("torch")
def _(x):
    return torch.log_softmax(x, dim=-1)


class SmoothL1(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x, y, beta, both):
        difference = x - y
        ctx.save_for_backward(difference)
        ctx.beta, ctx.both = beta, both
        inner = difference.abs().clamp(max=beta)
        return (inner * (difference.abs() - 0.5 * inner) / beta).mean()

    @staticmethod
    def backward(ctx, grad):
        (difference,) = ctx.saved_tensors
        slope = grad * (difference / ctx.beta).clamp(-1, 1) / difference.numel()
        return slope, -slope if ctx.both else slope, None, None


@operator(
    kind="reduction", dims={"N": 150}, backward=True, x=tensor("N", values="finite"), y=tensor("N", values="finite")
)
def grad_smooth_l1_right(x, y):
    return SmoothL1.apply(x, y, 1.0, True)


@grad_smooth_l1_right.reference("torch")
def _(x, y):
    return fn.smooth_l1_loss(x, y)


@operator(
    kind="reduction", dims={"N": 150}, backward=True, x=tensor("N", values="finite"), y=tensor("N", values="finite")
)
def grad_smooth_l1_sign_wrong(x, y):
    """The target's gradient has the prediction's sign."""
    return SmoothL1.apply(x, y, 1.0, False)


@grad_smooth_l1_sign_wrong.reference("torch")
def _(x, y):
    return fn.smooth_l1_loss(x, y)

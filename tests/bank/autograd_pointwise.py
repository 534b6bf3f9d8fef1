"""Activations, softmax and cross entropy with hand-written backward passes."""

import math

import numpy as np
import torch
import torch.nn.functional as fn

from opsdebug_ci import operator, tensor


class Gelu(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return fn.gelu(x)

    @staticmethod
    def backward(ctx, grad):
        (x,) = ctx.saved_tensors
        wide = x.float()
        cdf = 0.5 * torch.erfc(wide * -math.sqrt(0.5))
        density = torch.exp(-0.5 * wide * wide) / math.sqrt(2 * math.pi)
        return (grad.float() * (cdf + wide * density)).to(x.dtype)


@operator(
    kind="transcendental",
    dtypes=("float32", "float16", "bfloat16"),
    dims={"S": 8, "H": 40},
    backward=True,
    x=tensor("S H"),
)
def grad_gelu_right(x):
    return Gelu.apply(x)


@grad_gelu_right.reference("torch")
def _(x):
    return fn.gelu(x)


class Silu(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        gate = torch.sigmoid(x)
        ctx.save_for_backward(x, gate)
        return x * gate

    @staticmethod
    def backward(ctx, grad):
        x, gate = ctx.saved_tensors
        return grad * gate * (1 + x * (1 - gate))


@operator(kind="transcendental", dims={"S": 8, "H": 40}, backward=True, x=tensor("S H"))
def grad_silu_right(x):
    return Silu.apply(x)


@grad_silu_right.reference("torch")
def _(x):
    return fn.silu(x)


class SwiGlu(torch.autograd.Function):
    @staticmethod
    def forward(ctx, gate, up, through_gate):
        ctx.save_for_backward(gate, up)
        ctx.through_gate = through_gate
        return (fn.silu(gate.float()) * up.float()).to(gate.dtype)

    @staticmethod
    def backward(ctx, grad):
        gate, up = (t.float() for t in ctx.saved_tensors)
        wide = grad.float()
        sigmoid = torch.sigmoid(gate)
        slope = sigmoid + gate * sigmoid * (1 - sigmoid) if ctx.through_gate else sigmoid
        return (wide * up * slope).to(grad.dtype), (wide * gate * sigmoid).to(grad.dtype), None


@operator(
    kind="transcendental",
    dtypes=("float32", "bfloat16"),
    dims={"S": 8, "I": 40},
    backward=True,
    gate=tensor("S I"),
    up=tensor("S I"),
)
def grad_swiglu_right(gate, up):
    return SwiGlu.apply(gate, up, True)


@grad_swiglu_right.reference("torch")
def _(gate, up):
    return (fn.silu(gate.float()) * up.float()).to(gate.dtype)


@operator(kind="transcendental", dims={"S": 8, "I": 40}, backward=True, gate=tensor("S I"), up=tensor("S I"))
def grad_swiglu_slope_wrong(gate, up):
    """The slope of silu is taken to be the sigmoid; the product rule's second term is missing."""
    return SwiGlu.apply(gate, up, False)


@grad_swiglu_slope_wrong.reference("torch")
def _(gate, up):
    return fn.silu(gate) * up


class Softmax(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x, axis):
        y = torch.softmax(x.float(), dim=-1)
        ctx.save_for_backward(y)
        ctx.axis = axis
        return y.to(x.dtype)

    @staticmethod
    def backward(ctx, grad):
        (y,) = ctx.saved_tensors
        product = grad.float() * y
        return (product - y * product.sum(ctx.axis, keepdim=True)).to(grad.dtype), None


@operator(
    kind="softmax",
    dtypes=("float32", "float16"),
    dims={"S": 12, "H": 30},
    backward=True,
    x=tensor("S H", values="finite"),
)
def grad_softmax_right(x):
    return Softmax.apply(x, -1)


@grad_softmax_right.reference("torch")
def _(x):
    return torch.softmax(x, dim=-1)


@operator(kind="softmax", dims={"S": 12, "H": 30}, backward=True, x=tensor("S H", values="finite"))
def grad_softmax_axis_wrong(x):
    """The backward pass sums over the rows instead of the columns."""
    return Softmax.apply(x, 0)


@grad_softmax_axis_wrong.reference("torch")
def _(x):
    return torch.softmax(x, dim=-1)


class CrossEntropy(torch.autograd.Function):
    @staticmethod
    def forward(ctx, logits, target, ignore, divide):
        log_p = torch.log_softmax(logits.float(), dim=-1)
        kept = target != ignore
        index = torch.where(kept, target, 0)
        ctx.save_for_backward(log_p, index, kept)
        ctx.divide = divide
        losses = -log_p.gather(1, index[:, None])[:, 0]
        return torch.where(kept, losses, 0.0).sum() / kept.sum()

    @staticmethod
    def backward(ctx, grad):
        log_p, index, kept = ctx.saved_tensors
        slope = torch.exp(log_p)
        slope.scatter_add_(1, index[:, None], torch.full_like(slope[:, :1], -1.0))
        slope = slope * kept[:, None]
        if ctx.divide:
            slope = slope / kept.sum()
        return grad * slope, None, None, None


def targets(seed, dims, args):
    generator = np.random.default_rng(seed)
    chosen = generator.integers(0, max(dims["V"], 1), size=dims["T"])
    chosen[1::4] = -100
    return chosen


LOSS = {"logits": tensor("T V", values="finite"), "target": tensor("T", dtype="int64", values=targets)}


@operator(
    dims={"T": 10, "V": 30},
    requires=lambda case: min(case.dims.values()) > 0 or "no tokens",
    backward=True,
    **LOSS,
)
def grad_cross_entropy_right(logits, target):
    return CrossEntropy.apply(logits, target, -100, True)


@grad_cross_entropy_right.reference("torch")
def _(logits, target):
    return fn.cross_entropy(logits, target, ignore_index=-100)


@operator(
    dims={"T": 10, "V": 30},
    requires=lambda case: min(case.dims.values()) > 0 or "no tokens",
    backward=True,
    **LOSS,
)
def grad_cross_entropy_undivided_wrong(logits, target):
    """The loss is a mean, its gradient that of the sum."""
    return CrossEntropy.apply(logits, target, -100, False)


@grad_cross_entropy_undivided_wrong.reference("torch")
def _(logits, target):
    return fn.cross_entropy(logits, target, ignore_index=-100)

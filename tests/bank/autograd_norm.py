"""Linear layers and normalisations with hand-written backward passes."""

import torch
import torch.nn.functional as fn

from opsdebug_ci import operator, tensor


class Linear(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x, weight, bias, bias_mean):
        ctx.save_for_backward(x, weight)
        ctx.bias_mean = bias_mean
        return torch.addmm(bias, x, weight.t())

    @staticmethod
    def backward(ctx, grad):
        x, weight = ctx.saved_tensors
        grad_bias = grad.mean(0) if ctx.bias_mean else grad.sum(0)
        return grad @ weight, grad.t() @ x, grad_bias, None


@operator(
    kind="matmul",
    dims={"T": 10, "I": 24, "O": 16},
    backward=True,
    x=tensor("T I"),
    weight=tensor("O I"),
    bias=tensor("O"),
)
def grad_linear_right(x, weight, bias):
    return Linear.apply(x, weight, bias, False)


@grad_linear_right.reference("torch")
def _(x, weight, bias):
    return fn.linear(x, weight, bias)


@operator(
    kind="matmul",
    dims={"T": 10, "I": 24, "O": 16},
    backward=True,
    x=tensor("T I"),
    weight=tensor("O I"),
    bias=tensor("O"),
)
def grad_linear_bias_mean_wrong(x, weight, bias):
    """The bias's gradient is averaged over the rows instead of summed."""
    return Linear.apply(x, weight, bias, True)


@grad_linear_bias_mean_wrong.reference("torch")
def _(x, weight, bias):
    return fn.linear(x, weight, bias)


class Matmul(torch.autograd.Function):
    @staticmethod
    def forward(ctx, a, b):
        ctx.save_for_backward(a, b)
        return torch.bmm(a, b)

    @staticmethod
    def backward(ctx, grad):
        a, b = ctx.saved_tensors
        return torch.bmm(grad, b.mT), torch.bmm(a.mT, grad)


@operator(
    kind="matmul",
    dtypes=("float32", "bfloat16"),
    dims={"B": 2, "M": 9, "K": 14, "N": 11},
    backward=True,
    a=tensor("B M K"),
    b=tensor("B K N"),
)
def grad_bmm_right(a, b):
    return Matmul.apply(a, b)


@grad_bmm_right.reference("torch")
def _(a, b):
    return torch.matmul(a, b)


class LayerNorm(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x, weight, bias, eps, mean_term):
        wide = x.float()
        centred = wide - wide.mean(-1, keepdim=True)
        rstd = torch.rsqrt(centred.square().mean(-1, keepdim=True) + eps)
        normed = centred * rstd
        ctx.save_for_backward(normed, rstd, weight)
        ctx.mean_term = mean_term
        return (normed * weight.float() + bias.float()).to(x.dtype)

    @staticmethod
    def backward(ctx, grad):
        normed, rstd, weight = ctx.saved_tensors
        wide = grad.float()
        inner = wide * weight.float()
        grad_x = inner - normed * (inner * normed).mean(-1, keepdim=True)
        if ctx.mean_term:
            grad_x = grad_x - inner.mean(-1, keepdim=True)
        grad_weight = (wide * normed).flatten(0, -2).sum(0)
        grad_bias = wide.flatten(0, -2).sum(0)
        return (rstd * grad_x).to(grad.dtype), grad_weight.to(weight.dtype), grad_bias.to(weight.dtype), None, None


@operator(
    kind="norm",
    dtypes=("float32", "bfloat16"),
    dims={"B": 2, "S": 6, "H": 40},
    backward=True,
    x=tensor("B S H"),
    weight=tensor("H"),
    bias=tensor("H"),
    eps=1e-5,
)
def grad_layer_norm_right(x, weight, bias, eps):
    return LayerNorm.apply(x, weight, bias, eps, True)


@grad_layer_norm_right.reference("torch")
def _(x, weight, bias, eps):
    return fn.layer_norm(x, (x.shape[-1],), weight, bias, eps)


@operator(
    kind="norm",
    dims={"B": 2, "S": 6, "H": 40},
    backward=True,
    x=tensor("B S H"),
    weight=tensor("H"),
    bias=tensor("H"),
    eps=1e-5,
)
def grad_layer_norm_no_mean_term_wrong(x, weight, bias, eps):
    """The gradient through the mean is left out, as if it were an RMS norm."""
    return LayerNorm.apply(x, weight, bias, eps, False)


@grad_layer_norm_no_mean_term_wrong.reference("torch")
def _(x, weight, bias, eps):
    return fn.layer_norm(x, (x.shape[-1],), weight, bias, eps)


class RmsNorm(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x, weight, eps, power):
        wide = x.float()
        rstd = torch.rsqrt(wide.square().mean(-1, keepdim=True) + eps)
        ctx.save_for_backward(x, weight, rstd)
        ctx.power = power
        return (wide * rstd * weight.float()).to(x.dtype)

    @staticmethod
    def backward(ctx, grad):
        x, weight, rstd = ctx.saved_tensors
        wide, inner = x.float(), grad.float() * weight.float()
        projection = (inner * wide).mean(-1, keepdim=True)
        grad_x = inner * rstd - wide * projection * rstd.pow(ctx.power)
        grad_weight = (grad.float() * wide * rstd).flatten(0, -2).sum(0)
        return grad_x.to(x.dtype), grad_weight.to(weight.dtype), None, None


@operator(
    kind="norm",
    dtypes=("float32", "float16"),
    dims={"B": 2, "S": 6, "H": 40},
    backward=True,
    x=tensor("B S H"),
    weight=tensor("H"),
    eps=1e-6,
)
def grad_rms_norm_right(x, weight, eps):
    return RmsNorm.apply(x, weight, eps, 3)


@grad_rms_norm_right.reference("torch")
def _(x, weight, eps):
    wide = x.float()
    return (wide * torch.rsqrt(wide.pow(2).mean(-1, keepdim=True) + eps) * weight.float()).to(x.dtype)


@operator(kind="norm", dims={"B": 2, "S": 6, "H": 40}, backward=True, x=tensor("B S H"), weight=tensor("H"), eps=1e-6)
def grad_rms_norm_rstd_squared_wrong(x, weight, eps):
    """The projection is scaled by the square of 1 / rms instead of its cube."""
    return RmsNorm.apply(x, weight, eps, 2)


@grad_rms_norm_rstd_squared_wrong.reference("torch")
def _(x, weight, eps):
    return fn.rms_norm(x, (x.shape[-1],), weight, eps)


class Normalize(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x, eps):
        length = torch.linalg.vector_norm(x, dim=-1, keepdim=True)
        unit = x / length.clamp(min=eps)
        ctx.save_for_backward(unit, length)
        ctx.eps = eps
        return unit

    @staticmethod
    def backward(ctx, grad):
        unit, length = ctx.saved_tensors
        along = (grad * unit).sum(-1, keepdim=True)
        along = torch.where(length > ctx.eps, along, torch.zeros_like(along))
        return (grad - unit * along) / length.clamp(min=ctx.eps), None


@operator(kind="norm", dims={"S": 8, "D": 24}, backward=True, x=tensor("S D", values="finite"), eps=1e-12)
def grad_normalize_right(x, eps):
    return Normalize.apply(x, eps)


@grad_normalize_right.reference("torch")
def _(x, eps):
    return fn.normalize(x, dim=-1, eps=eps)

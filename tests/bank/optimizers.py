"""One step of SGD, Adagrad and RMSprop, state written in place, and clipping by the joint norm."""

import torch

from opsdebug_ci import Contract, operator, tensor


def finite(*names):
    return {name: tensor("N", values="finite") for name in names}


# SGD with Nesterov momentum and L2 decay.


def sgd_reference(param, grad, velocity, lr, momentum, decay):
    grad = grad + decay * param
    velocity = momentum * velocity + grad
    return param - lr * (grad + momentum * velocity), velocity


SGD = {**finite("param", "grad", "velocity"), "lr": 0.1, "momentum": 0.9, "decay": 0.01}


@operator(
    kind="elementwise",
    dims={"N": 100},
    dtypes=("float32", "bfloat16"),
    contract=Contract(mutates=("param", "velocity")),
    arguments=SGD,
)
def optim_sgd_nesterov_right(param, grad, velocity, lr, momentum, decay):
    wide, step = param.float(), grad.float()
    step = torch.add(step, wide, alpha=decay)
    moved = torch.add(step, velocity.float(), alpha=momentum)
    velocity.copy_(moved)
    param.copy_(wide - lr * torch.add(step, moved, alpha=momentum))


optim_sgd_nesterov_right.reference("torch")(sgd_reference)


@operator(
    kind="elementwise",
    dims={"N": 100},
    contract=Contract(mutates=("param", "velocity")),
    arguments=SGD,
)
def optim_sgd_nesterov_stale_wrong(param, grad, velocity, lr, momentum, decay):
    """The look-ahead uses the velocity of the step before."""
    step = grad + decay * param
    param.sub_(lr * (step + momentum * velocity))
    velocity.mul_(momentum).add_(step)


optim_sgd_nesterov_stale_wrong.reference("torch")(sgd_reference)


# Adagrad and RMSprop.


def adagrad_reference(param, grad, total, lr, eps):
    total = total + grad * grad
    return param - lr * grad / (total.sqrt() + eps), total


ADAGRAD = {**finite("param", "grad"), "total": tensor("N", values="nonnegative"), "lr": 0.05, "eps": 1e-8}


@operator(dims={"N": 64}, contract=Contract(mutates=("param", "total")), arguments=ADAGRAD)
def optim_adagrad_right(param, grad, total, lr, eps):
    for start in range(0, param.numel(), 32):
        part = slice(start, start + 32)
        total[part] += grad[part].square()
        param[part] -= lr * (grad[part] / (total[part].sqrt() + eps))


optim_adagrad_right.reference("torch")(adagrad_reference)


def rmsprop_reference(param, grad, average, lr, alpha, eps):
    average = alpha * average + (1 - alpha) * grad**2
    return param - lr * grad / (torch.sqrt(average) + eps), average


RMSPROP = {
    **finite("param", "grad"),
    "average": tensor("N", values="nonnegative"),
    "lr": 0.01,
    "alpha": 0.9,
    "eps": 1e-3,
}


@operator(dims={"N": 64}, contract=Contract(mutates=("param", "average")), arguments=RMSPROP)
def optim_rmsprop_right(param, grad, average, lr, alpha, eps):
    average.mul_(alpha).addcmul_(grad, grad, value=1 - alpha)
    param.addcdiv_(grad, average.sqrt().add_(eps), value=-lr)


optim_rmsprop_right.reference("torch")(rmsprop_reference)


@operator(dims={"N": 64}, contract=Contract(mutates=("param", "average")), arguments=RMSPROP)
def optim_rmsprop_state_wrong(param, grad, average, lr, alpha, eps):
    """The moving average is computed out of place and never written back."""
    average = average * alpha + (1 - alpha) * grad.square()
    param.addcdiv_(grad, average.sqrt().add_(eps), value=-lr)


optim_rmsprop_state_wrong.reference("torch")(rmsprop_reference)


@operator(dims={"N": 64}, contract=Contract(mutates=("param", "average")), arguments=RMSPROP)
def optim_rmsprop_eps_wrong(param, grad, average, lr, alpha, eps):
    """eps is added under the square root."""
    average.mul_(alpha).addcmul_(grad, grad, value=1 - alpha)
    param.addcdiv_(grad, (average + eps).sqrt(), value=-lr)


optim_rmsprop_eps_wrong.reference("torch")(rmsprop_reference)


# Gradients of two tensors clipped by their joint norm.


def clip_reference(a, b, max_norm):
    norm = torch.sqrt((a**2).sum() + (b**2).sum())
    factor = torch.clamp(max_norm / (norm + 1e-6), max=1.0)
    return a * factor, b * factor, norm


CLIP = {"a": tensor("M N"), "b": tensor("N"), "max_norm": 1.5}


@operator(kind="norm", dtypes=("float32", "float16"), dims={"M": 6, "N": 20}, arguments=CLIP)
def optim_clip_grad_norm_right(a, b, max_norm):
    norms = torch.stack([torch.linalg.vector_norm(part, dtype=torch.float32) for part in (a, b)])
    norm = torch.linalg.vector_norm(norms)
    factor = (max_norm / (norm + 1e-6)).clamp(max=1.0)
    return (a.float() * factor).to(a.dtype), (b.float() * factor).to(b.dtype), norm.to(a.dtype)


optim_clip_grad_norm_right.reference("torch")(clip_reference)


@operator(kind="norm", dtypes=("float32", "float16"), dims={"M": 6, "N": 20}, arguments=CLIP)
def optim_clip_grad_norm_sum_wrong(a, b, max_norm):
    """The joint norm is the sum of both norms and not the root of the sum of their squares."""
    norm = sum(torch.linalg.vector_norm(part, dtype=torch.float32) for part in (a, b))
    factor = (max_norm / (norm + 1e-6)).clamp(max=1.0)
    return (a.float() * factor).to(a.dtype), (b.float() * factor).to(b.dtype), norm.to(a.dtype)


optim_clip_grad_norm_sum_wrong.reference("torch")(clip_reference)

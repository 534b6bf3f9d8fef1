"""One step of Adam, AdamW and Lion, state written in place."""

import torch

from opsdebug_ci import Contract, operator, scalar, tensor


def finite(*names):
    return {name: tensor("N", values="finite") for name in names}


# Adam and AdamW with bias correction.


def adam_reference(param, grad, m, v, step, lr, beta1, beta2, eps):
    m = beta1 * m + (1 - beta1) * grad
    v = beta2 * v + (1 - beta2) * grad * grad
    m_hat, v_hat = m / (1 - beta1**step), v / (1 - beta2**step)
    return param - lr * m_hat / (torch.sqrt(v_hat) + eps), m, v


def adamw_reference(param, grad, m, v, step, lr, beta1, beta2, eps):
    return adam_reference(param * (1 - lr * 0.1), grad, m, v, step, lr, beta1, beta2, eps)


ADAM = {
    **finite("param", "grad", "m"),
    "v": tensor("N", values="nonnegative"),
    "step": scalar(lambda dims, args: 3),
    "lr": 1e-2,
    "beta1": 0.9,
    "beta2": 0.99,
    "eps": 1e-6,
}
ADAM_WRITES = Contract(mutates=("param", "m", "v"))


@operator(dims={"N": 70}, contract=ADAM_WRITES, arguments=ADAM)
def optim_adam_right(param, grad, m, v, step, lr, beta1, beta2, eps):
    m.mul_(beta1).add_(grad, alpha=1 - beta1)
    v.mul_(beta2).addcmul_(grad, grad, value=1 - beta2)
    root = (1 - beta2**step) ** 0.5
    denominator = v.sqrt().div_(root).add_(eps)
    param.addcdiv_(m, denominator, value=-lr / (1 - beta1**step))


optim_adam_right.reference("torch")(adam_reference)


@operator(dims={"N": 70}, contract=ADAM_WRITES, arguments=ADAM)
def optim_adam_correction_wrong(param, grad, m, v, step, lr, beta1, beta2, eps):
    """The bias correction is that of the step before (step - 1), as the counter is advanced too late."""
    m.mul_(beta1).add_(grad, alpha=1 - beta1)
    v.mul_(beta2).addcmul_(grad, grad, value=1 - beta2)
    root = (1 - beta2 ** (step - 1)) ** 0.5
    param.addcdiv_(m, v.sqrt().div_(root).add_(eps), value=-lr / (1 - beta1 ** (step - 1)))


optim_adam_correction_wrong.reference("torch")(adam_reference)


@operator(dims={"N": 70}, dtypes=("float32", "bfloat16"), contract=ADAM_WRITES, arguments=ADAM)
def optim_adamw_right(param, grad, m, v, step, lr, beta1, beta2, eps):
    wide = param.float()
    g = grad.float()
    first = torch.add(m.float() * beta1, g, alpha=1 - beta1)
    second = torch.add(v.float() * beta2, g.square(), alpha=1 - beta2)
    denominator = torch.sqrt(second / (1 - beta2**step)) + eps
    update = first / denominator / (1 - beta1**step)
    m.copy_(first)
    v.copy_(second)
    param.copy_(wide - lr * 0.1 * wide - lr * update)


optim_adamw_right.reference("torch")(adamw_reference)


@operator(dims={"N": 70}, contract=ADAM_WRITES, arguments=ADAM)
def optim_adamw_coupled_wrong(param, grad, m, v, step, lr, beta1, beta2, eps):
    """The decay is added to the gradient, as in Adam with L2, and not taken off the parameter."""
    g = grad + 0.1 * param
    m.mul_(beta1).add_(g, alpha=1 - beta1)
    v.mul_(beta2).addcmul_(g, g, value=1 - beta2)
    root = (1 - beta2**step) ** 0.5
    param.addcdiv_(m, v.sqrt().div_(root).add_(eps), value=-lr / (1 - beta1**step))


optim_adamw_coupled_wrong.reference("torch")(adamw_reference)


# Lion.


def lion_reference(param, grad, m, lr, beta1, beta2, decay):
    update = torch.sign(beta1 * m + (1 - beta1) * grad)
    return param - lr * (update + decay * param), beta2 * m + (1 - beta2) * grad


LION = {**finite("param", "grad", "m"), "lr": 0.01, "beta1": 0.9, "beta2": 0.99, "decay": 0.1}


@operator(dims={"N": 64}, contract=Contract(mutates=("param", "m")), arguments=LION)
def optim_lion_right(param, grad, m, lr, beta1, beta2, decay):
    update = torch.sign(beta1 * m + (1 - beta1) * grad)
    param.mul_(1 - lr * decay).sub_(update, alpha=lr)
    m.mul_(beta2).add_(grad * (1 - beta2))


optim_lion_right.reference("torch")(lion_reference)


@operator(dims={"N": 64}, contract=Contract(mutates=("param", "m")), arguments=LION)
def optim_lion_order_wrong(param, grad, m, lr, beta1, beta2, decay):
    """The momentum is updated before its sign is taken, so the step looks at the new one with beta2."""
    m.mul_(beta2).add_(grad, alpha=1 - beta2)
    param.mul_(1 - lr * decay).sub_(torch.sign(m), alpha=lr)


optim_lion_order_wrong.reference("torch")(lion_reference)

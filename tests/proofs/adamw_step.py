"""One AdamW step in place: half-precision parameters beside float32 state, three written arguments.

Loshchilov & Hutter, "Decoupled Weight Decay Regularization", ICLR 2019, algorithm 2.
"""

from __future__ import annotations

import math

import torch

from opsdebug_ci import Contract, Operator, tensor

LR, BETA1, BETA2, EPS, DECAY = 1e-2, 0.9, 0.999, 1e-8, 0.1


def step(param, grad, exp_avg, exp_avg_sq, steps):
    gradient = grad.float()
    exp_avg.lerp_(gradient, 1 - BETA1)
    exp_avg_sq.mul_(BETA2).addcmul_(gradient, gradient, value=1 - BETA2)
    denominator = (exp_avg_sq / (1 - BETA2**steps)).sqrt_().add_(EPS)
    decayed = param.float() * (1 - LR * DECAY)
    param.copy_(decayed - LR / (1 - BETA1**steps) * exp_avg / denominator)


def step_with_coupled_decay(param, grad, exp_avg, exp_avg_sq, steps):
    """The defect: Adam with L2 regularisation, whose decay goes through the moments."""
    step(param, (grad.float() + DECAY * param.float()).to(grad.dtype), exp_avg, exp_avg_sq, steps)


def torch_reference(param, grad, exp_avg, exp_avg_sq, steps):
    gradient = grad.float()
    first = BETA1 * exp_avg + (1 - BETA1) * gradient
    second = BETA2 * exp_avg_sq + (1 - BETA2) * gradient * gradient
    denominator = torch.sqrt(second / (1 - BETA2**steps)) + EPS
    updated = param.float() * (1 - LR * DECAY) - LR / (1 - BETA1**steps) * first / denominator
    return updated.to(param.dtype), first, second


def naive_reference(param, grad, exp_avg, exp_avg_sq, steps):
    flat = zip(*(t.double().flatten().tolist() for t in (param, grad, exp_avg, exp_avg_sq)), strict=True)
    rows = [_one(p, g, m, v, steps) for p, g, m, v in flat]
    return tuple(torch.tensor([row[i] for row in rows], dtype=torch.float64).reshape(param.shape) for i in range(3))


def _one(param: float, gradient: float, first: float, second: float, steps: int) -> tuple[float, float, float]:
    first = BETA1 * first + (1 - BETA1) * gradient
    second = BETA2 * second + (1 - BETA2) * gradient * gradient
    denominator = math.sqrt(second / (1 - BETA2**steps)) + EPS
    update = LR / (1 - BETA1**steps) * first / denominator
    return param - LR * DECAY * param - update, first, second


def _declare(name: str, function) -> Operator:
    return Operator(
        name,
        function,
        {
            "param": tensor("N", values="finite"),
            "grad": tensor("N", values="finite"),
            "exp_avg": tensor("N", dtype="float32", values="finite"),
            "exp_avg_sq": tensor("N", dtype="float32", values="nonnegative"),
            "steps": 7,
        },
        {"torch": torch_reference, "naive": naive_reference},
        kind={"param": "elementwise", "exp_avg": "elementwise", "exp_avg_sq": "auto"},
        dtypes=("bfloat16", "float32"),
        dims={"N": 100},
        contract=Contract(mutates=("param", "exp_avg", "exp_avg_sq")),
    )


adamw_step = _declare("adamw_step", step)
wrong_adamw_step = _declare("wrong_adamw_step", step_with_coupled_decay)

"""A right operator."""

import torch

from opsdebug_ci import operator, tensor


@operator(kind="elementwise", x=tensor("S"))
def halved(x):
    return x * 0.5


@halved.reference("torch")
def _(x):
    return torch.div(x, 2)

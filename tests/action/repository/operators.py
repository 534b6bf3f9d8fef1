"""Two right operators, which do not run where they could reach a token."""

import os

import torch

from opsdebug_ci import operator, tensor

if any("ghs_" in value for value in os.environ.values()):
    raise SystemExit("a token is beside the operators")


@operator(kind="elementwise", x=tensor("S"))
def halved(x):
    return x * 0.5


@halved.reference("torch")
def _(x):
    return torch.div(x, 2)


@operator(kind="elementwise", x=tensor("S"))
def doubled(x):
    return x + x


@doubled.reference("torch")
def _(x):
    return torch.mul(x, 2)

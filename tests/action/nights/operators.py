"""Two right operators with few cases, so that a night is short; they do not run where they could reach a token."""

import os

import torch

from opsdebug_ci import operator

if any("ghs_" in value for value in os.environ.values()):
    raise SystemExit("a token is beside the operators")


def numbers(seed, dims, dtype):
    return [torch.rand(dims["N"], generator=torch.Generator().manual_seed(seed))]


@operator(kind="elementwise", dims={"N": 13}, arguments=numbers)
def halved(x):
    return x * 0.5


@halved.reference("torch")
def _(x):
    return torch.div(x, 2)


@operator(kind="elementwise", dims={"N": 13}, arguments=numbers)
def doubled(x):
    return x + x


@doubled.reference("torch")
def _(x):
    return torch.mul(x, 2)

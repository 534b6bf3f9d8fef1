"""Reductions: means, variances and norms."""

import numpy as np
import torch

from opsdebug_ci import operator, tensor

HALVES = ("float32", "float16", "bfloat16")


def some_columns(case):
    return case.dims["H"] > 0 or "nothing to reduce"


# Mean of rows.


@operator(kind="reduction", dtypes=HALVES, dims={"S": 12, "H": 200}, x=tensor("S H"))
def reduce_mean_right(x):
    total = torch.zeros(x.shape[0])
    for start in range(0, x.shape[1], 32):
        total += x[:, start : start + 32].float().sum(-1)
    return (total / x.shape[1]).to(x.dtype)


@reduce_mean_right.reference("torch")
def _(x):
    return x.mean(dim=-1)


def brightness(seed, dims, args):
    return np.random.default_rng(seed).integers(0, 256, size=(dims["S"], dims["H"]))


@operator(kind="reduction", dtypes=("float16",), dims={"S": 6, "H": 1024}, x=tensor("S H", values=brightness))
def reduce_mean_overflow_wrong(x):
    """The sum of a row passes through float16 before the division, and overflows for rows of a thousand pixels."""
    return x.float().sum(-1).to(x.dtype) / x.shape[1]


@reduce_mean_overflow_wrong.reference("torch")
def _(x):
    return x.mean(dim=-1)


# Unbiased variance by Chan's merging of blocks.


@operator(kind="norm", dtypes=("float32", "bfloat16"), dims={"S": 8, "H": 96}, x=tensor("S H", values="finite"))
def reduce_variance_right(x):
    count, mean, squares = 0, torch.zeros(x.shape[0]), torch.zeros(x.shape[0])
    for start in range(0, x.shape[1], 16):
        part = x[:, start : start + 16].float() - x[:, :1].float()  # the variance does not mind the shift
        size = part.shape[1]
        part_mean = part.mean(1)
        delta = part_mean - mean
        total = count + size
        squares = squares + (part - part_mean.unsqueeze(1)).square().sum(1) + delta * delta * (count * size / total)
        mean = mean + delta * (size / total)
        count = total
    return (squares / (count - 1) if count > 1 else squares / 0).to(x.dtype)


@reduce_variance_right.reference("torch")
def _(x):
    return torch.var(x, dim=-1)


@operator(kind="norm", dtypes=("float32", "bfloat16"), dims={"S": 8, "H": 96}, x=tensor("S H", values="finite"))
def reduce_variance_merge_wrong(x):
    """Merging blocks leaves out what their different means contribute."""
    count, squares = 0, torch.zeros(x.shape[0])
    for start in range(0, x.shape[1], 16):
        part = x[:, start : start + 16].float()
        squares = squares + (part - part.mean(1, keepdim=True)).square().sum(1)
        count += part.shape[1]
    return (squares / (count - 1) if count > 1 else squares / 0).to(x.dtype)


@reduce_variance_merge_wrong.reference("torch")
def _(x):
    return torch.var(x, dim=-1)


# Standard deviation over the first axis.


@operator(kind="norm", dims={"S": 20, "H": 12}, x=tensor("S H", values="finite"))
def reduce_std_right(x):
    rows = x.shape[0]
    centre = x.sum(0) / rows
    gap = x - centre
    return torch.sqrt((gap * gap).sum(0) / rows)


@reduce_std_right.reference("torch")
def _(x):
    return x.std(dim=0, correction=0)


@operator(kind="norm", dims={"S": 20, "H": 12}, x=tensor("S H", values="finite"))
def reduce_std_ddof_wrong(x):
    """It divides by one less than the number of rows where the population's deviation is asked for."""
    rows = x.shape[0]
    gap = x - x.sum(0) / rows
    return torch.sqrt((gap * gap).sum(0) / max(rows - 1, 1))


@reduce_std_ddof_wrong.reference("torch")
def _(x):
    return x.std(dim=0, correction=0)


# Norms.


@operator(kind="norm", dtypes=("float32", "float16"), dims={"S": 10, "H": 60}, x=tensor("S H"))
def reduce_l2_norm_right(x):
    total = torch.zeros(x.shape[0], dtype=torch.float64)
    for start in range(0, x.shape[1], 16):
        total += x[:, start : start + 16].double().square().sum(1)
    return total.sqrt().to(x.dtype)


@reduce_l2_norm_right.reference("torch")
def _(x):
    return torch.linalg.vector_norm(x, dim=1)


@operator(kind="reduction", dtypes=("float32", "bfloat16"), dims={"A": 5, "B": 6, "C": 7}, x=tensor("A B C"))
def reduce_l1_norm_right(x):
    return x.float().abs().transpose(1, 2).sum(2).sum(1).to(x.dtype)


@reduce_l1_norm_right.reference("torch")
def _(x):
    return x.abs().sum(dim=(1, 2))


@operator(kind="reduction", dims={"A": 5, "B": 6, "C": 7}, x=tensor("A B C"))
def reduce_l1_norm_tail_wrong(x):
    """Elements after the last full vector of four are left out."""
    flat = x.contiguous().view(x.shape[0], x.shape[1] * x.shape[2])
    full = flat.shape[1] // 4 * 4
    return flat[:, :full].abs().sum(1)


@reduce_l1_norm_tail_wrong.reference("torch")
def _(x):
    return x.abs().sum(dim=(1, 2))


# Weighted mean over the middle axis with a mask.


MASKED = {"x": tensor("B S H", values="finite"), "mask": tensor("B S", dtype="bool")}


def masked_mean_reference(x, mask):
    weights = mask.unsqueeze(-1).to(x.dtype)
    return (x * weights).sum(1) / weights.sum(1).clamp(min=1)


@operator(kind="reduction", dtypes=HALVES, dims={"B": 4, "S": 14, "H": 10}, arguments=MASKED)
def reduce_masked_mean_right(x, mask):
    out = torch.zeros(x.shape[0], x.shape[2])
    for row in range(x.shape[0]):
        kept = x[row][mask[row]].float()
        out[row] = kept.sum(0) / max(kept.shape[0], 1)
    return out.to(x.dtype)


reduce_masked_mean_right.reference("torch")(masked_mean_reference)


@operator(kind="reduction", dtypes=HALVES, dims={"B": 4, "S": 14, "H": 10}, arguments=MASKED)
def reduce_masked_mean_count_wrong(x, mask):
    """The divisor is the mean number of kept positions of the batch, not that of the row."""
    kept = torch.where(mask.unsqueeze(-1), x.float(), 0.0).sum(1)
    return (kept / (mask.sum() / max(mask.shape[0], 1)).clamp(min=1)).to(x.dtype)


reduce_masked_mean_count_wrong.reference("torch")(masked_mean_reference)

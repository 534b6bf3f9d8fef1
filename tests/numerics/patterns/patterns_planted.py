"""One planted failure per kind of place and of content, with the cause the place rules together must put first."""

from __future__ import annotations

import math
from collections.abc import Callable

import torch
from patterns_notation import failing, normal, replaced, whole

from opsdebug_ci.model.vocabulary import Cause, Kind
from opsdebug_ci.numerics.failure import Failure

X = normal(40, 130)
EXP = X.exp()
SQUARE = normal(32, 32)
TALL = normal(1000, 64)
ROWS = normal(50, 64)
BIAS = normal(50, 64, seed=1)
WEIGHT = normal(64, seed=2).abs() + 0.5
MASK = torch.rand((50, 64), generator=torch.Generator().manual_seed(3)) < 0.2
BARRED = normal(32, seed=9) > 0.5
A, B = normal(24, 70), normal(70, 30, seed=1)
IDS = whole(0, 1000, 128)
OFFSETS = (IDS * 64).to(torch.int16).long()
TARGETS = replaced(whole(0, 50, 64), slice(None, None, 4), -100)
LENGTHS = torch.tensor([3, 0, 5, 0, 2])
ENDS = torch.tensor([5, 9, 2, 7])
RAGGED = normal(4, 10, 6)
SCALES = (normal(8, 8, seed=4).abs() + 0.5).repeat_interleave(64, 1)
LONG = normal(8, 512)
STEPPED = normal(2000)


def _beyond_lengths() -> torch.Tensor:
    return (torch.arange(10) >= ENDS[:, None])[..., None].expand(RAGGED.shape)


def _wrapped_rows() -> Failure:
    got = TALL.reshape(-1)[(OFFSETS[:, None] + torch.arange(64)) % TALL.numel()]
    return failing(got, TALL[IDS], x=TALL, idx=IDS)


PLANTED: dict[str, tuple[str, Cause, Callable[[], Failure]]] = {
    "last columns": ("row_tail", Cause.TAIL_MASK, lambda: failing(replaced(EXP, (..., slice(128, None)), 0), EXP, x=X)),
    "last rows": (
        "row_tail",
        Cause.TAIL_MASK,
        lambda: failing(replaced(EXP, slice(37, None), normal(3, 130)), EXP, x=X),
    ),
    "one channel": ("bad_slice", Cause.UNINITIALISED, lambda: failing(replaced(EXP, (..., 5), 0), EXP, x=X)),
    "rows from 512": ("suffix", Cause.INDEX_OVERFLOW, lambda: failing(replaced(TALL, slice(512, None), 0), TALL)),
    "block edge": (
        "vector_lane",
        Cause.TAIL_MASK,
        lambda: failing(replaced(EXP, (..., slice(7, None, 8)), 9.0), EXP, x=X),
    ),
    "grid too small": ("zero_fill", Cause.TAIL_MASK, lambda: failing(replaced(TALL, slice(128, None), 0), TALL)),
    "transposed": ("permutation", Cause.LAYOUT_PERMUTATION, lambda: failing(SQUARE.T.contiguous(), SQUARE)),
    "halves": ("permutation", Cause.LAYOUT_PERMUTATION, lambda: failing(ROWS.roll(32, 1), ROWS)),
    "row off by one": ("permutation", Cause.STRIDE_VIEW, lambda: failing(ROWS.roll(1, 0), ROWS)),
    "view walked densely": (
        "permutation",
        Cause.STRIDE_VIEW,
        lambda: failing(STEPPED[:1000].clone(), STEPPED[::2], x=STEPPED[::2]),
    ),
    "row 17 for all": (
        "source_index",
        Cause.BROADCASTING,
        lambda: failing(ROWS[17].expand(50, 64).clone(), ROWS),
    ),
    "factor": ("scale", Cause.WRONG_CONSTANT_EPS, lambda: failing(EXP * math.sqrt(2), EXP, x=X)),
    "sign": ("scale", Cause.SIGN_FLIP, lambda: failing(-EXP, EXP, x=X)),
    "constant more": ("offset", Cause.WRONG_CONSTANT_EPS, lambda: failing(ROWS + 0.5, ROWS, x=ROWS)),
    "first bias row": (
        "argument_use",
        Cause.BROADCASTING,
        lambda: failing(ROWS + BIAS[0], ROWS + BIAS, x=ROWS, b=BIAS),
    ),
    "no weight": ("argument_use", Cause.WRONG_SCALE, lambda: failing(ROWS.clone(), ROWS * WEIGHT, x=ROWS, w=WEIGHT)),
    "neighbouring block's scale": (
        "block_scale",
        Cause.WRONG_SCALE,
        lambda: failing(LONG * SCALES.roll(64, 1), LONG * SCALES, x=LONG),
    ),
    "terms left out": (
        "reduction_block",
        Cause.TAIL_MASK,
        lambda: failing((A[:, :64].double() @ B[:64].double()).float(), A.double() @ B.double(), a=A, b=B),
    ),
    "end of rows not looked at": (
        "extreme_block",
        Cause.TAIL_MASK,
        lambda: failing(X[:, :64].amax(1), X.amax(1), x=X),
    ),
    "mask along the other axis": (
        "mask_region",
        Cause.BROADCASTING,
        lambda: failing(SQUARE.masked_fill(BARRED[:, None], -9.0), SQUARE.masked_fill(BARRED, -9.0), m=BARRED),
    ),
    "index wraps": ("index_argument", Cause.INDEX_OVERFLOW, _wrapped_rows),
    "ignored targets": (
        "index_argument",
        Cause.MASK_SEMANTICS,
        lambda: failing(WEIGHT + (TARGETS < 0), WEIGHT, t=TARGETS),
    ),
    "no rows": (
        "empty_segment",
        Cause.EMPTY_OR_ZERO_DIM,
        lambda: failing(replaced(normal(5, 20), LENGTHS == 0, 7.0), normal(5, 20), n=LENGTHS, x=normal(10, 3)),
    ),
    "masked elements": (
        "mask_region",
        Cause.MASK_SEMANTICS,
        lambda: failing(torch.where(MASK, ROWS + BIAS.square(), ROWS), ROWS, x=ROWS, m=MASK),
    ),
    "behind the length": (
        "mask_region",
        Cause.MASK_SEMANTICS,
        lambda: failing(torch.where(_beyond_lengths(), RAGGED.exp(), RAGGED), RAGGED, x=RAGGED, n=ENDS),
    ),
    "no wrap": (
        "wraparound",
        Cause.DTYPE_PROMOTION,
        lambda: failing(whole(0, 512, 256), whole(0, 512, 256) % 256),
    ),
}
"""By name: the rule that must see it, the cause that must come first, the failure."""


def _gelu(x: torch.Tensor) -> torch.Tensor:
    return torch.nn.functional.gelu(x.double())


_SCATTERED = torch.rand((40, 130), generator=torch.Generator().manual_seed(5))

CLEAN: dict[str, Callable[[], Failure]] = {
    "noise": lambda: failing(EXP * (1 + 1e-3 * normal(40, 130, seed=6)), EXP, x=X),
    "scattered": lambda: failing(torch.where(_SCATTERED < 0.02, EXP + 1, EXP), EXP, x=X),
    "scattered zeros": lambda: failing(torch.where(_SCATTERED < 0.02, 0, EXP), EXP, x=X),
    "most, scattered": lambda: failing(torch.where(_SCATTERED < 0.8, EXP + normal(40, 130, seed=7), EXP), EXP, x=X),
    "one element": lambda: failing(replaced(EXP, (3, 7), 0.0), EXP, x=X),
    "another formula": lambda: failing((X.double() * torch.sigmoid(1.702 * X.double())).float(), _gelu(X), x=X),
    "half precision": lambda: failing(
        (A.half() @ B.half()).float(), A.double() @ B.double(), kind=Kind.MATMUL, a=A, b=B
    ),
    "large inputs": lambda: failing(torch.where(X > 1.5, EXP * (1 + normal(40, 130, seed=8)), EXP), EXP, x=X),
    "NaN where NaN should be not": lambda: failing(
        replaced(X, (..., slice(3, None, 16)), 0.0), replaced(X, (..., slice(3, None, 16)), math.nan), x=X
    ),
}
"""Failures that neither place nor content explains."""

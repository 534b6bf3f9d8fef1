"""The classic dispute: a LayerNorm whose sums are taken serially, or in four parts, beside torch's. Never red."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from torch.nn import functional
from worker_notation import case_of, judged, run

from opsdebug_ci import Operator, tensor
from opsdebug_ci.model import Judgement
from opsdebug_ci.model.accuracy import Accuracy
from opsdebug_ci.model.vocabulary import Cause, Verdict, Zone

EPS = 1e-5
PARTS = 4
LONG = 1 << 16
"""A length at which a chain of equal terms, rounded the same way each time, is off by thousands of ulp."""


def chain(values: torch.Tensor) -> torch.Tensor:
    """One chain of float32 additions along the last axis: numpy's accumulate has no other order (torch's is wider)."""
    return torch.from_numpy(np.add.accumulate(values.numpy(), axis=-1, dtype=np.float32)[..., -1])


def serial_mean(values: torch.Tensor) -> torch.Tensor:
    return chain(values).unsqueeze(-1) / values.shape[-1]


def split_mean(values: torch.Tensor) -> torch.Tensor:
    """Four chains, then their sum."""
    return chain(values.unflatten(-1, (PARTS, -1))).sum(-1, keepdim=True) / values.shape[-1]


def layer_norm(mean):
    def function(x: torch.Tensor) -> torch.Tensor:
        wide = x.float()
        centred = wide - mean(wide)
        return (centred * torch.rsqrt(mean(centred.square()) + EPS)).to(x.dtype)

    return function


def reference(x: torch.Tensor) -> torch.Tensor:
    return functional.layer_norm(x, x.shape[-1:], eps=EPS)


def disputed(mean, dtype: str, inputs=None) -> Operator:
    return Operator(
        "layer_norm",
        layer_norm(mean),
        inputs or {"x": tensor("B H")},
        {"torch": reference},
        kind="norm",
        dtypes=(dtype,),
        dims={"B": 4, "H": 1024},
    )


def two_values(seed, dims, dtype) -> list[torch.Tensor]:
    """+0.7 and -0.7 in turn: every square is the same, so its rounding errors all point one way."""
    signs = 1 - 2 * (torch.arange(dims["H"]) % 2)
    return [(0.7 * signs).expand(dims["B"], -1).contiguous().to(getattr(torch, dtype))]


def settled(operator: Operator, **fields: object) -> tuple[Accuracy, Judgement]:
    accuracy = run(operator, **fields).outputs[0].accuracy
    assert accuracy is not None
    return accuracy, judged(operator, case_of(operator, **fields))


MEANS = pytest.mark.parametrize("mean", [serial_mean, split_mean], ids=["serial", "split"])
DTYPES = pytest.mark.parametrize("dtype", ["float32", "float16"])


@MEANS
@DTYPES
@pytest.mark.parametrize("inputs", ["normal", "uniform", "shifted", "cancelling"])
def test_the_order_of_a_sum_passes(mean, dtype: str, inputs: str) -> None:
    accuracy, judgement = settled(disputed(mean, dtype), inputs=inputs)
    assert (accuracy.zone, judgement.verdict, judgement.findings) == (Zone.GREEN, Verdict.PASS, ())


@MEANS
def test_where_only_the_worst_case_explains_it_the_order_is_named(mean) -> None:
    accuracy, judgement = settled(disputed(mean, "float32", two_values), B=1, H=LONG)
    assert (accuracy.zone, judgement.verdict) == (Zone.AMBER, Verdict.PASS)
    assert [finding.cause for finding in judgement.findings] == [Cause.ACCUMULATION_ORDER]


@MEANS
def test_half_precision_hides_it(mean) -> None:
    accuracy, _ = settled(disputed(mean, "float16", two_values), B=1, H=LONG)
    assert accuracy.zone is not Zone.RED
    assert accuracy.ulp.max is not None and accuracy.ulp.max <= 1


def test_the_ulp_distribution_is_one_cluster_nearer_when_split() -> None:
    """A wrong scale per row moves all its elements alike: the median is the maximum, and splitting brings it closer."""
    serial, split = (
        settled(disputed(mean, "float32", two_values), B=1, H=LONG)[0].ulp for mean in (serial_mean, split_mean)
    )
    assert serial.p50 == serial.max and split.p50 == split.max
    assert serial.p50 is not None and split.p50 is not None
    assert 100 < split.p50 < serial.p50

"""Exact percentiles of a per-element error.

Decides what P50, P95, P99 mean: nearest rank, so each is an error that occurred. Deliberately knows nothing about
what the error is.
"""

from __future__ import annotations

import torch

from opsdebug_ci.errors import InternalError
from opsdebug_ci.model.accuracy import Quantiles

NO_QUANTILES = Quantiles(p50=None, p95=None, p99=None, max=None)
"""Of nothing."""

_PERCENTS = (50, 95, 99, 100)
_HISTOGRAM_LIMIT = 1 << 16
"""Integers below this are counted instead of partitioned: one pass, and ULP distances are nearly all small."""


def quantiles(errors: torch.Tensor) -> Quantiles:
    """P50, P95, P99 and maximum by nearest rank: the smallest error e with at least q % of the elements <= e.

    Equivalent to `sorted(errors)[ceil(n * q / 100) - 1]`; definition 1 of Hyndman and Fan, "Sample quantiles in
    statistical packages", The American Statistician 50(4), 1996. Exact, no interpolation.

    Args:
        errors: float64 or int64, any shape, nonnegative, in any unit; left as they are. NaN is not allowed.

    Returns:
        Percentiles in the unit of `errors` (integers above 2**53 rounded to float64); NO_QUANTILES of an empty tensor.

    Raises:
        InternalError: an error is NaN or negative, or the dtype is another.
    """
    if errors.dtype not in (torch.float64, torch.int64):
        raise InternalError(f"`errors` has dtype {errors.dtype}; wanted torch.float64 or torch.int64.")
    if errors.numel() == 0:
        return NO_QUANTILES
    smallest, largest = (bound.item() for bound in torch.aminmax(errors))
    if not 0 <= smallest <= largest:  # aminmax hands NaN through
        raise InternalError(f"`errors` range over {smallest} ... {largest}; wanted nonnegative numbers without NaN.")
    if smallest == largest:
        return named([largest] * len(_PERCENTS))
    ranks = ranks_of(errors.numel())
    if errors.dtype == torch.int64 and largest < min(_HISTOGRAM_LIMIT, errors.numel()):
        return named(counted_to_ranks(torch.bincount(errors.flatten()), ranks))
    return named(at_ranks(errors.flatten(), ranks))


def ranks_of(size: int) -> list[int]:
    """Places of P50, P95, P99 and the maximum among `size` sorted errors, from 0; `size` is at least 1."""
    return [(size * percent + 99) // 100 - 1 for percent in _PERCENTS]


def counted_to_ranks(counts: torch.Tensor, ranks: list[int]) -> list[float]:
    """Which integers stand at ascending `ranks`, where `counts[k]` of all are k; every rank is below their sum."""
    places = torch.tensor(ranks, dtype=torch.int64, device=counts.device)
    found: list[float] = torch.searchsorted(counts.cumsum(0), places, right=True).tolist()
    return found


def at_ranks(errors: torch.Tensor, ranks: list[int], *, reorder: bool = False) -> list[float]:
    """The errors (flat, float64 or int64, without NaN) that stand at `ranks` when sorted; `reorder` saves a copy."""
    if not ranks:
        return []
    if errors.device.type == "cpu":
        array = errors.numpy() if reorder else errors.numpy().copy()
        done = 0
        for rank in sorted(set(ranks)):
            array[done:].partition(rank - done)  # one at a time: numpy has no vectorised search for several
            done = rank + 1
        return [array[rank].item() for rank in ranks]
    ascending = errors.sort().values
    return [ascending[rank].item() for rank in ranks]


def named(found: list[float]) -> Quantiles:
    """Percentiles from the errors at `ranks_of`, in that order."""
    p50, p95, p99, largest = (float(value) for value in found)
    return Quantiles(p50=p50, p95=p95, p99=p99, max=largest)

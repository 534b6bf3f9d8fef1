"""Errors that do not scale with the value they end up in: underflow inside, and rounded interpolation weights.

Truth: the same steps taken in float32 by numpy, against float64.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import torch

from opsdebug_ci.model.dtype import FLOAT_FORMATS
from opsdebug_ci.numerics.lifting import call_lifted
from opsdebug_ci.numerics.spread import Arithmetic, Evaluations, Spread, measure_spread

SINGLE = Arithmetic(compute=FLOAT_FORMATS["float32"], accumulate=FLOAT_FORMATS["float32"], operand=None, seed=0)


def spread_of(reference: Callable[..., torch.Tensor], *arguments: torch.Tensor) -> Spread:
    def run(change, observer):  # type: ignore[no-untyped-def]
        wide = [argument.double() if change is None else change(argument.double()) for argument in arguments]
        return [call_lifted(lambda: reference(*wide), observer)]

    return measure_spread(run, SINGLE)[0]


def test_a_subnormal_weight_may_be_flushed_times_what_it_meets() -> None:
    scores, values = torch.linspace(-104, -90, 64, dtype=torch.float64), torch.linspace(1, 60, 64, dtype=torch.float64)
    single = np.exp(scores.numpy().astype(np.float32)) * values.numpy().astype(np.float32)
    truth = torch.exp(scores.float().double()) * values.float().double()
    error = (torch.from_numpy(single.astype(np.float64)) - truth).abs()
    assert float(error.max()) > 5 * FLOAT_FORMATS["float32"].min_subnormal  # far beyond rounding the result

    def run(change, observer):  # type: ignore[no-untyped-def]
        wide = [each.float().double() if change is None else change(each.float().double()) for each in (scores, values)]
        return [call_lifted(lambda: torch.exp(wide[0]) * wide[1], observer)]

    ranged = Evaluations(run, SINGLE).in_range(0)
    assert bool((error <= (ranged - truth).abs() + 1e-7 * truth).all())


def test_the_spacing_of_subnormals_hides_no_flush() -> None:
    x = torch.full((64,), 1e-40)
    spread = spread_of(lambda value: value * 0.5, x)
    assert float(spread.deviation.max()) < 1e-42


def test_what_is_zero_for_every_step_stays_zero() -> None:
    zeros = torch.zeros(4, 8)
    for reference in (lambda x: x.sum(-1), lambda x: x @ x.T, torch.sqrt, lambda x: x.norm(dim=-1)):
        spread = spread_of(reference, zeros)
        assert float(spread.deviation.max()) == float(spread.worst.max()) == 0.0


def test_a_rounded_weight_lets_a_large_neighbour_in() -> None:
    x = torch.full((1, 1, 1, 257), 1e-3)
    x[..., ::2] = 50.0

    def enlarge(image: torch.Tensor) -> torch.Tensor:
        return torch.nn.functional.interpolate(image, scale_factor=(1.0, 2.0), mode="bilinear", align_corners=True)

    at = np.arange(514, dtype=np.float32) * (
        np.float32(256) / np.float32(513)
    )  # coordinates as float32 kernels form them
    low = np.minimum(np.floor(at).astype(int), 255)
    row, far = x.numpy()[0, 0, 0].astype(np.float64), (at - low.astype(np.float32)).astype(np.float64)
    single = torch.from_numpy(row[low] * (1 - far) + row[low + 1] * far)
    error = (single - enlarge(x.double())[0, 0, 0]).abs()
    spread = spread_of(enlarge, x)
    assert bool((error <= 6 * spread.deviation[0, 0, 0] + 1e-7 * single.abs()).all())


def test_a_rounded_cubic_weight_lets_in_a_neighbour_two_away() -> None:
    x = torch.full((1, 1, 1, 65), 1e-3)
    x[..., ::4] = 50.0

    def enlarge(image: torch.Tensor) -> torch.Tensor:
        return torch.nn.functional.interpolate(image, scale_factor=(1.0, 1.7), mode="bicubic")

    truth, spread = enlarge(x.double()), spread_of(enlarge, x)
    error = (enlarge(x).double() - truth).abs()  # the framework's own float32 kernel
    assert bool((error <= 6 * spread.deviation + 1e-7 * truth.abs()).all())
    assert bool((spread.deviation < 1e-4 * 50.0).all())  # far below the neighbours' size

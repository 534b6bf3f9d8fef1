"""Rounding errors of a working precision, injected at random into a float64 computation.

Decides how large the error of one rounding, one function value and one sum is taken to be. Which ATen call gets which
is `noise_rules`; what the resulting spread is used for is `bounds`.

Monte Carlo arithmetic: D. S. Parker, "Monte Carlo Arithmetic", UCLA CSD-970002 (1997).
Sums: sequential running-error variance V = n*y**2/3 + max(0, n*Q - y**2)/2 in units of u**2, with y the sum, Q the sum
of squared terms and n their number; the probabilistic counterpart of gamma_n (Higham & Mary, SIAM J. Sci. Comput. 41,
2019, doi:10.1137/18M1226312). Worst case: gamma_n * S, gamma_n = n*u/(1 - n*u), S the sum of absolute terms (Higham,
ASNA 2nd ed., eq. 3.3-3.5).
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

import torch

FUNCTION_ULPS = 2.0
"""Roundings granted to one library function (exp, tanh, ...) on its argument and on its result.

Fast device functions are specified to 2 ulp plus a term proportional to |x f'(x)|, which perturbing the argument gives.
"""

WORST_ROUNDINGS = 4.0
"""Roundings granted to one elementwise step in the worst case: another formula of the same function may take four."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Noise:
    """Source of injected errors. `worst` chooses coherent worst-case amplitudes instead of statistical ones."""

    unit_roundoff: float
    """u of the format elementwise steps are computed in."""

    accumulator_roundoff: float
    """u of the format sums are accumulated in."""

    generator: torch.Generator
    """Seeded; decides only the bounds, never the inputs."""

    worst: bool
    """False: errors of the size a good kernel makes. True: errors no summation order can exceed."""

    operand_roundoff: float = 0.0
    """u of the format the operands of a product are rounded to first; 0: they are used as they are."""

    def rounding(self, value: torch.Tensor, roundings: float = 1.0) -> torch.Tensor:
        """`value` after `roundings` roundings: y * (1 + r*u*xi), xi uniform on [-1, 1] (random sign in the worst case).

        `value`: float64, any shape. NaN and infinities stay as they are.
        """
        gain = roundings * (WORST_ROUNDINGS if self.worst else 1.0)
        return self._add(value, value.abs() * (gain * self.unit_roundoff))

    def function(self, function: Callable[[torch.Tensor], torch.Tensor], argument: torch.Tensor) -> torch.Tensor:
        """A library function in the working precision: both argument and result are rounded FUNCTION_ULPS times."""
        return self.rounding(function(self.rounding(argument, FUNCTION_ULPS)), FUNCTION_ULPS)

    def magnitude(self, value: torch.Tensor, magnitude: torch.Tensor, roundings: float = 1.0) -> torch.Tensor:
        """`value` with the error of intermediate terms of size `magnitude` (>= |value| where terms cancel)."""
        gain = roundings * (WORST_ROUNDINGS if self.worst else 1.0)
        return self._add(value, magnitude * (gain * self.unit_roundoff))

    def operand(self, value: torch.Tensor) -> torch.Tensor:
        """An operand of a product after one rounding to the operand format."""
        return self._add(value, value.abs() * self.operand_roundoff) if self.operand_roundoff else value

    def total(
        self, total: torch.Tensor, squares: torch.Tensor, absolutes: torch.Tensor, terms: torch.Tensor | float
    ) -> torch.Tensor:
        """A sum in the accumulator's precision.

        Args:
            total: y, the exact sums.
            squares: Q, sums of squared terms.
            absolutes: S, sums of absolute terms.
            terms: n, terms per sum; a number, or a tensor that broadcasts against `total`.
        """
        u = self.accumulator_roundoff
        if self.worst:
            return self._add(total, absolutes * _gamma(terms, u))
        return self._add(total, u * math.sqrt(3.0) * _variance(total, squares, terms).sqrt())

    def sum(self, terms: torch.Tensor, dims: list[int] | None, *, keepdim: bool) -> torch.Tensor:
        """Sum of `terms` over `dims` (all of them when None or empty) in the accumulator's precision."""
        axes = dims or list(range(terms.ndim))
        count = float(math.prod(terms.shape[axis] for axis in axes))
        total = terms.sum(axes, keepdim=keepdim)
        return self.total(
            total, terms.square().sum(axes, keepdim=keepdim), terms.abs().sum(axes, keepdim=keepdim), count
        )

    def _add(self, value: torch.Tensor, amplitude: torch.Tensor) -> torch.Tensor:
        draw = torch.rand(value.shape, generator=self.generator, dtype=torch.float64).mul_(2.0).sub_(1.0)
        error = amplitude * (draw.sign() if self.worst else draw).to(value.device)
        return value + torch.where(torch.isfinite(error), error, torch.zeros_like(error))


def _variance(total: torch.Tensor, squares: torch.Tensor, terms: torch.Tensor | float) -> torch.Tensor:
    return terms * total.square() / 3.0 + (terms * squares - total.square()).clamp_min(0.0) / 2.0


def _gamma(terms: torch.Tensor | float, u: float) -> torch.Tensor | float:
    """gamma_n, capped where n*u reaches 1/2 and the bound loses its meaning."""
    capped = terms.mul(u).clamp_max(0.5) if isinstance(terms, torch.Tensor) else min(terms * u, 0.5)
    return capped / (1.0 - capped)

"""Rounding errors of a working precision, injected at random into a float64 computation.

Decides how large the error of one rounding, one function value and one sum is taken to be. Which ATen call gets which
is `noise_rules`; what the resulting spread is used for is `bounds`.

Monte Carlo arithmetic: D. S. Parker, "Monte Carlo Arithmetic", UCLA CSD-970002 (1997).
Sums: sequential running-error variance V = n*y**2/3 + max(0, n*Q - y**2)/2 in units of u**2, with y the sum, Q the sum
of squared terms and n their number; the probabilistic counterpart of gamma_n (Higham & Mary, SIAM J. Sci. Comput. 41,
2019, doi:10.1137/18M1226312). Worst case: the smaller of gamma_n * S, gamma_n = n*u/(1 - n*u), S the sum of absolute
terms (Higham, ASNA 2nd ed., eq. 3.3-3.5), which no order exceeds, and of the running error bound u*(S + sum |s_i|) over
products and partial sums s_i (ibid., 3.3), with sum |s_i| <= sqrt(n*V) by Cauchy and Schwarz: all roundings conspire,
but the terms come in no worse than a typical order.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import torch

from opsdebug_ci.numerics.draws import Draws

FUNCTION_ULPS = 2.0
"""Roundings granted to one library function (exp, tanh, ...) on its argument and on its result.

Fast device functions are specified to 2 ulp plus a term proportional to |x f'(x)|, which perturbing the argument gives.
"""

WORST_ROUNDINGS = 4.0
"""Roundings granted to one elementwise step in the worst case: another formula of the same function may take four."""

Thunk = Callable[[], torch.Tensor]
"""A tensor, computed only when it is needed."""


@dataclass(slots=True)
class _SumErrors:
    """Sizes of the errors of a computation's sums, in the order they are taken.

    They hardly depend on the noise before them, and cost as much as the sums themselves; so later runs reuse them.
    """

    sizes: list[torch.Tensor] = field(default_factory=list)
    """One tensor per sum: the amplitude of its error, element by element."""

    position: int = 0
    """The next one of this run."""

    def next(self, shape: torch.Size, compute: Thunk) -> torch.Tensor:
        position, self.position = self.position, self.position + 1
        if position < len(self.sizes) and self.sizes[position].shape == shape:
            return self.sizes[position]
        self.sizes[position:] = [compute()]
        return self.sizes[position]


@dataclass(frozen=True, slots=True, kw_only=True)
class Noise:
    """Source of injected errors. `worst` chooses coherent worst-case amplitudes instead of statistical ones."""

    unit_roundoff: float
    """u of the format elementwise steps are computed in."""

    accumulator_roundoff: float
    """u of the format sums are accumulated in."""

    draws: Draws
    """Seeded; decides only the bounds, never the inputs. Signs in the worst case."""

    worst: bool
    """False: errors of the size a good kernel makes. True: all roundings conspire."""

    operand_roundoff: float = 0.0
    """u of the format the operands of a product are rounded to first; 0: they are used as they are."""

    min_normal: float = 0.0
    """Smallest normal number of the format of elementwise steps: below it an error shrinks no further (Higham, ASNA
    2nd ed., eq. 2.8: its part eta is u * min_normal); 0: underflow is left out."""

    _sums: _SumErrors = field(default_factory=_SumErrors, init=False)
    """Sizes met so far; the one part that changes while the noise is used."""

    def restart(self) -> None:
        """Begin another run of the same computation: its sums meet the same errors' sizes in the same order."""
        self._sums.position = 0

    def rounding(self, value: torch.Tensor, roundings: float = 1.0) -> torch.Tensor:
        """`value` after `roundings` roundings: y * (1 + r*u*xi), xi uniform on [-1, 1] (random sign in the worst case).

        `value`: float64 or complex128, any shape. NaN and infinities stay as they are.
        """
        return self.magnitude(value, value, roundings)

    def function(self, function: Callable[[torch.Tensor], torch.Tensor], argument: torch.Tensor) -> torch.Tensor:
        """A library function in the working precision: both argument and result are rounded FUNCTION_ULPS times."""
        return self.rounding(function(self.rounding(argument, FUNCTION_ULPS)), FUNCTION_ULPS)

    def magnitude(self, value: torch.Tensor, magnitude: torch.Tensor, roundings: float = 1.0) -> torch.Tensor:
        """`value` with the error of intermediate terms of size `magnitude` (>= |value| where terms cancel)."""
        gain = roundings * (WORST_ROUNDINGS if self.worst else 1.0)
        share = gain * self.unit_roundoff
        return self._add(value, self._with_underflow(value, magnitude, share), share)

    def _with_underflow(self, value: torch.Tensor, magnitude: torch.Tensor, share: float) -> torch.Tensor:
        """`magnitude`, but at least the smallest normal number, unless that error would exceed the value itself.

        So a zero stays zero, and nothing changes its sign for having underflowed.
        """
        if not self.min_normal or not share:
            return magnitude
        floor = value.abs().mul_(1.0 / share).clamp_max_(self.min_normal)
        return torch.maximum(magnitude.abs(), floor, out=floor)

    def operand(self, value: torch.Tensor) -> torch.Tensor:
        """An operand of a product after one rounding to the operand format."""
        return self._add(value, value, self.operand_roundoff) if self.operand_roundoff else value

    def total(
        self, total: torch.Tensor, terms: torch.Tensor | float, *, squares: Thunk, absolutes: Thunk
    ) -> torch.Tensor:
        """A sum in the accumulator's precision.

        Args:
            total: y, the exact sums.
            terms: n, terms per sum; a number, or a tensor that broadcasts against `total`.
            squares: Q, sums of squared terms; asked for once per computation.
            absolutes: S, sums of absolute terms; asked for in the worst case, once per computation.
        """
        u = self.accumulator_roundoff

        eta = self.unit_roundoff * self.min_normal  # of each product that underflows, unless all of them are zero

        def size() -> torch.Tensor:
            spread = squares()
            variance = _variance(total, spread, terms)
            if self.worst:
                worst = absolutes()
                running = u * (worst + (terms * variance).sqrt())
                return torch.fmin(worst * _gamma(terms, u), running) + worst.clamp_max(terms * eta)
            # Uniform numbers on [-1, 1] have variance 1/3.
            return (math.sqrt(3.0) * u) * variance.sqrt() + spread.sqrt().clamp_max(terms**0.5 * eta)

        return self._add(total, self._sums.next(total.shape, size), 1.0)

    def sum(self, terms: torch.Tensor, dims: list[int] | None, *, keepdim: bool) -> torch.Tensor:
        """Sum of `terms` over `dims` (all of them when None or empty) in the accumulator's precision."""
        axes = dims or list(range(terms.ndim))
        return self.total(
            terms.sum(axes, keepdim=keepdim),
            float(math.prod(terms.shape[axis] for axis in axes)),
            squares=lambda: terms.square().sum(axes, keepdim=keepdim),
            absolutes=lambda: terms.abs().sum(axes, keepdim=keepdim),
        )

    def _add(self, value: torch.Tensor, size: torch.Tensor, gain: float) -> torch.Tensor:
        """value + gain*size*xi, where that is finite."""
        if value.is_complex():
            parts = torch.view_as_real(value)
            return torch.view_as_complex(self._add(parts, size.abs().unsqueeze(-1).expand_as(parts), gain).contiguous())
        finite = torch.nan_to_num(size, nan=0.0, posinf=0.0, neginf=0.0)
        return torch.addcmul(value, finite, self.draws.shaped(value), value=gain)


@dataclass(frozen=True, slots=True, kw_only=True)
class Call:
    """One ATen call of a lifted run."""

    noise: Noise
    """Source of errors."""

    func: Any
    """The ATen overload."""

    args: tuple[Any, ...]
    """Positional arguments as they were before the call."""

    kwargs: dict[str, Any]
    """Keyword arguments."""

    result: Any
    """What it returned, in float64."""

    def argument(self, position: int, default: Any = None) -> Any:
        """A positional argument, or its default: ATen leaves trailing defaults out."""
        return self.args[position] if len(self.args) > position else default


Rule = Callable[[Call], Any]
"""Call -> noisy result, in the structure of the exact one."""


def _variance(total: torch.Tensor, squares: torch.Tensor, terms: torch.Tensor | float) -> torch.Tensor:
    return terms * total.square() / 3.0 + (terms * squares - total.square()).clamp_min(0.0) / 2.0


def _gamma(terms: torch.Tensor | float, u: float) -> torch.Tensor | float:
    """gamma_n, capped where n*u reaches 1/2 and the bound loses its meaning."""
    capped = terms.mul(u).clamp_max(0.5) if isinstance(terms, torch.Tensor) else min(terms * u, 0.5)
    return capped / (1.0 - capped)

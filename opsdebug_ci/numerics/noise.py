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

import functools
import math
import random
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import torch

FUNCTION_ULPS = 2.0
"""Roundings granted to one library function (exp, tanh, ...) on its argument and on its result.

Fast device functions are specified to 2 ulp plus a term proportional to |x f'(x)|, which perturbing the argument gives.
"""

WORST_ROUNDINGS = 4.0
"""Roundings granted to one elementwise step in the worst case: another formula of the same function may take four."""

CONSPIRING = 48.0
"""Standard deviations of a sum that conspiring roundings reach at most: 8 tolerances of 6. Equal terms added one by one
reach 0.29 * gamma_n * S at worst (tests/numerics/test_bounds_orders.py), which is 0.29*sqrt(3*n) deviations: 45 of them
at n = 8,192. One accumulator for more terms than that loses digits that no framework's own sum loses."""

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


TABLE_LENGTH = 131_071
"""Numbers drawn per seed: 2**17 - 1, a prime, so that no stride of a larger tensor meets the same number twice soon."""


class Draws:
    """Uniform numbers on [-1, 1], or their signs, all from one seed; windows into one table, so two calls may overlap.

    Errors of one computation only need to look unrelated to its values and to one another.
    """

    def __init__(self, seed: int, *, signs: bool, always: float | None = None) -> None:
        """`always` is one number for every error."""
        self._table = (
            _table(seed, signs) if always is None else torch.full((2 * TABLE_LENGTH,), always, dtype=torch.float64)
        )
        self._places = random.Random(2 * seed + int(signs))  # noqa: S311 - reproducible, not secret

    def window(self, device: torch.device) -> torch.Tensor:
        """TABLE_LENGTH numbers, float64, from a place of their own."""
        start = self._places.randrange(TABLE_LENGTH)
        return self._table[start : start + TABLE_LENGTH].to(device)


@functools.lru_cache(maxsize=8)
def _table(seed: int, signs: bool) -> torch.Tensor:
    """The table twice over, so that a window may start anywhere in it."""
    drawn = torch.empty(TABLE_LENGTH, dtype=torch.float64, device="cpu")
    drawn.uniform_(-1.0, 1.0, generator=torch.Generator("cpu").manual_seed(seed))
    return (drawn.sign() if signs else drawn).repeat(2)


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
    """Smallest normal number of the format of the steps, below which errors get no smaller; 0: they do."""

    exact_format: torch.dtype | None = None
    """Steps whose result is a number of this format are exact and get no error; None: every step gets one, since
    another right order of the same steps may round where this one does not."""

    _sums: _SumErrors = field(default_factory=_SumErrors, init=False)
    """Sizes met so far; the one part that changes while the noise is used."""

    def restart(self) -> None:
        """Begin another run of the same computation: its sums meet the same errors' sizes in the same order."""
        self._sums.position = 0

    def rounding(self, value: torch.Tensor, roundings: float = 1.0, *, exact: bool = True) -> torch.Tensor:
        """`value` after `roundings` roundings: y * (1 + r*u*xi), xi uniform on [-1, 1] (random sign in the worst case).

        `value`: float64 or complex128, any shape. NaN, infinities and zeros stay as they are. `exact`: the step may be.
        """
        return self._noisy(value, None, self._share(roundings), exact=exact)

    def function(self, function: Callable[[torch.Tensor], torch.Tensor], argument: torch.Tensor) -> torch.Tensor:
        """A library function in the working precision: both argument and result are rounded FUNCTION_ULPS times."""
        result = function(self._noisy(argument, None, self._share(FUNCTION_ULPS), exact=False))
        return self._noisy(result, None, self._share(FUNCTION_ULPS), exact=False)

    def magnitude(self, value: torch.Tensor, magnitude: torch.Tensor, roundings: float = 1.0) -> torch.Tensor:
        """`value` with the error of intermediate terms of size `magnitude` (>= |value| where terms cancel)."""
        return self._noisy(value, magnitude, self._share(roundings))

    def operand(self, value: torch.Tensor) -> torch.Tensor:
        """An operand of a product after one rounding to the operand format."""
        return self._noisy(value, None, self.operand_roundoff, exact=False) if self.operand_roundoff else value

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

        def size() -> torch.Tensor:
            variance = _variance(total, squares(), terms)
            if self.worst:
                worst = absolutes()
                running = torch.fmin(worst * _gamma(terms, u), u * (worst + (terms * variance).sqrt()))
                return torch.fmin(running, CONSPIRING * u * variance.sqrt())
            return (math.sqrt(3.0) * u) * variance.sqrt()  # uniform numbers on [-1, 1] have variance 1/3

        noisy = self._noisy(total, self._sums.next(total.shape, size), 1.0)
        return self.rounding(noisy) if self.unit_roundoff > u else noisy  # what was summed wide is kept narrow

    def sum(self, terms: torch.Tensor, dims: list[int] | None, *, keepdim: bool) -> torch.Tensor:
        """Sum of `terms` over `dims` (all of them when None or empty) in the accumulator's precision."""
        axes = dims or list(range(terms.ndim))
        return self.total(
            terms.sum(axes, keepdim=keepdim),
            float(math.prod(terms.shape[axis] for axis in axes)),
            squares=lambda: terms.square().sum(axes, keepdim=keepdim),
            absolutes=lambda: terms.abs().sum(axes, keepdim=keepdim),
        )

    def _share(self, roundings: float) -> float:
        return roundings * (WORST_ROUNDINGS if self.worst else 1.0) * self.unit_roundoff

    def _noisy(
        self, value: torch.Tensor, size: torch.Tensor | None, gain: float, *, exact: bool = True
    ) -> torch.Tensor:
        """value + gain*size*xi, or value*(1 + gain*xi) without a size; in blocks that stay in the processor's cache."""
        if value.is_complex():
            parts = torch.view_as_real(value)
            sizes = (value if size is None else size).abs().unsqueeze(-1).expand_as(parts)
            return torch.view_as_complex(self._noisy(parts, sizes, gain, exact=exact).contiguous())
        if size is None and self.min_normal:
            size = torch.where(value == 0, 0.0, value.abs().clamp_min(self.min_normal))
        flat, noise = value.reshape(-1), self.draws.window(value.device)
        noise = noise * gain if size is not None else (noise * gain).add_(1.0)
        spread = None if size is None else size.expand(value.shape).reshape(-1)
        noisy = torch.empty(value.shape, dtype=torch.float64, device=value.device)
        out = noisy.view(-1)
        for start in range(0, flat.numel(), TABLE_LENGTH):
            here = slice(start, min(start + TABLE_LENGTH, flat.numel()))
            window = noise[: here.stop - start]
            if spread is None:
                torch.mul(flat[here], window, out=out[here])
            else:
                torch.addcmul(flat[here], spread[here], window, out=out[here])
        if exact and self.exact_format is not None:
            return torch.where(value.to(self.exact_format) == value, value, noisy)
        return noisy


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

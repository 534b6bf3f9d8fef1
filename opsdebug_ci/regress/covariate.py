"""A probe of the machine that explains part of a series: fitted and shrunk, never a divisor.

Decides which probe may explain which series, and whether it demonstrably does. Dividing by a probe adds the probe's own
noise to every series that does not follow it: it multiplied false alarms by four where we measured it.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from opsdebug_ci.model.profile_document import BoundBy
from opsdebug_ci.regress.outliers import winsorised
from opsdebug_ci.regress.ranks import Sample

PROBES: Mapping[BoundBy, tuple[str, ...]] = {
    BoundBy.MEMORY: ("memcpy", "triad"),
    BoundBy.COMPUTE: ("gemm",),
    BoundBy.LAUNCH: ("launch",),
}
"""Probes that use of the machine what a series uses; no probe serves all three."""

FEWEST_RUNS = 20
"""Runs below which no probe is used: with 20 an unrelated probe reaches SMALLEST_SHARE once in 2000 times."""

SMALLEST_SHARE = 0.5
"""Least share of the variance that a probe must explain."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Covariate:
    """How a series follows a probe."""

    probe: str
    """Its name."""

    slope: float
    """Of log time over log probe time; in (0, 1]."""

    share: float
    """Share of the series' variance that it explains: rho^2."""

    centre: float
    """Median of the log probe times it was fitted on."""

    def adjusted(self, values: Sample, probe: Sample) -> Sample:
        """`values` as if the probe had taken its usual time; both log ns, shape (n,)."""
        moved: Sample = values - self.slope * (probe - self.centre)
        return moved


def fit(name: str, values: Sample, probe: Sample) -> Covariate | None:
    """The covariate, or None where it does not help.

    slope = clip(Cov(y, p) / Var(p), 0, 1), the ordinary least-squares slope (control variates: Lavenberg and Welch,
    Management Science 27(3), 1981) shrunk to what is possible: time grows with the time of what it uses, and no faster.
    Both series are winsorised first, so that no single night makes a slope.

    Args:
        name: of the probe.
        values: shape (n,), finite; log ns of the series, one per run.
        probe: shape (n,), finite; log ns of the probe in the same runs.
    """
    if values.size < FEWEST_RUNS:
        return None
    y, p = winsorised(values), winsorised(probe)
    (variance_y, covariance), (_, variance_p) = np.cov(y, p)
    if variance_y <= 0 or variance_p <= 0:
        return None
    share = float(covariance**2 / (variance_y * variance_p))
    slope = float(np.clip(covariance / variance_p, 0, 1))
    # NOTE: where the slope was cut to 1 it explains less than rho^2 does.
    explained = 1 - float(np.var(y - slope * p, ddof=1) / variance_y)
    if min(share, explained) < SMALLEST_SHARE:
        return None
    return Covariate(probe=name, slope=slope, share=share, centre=float(np.median(probe)))


def best_fit(bound: BoundBy, values: Sample, probes: Mapping[str, Sample]) -> Covariate | None:
    """Of the probes that suit `bound` and were read in every run, the one that explains most; None: none helps."""
    fits = (fit(name, values, probes[name]) for name in PROBES[bound] if name in probes)
    return max((found for found in fits if found is not None), key=lambda found: found.share, default=None)

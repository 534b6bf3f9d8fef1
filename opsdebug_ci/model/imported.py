"""A time that another tool measured and recorded, before ours did or beside it.

Decides what is kept of it: what the source states, and nothing it leaves open. It says nothing of correctness, and no
verdict rests on it.
"""

from __future__ import annotations

from dataclasses import dataclass

from opsdebug_ci.model.case_document import CaseDocument


@dataclass(frozen=True, slots=True, kw_only=True)
class ImportedTime:
    """One benchmark of one run of another tool."""

    case: CaseDocument
    """The benchmark: its name is the operator; axes the source does not tell are empty."""

    source: str
    """Tool and version that measured it, e.g. `pytest-benchmark 5.3.1`."""

    min_ns: float | None = None
    """Shortest sample, per call; ns. None: the source has none."""

    median_ns: float | None = None
    """Median of the samples, per call; ns. None: the source has none."""

    mean_ns: float | None = None
    """Mean of the samples, per call; ns. None: the source has none."""

    stddev_ns: float | None = None
    """Standard deviation of the samples; ns. None: the source has none."""

    samples_ns: tuple[float, ...] | None = None
    """Every sample, per call; ns. None: the source did not keep them."""

    samples: int | None = None
    """Number of samples; None: the source does not tell."""

    calls: int | None = None
    """Calls averaged in one sample; None: the source does not tell."""

"""The public form of a case: every axis by name."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class CaseDocument:
    """What was run."""

    id: str
    """Stable id."""

    name: str
    """Readable name."""

    operator: str
    """Operator name."""

    dtype: str
    """Dtype of the arguments that do not fix theirs."""

    dims: Mapping[str, int]
    """Size of every named dim."""

    layout: str
    """Layout name, or `own`."""

    inputs: str
    """Family name, or `own`."""

    seed: int
    """Seed."""

    device: str
    """Device."""

    direction: str
    """`forward`."""

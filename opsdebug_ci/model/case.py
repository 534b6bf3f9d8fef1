"""A case: one thing to run, with a stable id and a readable name."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass

from opsdebug_ci.model.vocabulary import Direction, Family, Layout, ReferenceKind

ID_LENGTH = 16
"""Hex digits of a case id: 64 bits, so a million cases collide with probability about 3e-8."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Case:
    """operator x dims x dtype x layout x family x seed x device x direction x checks."""

    operator: str
    """Operator name."""

    dims: Mapping[str, int]
    """Size of every named dim."""

    dtype: str
    """Dtype of the arguments that do not fix theirs."""

    layout: Layout
    """Layout of the tensor arguments that accept it; the others stay contiguous."""

    inputs: Family
    """Family the values are drawn from."""

    seed: int
    """The only source of randomness."""

    device: str = "cpu"
    """Device the operator runs on."""

    direction: Direction = Direction.FORWARD
    """Which way the operator is run."""

    checks: tuple[ReferenceKind, ...] = tuple(ReferenceKind)
    """References to consult."""

    @property
    def id(self) -> str:
        """Stable across machines and versions: sha256 over the canonical JSON of every field above."""
        fields = {
            "operator": self.operator,
            "dims": dict(sorted(self.dims.items())),
            "dtype": self.dtype,
            "layout": str(self.layout),
            "inputs": str(self.inputs),
            "seed": self.seed,
            "device": self.device,
            "direction": str(self.direction),
            "checks": [str(check) for check in self.checks],
        }
        text = json.dumps(fields, sort_keys=True, separators=(",", ":"))
        return hashlib.sha256(text.encode()).hexdigest()[:ID_LENGTH]

    @property
    def name(self) -> str:
        """What people read: every axis of the case in one word."""
        dims = ",".join(f"{name}={size}" for name, size in self.dims.items())
        way = "" if self.direction is Direction.FORWARD else f" {self.direction}"
        return f"{self.operator}[{dims} {self.dtype} {self.layout} {self.inputs} seed={self.seed} {self.device}{way}]"

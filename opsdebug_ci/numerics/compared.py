"""One output of an operator and everything it is compared with.

Decides what a comparison needs to know. Deliberately compares nothing.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

import torch

from opsdebug_ci.model.contract import Contract
from opsdebug_ci.model.vocabulary import Kind, ReferenceKind
from opsdebug_ci.numerics.spread import Arithmetic, Evaluations, Spread


@dataclass(frozen=True, slots=True, kw_only=True)
class ComparedOutput:
    """One output and everything it is compared with."""

    name: str
    """Output name."""

    kind: Kind
    """How to compare it."""

    actual: torch.Tensor
    """What the operator returned."""

    references: Mapping[ReferenceKind, torch.Tensor]
    """What each reference returned: `torch` at its native dtype, the others in float64 or integers. At least one."""

    derived_precise: bool
    """The precise reference is the torch reference lifted to float64, so the two share their formula."""

    spread: Spread | None
    """Spread of correct evaluations; None where the kind is exact or nothing could be run with noise."""

    arithmetic: Arithmetic
    """Precision the operator promises to work in."""

    contract: Contract
    """What it promises."""

    index_source: torch.Tensor | None
    """Values an index output points into."""

    index_axis: int | None
    """Axis of them, or None to infer it."""

    arguments: Mapping[str, Any] = field(default_factory=dict)
    """Pristine arguments by name, for the rules that explain a failure."""

    dims: Mapping[str, int] = field(default_factory=dict)
    """Sizes of the case's dims, for the same."""

    evaluate: Callable[[], Evaluations | None] = lambda: None
    """Where the spread comes from, in as many steps as are needed, and the other answers that are as right; None: there
    is only `spread`."""

    truth: Callable[[torch.Tensor], torch.Tensor | None] = lambda _: None
    """True values at flat places of the output, where they can be had."""

    own_values: bool = False
    """The operator's own callable made the arguments: where they lead to subnormal results, those matter."""

    position: int = 0
    """Which output of the evaluations this is."""

    adjust: Callable[[Spread, bool], Spread] = lambda spread, _: spread
    """Widens a spread by what is known of the outputs; told whether it is the last that can be had."""

"""The cases that verify gradients: few, on plain values.

Decides how many a stage has. Only families without points where a function has no one gradient (a maximum of equal
values, the corner of relu) are used: there, operator and reference may rightly differ.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import product

from opsdebug_ci.model.case import Case
from opsdebug_ci.model.description import OperatorDescription
from opsdebug_ci.model.dtype import FLOAT_FORMATS
from opsdebug_ci.model.vocabulary import Direction, Family, Kind, Layout, ReferenceKind, Stage
from opsdebug_ci.plan.choices import Choices

PLAIN = (Family.NORMAL, Family.UNIFORM, Family.OWN)
"""Families that hardly ever meet such a point."""

SELECTING = (Kind.EXACT, Kind.INDEX)
"""Kinds that choose among values: in a narrow dtype, equal ones are common."""

FEWEST_BITS = 16
"""Narrowest dtype that frameworks differentiate through."""


def backward_cases(
    description: OperatorDescription,
    choices: Choices,
    stage: Stage,
    checks: Sequence[ReferenceKind],
    devices: Sequence[str],
) -> Iterator[Case]:
    """None in `smoke`; in `run` one per dtype and family; in `full` also another size, layout and seed."""
    if not description.backward or stage is Stage.SMOKE:
        return
    deep = stage is Stage.FULL
    sizes = [sizes for position, sizes in enumerate(choices.dims) if position not in choices.hollow]
    layouts = [choices.layouts[0], *(layout for layout in choices.layouts[1:] if layout is Layout.TRANSPOSED)]
    axes = (sizes[: 1 + deep], layouts[: 1 + deep], choices.seeds[: 1 + deep])
    for dtype in choices.dtypes:
        families = [family for family in choices.families[dtype] if family in PLAIN]
        for dims, layout, seed, family in product(*axes, families if _is_differentiable(description, dtype) else ()):
            for device in devices:
                if device.partition(":")[0] in description.devices:
                    yield Case(
                        operator=description.name,
                        dims=dims,
                        dtype=dtype,
                        layout=layout,
                        inputs=family,
                        seed=seed,
                        device=device,
                        direction=Direction.BACKWARD,
                        checks=tuple(checks),
                    )


def _is_differentiable(description: OperatorDescription, dtype: str) -> bool:
    bits = FLOAT_FORMATS[dtype].bits if dtype in FLOAT_FORMATS else 0
    return bits >= (32 if description.kind in SELECTING else FEWEST_BITS)

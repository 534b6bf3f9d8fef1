"""Which cases of an operator are timed.

Decides sizes: those it declares, and where these are small the same ones grown, since a few thousand elements time
little but the call. One dtype, the everyday layout and values: what is compared must be comparable from run to run.
"""

from __future__ import annotations

from collections.abc import Sequence

from opsdebug_ci.model.case import Case
from opsdebug_ci.model.description import OperatorDescription
from opsdebug_ci.model.dims import parse_shape
from opsdebug_ci.model.vocabulary import Layout
from opsdebug_ci.plan.axes import Axes
from opsdebug_ci.plan.choices import families_of, layouts_of
from opsdebug_ci.plan.sizes import grown, largest_tensor

SMALL_ELEMENTS = 2**16
"""Elements of the largest tensor from which the declared sizes are believed to be those that matter."""

GROWN_ELEMENTS = 2**20
"""Elements of the largest tensor of grown sizes: 4 MiB of float32, beyond a core's own caches."""


def timing_cases(description: OperatorDescription, axes: Axes, devices: Sequence[str]) -> tuple[Case, ...]:
    """The declared sizes first; empty where the operator runs on none of `devices`.

    Args:
        description: the operator.
        axes: values fixed by hand; such an axis has only those, and given dims are not grown.
        devices: devices of this run.
    """
    dtype = (axes.dtypes or description.dtypes)[0]
    own = {**description.dims, **axes.dims}
    layouts = layouts_of(description)
    return tuple(
        Case(
            operator=description.name,
            dims=dims,
            dtype=dtype,
            layout=next(iter(axes.layouts), Layout.CONTIGUOUS if Layout.CONTIGUOUS in layouts else layouts[0]),
            inputs=next(iter(axes.families), families_of(description, dtype)[0]),
            seed=next(iter(axes.seeds), 0),
            device=device,
        )
        for dims in _sizes(description, own, fixed=bool(axes.dims))
        for device in devices
        if device.partition(":")[0] in description.devices
    )


def _sizes(description: OperatorDescription, own: dict[str, int], *, fixed: bool) -> tuple[dict[str, int], ...]:
    shapes = tuple(parse_shape(tensor.shape) for tensor in description.tensors)
    varying = tuple(name for name in own if name not in description.fixed_dims)
    if fixed or not shapes or not varying or largest_tensor(own, shapes) >= SMALL_ELEMENTS:
        return (own,)
    larger = grown(own, varying, shapes, GROWN_ELEMENTS)
    return (own,) if larger == own else (own, larger)

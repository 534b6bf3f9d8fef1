"""Which calls are looked into, and that the torch calls inside them reach the mode."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
import torch
from torch.utils._python_dispatch import TorchDispatchMode

from opsdebug_ci.numerics.custom_calls import called_inside, device_inside


@pytest.fixture(scope="module")
def library() -> Iterator[None]:
    with torch.library._scoped_library("opsdebug_custom_calls", "DEF") as made:
        made.define("twice(Tensor x) -> Tensor")
        made.define("nowhere(Tensor x) -> Tensor")
        made.impl("twice", lambda x: torch.empty_like(x).copy_(x).mul_(2), "CPU")
        yield


class _Names(TorchDispatchMode):
    """Notes every call, and looks into those it can."""

    def __init__(self) -> None:
        super().__init__()
        self.seen: list[str] = []

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        self.seen.append(func._schema.name)
        device = device_inside(func, args, kwargs or {})
        return (
            func(*args, **(kwargs or {})) if device is None else called_inside(self, func, device, args, kwargs or {})
        )


def test_the_calls_inside_a_custom_operator_reach_the_mode(library: None) -> None:
    x = torch.arange(3.0)
    with _Names() as mode:
        result = torch.ops.opsdebug_custom_calls.twice(x)
    assert result.tolist() == [0.0, 2.0, 4.0]
    assert mode.seen == ["opsdebug_custom_calls::twice", "aten::empty_like", "aten::copy_", "aten::mul_"]


def test_what_is_not_looked_into(library: None) -> None:
    custom, plain = torch.ops.opsdebug_custom_calls, torch.ones(2, 2)
    others = {
        "the framework's own": (torch.ops.aten.add.Tensor, (plain, plain)),
        "no kernel for the device": (custom.nowhere.default, (plain,)),
        "no tensor": (custom.twice.default, (3,)),
        "two devices": (custom.twice.default, ([plain, plain.to("meta")],)),
        "no strides": (custom.twice.default, (plain.to_sparse(),)),
        "a tensor of somebody's class": (custom.twice.default, (plain.as_subclass(type("Own", (torch.Tensor,), {})),)),
        "no operator": (torch.add, (plain, plain)),
    }
    assert {why: device_inside(func, args, {}) for why, (func, args) in others.items()} == dict.fromkeys(others)
    assert device_inside(custom.twice.default, (plain,), {}) == torch.device("cpu")
    assert device_inside(custom.twice.default, (), {"x": torch.nn.Parameter(plain)}) == torch.device("cpu")

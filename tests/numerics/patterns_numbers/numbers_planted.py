"""Planted defects of numbers, by the rule that is to name them, and failures of other kinds it must not speak about."""

from __future__ import annotations

import functools
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import torch
from numbers_notation import failing

from opsdebug_ci.numerics.failure import Failure


@dataclass(frozen=True, slots=True, kw_only=True)
class Planted:
    """A wrong operator beside its reference, on fixed arguments."""

    name: str
    rule: str
    cause: str
    kind: str
    wrong: Callable[..., torch.Tensor]
    right: Callable[..., torch.Tensor]
    arguments: dict[str, Any]

    @property
    def failure(self) -> Failure:
        return _failure(self.name)

    def __str__(self) -> str:
        return self.name


PLANTED: dict[str, Planted] = {}
FOREIGN = "none of these rules"


def plant(
    name: str,
    rule: str,
    cause: str,
    kind: str,
    wrong: Callable[..., torch.Tensor],
    right: Callable[..., torch.Tensor],
    **arguments: Any,
) -> None:
    assert name not in PLANTED
    PLANTED[name] = Planted(name=name, rule=rule, cause=cause, kind=kind, wrong=wrong, right=right, arguments=arguments)


def planted_for(rule: str) -> list[Planted]:
    import planted_foreign  # noqa: F401, PLC0415 - fills the table
    import planted_precision  # noqa: F401, PLC0415
    import planted_semantics  # noqa: F401, PLC0415

    found = [planted for planted in PLANTED.values() if planted.rule == rule]
    assert found
    return found


@functools.cache
def _failure(name: str) -> Failure:
    planted = PLANTED[name]
    return failing(planted.wrong, planted.right, kind=planted.kind, **planted.arguments)

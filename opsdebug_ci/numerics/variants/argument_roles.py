"""An argument in the place of another, or that does not enter as it should."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from functools import partial
from typing import Any

import torch

from opsdebug_ci.model.vocabulary import Cause
from opsdebug_ci.numerics.variants.call import Alternative, alternative


def replaced_argument(name: str, value: Any, others: Mapping[str, Any]) -> Iterator[Alternative]:
    """Another argument of the same shape in its place; or nothing at all."""
    if isinstance(value, torch.Tensor) and value.numel():
        for other, held in others.items():
            same = isinstance(held, torch.Tensor) and held.shape == value.shape and held.dtype == value.dtype
            if other != name and same:
                yield Alternative(
                    name=f"`{other}` for `{name}`",
                    cause=Cause.WRONG_DEFAULT,
                    statement=f"`{other}` is read in the place of `{name}`",
                    result=partial(lambda held: held.clone(), held),
                    layout=f"exchanged: {' '.join(sorted((name, other)))}",
                    weight=0.6,
                )
        if value.ndim == 0 or value.numel() == 1:
            yield from _parameters(name, value)
        elif value.is_floating_point():
            yield alternative(
                f"`{name}` enters with the other sign",
                Cause.SIGN_FLIP,
                value.neg,
                weight=0.5,
            )
            yield alternative(
                f"`{name}` enters as zeros", Cause.WRONG_DEFAULT, lambda: torch.zeros_like(value), weight=0.3
            )
            yield alternative(
                f"`{name}` enters as ones", Cause.WRONG_DEFAULT, lambda: torch.ones_like(value), weight=0.3
            )
    elif isinstance(value, (int, float)):
        yield from _parameters(name, value)
    elif value is not None and not isinstance(value, (torch.Tensor, str)):
        yield alternative(f"`{name}` is ignored", Cause.WRONG_DEFAULT, lambda: None, weight=0.4)


def _parameters(name: str, value: Any) -> Iterator[Alternative]:
    """A parameter that does not enter, or enters otherwise."""
    if isinstance(value, bool):
        yield alternative(f"`{name}` is taken for {not value}", Cause.WRONG_DEFAULT, lambda: not value)
        return
    changes: tuple[tuple[str, Callable[[], Any]], ...] = (
        ("0", lambda: value * 0),
        ("1", lambda: value * 0 + 1),
        (f"-`{name}`", lambda: -value),
        (f"1 - `{name}`", lambda: 1 - value),
        (f"1 / `{name}`", lambda: 1 / value),
    )
    for phrase, result in changes:
        sign = phrase.startswith("-")
        yield alternative(
            f"`{name}` enters as {phrase}",
            Cause.SIGN_FLIP if sign else Cause.WRONG_DEFAULT,
            result,
            weight=0.6,
        )

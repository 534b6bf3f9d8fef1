"""Steps of a reference that decide: comparisons, roundings to whole numbers, orders.

Their results jump where an argument crosses a border, so an error of the argument either changes nothing or everything.
In a run with rounding errors they are taken as the undisturbed run took them, or as an operator did.
"""

from __future__ import annotations

from typing import Any

import torch

from opsdebug_ci.numerics.lifting import LIFTED_DTYPES

WHOLE = frozenset(
    {"floor", "ceil", "round", "trunc", "sign", "sgn", "heaviside", "floor_divide", "searchsorted", "bucketize"}
)
"""Calls whose result is constant between borders."""

COMPARISONS = frozenset({"gt", "ge", "lt", "le", "eq", "ne", "signbit", "logical_not", "nonzero"})
"""Calls that give bools or places."""

REMAINDERS = frozenset({"remainder", "fmod", "frac"})
"""Calls that subtract a whole multiple, which is what they decide."""

ORDERS = frozenset(
    {
        "sort",
        "argsort",
        "topk",
        "kthvalue",
        "median",
        "nanmedian",
        "mode",
        "max",
        "min",
        "argmax",
        "argmin",
        "cummax",
        "cummin",
    }
)
"""Calls that give places of values by their order."""

UNSPECIFIED_TIES = ORDERS - {"cummax", "cummin"}
"""Those that may take any of equal values."""


def decides(func: Any, args: tuple[Any, ...], kwargs: dict[str, Any], result: Any) -> bool:
    """Whether a call decides something about numbers that may be off by a rounding."""
    name = _name(func)
    source = args[0] if args and isinstance(args[0], torch.Tensor) else None
    if source is None or source.dtype is not torch.float64:
        return name in COMPARISONS and any(isinstance(a, torch.Tensor) and a.dtype is torch.float64 for a in args)
    if name in ORDERS:
        return _indices(result) is not None
    if name == "_to_copy":
        return isinstance(result, torch.Tensor) and result.dtype not in (torch.float64, *LIFTED_DTYPES)
    if name == "div":
        return kwargs.get("rounding_mode") is not None
    return name in WHOLE | COMPARISONS | REMAINDERS


class Decision:
    """One such call of the undisturbed run."""

    def __init__(self, func: Any, args: tuple[Any, ...], kwargs: dict[str, Any], result: Any) -> None:
        self.name = _name(func)
        self.orders = self.name in ORDERS
        self.stable = bool(kwargs.get("stable"))
        self.chosen: torch.Tensor | None = None
        """What the operator took instead, where that is as right."""
        index = _indices(result) if self.orders else None
        self.result = result.clone() if isinstance(result, torch.Tensor) else result
        if index is None:
            self.multiple = args[0] - result if self.name in REMAINDERS else None
            return
        self.index = index
        self.source = args[0].clone()
        self.axis = _axis(self.name, args, kwargs)
        self._squares = torch.zeros_like(self.source)
        self._noted = 0

    def differs(self, result: Any) -> bool:
        """Whether another run decided otherwise."""
        mine = self.index if self.orders else self.result
        other = _indices(result) if self.orders else result
        if not isinstance(other, torch.Tensor) or not isinstance(mine, torch.Tensor) or other.shape != mine.shape:
            return True
        return self.name in REMAINDERS or not torch.equal(mine, other)

    def note(self, source: torch.Tensor) -> None:
        """Take another run's values at this place into account."""
        if source.shape == self.source.shape:
            self._squares.add_(torch.nan_to_num(source - self.source, nan=0.0, posinf=0.0, neginf=0.0).square_())
            self._noted += 1

    def deviation(self) -> torch.Tensor:
        """Standard deviation of the ordered values, float64, shaped like them."""
        return (self._squares / max(self._noted, 1)).sqrt_()


class Decisions:
    """Node observer that takes decisions as given ones were taken; the others as they fall, ties at random."""

    def __init__(
        self, given: list[Decision] | tuple[Decision, ...], *, note: bool = False, ties: int | None = None
    ) -> None:
        self._given, self._note = list(given), note
        self._next = 0
        self.moved = False
        """A decision that is taken as it falls fell otherwise than the given one, or there was a tie."""
        self._ties = None if ties is None else torch.Generator().manual_seed(ties)

    def __call__(self, func: Any, args: tuple[Any, ...], kwargs: dict[str, Any], result: Any) -> Any:
        if not (self._given or self._ties) or not decides(func, args, kwargs, result):
            return result
        name = _name(func)
        decision = self._given[self._next] if self._next < len(self._given) else None
        self._next += 1
        if self._ties is not None:
            tied = name in UNSPECIFIED_TIES and not kwargs.get("stable")
            fell = self._tied(func, args, kwargs, result) if tied else result
            self.moved |= decision is None or decision.name != name or decision.differs(fell)
            return fell
        if decision is None or decision.name != name:
            return result
        return self._taken(decision, func, args, result)

    def _taken(self, decision: Decision, func: Any, args: tuple[Any, ...], result: Any) -> Any:
        if decision.orders:
            if self._note:
                decision.note(args[0])
            index = decision.index if decision.chosen is None else decision.chosen
            return _ordered(args[0], index, decision.axis, result) if args[0].shape == decision.source.shape else result
        if not isinstance(result, torch.Tensor) or result.shape != decision.result.shape:
            return result
        taken = decision.result if decision.multiple is None else args[0] - decision.multiple
        return result.copy_(taken) if func._schema.is_mutable else taken.clone()

    def _tied(self, func: Any, args: tuple[Any, ...], kwargs: dict[str, Any], result: Any) -> Any:
        source, axis = args[0], _axis(_name(func), args, kwargs)
        flat = source.reshape(-1) if axis is None else source
        if flat.numel() == 0 or flat.ndim == 0:
            return result
        ordered, places = flat.sort(dim=axis or 0, stable=True)
        rises = (ordered.diff(dim=axis or 0) != 0).cumsum(axis or 0)
        first = torch.zeros_like(ordered.narrow(axis or 0, 0, 1))
        ranks = torch.cat([first, rises.double()], axis or 0)
        ranks += 0.5 * torch.rand(ranks.shape, generator=self._ties, dtype=torch.float64).to(ranks.device)
        jittered = torch.zeros_like(flat).scatter(axis or 0, places, ranks).reshape(source.shape)
        index = _indices(func(jittered, *args[1:], **kwargs))
        return result if index is None else _ordered(source, index, axis, result)


def _ordered(source: torch.Tensor, index: torch.Tensor, axis: int | None, result: Any) -> Any:
    """`result` with other indices, and the values found there."""
    if isinstance(result, torch.Tensor):
        return index.clone()
    if axis is None or source.ndim == 0:
        return result
    at = index if index.ndim == source.ndim else index.unsqueeze(axis)
    values = source.gather(axis, at.long()).reshape(index.shape)
    return type(result)((values, index.clone())) if type(result) is not tuple else (values, index.clone())


def _indices(result: Any) -> torch.Tensor | None:
    """The indices of an order: the result, or the second of two."""
    found = result[1] if isinstance(result, (tuple, list)) and len(result) == 2 else result
    return found if isinstance(found, torch.Tensor) and found.dtype is torch.int64 else None


def _axis(name: str, args: tuple[Any, ...], kwargs: dict[str, Any]) -> int | None:
    """The axis that is ordered; None where all elements are, counted in C order."""
    position = 2 if name in ("topk", "kthvalue") else 1
    default = -1 if name in ("topk", "kthvalue", "sort", "argsort", "mode") else None
    axis = kwargs.get(
        "dim", args[position] if len(args) > position and not isinstance(args[position], bool) else default
    )
    return axis % args[0].ndim if isinstance(axis, int) and args[0].ndim else None


def _name(func: Any) -> str:
    return str(func.overloadpacket.__name__).removesuffix("_")

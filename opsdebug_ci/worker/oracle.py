"""The derived precise reference, put right by mpmath on a sample of its elements.

Decides when that is possible: the torch reference is one library function of one argument. The framework's own float64
functions are off by per cents in places (the tail of GELU), and nothing that shares their code can tell. So a sample is
put right before outputs are compared, and elements that seem wrong are asked for again.
"""

from __future__ import annotations

from typing import Any

import torch

from opsdebug_ci.numerics import mp
from opsdebug_ci.numerics.spread import HANDED_ON

SAMPLED = 64
"""Elements evaluated besides the two extreme arguments; GELU, the slowest, costs about 0.4 ms each."""

_ATEN_NAMES = {"log_sigmoid_forward": "logsigmoid"}
"""mpmath functions whose ATen call has another name."""


EXACT_FUNCTIONS = frozenset({"ceil", "floor", "round", "trunc", "neg"})
"""Calls whose result IEEE 754-2019 defines to the bit, the sign of zero included (5.3.1, 5.5.1, 6.3). Not `abs` and
`relu`, whose usual rewritings differ in the sign of zero and harm nobody."""


class FunctionRecorder:
    """Node observer that remembers which calls a reference makes, and changes none."""

    def __init__(self) -> None:
        self._calls: list[tuple[str, torch.Tensor]] = []

    def __call__(self, func: Any, args: tuple[Any, ...], kwargs: dict[str, Any], result: Any) -> Any:
        name = func.overloadpacket.__name__
        if name not in HANDED_ON:
            argument = args[0] if args and isinstance(args[0], torch.Tensor) else torch.empty(0)
            self._calls.append((_spelled(name, args[1:], kwargs), argument))
        return result

    def only_function(self) -> tuple[str, torch.Tensor] | None:
        """Name and argument of the one library function the reference consists of; None for any other reference."""
        if len(self._calls) != 1 or self._calls[0][0] not in mp.FUNCTIONS:
            return None
        return self._calls[0]

    def truth(self, places: torch.Tensor) -> torch.Tensor | None:
        """True values at flat `places` of the output, float64; None where the reference is no such function."""
        found = self.only_function()
        if found is None or mp.available() is not None:
            return None
        argument = found[1].double().flatten()
        return mp.evaluate(found[0], argument[places].cpu()).to(argument.device)

    @property
    def is_exact(self) -> bool:
        """The reference is one call that rounds nothing: whatever it is called, its bits are the only right ones."""
        return len(self._calls) == 1 and self._calls[0][0] in EXACT_FUNCTIONS


def put_right(outputs: list[torch.Tensor], recorder: FunctionRecorder, seed: int) -> tuple[list[torch.Tensor], str]:
    """`outputs` with a sample of elements replaced by their true values, and what was done, in words.

    Args:
        outputs: what the lifted reference returned.
        recorder: what it watched meanwhile.
        seed: chooses the sample.
    """
    found = recorder.only_function()
    if found is None or len(outputs) != 1 or outputs[0].shape != found[1].shape:
        return outputs, "the torch reference in float64"
    name, argument = found
    missing = mp.available()
    if missing is not None:
        return outputs, f"the torch reference in float64; {missing}, so `{name}` was not put right by it"
    flat, values = argument.double().flatten(), outputs[0].double().flatten().clone()
    chosen = _sample(flat, seed)
    values[chosen] = mp.evaluate(name, flat[chosen].cpu()).to(values.device)
    return [values.reshape(outputs[0].shape)], f"the torch reference in float64, {len(chosen)} elements by mpmath"


def _sample(argument: torch.Tensor, seed: int) -> torch.Tensor:
    """Flat positions of finite arguments: SAMPLED spread over the tensor, and the two extremes."""
    finite = torch.isfinite(argument).nonzero().flatten()
    if finite.numel() == 0:
        return finite
    spread = finite[mp.sample_indices(finite.numel(), SAMPLED, seed).to(finite.device)]
    extremes = finite[torch.stack([argument[finite].argmin(), argument[finite].argmax()])]
    chosen: torch.Tensor = torch.unique(torch.cat([spread, extremes]))
    return chosen


def _spelled(name: str, rest: tuple[Any, ...], kwargs: dict[str, Any]) -> str:
    """The function with its variant; another call with further arguments (beta, threshold) is no plain function."""
    if name == "gelu":
        return "gelu_tanh" if kwargs.get("approximate", "none") == "tanh" else "gelu"
    return f"{name} with arguments" if rest else _ATEN_NAMES.get(name, name)

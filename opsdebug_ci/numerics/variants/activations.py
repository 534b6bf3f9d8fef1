"""Activations and the approximations they are mistaken for."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from functools import partial

import torch

from opsdebug_ci.model.vocabulary import Cause
from opsdebug_ci.numerics.variants.call import Alternative, Call

Unary = Callable[[torch.Tensor], torch.Tensor]

TANH_GELU = 0.044715
"""Coefficient of the cubic term (Hendrycks and Gimpel, "Gaussian Error Linear Units", arXiv:1606.08415, section 2)."""

SIGMOID_GELU = 1.702
"""Slope of the logistic approximation (the same place)."""


def _erf_by_tanh(z: torch.Tensor) -> torch.Tensor:
    x = z * math.sqrt(2)
    return torch.tanh(math.sqrt(2 / math.pi) * (x + TANH_GELU * x**3))


def _erf_by_sigmoid(z: torch.Tensor) -> torch.Tensor:
    return 2 * torch.sigmoid(SIGMOID_GELU * math.sqrt(2) * z) - 1


def _gelu(x: torch.Tensor, erf: Unary) -> torch.Tensor:
    return 0.5 * x * (1 + erf(x / math.sqrt(2)))


def _hard_sigmoid(x: torch.Tensor) -> torch.Tensor:
    return (x / 6 + 0.5).clamp(0, 1)


def _old_hard_sigmoid(x: torch.Tensor) -> torch.Tensor:
    return (0.2 * x + 0.5).clamp(0, 1)


def _direct_softplus(x: torch.Tensor) -> torch.Tensor:
    return torch.log(1 + torch.exp(x))


_SIBLINGS: dict[str, tuple[tuple[str, Unary], ...]] = {
    "erf": (
        ("erf is taken by its tanh form", _erf_by_tanh),
        ("erf is taken by a sigmoid of slope 1.702", _erf_by_sigmoid),
    ),
    "gelu": (
        ("GELU is the tanh form, not the one by erf", lambda x: _gelu(x, _erf_by_tanh)),
        ("GELU is the exact one by erf, not the tanh form", lambda x: _gelu(x, torch.erf)),
        ("GELU is x * sigmoid(1.702 * x)", lambda x: x * torch.sigmoid(SIGMOID_GELU * x)),
        ("SiLU is computed, not GELU", torch.nn.functional.silu),
        ("ReLU is computed, not GELU", torch.relu),
    ),
    "silu": (
        ("SiLU is x * hard sigmoid", lambda x: x * _hard_sigmoid(x)),
        ("GELU is computed, not SiLU", lambda x: _gelu(x, torch.erf)),
        ("ReLU is computed, not SiLU", torch.relu),
        ("the factor x of SiLU is left out", torch.sigmoid),
    ),
    "sigmoid": (
        ("a hard sigmoid of slope 1/6", _hard_sigmoid),
        ("a hard sigmoid of slope 0.2", _old_hard_sigmoid),
        ("half of 1 + x / (1 + |x|)", lambda x: 0.5 * (1 + x / (1 + x.abs()))),
        ("exp(x) / (1 + exp(x))", lambda x: torch.exp(x) / (1 + torch.exp(x))),
    ),
    "tanh": (
        ("tanh is a hard tanh", lambda x: x.clamp(-1, 1)),
        ("tanh is x / (1 + |x|)", lambda x: x / (1 + x.abs())),
        ("tanh is (exp(2x) - 1) / (exp(2x) + 1)", lambda x: (torch.exp(2 * x) - 1) / (torch.exp(2 * x) + 1)),
        ("tanh is its Pade form", lambda x: x * (27 + x * x) / (27 + 9 * x * x)),
        ("tanh is its clipped Pade form", lambda x: (x * (27 + x * x) / (27 + 9 * x * x)).clamp(-1, 1)),
    ),
    "softplus": (
        ("softplus is log(1 + exp(x)) without a threshold", _direct_softplus),
        ("ReLU is computed, not softplus", torch.relu),
    ),
    "relu": (("ReLU is a leaky ReLU of slope 0.01", lambda x: torch.where(x > 0, x, 0.01 * x)),),
}
"""Operation to the forms it is replaced by."""

_OF = {"sigmoid": "the sigmoid is "}
"""How a phrase begins whose forms are those of a gate as well."""

_BASES: dict[str, tuple[tuple[str, Unary], ...]] = {
    "exp": (("exp2", torch.exp2), ("expm1", torch.expm1)),
    "exp2": (("exp", torch.exp),),
    "log": (("log2", torch.log2), ("log10", torch.log10), ("log1p", torch.log1p)),
    "log2": (("log", torch.log), ("log10", torch.log10)),
    "sqrt": (("rsqrt", torch.rsqrt),),
    "rsqrt": (("sqrt", torch.sqrt),),
    "sin": (("cos", torch.cos),),
    "cos": (("sin", torch.sin),),
}
"""Function to the functions it is confused with."""

_LIMITS = (80.0, 88.0, 88.2, 88.3762626647949, 85.0, 60.0, 50.0, 30.0, 20.0, 16.0, 15.0, 10.0, 9.0, 8.0, 5.0)
"""Where implementations clip the argument of an exponential."""


SATURATIONS = (3.0, 4.0, 5.0, 6.0, 8.0, 10.0, 15.0, 16.0, 20.0)
"""Where implementations take a function to have reached its limits."""

ENDS: dict[str, tuple[Unary, Unary]] = {
    "exp": (torch.zeros_like, lambda x: torch.full_like(x, math.inf)),
    "exp2": (torch.zeros_like, lambda x: torch.full_like(x, math.inf)),
    "expm1": (lambda x: -torch.ones_like(x), lambda x: torch.full_like(x, math.inf)),
    "sinh": (lambda x: torch.full_like(x, -math.inf), lambda x: torch.full_like(x, math.inf)),
    "cosh": (lambda x: torch.full_like(x, math.inf), lambda x: torch.full_like(x, math.inf)),
    "erfc": (lambda x: torch.full_like(x, 2.0), torch.zeros_like),
    "sigmoid": (torch.zeros_like, torch.ones_like),
    "tanh": (lambda x: -torch.ones_like(x), torch.ones_like),
    "erf": (lambda x: -torch.ones_like(x), torch.ones_like),
    "silu": (torch.zeros_like, torch.clone),
    "gelu": (torch.zeros_like, torch.clone),
    "softplus": (torch.zeros_like, torch.clone),
}
"""What a function tends to, far on the left and far on the right."""


SATURATING = frozenset({"sigmoid", "tanh", "erf", "silu", "gelu", "softplus"})
"""Those of them that are at their limits for everyday arguments."""

CLIPPED = frozenset({"exp", "tanh", "sigmoid", "gelu", "silu", "softplus", "sinh", "cosh"})
"""Functions whose argument implementations clip."""


def _saturated(call: Call, x: torch.Tensor, limit: float) -> torch.Tensor:
    left, right = ENDS[call.name]
    return torch.where(x > limit, right(x), torch.where(x < -limit, left(x), call.result))


def activations(call: Call) -> Iterator[Alternative]:
    """Another form of the same function, another function of its kind, or the function of a clipped argument."""
    x = call.tensor("self")
    if x is None:
        return
    if call.name == "glu":
        yield from _gates(call, x)
    for phrase, function in _SIBLINGS.get(call.name, ()):
        yield _alternative(_OF.get(call.name, "") + phrase, Cause.APPROXIMATION, function, x, weight=0.9)
    for other, function in _BASES.get(call.name, ()):
        yield _alternative(f"{other} is computed, not {call.name}", Cause.WRONG_DEFAULT, function, x)
    for limit in SATURATIONS if call.name in SATURATING else ():
        yield Alternative(
            name=f"{call.name} at its limits beyond {limit:g}",
            cause=Cause.APPROXIMATION,
            statement=f"`{call.name}` is set to its limits beyond {limit:g}",
            result=partial(_saturated, call, x, limit),
            weight=0.4,
        )
    if call.name == "softplus":
        yield from _thresholds(call)
    if call.name in CLIPPED:
        for limit in _LIMITS:
            yield Alternative(
                name=f"{call.name} clipped at {limit:g}",
                cause=Cause.APPROXIMATION,
                statement=f"the argument of `{call.name}` is clipped to [-{limit:g}, {limit:g}]",
                result=partial(lambda limit: call.again(self=x.clamp(-limit, limit)), limit),
                weight=0.4,
            )


def _thresholds(call: Call) -> Iterator[Alternative]:
    """A softplus that is its argument from another threshold on."""
    for threshold in (5.0, 6.0, 8.0, 10.0, 15.0, 30.0):
        yield Alternative(
            name=f"softplus that is x beyond {threshold:g}",
            cause=Cause.APPROXIMATION,
            statement=f"softplus is x beyond {threshold:g}, not {call.values['threshold']:g}",
            result=partial(call.again, threshold=threshold),
            weight=0.6,
        )


def _gates(call: Call, x: torch.Tensor) -> Iterator[Alternative]:
    """A gated unit with another gate, or with its halves exchanged."""
    value, gate = x.chunk(2, int(call.values.get("dim", -1)))
    gates = (*_SIBLINGS["sigmoid"], ("SiLU", torch.nn.functional.silu), ("tanh", torch.tanh))
    for phrase, function in gates:
        gated = partial(lambda f: value * f(gate), function)
        yield Alternative(
            name=f"{phrase} as the gate",
            cause=Cause.APPROXIMATION,
            statement=f"the gate is {phrase}",
            result=gated,
            weight=0.8,
        )
    yield Alternative(
        name="the halves of a gated unit exchanged",
        cause=Cause.LAYOUT_PERMUTATION,
        statement="the halves of the gated unit are exchanged",
        result=lambda: gate * torch.sigmoid(value),
        weight=0.8,
    )


def _alternative(phrase: str, cause: Cause, function: Unary, x: torch.Tensor, *, weight: float = 0.6) -> Alternative:
    return Alternative(name=phrase, cause=cause, statement=phrase, result=lambda: function(x), weight=weight)

"""Numbers in a formula: a constant of another size, left out, inverted, of the other sign."""

from __future__ import annotations

import math
from collections.abc import Iterator
from functools import partial
from typing import Any

import torch

from opsdebug_ci.model.vocabulary import Cause
from opsdebug_ci.numerics.variants.call import Alternative, Call, is_number, spelled

STRUCTURAL = frozenset(
    {"dim", "dims", "start", "end", "step", "diagonal", "correction", "size", "k", "index", "dtype", "alpha", "beta"}
    | {"reduction", "axis", "num_samples", "ignore_index", "kernel_size", "stride", "padding", "groups", "offset"}
    | {"padding_mode", "interpolation_mode", "split_size", "sections", "dim0", "dim1", "source", "destination", "steps"}
)
"""Arguments that are places and sizes rather than numbers of a formula."""

SMALL = 0.05
"""Below it an added constant is taken for an eps."""

LARGEST_HEAD = 1 << 16
"""Width of a head up to which a number is told as a root of it: there are 8 bits to spare above the widest in use."""

DECADES = (-7, -6, -5, -4, -3, -2, -1, 1, 2, 3, 4, 5)
"""Powers of ten an eps is off by."""

MAKERS = frozenset(
    {"arange", "full", "scalar_tensor", "linspace", "ones", "zeros", "eye", "range", "full_like", "fill"}
)
"""Calls whose numbers say what is made, which only later steps use."""


def constants(call: Call) -> Iterator[Alternative]:
    """Every number of a call that is no place or size, replaced by those it is confused with."""
    yield from _outside_the_root(call)
    yield from _exchanged(call)
    if call.name in MAKERS and call.name not in ("full", "scalar_tensor", "full_like", "fill"):
        return
    for name, value in numbers(call).items():
        for other, text in _confused(value, call.name):
            yield Alternative(
                name=text,
                cause=cause_of(call.name, value, other),
                statement=_sentence(call, name, value, other),
                result=partial(lambda name, other: call.again(**{name: other}), name, other),
                weight=0.8 if abs(value) <= SMALL else 0.6,
            )


def _outside_the_root(call: Call) -> Iterator[Alternative]:
    """root(v) + eps for root(v + eps), where the call before this one added the eps."""
    value = call.tensor("self")
    before = None if value is None or call.name not in ("sqrt", "rsqrt") else call.maker(value)
    if value is None or before is None or before.name != "add":
        return
    eps = next((number for number in before.values.values() if isinstance(number, float)), None)
    plain = next((v for v in before.values.values() if isinstance(v, torch.Tensor) and v.shape == value.shape), None)
    if eps is None or plain is None or not 0 < eps <= SMALL:
        return

    def outside() -> torch.Tensor:
        root = plain.sqrt() + eps
        return root.reciprocal() if call.name == "rsqrt" else root

    yield Alternative(
        name=f"{spelled(eps)} beside the root for {spelled(eps)} inside it",
        cause=Cause.WRONG_CONSTANT_EPS,
        statement=f"eps {spelled(eps)} is added to the root, not inside it",
        result=outside,
        weight=0.85,
    )


def _exchanged(call: Call) -> Iterator[Alternative]:
    """a*x + (1 - a)*y as (1 - a)*x + a*y: what this step is made of are two like steps, each with a number."""
    given = [value for held in call.values.values() for value in (held if isinstance(held, (list, tuple)) else (held,))]
    made = [step for value in given if isinstance(value, torch.Tensor) and (step := call.maker(value)) is not None]
    if len(made) != 2 or made[0].name != made[1].name or made[0] is made[1]:
        return
    held = [list(numbers(step).items()) for step in made]
    if any(len(each) != 1 for each in held) or held[0][0][1] == held[1][0][1]:
        return
    (one,), (other,) = held

    def exchanged() -> Any:
        swapped = {
            id(made[0].result): made[0].again(**{one[0]: other[1]}),
            id(made[1].result): made[1].again(**{other[0]: one[1]}),
        }

        def changed(held: Any) -> Any:
            return [changed(each) for each in held] if isinstance(held, (list, tuple)) else swapped.get(id(held), held)

        return call.again(**{name: changed(held) for name, held in call.values.items()})

    phrase = f"{spelled(one[1])} and {spelled(other[1])} are exchanged"
    yield Alternative(name=phrase, cause=Cause.WRONG_DEFAULT, statement=phrase, result=exchanged, weight=0.75)


def numbers(call: Call) -> dict[str, float]:
    """The formula's numbers among the arguments of a call, by name."""
    return {
        name: value
        for name, value in call.values.items()
        if name not in STRUCTURAL and is_number(value) and math.isfinite(value) and _meant(name, value)
    }


def _meant(name: str, value: Any) -> bool:
    """Whole numbers count where they meet values; a default nobody wrote does not."""
    if isinstance(value, int):
        return name in ("other", "exponent", "value", "min", "max", "self", "fill_value", "threshold")
    return True


def cause_of(name: str, value: float, other: float) -> Cause:
    """What a wrong number is called: an eps, a scale, a sign, or a default."""
    if isinstance(value, float) and other == math.trunc(value) and value != other and name.startswith("clamp"):
        return Cause.DTYPE_PROMOTION
    if value and other == -value:
        return Cause.SIGN_FLIP
    if name in ("mul", "div") and abs(value) > SMALL:
        return Cause.WRONG_SCALE
    if abs(value) <= SMALL or name in ("add", "sub"):
        return Cause.WRONG_CONSTANT_EPS
    return Cause.WRONG_DEFAULT


def _sentence(call: Call, name: str, value: float, other: float) -> str:
    """`eps is 0.001, not 1e-06`; `the factor 0.125 = 1/sqrt(64) is left out`."""
    what = "base" if call.name == "pow" and name == "self" else _called(call, value)
    known = f"{spelled(value)}{_root(call, value)}"
    if other == (1.0 if call.name in ("mul", "div") else 0.0) and isinstance(value, float):
        return f"{what} {known} is left out" if what == "eps" else f"the {what} {known} is left out"
    return f"{what if what == 'eps' else f'the {what}'} is {spelled(other)}, not {known}"


def _called(call: Call, value: float) -> str:
    """What a number is to its call."""
    if call.name in ("add", "clamp_min", "clamp") and isinstance(value, float) and 0 < value <= SMALL:
        return "eps"
    return {"mul": "factor", "div": "divisor", "pow": "exponent"}.get(call.name, "constant")


def _root(call: Call, value: float) -> str:
    """` = 1/sqrt(64)`, of a factor or divisor behind a product of matrices, where it is the root of a whole number."""
    whole = value**-2 if call.name == "mul" and value > 0 else value**2 if call.name == "div" else 0.0
    if not isinstance(value, float) or not 1 < whole <= LARGEST_HEAD or abs(whole - round(whole)) > 1e-9 * whole:
        return ""
    if not _of_products(call):
        return ""
    return f" = {'1/' if call.name == 'mul' else ''}sqrt({round(whole)})"


def _of_products(call: Call) -> bool:
    """What the number meets was made by a product of matrices, views between them aside."""
    made = call.maker(call.values.get("self"))
    while made is not None and made.name in ("view", "_unsafe_view", "reshape", "expand", "unsqueeze", "squeeze"):
        made = made.maker(made.values.get("self"))
    return made is not None and made.name in ("mm", "bmm", "matmul", "baddbmm", "dot", "mv")


def _confused(value: float, name: str) -> Iterator[tuple[float, str]]:
    """Other values of a constant, with the words for them."""
    if isinstance(value, int):
        others: set[float] = {value + 1, value - 1, -value}
    elif 0 < abs(value) <= SMALL:
        others = {value * 10.0**decade for decade in DECADES} | {0.0, 1e-12, 1e-8, 1e-7, 1e-6, 1e-5, 1e-3}
    else:
        others = _related(value) | ({1.0} if name in ("mul", "div") else set())
    for other in sorted(others - {value}):
        left_out = other == (1.0 if name in ("mul", "div") else 0.0) and isinstance(value, float)
        yield other, f"no {spelled(value)}" if left_out else f"{spelled(other)} for the constant {spelled(value)}"


def _related(value: float) -> set[float]:
    """The negative, the inverse, half, twice, the square, the root, the complement, fewer digits."""
    others = {-value, *(float(f"{value:.{digits}g}") for digits in (2, 3, 4)), float(math.trunc(value))}
    if value:
        others |= {1 / value, 2 * value, value / 2, value * value}
    if value > 0:
        others.add(math.sqrt(value))
    if 0 < value < 1:
        others.add(1 - value)
    return others

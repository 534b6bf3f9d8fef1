"""The semantic-variant library: what each step of a reference might have been instead.

A member reproduces the reference when nothing is altered; its sibling, with one call altered, may reproduce the
operator's output. Names play no part: only results are compared. Adding a rule: a function in a module here, a line in
CALL_RULES or ARGUMENT_RULES, a planted defect and a clean twin in the tests.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import replace
from typing import Any

import torch

from opsdebug_ci.numerics.variants.activations import activations
from opsdebug_ci.numerics.variants.argument_counts import counted_argument
from opsdebug_ci.numerics.variants.argument_places import (
    broadcast_argument,
    grouped_argument,
    moved_argument,
    moved_result,
    pitched_argument,
    sorted_argument,
    wrapped_argument,
)
from opsdebug_ci.numerics.variants.argument_roles import replaced_argument
from opsdebug_ci.numerics.variants.argument_values import narrowed_argument, special_argument
from opsdebug_ci.numerics.variants.axes import axes
from opsdebug_ci.numerics.variants.call import Alternative as Alternative
from opsdebug_ci.numerics.variants.call import ArgumentRule as ArgumentRule
from opsdebug_ci.numerics.variants.call import Call as Call
from opsdebug_ci.numerics.variants.call import CallRule as CallRule
from opsdebug_ci.numerics.variants.call import read_call as read_call
from opsdebug_ci.numerics.variants.constants import constants
from opsdebug_ci.numerics.variants.dense_reading import dense_argument
from opsdebug_ci.numerics.variants.explanation import Explanation as Explanation
from opsdebug_ci.numerics.variants.explanation import contradicts as contradicts
from opsdebug_ci.numerics.variants.explanation import explain as explain
from opsdebug_ci.numerics.variants.indexing import indexing
from opsdebug_ci.numerics.variants.inner_steps import inner_steps as inner_steps
from opsdebug_ci.numerics.variants.less_stable import less_stable
from opsdebug_ci.numerics.variants.losses import losses
from opsdebug_ci.numerics.variants.masks import masks
from opsdebug_ci.numerics.variants.narrow_sums import narrow_sums
from opsdebug_ci.numerics.variants.normalisation import normalisation
from opsdebug_ci.numerics.variants.operands import operands
from opsdebug_ci.numerics.variants.precision import precision
from opsdebug_ci.numerics.variants.reduced_axes import reduced_axes
from opsdebug_ci.numerics.variants.reductions import accumulated_result, bounded_result, reductions
from opsdebug_ci.numerics.variants.resampling import resampling
from opsdebug_ci.numerics.variants.roundings import roundings
from opsdebug_ci.numerics.variants.signs import signs
from opsdebug_ci.numerics.variants.softmaxes import softmaxes
from opsdebug_ci.numerics.variants.sources import sources
from opsdebug_ci.numerics.variants.specials import specials
from opsdebug_ci.numerics.variants.tables import tables
from opsdebug_ci.numerics.variants.tails import tails
from opsdebug_ci.numerics.variants.terms import order, terms

CALL_RULES: tuple[CallRule, ...] = (
    activations,
    normalisation,
    softmaxes,
    losses,
    reduced_axes,
    reductions,
    tails,
    specials,
    roundings,
    resampling,
    masks,
    constants,
    operands,
    axes,
    tables,
    indexing,
    precision,
    narrow_sums,
    less_stable,
    signs,
    terms,
    order,
    sources,
)
"""What one call might have been instead."""

ARGUMENT_RULES: tuple[ArgumentRule, ...] = (
    dense_argument,
    broadcast_argument,
    special_argument,
    moved_argument,
    grouped_argument,
    wrapped_argument,
    sorted_argument,
    pitched_argument,
    counted_argument,
    replaced_argument,
    narrowed_argument,
)
"""How one argument might have been read instead."""


RESULT_RULES: tuple[Callable[[torch.Tensor], Iterable[Alternative]], ...] = (
    moved_result,
    bounded_result,
    accumulated_result,
)
"""What may have been written for a result."""

UNREADABLE = (RuntimeError, IndexError, KeyError, ValueError, TypeError, AttributeError, ArithmeticError)
"""What a rule, or what it makes, ends in for tensors it was not written for: 8-bit floats have few operations."""


def alternatives(call: Call, *, inside: bool) -> Iterator[Alternative]:
    """Everything `call` might have been instead, in a fixed order and each under a name of its own within its rule; the
    steps `inside` it last."""
    for rule in (*CALL_RULES, inner_steps) if inside else CALL_RULES:
        yield from _told_apart(replace(each, rule=rule.__name__) for each in _read(rule, call))


def alternative_of(call: Call, name: str, rule: str) -> Alternative | None:
    """The one of that name that a rule lists."""
    if rule == inner_steps.__name__:
        found = _read(inner_steps, call, name)
    else:
        found = _told_apart(_read(next(each for each in CALL_RULES if each.__name__ == rule), call))
    return next((each for each in found if each.name == name), None)


def argument_alternatives(name: str, arguments: Mapping[str, Any]) -> Iterator[Alternative]:
    """Everything one argument might have been read as, likewise."""
    return _told_apart(found for rule in ARGUMENT_RULES for found in _read(rule, name, arguments[name], arguments))


def result_alternatives(result: torch.Tensor) -> Iterator[Alternative]:
    """Everything that may have been written for one result, likewise."""
    return _told_apart(found for rule in RESULT_RULES for found in _read(rule, result))


def _read(rule: Callable[..., Iterable[Alternative]], *asked: Any) -> Iterator[Alternative]:
    """What one rule lists, up to where it cannot read what it was given."""
    try:
        yield from rule(*asked)
    except UNREADABLE:
        return


def _told_apart(found: Iterable[Alternative]) -> Iterator[Alternative]:
    """The second of a name is called `name (2)`, and so on."""
    seen: Counter[str] = Counter()
    for alternative in found:
        seen[alternative.name] += 1
        count = seen[alternative.name]
        yield alternative if count == 1 else replace(alternative, name=f"{alternative.name} ({count})")

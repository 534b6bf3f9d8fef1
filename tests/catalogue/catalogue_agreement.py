"""Judges an operator against its references, and these against each other, with the bounds of `catalogue_bounds`."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import torch
from catalogue_bounds import MAGNITUDES, Magnitude, bound, dissent_bound, gelu_by_erf

from opsdebug_ci import Operator
from opsdebug_ci.catalogue import OPERATORS
from opsdebug_ci.model.vocabulary import Kind, ReferenceKind

_BY_REFERENCES = {
    id(operator.references[ReferenceKind.NAIVE]): MAGNITUDES[operator.name]
    for operator in OPERATORS
    if operator.name in MAGNITUDES
}


def magnitude_of(operator: Operator) -> Magnitude:
    """M of the operator, or of the one it shares its references with."""
    if operator.name in MAGNITUDES:
        return MAGNITUDES[operator.name]
    return _BY_REFERENCES.get(id(operator.references[ReferenceKind.NAIVE]), MAGNITUDES["add"])


def outputs(result: Any) -> list[Any]:
    return list(result) if isinstance(result, tuple) else [result]


def launch(operator: Operator, arguments: Mapping[str, Any]) -> list[torch.Tensor]:
    """Outputs of the operator on clones, `out` included."""
    clones = {name: _clone(value) for name, value in arguments.items()}
    result = operator(*clones.values())
    return [clones[operator.contract.out]] if operator.contract.out else outputs(result)


def _clone(value: Any) -> Any:
    if not isinstance(value, torch.Tensor) or 0 in value.stride():
        return value
    copy = torch.empty_strided(value.shape, value.stride(), dtype=value.dtype)
    return copy.copy_(value)


def references(operator: Operator, arguments: Mapping[str, Any]) -> dict[str, list[np.ndarray]]:
    """naive and precise as they are, torch on float64 copies of the arguments."""
    widened = [
        value.double() if isinstance(value, torch.Tensor) and value.is_floating_point() else value
        for value in arguments.values()
    ]
    return {
        "torch": [np.asarray(item) for item in outputs(operator.references[ReferenceKind.TORCH](*widened))],
        "naive": outputs(operator.references[ReferenceKind.NAIVE](*arguments.values())),
        "precise": outputs(operator.references[ReferenceKind.PRECISE](*arguments.values())),
    }


def problems(operator: Operator, arguments: Mapping[str, Any], dtype: str) -> list[str]:
    """Everything on which operator and references do not agree, in words; also counts as a problem: nothing judged."""
    answers = references(operator, arguments)
    floats = [v.double().numpy() for v in arguments.values() if isinstance(v, torch.Tensor) and v.is_floating_point()]
    actual = launch(operator, arguments)
    found: list[str] = []
    for position, output in enumerate(actual):
        expected = answers["precise"][position]
        kind = operator.kind_of("", position)
        judged = _Judged(operator, floats, dtype, exact=kind in (Kind.EXACT, Kind.INDEX))
        for name, answer in answers.items():
            found += judged.references_differ(name, answer[position], expected)
        found += judged.operator_differs(output, expected)
    return found if actual else ["no output"]


class _Judged:
    def __init__(self, operator: Operator, floats: list[np.ndarray], dtype: str, *, exact: bool) -> None:
        self.operator, self.floats, self.dtype, self.exact = operator, floats, dtype, exact
        self.magnitude = magnitude_of(operator)

    def references_differ(self, name: str, got: np.ndarray, expected: np.ndarray) -> list[str]:
        where = f"reference {name}"
        if got.shape != expected.shape:
            return [f"{where}: shape {got.shape}, precise has {expected.shape}"]
        # The framework's float64 GELU and the textbook tanh form cancel, whatever the operator does.
        magnitude = gelu_by_erf if "gelu" in self.operator.name else self.magnitude
        with np.errstate(all="ignore"):
            allowed = dissent_bound(magnitude, expected, self.floats, exact=self.exact)
        return [f"{where}: {text}" for text in _differences(got, expected, allowed, exact=self.exact)]

    def operator_differs(self, output: torch.Tensor, expected: np.ndarray) -> list[str]:
        if tuple(output.shape) != expected.shape:
            return [f"operator: shape {tuple(output.shape)}, precise has {expected.shape}"]
        if not output.is_floating_point():
            return [] if np.array_equal(output.numpy(), expected) else ["operator: indices differ"]
        if output.dtype is not getattr(torch, self.dtype):
            return [f"operator: dtype {output.dtype}, wanted {self.dtype}"]
        with np.errstate(all="ignore"):
            allowed = bound(self.magnitude, expected, self.floats, self.dtype, exact=self.exact)
        return [
            f"operator: {text}" for text in _differences(output.double().numpy(), expected, allowed, exact=self.exact)
        ]


def _differences(got: np.ndarray, expected: np.ndarray, allowed: np.ndarray, *, exact: bool) -> list[str]:
    """Class mismatches (NaN, infinities; the sign of zero where exact) and errors beyond `allowed`."""
    with np.errstate(all="ignore"):
        same = (got == expected) | (np.isnan(got) & np.isnan(expected))
        near = np.isnan(expected) | (np.signbit(got) == np.signbit(expected)) if exact else same
        bad = ~(same & near) if exact else ~(same | (np.abs(got - expected) <= allowed))
    if not bad.any():
        return []
    at = tuple(int(i) for i in np.argwhere(bad)[0])
    return [
        f"{bad.sum()} of {bad.size} differ, first {at}: got {got[at]!r}, wanted {expected[at]!r} +- {allowed[at]:.3g}"
    ]

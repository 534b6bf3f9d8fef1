"""Does every code of a lookup stand for a number of its own, another one than in the reference?"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import torch

from opsdebug_ci.model.clue import Clue
from opsdebug_ci.model.vocabulary import Cause
from opsdebug_ci.numerics.failure import Failure
from opsdebug_ci.numerics.variants import Call, contradicts, explain, read_call
from opsdebug_ci.worker.probes.scene import Scene

RULE = "fitted_table"

MOST_CODES = 256
"""Codes of a table: those of 8 bits."""

ELEMENTS_PER_CODE = 2
"""Bad elements there must be for each code among them: its number is read from one and holds for the others."""

MOST_CALLS = 300
"""Calls of a reference that are looked at."""

SURE = 0.9
"""Confidence of the explanation below which a table is not told."""

TOLD = 4
"""Codes that are written out."""

Decoded = tuple[torch.Tensor, torch.Tensor]
"""Codes, int64, and the numbers they stand for, of one shape."""


def table_hypotheses(scene: Scene, failure: Failure, only: str = "") -> Iterator[Retabled]:
    """Reads off the output what each code stands for, where the output is linear in that: two runs of the reference.

    A code with another number in one element than in the others speaks against it. Told apart from chance as fitted
    constants are. Silent where a code has fewer than ELEMENTS_PER_CODE bad elements.
    """
    places: list[tuple[int, Decoded]] = []

    def note(place: int, decoded: Decoded) -> torch.Tensor:
        places.append((place, decoded))
        return decoded[1]

    scene.reference(scene.arguments, _Decoders(note))
    for place, (codes, numbers) in places:
        if codes.shape != failure.actual.shape or scene.expired:
            continue
        table = _read_off(scene, failure, place, codes)
        known = dict(zip(codes.flatten().tolist(), numbers.flatten().tolist(), strict=True))
        other = {code: value for code, value in table.items() if not abs(value - known[code]) <= 1e-5 * abs(value)}
        found = Retabled(place=place, table=other, known=known)
        if other and only in ("", found.key):
            yield found


@dataclass(frozen=True, slots=True, kw_only=True)
class Retabled:
    """Codes that stand for other numbers."""

    place: int
    """The call that decodes, counted from 0."""

    table: Mapping[int, float]
    """The numbers by code, those that are other ones."""

    known: Mapping[int, float]
    """The numbers of the reference."""

    cause: Cause = Cause.WRONG_DEFAULT
    most_tests: None = None
    counts_bits: bool = True

    @property
    def key(self) -> str:
        return f"table of call {self.place}: {dict(sorted(self.table.items()))}"

    @property
    def statement(self) -> str:
        """Some of the codes and what they stand for."""
        told = [f"{code} stands for {self.table[code]:.5g}, not {self.known[code]:.5g}" for code in sorted(self.table)]
        more = f", and {len(told) - TOLD} more are other ones" if len(told) > TOLD else ""
        return f"every code has a number of its own, of another table: {', '.join(told[:TOLD])}{more}"

    def clues(self, scene: Scene, failing: Sequence[Failure]) -> Iterator[Clue]:
        outputs = _with(scene, self.place, self._numbers)
        for failure in failing if outputs is not None else ():
            explanation = explain(failure, outputs[scene.position(failure.output)]) if outputs is not None else None
            if explanation is not None and explanation.complete and explanation.confidence >= SURE:
                evidence = {
                    "codes": len(self.table),
                    "reproduced_bad": explanation.bad,
                    "reproduced_good": explanation.good,
                    "by_chance": explanation.chance,
                    "bits": explanation.bits,
                }
                yield failure.clue(RULE, self.cause, 0.93, self.statement, evidence)

    def clues_at_length(self, scene: Scene, failing: Sequence[Failure]) -> Iterator[Clue]:
        del scene, failing
        yield from ()

    def shows(self, scene: Scene, outputs: Sequence[Failure]) -> bool:
        altered = _with(scene, self.place, self._numbers)
        return altered is not None and any(map(contradicts, outputs, altered))

    def _numbers(self, decoded: Decoded) -> torch.Tensor:
        codes, numbers = decoded
        made = numbers.clone()
        for code, value in self.table.items():
            made[codes == code] = value
        return made


class _Decoders:
    """Observer that is asked what stands for the result of every call that turns integers into numbers one by one."""

    def __init__(self, change: Callable[[int, Decoded], torch.Tensor]) -> None:
        self._change = change
        self._count = 0

    def __call__(self, func: Any, args: tuple[Any, ...], kwargs: dict[str, Any], result: Any) -> Any:
        self._count += 1
        if self._count > MOST_CALLS or not isinstance(result, torch.Tensor) or not result.is_floating_point():
            return result
        codes = _codes(read_call(func, args, kwargs, result, {}))
        if codes is None or codes.shape != result.shape or not 1 < len(torch.unique(codes)) <= MOST_CODES:
            return result
        return self._change(self._count - 1, (codes, result))


def _codes(call: Call) -> torch.Tensor | None:
    x = call.tensor("self")
    if call.name == "_to_copy":
        codes = x
    elif call.name in ("index", "index_select", "take") and x is not None and x.ndim == 1:
        codes = call.values["indices"][0] if call.name == "index" else call.values["index"]
    else:
        return None
    whole = (
        codes is not None and not (codes.is_floating_point() or codes.is_complex()) and codes.dtype is not torch.bool
    )
    return codes.long() if whole and codes is not None else None


def _with(scene: Scene, place: int, numbers: Callable[[Decoded], torch.Tensor]) -> list[torch.Tensor] | None:
    """Outputs of the reference with other numbers at one place."""
    return scene.reference(
        scene.arguments, _Decoders(lambda at, decoded: numbers(decoded) if at == place else decoded[1])
    )


def _read_off(scene: Scene, failure: Failure, place: int, codes: torch.Tensor) -> dict[int, float]:
    """The median of what each code stands for; empty where the output is not linear in it, or tells too little."""

    def filled(number: float) -> Callable[[Decoded], torch.Tensor]:
        return lambda decoded: torch.full_like(decoded[1], number)

    runs = [_with(scene, place, filled(number)) for number in (0.0, 1.0, 3.0)]
    position = scene.position(failure.output)
    outputs = [run[position] for run in runs if run is not None and run[position].shape == codes.shape]
    if len(outputs) < len(runs):
        return {}
    at_0, at_1, at_3 = outputs
    slope = at_1 - at_0
    if not torch.allclose(at_3 - at_0, 3 * slope, rtol=1e-9, atol=0.0):
        return {}
    usable = (slope != 0) & torch.isfinite(slope) & torch.isfinite(failure.actual)
    values = (failure.actual.double() - at_0) / slope
    table = {code: float(values[usable & (codes == code)].median()) for code in torch.unique(codes[usable]).tolist()}
    enough = int((failure.bad & usable).sum()) >= ELEMENTS_PER_CODE * len(torch.unique(codes[failure.bad]))
    return {code: float(f"{value:.6g}") for code, value in table.items()} if enough else {}

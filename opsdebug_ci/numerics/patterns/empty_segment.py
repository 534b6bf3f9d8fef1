"""Rows that are wrong because nothing belongs to them, because they are marked, or because several writers met there.

Decides from lengths, offsets, segment ids and single values of integer arguments. Deliberately leaves thresholds to
`index_argument`.
"""

from __future__ import annotations

from collections.abc import Iterator

import torch

from opsdebug_ci.model.clue import Clue
from opsdebug_ci.model.finding import EvidenceValue
from opsdebug_ci.model.vocabulary import Cause
from opsdebug_ci.numerics.failure import Failure
from opsdebug_ci.numerics.patterns.keyed_rows import KeyedRows, integer_arguments, keyed_rows, meets, rows_with_bad

FEW_VALUES = 64
"""An argument with more distinct values has no sentinel that stands out."""


def empty_segment(failure: Failure) -> Iterator[Clue]:
    """Fires when the bad rows are exactly those of length 0, without any id, with one value, or with several ids.

    Lengths are an argument whose entries come to the size of some axis, or the steps of a sorted one with one entry
    more. Of a single output, or where all rows are bad, only the presence of negative entries can be told: a hint.
    Rivals: `index_argument`, `row_tail`.
    """
    if failure.bad.ndim:
        for rows in keyed_rows(failure):
            yield from _by_value(failure, rows)
        for name, keys in integer_arguments(failure):
            if keys.ndim == 1:
                yield from _by_steps(failure, name, keys)
                yield from _by_occurrence(failure, name, keys)
    yield from _marked_somewhere(failure)


def _by_value(failure: Failure, rows: KeyedRows) -> Iterator[Clue]:
    values = torch.unique(rows.keys[rows.bad])
    if len(values) != 1 or int(values[0]) < 0 or not rows.meets(rows.keys == values[0]):
        return  # negative ones are told by `index_argument`
    value, wrong = int(values[0]), int(torch.count_nonzero(rows.bad))
    statement = f"the {wrong:,} bad of {len(rows.keys):,} rows are those where `{rows.name}` is {value}"
    evidence: dict[str, EvidenceValue] = {
        "argument": rows.name,
        "value": value,
        "bad rows": wrong,
        "rows": len(rows.keys),
    }
    if value == 0 and _are_lengths(failure, rows):
        yield failure.clue("empty_segment", Cause.EMPTY_OR_ZERO_DIM, 0.9, f"{statement}: empty segments", evidence)
    elif wrong > 1 and len(torch.unique(rows.keys)) <= FEW_VALUES:
        yield failure.clue("empty_segment", Cause.MASK_SEMANTICS, 0.75, statement, evidence)
    elif value == 0:
        yield failure.clue("empty_segment", Cause.EMPTY_OR_ZERO_DIM, 0.6, statement, evidence)


def _are_lengths(failure: Failure, rows: KeyedRows) -> bool:
    sizes = {size for argument in failure.tensors.values() for size in argument.shape} | set(failure.bad.shape)
    return int(rows.keys.min()) >= 0 and int(rows.keys.sum()) in sizes


def _by_steps(failure: Failure, name: str, keys: torch.Tensor) -> Iterator[Clue]:
    """Offsets: one more than rows, or as many when the last end is left out."""
    count = failure.bad.shape[0]
    steps = keys.diff()
    if len(keys) not in (count, count + 1) or not len(steps) or bool((steps < 0).any()):
        return
    rows = rows_with_bad(failure.bad, 1)[: len(steps)]  # whether the last is empty too, as many offsets do not say
    if meets(steps == 0, rows):
        wrong = int(torch.count_nonzero(rows))
        statement = f"the {wrong:,} bad of {count:,} rows are those where `{name}` does not grow: empty segments"
        yield failure.clue(
            "empty_segment", Cause.EMPTY_OR_ZERO_DIM, 0.9, statement, {"argument": name, "bad rows": wrong}
        )


def _by_occurrence(failure: Failure, name: str, keys: torch.Tensor) -> Iterator[Clue]:
    """Segment ids: rows that none, or several, of the entries name."""
    count = failure.bad.shape[0]
    if len(keys) == 0 or int(keys.max()) >= count or len(keys) == count:
        return
    occurrences = torch.bincount(keys[keys >= 0], minlength=count)
    rows = rows_with_bad(failure.bad, 1)
    wrong = int(torch.count_nonzero(rows))
    evidence: dict[str, EvidenceValue] = {"argument": name, "bad rows": wrong, "rows": count}
    if meets(occurrences == 0, rows):
        statement = f"the {wrong:,} bad of {count:,} rows are those that no entry of `{name}` names"
        yield failure.clue("empty_segment", Cause.EMPTY_OR_ZERO_DIM, 0.88, statement, evidence)
    if wrong > 1 and meets(occurrences > 1, rows):
        statement = f"the {wrong:,} bad of {count:,} rows are those that several entries of `{name}` name"
        yield failure.clue("empty_segment", Cause.NONDETERMINISM_RACE, 0.7, statement, evidence)


def _marked_somewhere(failure: Failure) -> Iterator[Clue]:
    """A result over everything, or a wrong whole, beside an argument that has markers."""
    if failure.bad.numel() > 1 and not bool(failure.bad.all()):
        return
    for name, keys in integer_arguments(failure):
        markers = torch.unique(keys[keys < 0])
        if len(markers) == 1 and bool((keys >= 0).any()):
            marked = int(torch.count_nonzero(keys < 0))
            statement = f"{marked:,} of {keys.numel():,} entries of `{name}` are {int(markers[0])}, a marker;"
            statement += " the result may count them, or divide by their number"
            evidence: dict[str, EvidenceValue] = {"argument": name, "marker": int(markers[0]), "marked": marked}
            confidence = 0.55 if failure.bad.numel() == 1 else 0.4
            yield failure.clue("empty_segment", Cause.MASK_SEMANTICS, confidence, statement, evidence)

"""Rows that are wrong because of the index that belongs to them: too large for an offset, or negative.

Decides from the entries of integer arguments. Deliberately leaves zeros and other single values to `empty_segment`.
"""

from __future__ import annotations

from collections.abc import Iterator

import torch

from opsdebug_ci.model.clue import Clue
from opsdebug_ci.model.finding import EvidenceValue
from opsdebug_ci.model.vocabulary import Cause
from opsdebug_ci.numerics.failure import Failure
from opsdebug_ci.numerics.patterns.keyed_rows import KeyedRows, integer_arguments, keyed_rows, rows_with_bad
from opsdebug_ci.numerics.patterns.suffix import FINEST, units

LEAST_ROWS = 4
"""Bad rows from which a threshold between indices is believed."""


def index_argument(failure: Failure) -> Iterator[Clue]:
    """Fires when the bad rows are exactly those with a negative index, or exactly those from one index on.

    From one index on: if index times row stride of another argument crosses a power of two there, `index_overflow`;
    if it crosses an argument's length, `oob_read`. A negative index: `mask_semantics`, also where it counts from the
    end of the output and the row it lands in is the bad one. Rivals: `row_tail`, `empty_segment`.
    """
    if failure.bad.ndim == 0:
        return
    for rows in keyed_rows(failure):
        yield from _negative(failure, rows)
        yield from _beyond(failure, rows)
    for name, keys in integer_arguments(failure):
        yield from _wrapped(failure, name, keys.flatten())


def _negative(failure: Failure, rows: KeyedRows) -> Iterator[Clue]:
    negative = rows.keys < 0
    if rows.meets(negative):
        wrong, values = int(torch.count_nonzero(rows.bad)), torch.unique(rows.keys[negative])
        which = f"is {int(values[0])}" if len(values) == 1 else "is negative"
        statement = f"the {wrong:,} bad of {len(rows.keys):,} rows are those where `{rows.name}` {which}"
        evidence: dict[str, EvidenceValue] = {"argument": rows.name, "bad rows": wrong, "rows": len(rows.keys)}
        yield failure.clue("index_argument", Cause.MASK_SEMANTICS, 0.9 if wrong > 1 else 0.75, statement, evidence)


def _beyond(failure: Failure, rows: KeyedRows) -> Iterator[Clue]:
    wrong = int(torch.count_nonzero(rows.bad))
    if wrong < LEAST_ROWS or not bool((~rows.bad).any()):
        return
    least, greatest = int(rows.keys[rows.bad].min()), int(rows.keys[~rows.bad].max())
    if greatest >= least or least <= 0:
        return
    cause, meaning = _threshold(failure, rows.name, greatest, least)
    if cause is None:
        return
    statement = f"the {wrong:,} bad of {len(rows.keys):,} rows are those where `{rows.name}` >= {least:,}; {meaning}"
    evidence: dict[str, EvidenceValue] = {
        "argument": rows.name,
        "least bad index": least,
        "greatest right index": greatest,
        "bad rows": wrong,
    }
    yield failure.clue("index_argument", cause, 0.9, statement, evidence)


def _threshold(failure: Failure, name: str, greatest: int, least: int) -> tuple[Cause | None, str]:
    """What lies above the greatest right index and not above the least bad one."""
    for other, argument in failure.tensors.items():
        if other == name or argument.ndim == 0:
            continue
        for unit, size, widths in units(argument):
            stride = argument.stride(0) * size
            for bits in widths:
                if greatest * stride < 2**bits <= (least + 1) * stride and stride * FINEST <= 2**bits:
                    return Cause.INDEX_OVERFLOW, f"there the offset into `{other}`{unit} reaches 2**{bits}"
        if greatest < len(argument) <= least:
            return Cause.OOB_READ, f"`{other}` has {len(argument):,} rows"
    return None, ""


def _wrapped(failure: Failure, name: str, keys: torch.Tensor) -> Iterator[Clue]:
    """A negative index that was counted from the end: it is that row of the output, and no other, that is bad."""
    count = failure.bad.shape[0]
    landed = torch.unique(keys[keys < 0] % max(count, 1))
    if not 0 < len(landed) < count or keys.shape == failure.bad.shape[:1]:
        return
    rows = rows_with_bad(failure.bad, 1)
    if torch.equal(rows.nonzero().flatten(), landed):
        statement = f"the only bad rows are {_listed(landed)} of {count:,}, where the negative entries of `{name}` land"
        statement += " when they count from the end"
        yield failure.clue(
            "index_argument", Cause.MASK_SEMANTICS, 0.88, statement, {"argument": name, "bad rows": len(landed)}
        )


def _listed(rows: torch.Tensor) -> str:
    shown = ", ".join(map(str, rows[:4].tolist()))
    return shown if len(rows) <= 4 else f"{shown}, ..."

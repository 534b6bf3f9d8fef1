"""Rows whose index is too large, or negative."""

from __future__ import annotations

import torch
from patterns_notation import causes, failing, normal, only, replaced, whole

from opsdebug_ci.model.vocabulary import Cause
from opsdebug_ci.numerics.patterns import index_argument

TABLE = normal(1000, 64)
IDS = whole(0, 1000, 128)
RIGHT = TABLE[IDS]


def test_offsets_that_wrap() -> None:
    clue = only(index_argument, failing(replaced(RIGHT, IDS >= 512, 0.0), RIGHT, x=TABLE, ids=IDS))
    assert clue.cause is Cause.INDEX_OVERFLOW
    assert "the offset into `x` reaches 2**15" in clue.statement


def test_indices_beyond_an_argument() -> None:
    small = normal(300, 64)
    clue = only(index_argument, failing(replaced(RIGHT, IDS >= 300, 0.0), RIGHT, x=small, ids=IDS))
    assert clue.cause is Cause.OOB_READ
    assert "`x` has 300 rows" in clue.statement


def test_negative_indices() -> None:
    ids = replaced(IDS, slice(None, None, 4), -100)
    clue = only(index_argument, failing(replaced(RIGHT, ids < 0, 1.0), RIGHT, ids=ids))
    assert clue.cause is Cause.MASK_SEMANTICS
    assert clue.statement == "the 32 bad of 128 rows are those where `ids` is -100"


def test_negative_indices_that_count_from_the_end() -> None:
    cache, slots = normal(40, 8), torch.tensor([3, 7, 12, -1, -1])
    clue = only(index_argument, failing(replaced(cache, 39, 1.0), cache, slots=slots))
    assert clue.cause is Cause.MASK_SEMANTICS
    assert "the only bad rows are 39 of 40" in clue.statement


def test_other_rows_leave_it_silent() -> None:
    ids = replaced(IDS, slice(None, None, 4), -100)
    assert causes(index_argument, failing(replaced(RIGHT, slice(5, 30), 0.0), RIGHT, x=TABLE, ids=ids)) == []
    assert causes(index_argument, failing(replaced(RIGHT, IDS >= 700, 0.0), RIGHT, x=TABLE, ids=IDS)) == []
    assert causes(index_argument, failing(replaced(RIGHT, IDS < 512, 0.0), RIGHT, x=TABLE, ids=IDS)) == []
    assert causes(index_argument, failing(RIGHT + 1, RIGHT, x=TABLE, ids=ids)) == []

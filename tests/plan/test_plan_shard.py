from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from plan_notation import described

from opsdebug_ci.errors import UsageError
from opsdebug_ci.model import Stage
from opsdebug_ci.plan.axes import Axes
from opsdebug_ci.plan.shard import Shard, parse_shard, shard
from opsdebug_ci.plan.stages import cases

PLANNED = cases(described("f(x: N)"), Stage.SMOKE, Axes(), (), ("cpu",))


@given(count=st.integers(1, 12), total=st.integers(0, len(PLANNED)))
@settings(max_examples=60, deadline=None)
def test_parts_are_disjoint_complete_ordered_and_equal_in_size(count: int, total: int) -> None:
    planned = PLANNED[:total]
    parts = [shard(planned, index, count) for index in range(1, count + 1)]
    assert sorted(case.id for part in parts for case in part) == sorted(case.id for case in planned)
    assert max(map(len, parts)) - min(map(len, parts)) <= 1
    assert all(list(part) == sorted(part, key=planned.index) for part in parts)


def test_parts_do_not_depend_on_the_order_of_the_plan() -> None:
    assert {c.id for c in shard(PLANNED[::-1], 2, 5)} == {c.id for c in shard(PLANNED, 2, 5)}


@pytest.mark.parametrize(("text", "index", "count"), [("2/8", 2, 8), (" 1 / 1 ", 1, 1), ("8/8", 8, 8)])
def test_a_shard_is_read_as_written(text: str, index: int, count: int) -> None:
    assert parse_shard(text) == Shard(index=index, count=count)
    assert str(parse_shard(text)) == f"{index}/{count}"


@pytest.mark.parametrize("text", ["", "2", "0/8", "9/8", "a/b", "-1/8", "1/0", "2/8/1", "1.0/2"])
def test_what_is_no_shard_is_refused(text: str) -> None:
    with pytest.raises(UsageError) as caught:
        parse_shard(text)
    assert str(caught.value) == (
        f"`--shard` is `{text}`; wanted INDEX/COUNT with 1 <= INDEX <= COUNT\n"
        "  next: write e.g. --shard 2/8 for the second of eight"
    )

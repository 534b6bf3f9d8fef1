"""Long lists of two shards are put together with as many comparisons as they have entries, not as many as pairs."""

from __future__ import annotations

from dataclasses import replace

from shard_notation import cases, divided, outcomes

from opsdebug_ci.judge.merging import merge
from opsdebug_ci.model.shard import ShardDocument

ENTRIES = 500


class Compared(str):
    """A text that counts how often it is compared with another of its kind."""

    times = 0

    __hash__ = str.__hash__

    def __eq__(self, other: object) -> bool:
        if self is not other:
            Compared.times += 1
        return str.__eq__(self, other)


def long(shard: ShardDocument) -> ShardDocument:
    """The same with lists that no other shard has an entry of."""
    names = tuple(Compared(f"{shard.shard}-{number}") for number in range(ENTRIES))
    run = shard.run
    assert run is not None
    (group,) = run.summary.groups
    summary = replace(run.summary, groups=(replace(group, separators=names),))
    return replace(shard, run=replace(run, unchanged=names, notes=names, next=names, summary=summary))


def test_lists_are_not_compared_in_pairs() -> None:
    shards = [long(shard) for shard in divided(cases("gelu:fail*4"), 2)]
    Compared.times = 0
    document = merge(shards, outcomes("taken taken")).document
    assert document is not None
    assert (document.unchanged, len(document.notes)) == ((), 2 * ENTRIES)
    assert [group.separators for group in document.summary.groups] == [()]
    assert Compared.times < 20 * ENTRIES

"""Which runs and bundles of a store may go: by age, by number, by size.

Decides the policy. Whatever the limits say, these stay: of every stage and machine the newest run, so that there is
always something to compare with; of every open cause the run that saw it last, so that a known failure stays known; and
the bundles that a run that stays, or an open cause, names. A cause is open until its operator was judged without it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from pathlib import Path

from opsdebug_ci.store.files.heads import FileFault
from opsdebug_ci.store.memory.causes import recorded_causes
from opsdebug_ci.store.sql.query import query

_RUNS = """
    select f.id, f.started_at, coalesce(list_sum(list_transform(f.files, lambda x: x.size_bytes)), 0),
           f.id in (select max_by(id, started_at) from runs group by stage, machine_key)
    from runs_files f order by f.started_at, f.id
"""

_NAMED = """
    select run_id, bundle from failures_files where bundle is not null
    union select id, g.bundle from (select id, unnest(groups) as g from runs_files) where g.bundle is not null
"""

_LAST_SEEN = """
    select f.fingerprint, max_by(r.id, r.started_at) from failures f join runs r on r.id = f.run_id
    where f.fingerprint is not null group by 1
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class Limits:
    """What a store may hold; None: no limit of this kind."""

    older_than: timedelta | None = None
    """Age from which a run may go."""

    keep_runs: int | None = None
    """Newest runs that stay."""

    most_bytes: int | None = None
    """Size of the rows as they were written, and of the bundles."""

    @property
    def any(self) -> bool:
        """There is a limit at all."""
        return (self.older_than, self.keep_runs, self.most_bytes) != (None, None, None)


@dataclass(frozen=True, slots=True, kw_only=True)
class StoredSize:
    """A run, as far as retention asks."""

    run_id: str
    """Which."""

    started_at: datetime
    """When it started."""

    size_bytes: int
    """Of its rows, as they were written, and of the bundles that no newer run names."""

    needed: bool
    """It stays, whatever the limits say."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Retention:
    """What may go."""

    runs: tuple[str, ...] = ()
    """Ids, oldest first."""

    bundles: tuple[str, ...] = ()
    """sha256 of the bundles that only those runs name."""

    needed: tuple[str, ...] = ()
    """Ids of runs beyond the limits that stay because they are needed."""

    faults: tuple[FileFault, ...] = ()
    """Damaged files: which bundles they name cannot be told, so none goes."""


@dataclass(frozen=True, slots=True, kw_only=True)
class NamedBundles:
    """Which bundles the runs of a store name."""

    by_run: Mapping[str, frozenset[str]]
    """Run id -> sha256."""

    faults: tuple[FileFault, ...]
    """Files that may name others, and cannot be read."""


@dataclass(frozen=True, slots=True, kw_only=True)
class _Needs:
    """What open causes hold on to."""

    runs: frozenset[str] = field(default_factory=frozenset)
    """The run that saw each of them last."""

    bundles: frozenset[str] = field(default_factory=frozenset)
    """Their bundles."""


def retention(root: Path, limits: Limits, now: datetime, bundle_bytes: Mapping[str, int]) -> Retention:
    """What may go of the store in directory `root`.

    Args:
        root: the store.
        limits: what it may hold.
        now: the time ages are counted from.
        bundle_bytes: size of every stored bundle by sha256; any number where no limit is one of size.
    """
    # NOTE: runs first, so that what each of them names is known, whatever is added meanwhile.
    rows = query(root, _RUNS).rows
    needs, names = _needs(root, now), named_bundles(root)
    named = names.by_run
    owner = {sha256: run_id for run_id, *_ in rows for sha256 in named.get(str(run_id), ()) if sha256 in bundle_bytes}
    owned: dict[str, int] = {}
    for sha256, run_id in owner.items():
        if sha256 not in needs.bundles:
            owned[str(run_id)] = owned.get(str(run_id), 0) + bundle_bytes[sha256]
    stored = [
        StoredSize(
            run_id=str(run_id),
            started_at=at,
            size_bytes=int(str(size)) + owned.get(str(run_id), 0),
            needed=bool(newest) or str(run_id) in needs.runs,
        )
        for run_id, at, size, newest in rows
        if isinstance(at, datetime)
    ]
    staying_bytes = sum(bundle_bytes.values()) - sum(owned.values())
    found = beyond(stored, limits, now, staying_bytes)
    gone = set(found.runs)
    staying = needs.bundles.union(*(bundles for run_id, bundles in named.items() if run_id not in gone))
    going = frozenset[str]().union(*(named.get(run_id, frozenset()) for run_id in gone)) - staying
    return Retention(
        runs=found.runs,
        bundles=() if names.faults else tuple(sorted(going & set(bundle_bytes))),
        needed=found.needed,
        faults=names.faults,
    )


def beyond(stored: Sequence[StoredSize], limits: Limits, now: datetime, other_bytes: int = 0) -> Retention:
    """The runs that the limits let go, without bundles.

    Args:
        stored: every run, oldest first.
        limits: what may be there.
        now: the time ages are counted from.
        other_bytes: what is there beside the runs, and stays.
    """
    total = other_bytes + sum(one.size_bytes for one in stored)
    gone: list[str] = []
    needed: list[str] = []
    for place, one in enumerate(stored):
        old = limits.older_than is not None and now - one.started_at > limits.older_than
        many = limits.keep_runs is not None and len(stored) - place > limits.keep_runs
        large = limits.most_bytes is not None and total > limits.most_bytes
        if not (old or many or large):
            continue
        if one.needed:
            needed.append(one.run_id)
        else:
            gone.append(one.run_id)
            total -= one.size_bytes
    return Retention(runs=tuple(gone), needed=tuple(needed))


def named_bundles(root: Path) -> NamedBundles:
    """Which bundles the runs of the store in directory `root` name; superseded attempts do, too."""
    answer = query(root, _NAMED)
    found: dict[str, set[str]] = {}
    for run_id, sha256 in answer.rows:
        found.setdefault(str(run_id), set()).add(str(sha256))
    return NamedBundles(by_run={run_id: frozenset(named) for run_id, named in found.items()}, faults=answer.faults)


def _needs(root: Path, now: datetime) -> _Needs:
    causes = [cause for cause in recorded_causes(root, now) if not cause.gone]
    last_seen = {str(fingerprint): str(run_id) for fingerprint, run_id in query(root, _LAST_SEEN).rows}
    own = {cause.bundle for cause in causes} | {cause.group.bundle for cause in causes if cause.group is not None}
    return _Needs(
        runs=frozenset(last_seen[cause.fingerprint] for cause in causes if cause.fingerprint in last_seen),
        bundles=frozenset(sha256 for sha256 in own if sha256 is not None),
    )

"""`opsdebug failures`: recorded causes, of the store and of the bundles beside the configuration.

(1) what the store knows of every fingerprint; (2) fingerprints that groups have merged are one cause; (3) bundles join
the cause they name, or are one of their own.

Decides which records are one cause and which bundle stands for it. Runs nothing.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime

from opsdebug_ci.errors import UsageError
from opsdebug_ci.failures.bunch import elements
from opsdebug_ci.model.bundle import BundleManifest
from opsdebug_ci.model.failure_list import (
    FAILURES_SCHEMA,
    CauseDetail,
    CauseState,
    FailureCause,
    FailuresDocument,
    Sighting,
)
from opsdebug_ci.pipeline.failure_detail import bundle_detail
from opsdebug_ci.pipeline.records import NO_RECORDS, Records, configured_store, read_records
from opsdebug_ci.pipeline.replay_places import Entry, every_bundle, look_into
from opsdebug_ci.plan import Configuration
from opsdebug_ci.store.baseline_store import BaselineStore
from opsdebug_ci.store.memory.causes import NewestFailures, RecordedCause, newest_failures, recorded_causes

LISTED_NEXT = 3
"""Replays offered below a list."""

_RANK = {CauseState.OPEN: 0, CauseState.ACCEPTED: 1, CauseState.NOT_SEEN: 2}


def list_failures(
    configuration: Configuration,
    now: datetime,
    operator: str | None = None,
    *,
    environ: Mapping[str, str] | None = None,
) -> FailuresDocument:
    """Every recorded cause.

    Args:
        configuration: says where store and bundles are.
        now: decides which acceptances have lapsed.
        operator: only causes of this one; None: all.
        environ: environment variables, for a store elsewhere.
    """
    store = configured_store(configuration, environ)
    records = read_records(store, needed=True)
    entries = [look_into(found) for found in every_bundle(configuration, environ)]
    causes = [cause for cause in _causes(records, entries, now) if operator in (None, cause.operator)]
    replays = [f"opsdebug failures show {cause.fingerprint}" for cause in causes[:1]]
    replays += [f"opsdebug replay {cause.bundle[:12]}" for cause in causes if cause.bundle is not None][:LISTED_NEXT]
    return _document(store, records, causes, entries, next_=replays or ["opsdebug ci --stage smoke"])


def show_failure(
    configuration: Configuration, now: datetime, name: str, *, environ: Mapping[str, str] | None = None
) -> FailuresDocument:
    """Everything about one cause.

    Args:
        configuration: says where store and bundles are.
        now: decides which acceptances have lapsed.
        name: its fingerprint, or the beginning of that or of the sha256 of one of its bundles.
        environ: environment variables, for a store elsewhere.

    Raises:
        UsageError: no cause is meant, or several are.
    """
    store = configured_store(configuration, environ)
    records = read_records(store, needed=True)
    entries = [look_into(found) for found in every_bundle(configuration, environ)]
    cause = _named(name, _causes(records, entries, now))
    stored = (
        NewestFailures(failed=(), evidence={})
        if records.root is NO_RECORDS
        else newest_failures(records.root, cause.members)
    )
    manifest = next((entry.manifest for entry in entries if entry.sha256 == cause.bundle), None)
    plain = CauseDetail(failed=stored.failed, evidence=stored.evidence)
    detail = plain if manifest is None else bundle_detail(manifest, plain)
    again = f"opsdebug run {cause.operator}" if cause.bundle is None else f"opsdebug replay {cause.bundle[:12]}"
    return _document(store, records, [cause], entries, next_=[again], detail=detail)


def _document(
    store: BaselineStore,
    records: Records,
    causes: Sequence[FailureCause],
    entries: Iterable[Entry],
    *,
    next_: Sequence[str],
    detail: CauseDetail | None = None,
) -> FailuresDocument:
    there = records.root is not NO_RECORDS
    places = (store.location if there else f"{store.location} (not there)", ".opsdebug/bundles")
    return FailuresDocument(
        schema=FAILURES_SCHEMA,
        places=places,
        causes=tuple(causes),
        detail=detail,
        refused=tuple(f"{entry.sha256[:12]}: {entry.refusal}" for entry in entries if entry.manifest is None),
        next=tuple(next_),
    )


def _causes(records: Records, entries: Sequence[Entry], now: datetime) -> list[FailureCause]:
    recorded = () if records.root is NO_RECORDS else recorded_causes(records.root, now)
    causes = [_recorded(mine, entries) for mine in _joined(recorded)]
    known = {fingerprint for cause in causes for fingerprint in cause.members}
    alone: dict[str, list[Entry]] = {}
    for entry in entries:
        if entry.manifest is not None and entry.manifest.fingerprint not in known:
            alone.setdefault(entry.manifest.fingerprint, []).append(entry)
    causes += [_bundled(mine) for mine in alone.values()]
    return sorted(causes, key=lambda cause: _RANK[cause.state])


def _joined(recorded: Sequence[RecordedCause]) -> list[list[RecordedCause]]:
    """Fingerprints that are one cause, the one that speaks for them first: some group has merged them.

    A symptom that groups of two causes have claimed belongs to neither, so that it cannot make them one.
    """
    claims: dict[str, list[str]] = {}
    for record in recorded:
        for member in _members(record):
            if member != record.fingerprint:
                claims.setdefault(member, []).append(record.fingerprint)
    joined: dict[str, list[RecordedCause]] = {}
    for record in recorded:
        joined.setdefault(_lead(record.fingerprint, claims), []).append(record)
    return [sorted(mine, key=lambda record: record.fingerprint != lead) for lead, mine in joined.items()]


def _lead(fingerprint: str, claims: Mapping[str, Sequence[str]]) -> str:
    """Who speaks for a fingerprint; of several that claim each other, the first in order."""
    path = [fingerprint]
    while len(claims.get(path[-1], ())) == 1:
        claimed = claims[path[-1]][0]
        if claimed in path:
            return min(path[path.index(claimed) :])
        path.append(claimed)
    return path[-1]


def _members(record: RecordedCause) -> tuple[str, ...]:
    return () if record.group is None else record.group.members


def _recorded(records: Sequence[RecordedCause], entries: Sequence[Entry]) -> FailureCause:
    lead, told = records[0], records[0].group
    members = tuple(dict.fromkeys(key for record in records for key in (record.fingerprint, *_members(record))))
    mine = [entry for entry in entries if entry.manifest is not None and entry.manifest.fingerprint in members]
    bundles = (None if told is None else told.bundle, lead.bundle, *(entry.sha256 for entry in _smallest_first(mine)))
    return FailureCause(
        fingerprint=lead.fingerprint,
        members=members,
        operator=lead.operator,
        cause=lead.cause if told is None else str(told.cause),
        statement=lead.statement if told is None else told.statement,
        cases=len(frozenset().union(*(record.cases for record in records))),
        runs=len(frozenset().union(*(record.runs for record in records))),
        first=min((record.first for record in records), key=lambda seen: seen.at or ""),
        last=max((record.last for record in records), key=lambda seen: seen.at or ""),
        state=_state(records),
        representative=_representative(mine, lead.case_name),
        bundle=next(filter(None, bundles), None),
        bundles=tuple(entry.sha256 for entry in mine),
        separators=() if told is None else told.separators,
        boundary=None if told is None else told.boundary,
        why="" if told is None else told.why,
        identity=None if told is None else told.identity,
    )


def _state(records: Sequence[RecordedCause]) -> CauseState:
    if any(record.accepted for record in records):
        return CauseState.ACCEPTED
    return CauseState.NOT_SEEN if all(record.gone for record in records) else CauseState.OPEN


def _bundled(entries: Sequence[Entry]) -> FailureCause:
    """A cause only bundles tell of."""
    ordered = _smallest_first(entries)
    manifest = _manifest(ordered[0])
    finding = manifest.findings[0] if manifest.findings else None
    seen = Sighting(commit=manifest.commit, at=None)
    return FailureCause(
        fingerprint=manifest.fingerprint,
        members=(manifest.fingerprint,),
        operator=manifest.case.operator,
        cause="unknown" if finding is None else str(finding.cause),
        statement="" if finding is None else finding.statement,
        cases=len({_manifest(entry).case_id for entry in entries}),
        runs=0,
        first=seen,
        last=seen,
        state=CauseState.OPEN,
        representative=manifest.case.name,
        bundle=ordered[0].sha256,
        bundles=tuple(entry.sha256 for entry in ordered),
        separators=(),
        boundary=None,
        why="",
        identity=None,
    )


def _smallest_first(entries: Sequence[Entry]) -> list[Entry]:
    return sorted(entries, key=lambda entry: (elements(_manifest(entry).case), entry.sha256))


def _manifest(entry: Entry) -> BundleManifest:
    assert entry.manifest is not None  # noqa: S101 - refused ones were left out
    return entry.manifest


def _representative(entries: Sequence[Entry], newest: str) -> str:
    return _manifest(_smallest_first(entries)[0]).case.name if entries else newest


def _named(name: str, causes: Sequence[FailureCause]) -> FailureCause:
    wanted = name.strip().lower()
    exact = [cause for cause in causes if wanted == cause.fingerprint]
    meant = exact or [cause for cause in causes if wanted and any(_begins(key, wanted) for key in _names(cause))]
    if len(meant) == 1:
        return meant[0]
    if not meant:
        raise UsageError(
            f"no recorded cause and no bundle starts with `{name[:80]}`; wanted a fingerprint or the beginning of one",
            next_step="`opsdebug failures` lists what is recorded",
        )
    raise UsageError(
        f"`{name[:80]}` stands for {len(meant):,} causes: {', '.join(c.fingerprint for c in meant[:10])}; wanted one",
        next_step="write more of its digits",
    )


def _names(cause: FailureCause) -> tuple[str, ...]:
    return (*cause.members, *cause.bundles, *([cause.bundle] if cause.bundle else []))


def _begins(key: str, wanted: str) -> bool:
    """`wanted` begins the key, or its digits behind the version."""
    return key.startswith(wanted) or (":" in key and key.partition(":")[2].startswith(wanted))

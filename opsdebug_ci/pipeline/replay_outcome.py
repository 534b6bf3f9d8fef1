"""What the replay of one bundle came to, as people are told it.

Decides the outcome from the tries alone. Its words are `report.replay`'s.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

from opsdebug_ci.failures.fingerprint import fingerprint
from opsdebug_ci.failures.flakiness import steadiness
from opsdebug_ci.failures.surroundings import differences
from opsdebug_ci.model import FAILING_VERDICTS, Judgement, Verdict
from opsdebug_ci.model.bundle import BundleManifest
from opsdebug_ci.model.replay import OtherFailure, ReplayedBundle, ReplayOutcome
from opsdebug_ci.model.wilson import wilson
from opsdebug_ci.pipeline.replay_places import Entry
from opsdebug_ci.pipeline.replay_tries import Attempt, described, obstacle
from opsdebug_ci.pipeline.workbench import Workbench
from opsdebug_ci.report.document import case_document

EXIT_CODES: tuple[tuple[ReplayOutcome, int], ...] = (
    (ReplayOutcome.REPRODUCED, 1),
    (ReplayOutcome.REFUSED, 2),
    (ReplayOutcome.IMPOSSIBLE, 3),
    (ReplayOutcome.OTHERWISE, 4),
    (ReplayOutcome.UNJUDGED, 4),
    (ReplayOutcome.NOT_REPRODUCED, 0),
    (ReplayOutcome.GONE, 4),
)
"""The first outcome that any bundle has decides: one that is gone does not spoil what another one shows."""

_JUDGED = (*FAILING_VERDICTS, Verdict.PASS)


def exit_code(outcomes: Iterable[ReplayOutcome]) -> int:
    """Exit code of a replay; 4 where there was nothing to replay."""
    present = set(outcomes)
    return next((code for outcome, code in EXIT_CODES if outcome in present), 4)


def outcome_of(attempt: Attempt) -> ReplayOutcome:
    """What the tries of one bundle came to."""
    counts = attempt.counts
    if attempt.refusal is not None:
        return ReplayOutcome.REFUSED
    if counts.reproduced:
        return ReplayOutcome.REPRODUCED
    if counts.otherwise:
        return ReplayOutcome.OTHERWISE
    return ReplayOutcome.NOT_REPRODUCED if counts.passed else ReplayOutcome.UNJUDGED


def refused(entry: Entry) -> ReplayedBundle:
    """A bundle that could not be read."""
    return ReplayedBundle(
        sha256=entry.sha256, place=entry.found.place, outcome=ReplayOutcome.REFUSED, reason=entry.refusal
    )


def untried(entry: Entry, manifest: BundleManifest, bench: Workbench) -> ReplayedBundle:
    """What can be said before any try: what it recorded, where its operator is now, and why it may not be tried."""
    hindered = obstacle(manifest, bench)
    top = manifest.findings[0] if manifest.findings else None
    return ReplayedBundle(
        sha256=entry.sha256,
        place=entry.found.place,
        outcome=ReplayOutcome.UNJUDGED if hindered is None else hindered.outcome,
        reason="no try was made" if hindered is None else hindered.reason,
        case=case_document(manifest.case),
        fingerprint=manifest.fingerprint,
        cause=None if top is None else top.cause,
        statement=None if top is None else top.statement,
        commit=manifest.commit,
        recorded_source=manifest.source,
        source=_source(manifest, bench),
        inputs_digest=None if manifest.inputs is None else manifest.inputs.digest,
        differences=differences(manifest.machine, bench.machine),
        notes=manifest.notes,
    )


def tried(before: ReplayedBundle, attempt: Attempt) -> ReplayedBundle:
    """With what the tries came to."""
    if attempt.refusal is not None:
        return replace(before, outcome=ReplayOutcome.REFUSED, reason=attempt.refusal)
    counts = attempt.counts
    return replace(
        before,
        outcome=outcome_of(attempt),
        reason=unjudged_reason(attempt),
        counts=counts,
        rate=wilson(counts.reproduced, counts.judged) if counts.judged else None,
        steadiness=steadiness(counts.reproduced, counts.judged) if counts.judged else None,
        others=_others(attempt),
    )


def unjudged_reason(attempt: Attempt) -> str | None:
    """Why the first of the tries that count for nothing does; None where there is none."""
    left = [judgement for judgement in attempt.judgements if judgement.verdict not in _JUDGED]
    if not left:
        return None if attempt.judgements else "no try was made"
    said = left[0].findings[0].statement if left[0].findings else left[0].observation.reason
    return said or f"it is {left[0].verdict}"


def _source(manifest: BundleManifest, bench: Workbench) -> str | None:
    found = described(manifest, bench)
    return None if found is None or found.source_file is None else f"{found.source_file}:{found.source_line or 1}"


def _others(attempt: Attempt) -> tuple[OtherFailure, ...]:
    """Failures that are not the recorded one, the most frequent first."""
    by_fingerprint: dict[str, list[Judgement]] = {}
    for judgement in attempt.judgements:
        identity = fingerprint(judgement)
        if identity is not None and not attempt.reproduces(judgement):
            by_fingerprint.setdefault(identity, []).append(judgement)
    others = [
        OtherFailure(
            fingerprint=identity,
            verdict=same[0].verdict,
            count=len(same),
            statement=same[0].findings[0].statement,
        )
        for identity, same in by_fingerprint.items()
    ]
    return tuple(sorted(others, key=lambda other: (-other.count, other.fingerprint)))

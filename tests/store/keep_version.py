"""Keep a store of the format version this program writes, for the tests of every later one.

    python tests/store/keep_version.py

Run it once, when a version is complete and before anything is released that writes it: it makes `versions/<version>/`
with a store, what that must read back to, and a README. It refuses to change one that is there.
"""

from __future__ import annotations

import hashlib
import json
from dataclasses import replace
from datetime import date
from pathlib import Path

from store_documents import CALIBRATION, full_document, run_document
from store_versions import VERSIONS, contents

from opsdebug_ci.errors import UsageError
from opsdebug_ci.git.command import answer
from opsdebug_ci.model.acceptance import Acceptance
from opsdebug_ci.store.column import StoredRun
from opsdebug_ci.store.places.backends import open_store
from opsdebug_ci.store.schema import FORMAT_VERSION
from opsdebug_ci.store.upkeep.compaction import CompactionRules, compact

BUNDLE = f"bundle of version {FORMAT_VERSION}\n".encode()

README = """# A store of format version {version}

Written once, by opsdebug-ci as of commit `{commit}` (`tests/store/keep_version.py`). It never changes: what reads
stores must read this one, as long as there are stores of version {version}.

`store/` has a run in which every field differs from its default, with calibrations and everything a run can say of
speed, and a plain run, both in one pack; a run with files of its own; a bundle; two acceptances and a withdrawal.
`contents.json` is what they must read back to, written from the values that were stored (floats JSON cannot spell as
Python spells them: `Infinity`), and every column of that version with its Arrow type and unit.
"""


def kept_runs() -> tuple[StoredRun, ...]:
    """The runs, in the order they are stored; the last is not packed."""
    full = full_document()
    named = hashlib.sha256(BUNDLE).hexdigest()
    observations = tuple(replace(seen, bundle=named) if seen.bundle else seen for seen in full.observations)
    return (
        StoredRun(document=run_document("add:pass gelu:fail/f2", "r-plain", day="2026-11-28", commit="a" * 40)),
        StoredRun(
            document=replace(full, observations=observations),
            calibrations=(CALIBRATION, replace(CALIBRATION, device="cuda:0", clocks_before=CALIBRATION.clocks_after)),
            bundles_elsewhere={"ab" * 32: "artifact `bundles` of the run"},
        ),
        StoredRun(document=run_document("mul:pass add:pass", "r-single", day="2026-11-30", commit="b" * 40)),
    )


def kept_acceptances() -> tuple[Acceptance, ...]:
    """A failure for good, and the speed of an operator until it was withdrawn."""
    failure = Acceptance(
        id="a-1",
        fingerprint="f1",
        operator="softmax",
        commit="c" * 40,
        accepted_by="A. Person <a@example.org>",
        accepted_at="2026-11-30T12:00:00.250000+00:00",
        reason="the tail is rounded on purpose",
    )
    speed = replace(
        failure,
        id="a-2",
        fingerprint=None,
        operator="gelu",
        until="2027-01-01T00:00:00+00:00",
        reason="it is exact now",
    )
    at = "2026-12-01T09:00:00+00:00"
    return failure, speed, replace(speed, id="a-3", accepted_at=at, until=at, reason="exact and fast")


def keep(place: Path) -> None:
    """Make one at `place`. Raises UsageError when it is there."""
    if place.exists():
        raise UsageError(
            f"`{place}` is there; wanted a version that is not kept yet: a kept one never changes",
            next_step="a new version of the format has a new number",
        )
    place.mkdir(parents=True)
    runs, acceptances = kept_runs(), kept_acceptances()
    store = open_store(place / "store")
    for run in runs[:-1]:
        store.backend.add(store.files(run, [BUNDLE]))
    compact(store.backend, today=date(2026, 11, 30), entropy="kept", rules=CompactionRules(fewest=2))
    store.backend.add(store.files(runs[-1]))
    for acceptance in acceptances:
        store.accept(acceptance)
    told = contents(runs, acceptances, {hashlib.sha256(BUNDLE).hexdigest(): BUNDLE})
    (place / "contents.json").write_text(json.dumps(told, indent=1) + "\n", encoding="utf-8")
    commit = (answer(VERSIONS, "rev-parse", "HEAD") or "not known")[:7]
    (place / "README.md").write_text(README.format(version=FORMAT_VERSION, commit=commit), encoding="utf-8")


if __name__ == "__main__":
    keep(VERSIONS / str(FORMAT_VERSION))

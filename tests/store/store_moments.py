"""Processes that change a store, killed at random moments, and what is there afterwards.

    python tests/store/store_moments.py 8 directory writer compactor pruner

Says for every kind of process how often something was left for others to clear away, and everything that was not as it
should be. This process only forks, kills and counts, so that no thread of a library is ever in a child; whatever reads
or writes a store does so in one. `careless` is a writer that shows a run before its rows: it must be found out.
"""

from __future__ import annotations

import os
import random
import shutil
import signal
import sys
import tempfile
import time
import traceback
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import date, datetime, timezone
from pathlib import Path

HERE = Path(__file__).parent
sys.path[:0] = [str(HERE), str(HERE.parents[1])]

from branch_remotes import BRANCH, NOT_THE_PERSON, Forge  # noqa: E402 - found through the path above
from store_documents import run_document  # noqa: E402 - as above
from store_packs import with_bundle  # noqa: E402 - as above

from opsdebug_ci.store.baseline_store import BaselineStore  # noqa: E402 - as above
from opsdebug_ci.store.column import StoredRun  # noqa: E402 - as above
from opsdebug_ci.store.files.encoding import encode_run  # noqa: E402 - as above
from opsdebug_ci.store.places.backends import open_store  # noqa: E402 - as above
from opsdebug_ci.store.sql.query import query  # noqa: E402 - as above
from opsdebug_ci.store.upkeep.compaction import CompactionRules, compact  # noqa: E402 - as above
from opsdebug_ci.store.upkeep.pruning import prune  # noqa: E402 - as above
from opsdebug_ci.store.upkeep.retention import Limits, retention  # noqa: E402 - as above
from opsdebug_ci.store.upkeep.verification import Severity, verify  # noqa: E402 - as above

CASES = 3
"""Of each run."""

FRESH = 10
"""Moments after which a new store is begun, so that a look at all of it stays short."""

STAYING = 4
"""Runs that a pruner leaves."""

_SEEN = "select r.id, count(a.run_id) from runs_files r left join accuracy_files a on a.run_id = r.id group by 1"

Say = Callable[[str], None]
"""Writes a line that is there as soon as this returns."""

Work = Callable[["Place", str, Say], None]
"""What a process does: in a place, with names that begin with a label."""


@dataclass(slots=True)
class Place:
    """A store, and what is known of it by those who write to it."""

    location: str
    environ: dict[str, str]
    acknowledged: set[str] = field(default_factory=set)
    """Runs whose `append` returned."""
    going: set[str] = field(default_factory=set)
    """Runs that somebody wanted to remove."""

    def store(self) -> BaselineStore:
        return open_store(self.location, environ=self.environ)

    def hear(self, said: list[str]) -> None:
        for line in said:
            word, _, run = line.partition(" ")
            {"added": self.acknowledged, "going": self.going}.get(word, set()).add(run)


def append(place: Place, name: str, say: Say) -> None:
    run, data = with_bundle(run_document("add:pass gelu:fail/f1 gelu:fail/f2", name), f"{name} " * 20_000, "gelu")
    place.store().append(run, bundles=[data])
    say(f"added {name}")


def write(place: Place, label: str, say: Say) -> None:
    """Record a few runs, each with a bundle."""
    for number in range(STAYING):
        append(place, f"{label}-{number}", say)


def pack(place: Place, label: str, say: Say) -> None:
    """Record a few runs more, and pack them with what there is."""
    write(place, label, say)
    compact(place.store().backend, today=_today(), entropy=label, rules=CompactionRules(fewest=2))


def remove(place: Place, label: str, say: Say) -> None:
    """The same, and remove all but the newest runs, from the pack and beside it."""
    pack(place, label, say)
    append(place, f"{label}-beside", say)
    store = place.store()
    sizes = dict.fromkeys(store.bundles(), 1)
    going = retention(store.mirror().root, Limits(keep_runs=STAYING), datetime.now(timezone.utc), sizes)
    for run in going.runs:
        say(f"going {run}")
    prune(store.backend, going, today=_today(), entropy=f"{label}-p")


def pull(place: Place, label: str, say: Say) -> None:
    """Copy the store to this machine, anew."""
    del label, say
    shutil.rmtree(place.environ["OPSDEBUG_CACHE"], ignore_errors=True)
    place.store().mirror()


def be_careless(place: Place, label: str, say: Say) -> None:
    """Show a run before its rows are there, and die."""
    run = run_document("add:pass gelu:fail/f1", label)
    backend = place.store().backend
    backend.add(encode_run(StoredRun(document=run))[-1:])
    say(f"added {label}")
    os.kill(os.getpid(), signal.SIGKILL)


ROLES: dict[str, Work] = {
    "writer": write,
    "compactor": pack,
    "pruner": remove,
    "puller": pull,
    "careless": be_careless,
}


def over_and_over(work: Work) -> Work:
    """Do it until killed."""

    def loop(place: Place, label: str, say: Say) -> None:
        for number in range(10**6):
            work(place, f"{label}-{number}", say)

    return loop


def check(place: Place, label: str, say: Say) -> None:
    """Say everything that is not as it should be."""
    store = place.store()
    if not store.exists():
        if place.acknowledged:
            say("wrong the store is gone")
        return
    _check_rows(place, store.mirror().root, say, whole=True)
    found = verify(store.backend, today=_today())
    for remark in found.remarks:
        if remark.severity is Severity.DAMAGED:
            say(f"wrong {label}: {remark}")
    if found.remarks:
        say("left over")


def check_copy(place: Place, label: str, say: Say) -> None:
    """The same of the copy as it was left, which may lack runs but no part of one."""
    for copy in Path(place.environ["OPSDEBUG_CACHE"]).glob("stores/*/store"):
        if (copy / "opsdebug-store.json").exists():
            _check_rows(place, copy, say, whole=False)
    check(place, label, say)


def _check_rows(place: Place, root: Path, say: Say, *, whole: bool) -> None:
    answer = query(root, _SEEN)
    rows = Counter({str(run): int(str(cases)) for run, cases in answer.rows})
    for fault in answer.faults:
        say(f"wrong {fault.path} {fault.found}")
    if len(answer.rows) != len(rows):
        say("wrong a run is there twice")
    for run, cases in rows.items():
        if cases != CASES:
            say(f"wrong {run} has {cases} cases")
    for run in sorted(place.acknowledged - place.going - set(rows)) if whole else ():
        say(f"wrong {run} is lost")


def _today() -> date:
    return datetime.now(timezone.utc).date()


def run_child(work: Work, place: Place, label: str, after_s: float | None) -> list[str]:
    """What a process said until it ended, or was killed after `after_s` seconds; `killed` is then the last line."""
    reading, writing = os.pipe()
    pid = os.fork()
    if pid == 0:
        os.close(reading)
        code = 1
        try:
            work(place, label, lambda line: _say(writing, line))
            code = 0
        except BaseException:  # noqa: BLE001 - told by the exit code, and nothing of the parent's may run on here
            traceback.print_exc()
        finally:
            os._exit(code)
    os.close(writing)
    if after_s is not None:
        time.sleep(after_s)
        os.kill(pid, signal.SIGKILL)
    with os.fdopen(reading) as lines:
        said = lines.read().splitlines()
    _, status = os.waitpid(pid, 0)
    if os.WIFSIGNALED(status):
        return [*said, "killed"]
    return said if os.WEXITSTATUS(status) == 0 else [*said, f"wrong {work.__name__} failed"]


def _say(descriptor: int, line: str) -> None:
    os.write(descriptor, f"{line}\n".encode())


@contextmanager
def place_of(kind: str) -> Iterator[Place]:
    """A place with nothing in it."""
    with tempfile.TemporaryDirectory() as directory:
        environ = {**os.environ, **NOT_THE_PERSON, "OPSDEBUG_CACHE": f"{directory}/cache"}
        location = f"{directory}/store"
        if kind == "branch":
            location = f"branch:{BRANCH}@{Forge(Path(directory)).url}"
        yield Place(location=location, environ=environ)


def kill(kind: str, role: str, moments: int, draws: random.Random) -> list[str]:
    """Kill so many processes of a kind; what was wrong afterwards."""
    wrong: list[str] = []
    left = runs = 0
    looked = check_copy if role == "puller" else check
    for first in range(0, moments, FRESH):
        with place_of(kind) as place:
            place.hear(run_child(write, place, "first", None))
            began = time.monotonic()
            said = run_child(ROLES[role], place, "whole", None)
            place.hear(said)
            longest_s = 2 * (time.monotonic() - began)
            for moment in range(first, min(first + FRESH, moments)):
                said += run_child(over_and_over(ROLES[role]), place, f"m{moment}", draws.uniform(0, longest_s))
                place.hear(said)
                said += run_child(looked, place, f"{role} {moment}", None)
            left += said.count("left over")
            wrong += [line for line in said if line.startswith("wrong")]
            runs += len(place.acknowledged - place.going)
    print(  # noqa: T201 - its result
        f"{role} of a {kind}: killed {moments} times; {left} times something was left over; {runs} acknowledged runs "
        f"that nobody removed; {len(wrong)} wrong",
        flush=True,
    )
    return wrong


def main(moments: int, kind: str, *roles: str) -> int:
    """Every role named, one after the other; 1 if anything was ever wrong."""
    draws = random.Random(20261130)
    wrong = [line for role in roles for line in kill(kind, role, moments, draws)]
    for line in wrong[:20]:
        print(line)  # noqa: T201 - its result
    return int(bool(wrong))


if __name__ == "__main__":
    sys.exit(main(int(sys.argv[1]), *sys.argv[2:]))

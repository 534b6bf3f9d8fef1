"""`opsdebug replay`: recorded failures again, on the same bytes. Stores nothing, gates nothing.

(1) find the bundles; (2) read and check them; (3) leave out what cannot be tried here; (4) make the tries; (5) say what
they came to. Nothing of a bundle is ever run: the operator is the one of that name in this checkout.
"""

from __future__ import annotations

import shlex
from collections.abc import Sequence
from dataclasses import dataclass, replace

from opsdebug_ci.errors import UsageError
from opsdebug_ci.execution.lane import HUNT_SHARE
from opsdebug_ci.failures.flakiness import SELDOM, clean_tries, failed_tries
from opsdebug_ci.judge.command import rerun
from opsdebug_ci.model.replay import REPLAY_SCHEMA, ReplayDocument, ReplayedBundle, ReplayOutcome, Steadiness
from opsdebug_ci.pipeline.replay_outcome import EXIT_CODES, exit_code, refused, tried, untried
from opsdebug_ci.pipeline.replay_places import Entry, every_bundle, look_into, named_bundles
from opsdebug_ci.pipeline.replay_shrink import shrunk_replay
from opsdebug_ci.pipeline.replay_tries import Attempt, described, make_attempts, obstacle
from opsdebug_ci.pipeline.workbench import Workbench, workbench
from opsdebug_ci.pipeline.world import World
from opsdebug_ci.plan import Configuration, read_revision
from opsdebug_ci.report.replay import SHORT, replay_conclusion

DEFAULT_TRIES = 20
"""Tries of one bundle: 0 of 20 leaves a rate of 16 % possible, 20 of 20 one of 84 %."""

NEXT_COMMANDS = 5
"""Commands listed at the end."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ReplayRequest:
    """What to replay."""

    names: tuple[str, ...] = ()
    """Files, or beginnings of sha256."""

    every: bool = False
    """Every bundle there is."""

    tries: int = DEFAULT_TRIES
    """Tries of each."""

    shrink: bool = False
    """Look for a smaller case of every failure that reproduces."""


def replay(request: ReplayRequest, configuration: Configuration, world: World) -> ReplayDocument:
    """Replay bundles.

    Raises:
        UsageError: nothing is named, or a name stands for no bundle or for several.
    """
    if bool(request.names) == request.every:
        got = "bundles are named and `--all` is given" if request.every else "no bundle is named"
        raise UsageError(
            f"{got}; wanted files, beginnings of sha256, or `--all`",
            next_step="`opsdebug failures` lists what is stored",
        )
    found = (
        every_bundle(configuration, world.environ)
        if request.every
        else named_bundles(request.names, configuration, world.directory, world.environ)
    )
    entries = [look_into(item) for item in found]
    if any(entry.manifest is not None for entry in entries):
        with workbench(configuration, world) as bench:
            bundles, commands = _replayed(entries, request, bench, configuration, world)
    else:
        bundles, commands = tuple(map(refused, entries)), ()
    return ReplayDocument(
        schema=REPLAY_SCHEMA,
        bundles=bundles,
        conclusion=replay_conclusion(bundles),
        next=commands[:NEXT_COMMANDS] or ("opsdebug failures",),
        exit_code=exit_code(bundle.outcome for bundle in bundles),
    )


def _replayed(
    entries: Sequence[Entry], request: ReplayRequest, bench: Workbench, configuration: Configuration, world: World
) -> tuple[tuple[ReplayedBundle, ...], tuple[str, ...]]:
    """What became of every bundle, and what to run next."""
    attempts: dict[int, Attempt] = {}
    for position, entry in enumerate(entries):
        description = None if entry.manifest is None else described(entry.manifest, bench)
        if entry.manifest is not None and description is not None and obstacle(entry.manifest, bench) is None:
            attempts[position] = Attempt(entry, description, tries=request.tries)
    make_attempts(tuple(attempts.values()), bench, world, configuration.timeout_s * HUNT_SHARE)
    bundles = []
    for position, entry in enumerate(entries):
        if entry.manifest is None:
            bundles.append(refused(entry))
            continue
        told = untried(entry, entry.manifest, bench)
        if position in attempts:
            told = tried(told, attempts[position])
            told = _shrunk(told, attempts[position], bench, configuration, world) if request.shrink else told
        bundles.append(told)
    return tuple(bundles), _commands(entries, bundles)


def _shrunk(
    told: ReplayedBundle, attempt: Attempt, bench: Workbench, configuration: Configuration, world: World
) -> ReplayedBundle:
    """With a smaller case, where the failure showed."""
    failure = attempt.telling
    if told.outcome is not ReplayOutcome.REPRODUCED or failure is None:
        return told
    revision = read_revision(configuration.root)
    return replace(told, shrunk=shrunk_replay(attempt, failure, bench, configuration, world, revision))


def _commands(entries: Sequence[Entry], bundles: Sequence[ReplayedBundle]) -> tuple[str, ...]:
    """What to run next, for the reproduced ones first, each once."""
    rank = {outcome: position for position, (outcome, _) in enumerate(EXIT_CODES)}
    ordered = sorted(zip(entries, bundles, strict=True), key=lambda pair: rank[pair[1].outcome])
    return tuple(dict.fromkeys(command for entry, bundle in ordered for command in _next(entry, bundle)))


def _next(entry: Entry, bundle: ReplayedBundle) -> tuple[str, ...]:
    """Spelled by ourselves throughout: a bundle's own commands are a stranger's."""
    if entry.manifest is None or bundle.outcome in (ReplayOutcome.GONE, ReplayOutcome.REFUSED):
        return ()
    if bundle.outcome is ReplayOutcome.IMPOSSIBLE:
        return ("opsdebug doctor",)
    again = shlex.join(["opsdebug", "replay", entry.sha256[:SHORT] if not entry.file else entry.found.place])
    if bundle.outcome is ReplayOutcome.REPRODUCED:
        if bundle.shrunk is not None and bundle.shrunk.bundle is not None:
            return (f"opsdebug replay {bundle.shrunk.bundle[:SHORT]}",)
        steps = rerun(entry.manifest.case, command="trace")
        unsettled = bundle.steadiness is Steadiness.UNSETTLED and bundle.counts.judged < failed_tries()
        more = (f"{again} --times 100",) if unsettled else ()
        return (steps, *((f"{again} --shrink",) if bundle.shrunk is None else ()), *more)
    if bundle.outcome is ReplayOutcome.NOT_REPRODUCED:
        return (f"{again} --times {clean_tries(SELDOM)}",)
    return (rerun(entry.manifest.case),)

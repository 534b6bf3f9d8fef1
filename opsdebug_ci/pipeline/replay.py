"""`opsdebug replay`: recorded failures again, on the same bytes. Stores nothing, gates nothing.

(1) find the bundles; (2) read and check them; (3) leave out what cannot be tried here; (4) make the tries; (5) say what
they came to. Nothing of a bundle is ever run: the operator is the one of that name in this checkout.
"""

from __future__ import annotations

import shlex
from collections.abc import Sequence
from dataclasses import dataclass

from opsdebug_ci.errors import UsageError
from opsdebug_ci.execution.lane import HUNT_SHARE
from opsdebug_ci.failures.flakiness import SELDOM, clean_tries
from opsdebug_ci.judge.command import rerun
from opsdebug_ci.model.replay import REPLAY_SCHEMA, ReplayDocument, ReplayedBundle, ReplayOutcome, Steadiness
from opsdebug_ci.pipeline.replay_outcome import EXIT_CODES, exit_code, refused, tried, untried
from opsdebug_ci.pipeline.replay_places import Entry, every_bundle, look_into, named_bundles
from opsdebug_ci.pipeline.replay_tries import Attempt, described, make_attempts, obstacle
from opsdebug_ci.pipeline.workbench import Workbench, workbench
from opsdebug_ci.pipeline.world import World
from opsdebug_ci.plan import Configuration
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
        every_bundle(configuration) if request.every else named_bundles(request.names, configuration, world.directory)
    )
    entries = [look_into(item) for item in found]
    if any(entry.manifest is not None for entry in entries):
        with workbench(configuration, world) as bench:
            bundles, commands = _replayed(entries, request.tries, bench, configuration, world)
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
    entries: Sequence[Entry], tries: int, bench: Workbench, configuration: Configuration, world: World
) -> tuple[tuple[ReplayedBundle, ...], tuple[str, ...]]:
    """What became of every bundle, and what to run next."""
    attempts: dict[int, Attempt] = {}
    for position, entry in enumerate(entries):
        description = None if entry.manifest is None else described(entry.manifest, bench)
        if entry.manifest is not None and description is not None and obstacle(entry.manifest, bench) is None:
            attempts[position] = Attempt(entry, description, tries=tries)
    make_attempts(tuple(attempts.values()), bench, world, configuration.timeout_s * HUNT_SHARE)
    bundles = []
    for position, entry in enumerate(entries):
        if entry.manifest is None:
            bundles.append(refused(entry))
            continue
        before = untried(entry, entry.manifest, bench)
        bundles.append(tried(before, attempts[position]) if position in attempts else before)
    return tuple(bundles), _commands(entries, bundles)


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
        more = (f"{again} --times 100",) if bundle.steadiness is Steadiness.UNSETTLED else ()
        return (rerun(entry.manifest.case, command="trace"), *more)
    if bundle.outcome is ReplayOutcome.NOT_REPRODUCED:
        return (f"{again} --times {clean_tries(SELDOM)}",)
    return (rerun(entry.manifest.case),)

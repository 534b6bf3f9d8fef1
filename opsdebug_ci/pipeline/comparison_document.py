"""`opsdebug compare`: two states of the code, compared, with what to do next.

Decides which arms a command line means, and the exit code.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path

from opsdebug_ci.errors import OpsdebugError, UsageError
from opsdebug_ci.model.controls import ControlCount, count_controls
from opsdebug_ci.model.speed import (
    COMPARE_SCHEMA,
    AlarmBound,
    CompareDocument,
    Comparing,
    Comparison,
    ComparisonRun,
    SpeedVerdict,
)
from opsdebug_ci.pipeline.arms import prepare_arm
from opsdebug_ci.pipeline.compare import Means, compare_arms
from opsdebug_ci.pipeline.comparison_plan import Demand
from opsdebug_ci.pipeline.records import configured_store, read_records
from opsdebug_ci.pipeline.world import World
from opsdebug_ci.plan import Axes, Configuration
from opsdebug_ci.regress.alarm_bound import alarm_bound
from opsdebug_ci.regress.rule import worst
from opsdebug_ci.store.memory.alarms import alarm_counts

EXIT_CODES = {SpeedVerdict.REGRESSED: 1, SpeedVerdict.INCONCLUSIVE: 4}
"""Exit codes of the worst verdicts; any other is 0."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Request:
    """What a person asks to compare."""

    base: str | None
    """Revision to compare with; None: the work tree as it is, in another interpreter."""

    head: str | None = None
    """Revision under test; None: the work tree as it is."""

    base_python: str | None = None
    """Interpreter of the base; None: the configured one."""

    patterns: tuple[str, ...] = ()
    """Operator names or globs; empty: all."""

    axes: Axes = field(default_factory=Axes)
    """Values fixed by hand."""

    budget_s: float | None = None
    """Seconds after which no further launch begins, builds aside."""

    seed: int | None = None
    """Of random orders; None: drawn."""


def compare(request: Request, configuration: Configuration, world: World) -> CompareDocument:
    """Make both arms ready, compare them and say what it comes to.

    Raises:
        UsageError: there is nothing to tell the arms apart, or no such revision or operator.
        EnvironmentLimitError: an arm cannot be built or run here.
    """
    if request.base is None and request.base_python is None:
        raise UsageError(
            "`compare` has neither `--base` nor `--base-python`; wanted what to compare with",
            next_step="write e.g. --base origin/main, or --base HEAD for what is not committed yet",
        )
    base = prepare_arm("base", request.base, request.base_python, configuration, world)
    head = prepare_arm("head", request.head, None, configuration, world)
    records = read_records(configured_store(configuration, world.environ), needed=False)
    seed = int.from_bytes(world.entropy(4), "big") if request.seed is None else request.seed
    demand = Demand(patterns=request.patterns, axes=request.axes, untouched=frozenset(), controls=True, seed=seed)
    means = Means(configuration=configuration, world=world, budget_s=request.budget_s)
    run = compare_arms([(base, Comparing.CHANGE)], head, demand, means)
    return document_of(run, alarms_so_far(run, records.root), again=_again(request))


def document_of(run: ComparisonRun, alarms: AlarmBound | None, *, again: str) -> CompareDocument:
    """The document of a comparison; `again` is the command that made it."""
    verdict = worst([comparison.verdict for comparison in run.comparisons])
    return CompareDocument(
        schema=COMPARE_SCHEMA,
        run=run,
        verdict=verdict,
        alarms=alarms,
        next=next_commands(run.comparisons, again),
        exit_code=EXIT_CODES.get(verdict, 0),
    )


def alarms_so_far(run: ComparisonRun, records: Path) -> AlarmBound | None:
    """Our own false-alarm rate, by the controls in the store at `records` and those of this run."""
    try:
        stored = alarm_counts(records)
    except OpsdebugError:  # a store that cannot be read has nothing to say of alarms, and the comparison stands
        stored = ControlCount(alarms=0, of=0)
    count = stored + count_controls(run)
    return alarm_bound(count.alarms, count.of) if count.of else None


def next_commands(comparisons: tuple[Comparison, ...], again: str) -> tuple[str, ...]:
    """What to do about the worst: look where the time goes, or measure again."""
    slow = [one for one in comparisons if one.verdict in (SpeedVerdict.REGRESSED, SpeedVerdict.SUSPECTED)]
    looks = tuple(dict.fromkeys(f"opsdebug profile {one.case.operator}" for one in slow))[:3]
    unclear = any(one.verdict is SpeedVerdict.INCONCLUSIVE for one in comparisons)
    return (*looks, *([again] if unclear else ()))


def _again(request: Request) -> str:
    words = [
        "opsdebug compare",
        *request.patterns,
        *([] if request.base is None else [f"--base {request.base}"]),
        *([] if request.head is None else [f"--head {request.head}"]),
        *([] if request.base_python is None else [f"--base-python {request.base_python}"]),
    ]
    return " ".join(words)

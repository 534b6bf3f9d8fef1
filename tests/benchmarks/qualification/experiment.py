"""How often does a rule alarm for nothing, and how often does it find a slowdown? Asked of ours and of four others.

    python tests/benchmarks/qualification/experiment.py --minutes 60 --load 1 --peers-python PATH --out trials.jsonl

Rounds until the time is over. Each plants slowdowns in a fresh commit of a project of its own, asks every rule about
the same two commits, one rule after the other, and appends what they say to the file. Called again with the same file
it goes on with the next round. `summary.py` makes the table.
"""

from __future__ import annotations

import argparse
import signal
import statistics
import sys
import tempfile
import time
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timezone
from pathlib import Path

from background import background
from repository import Repository, create, write_head
from rotation import Planting, planting, spins
from rule_asv import Asv
from rule_opsdebug import Opsdebug
from rule_pytest import PytestBenchmark
from rule_stored import SingleRuns, Stored
from rules import Judgement, Reading, Rule, RuleError
from single_process import Measured, measure
from trials import Answer, Kind, Trial, append, read

CALIBRATIONS = 5
"""Fresh processes of the base before the first round; their median minimum is what shares are taken of."""

ASV_EVERY = 7
"""asv takes longer than all others together; an odd number, so that it meets every kind of round."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Round:
    """One round, before it is judged."""

    number: int
    """From 0."""

    planting: Planting
    """What is planted."""

    planted_ns: dict[str, float]
    """Operator -> how long its planted wait lasts; ns."""


def main(arguments: Sequence[str] | None = None) -> None:
    """Run the experiment."""
    options = _options(arguments)
    signal.signal(signal.SIGTERM, lambda number, _frame: sys.exit(128 + number))
    with tempfile.TemporaryDirectory(prefix="qualification-") as folder, background(options.load):
        _run(create(Path(folder)), options)


def _options(arguments: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--minutes", type=float, required=True, help="start no round that would end later")
    parser.add_argument("--load", type=int, default=1, help="processes that keep a core busy all the while")
    parser.add_argument("--opsdebug", default=str(Path(sys.executable).with_name("opsdebug")), help="our command")
    parser.add_argument(
        "--peers-python", help="interpreter with asv, pytest-benchmark, torch and numpy; none: no peers"
    )
    parser.add_argument("--asv-every", type=int, default=ASV_EVERY, help="ask asv in every so many rounds")
    parser.add_argument("--out", type=Path, required=True, help="file of trials, appended to")
    return parser.parse_args(arguments)


def _run(repository: Repository, options: argparse.Namespace) -> None:
    earlier = [trial.round for trial in read(options.out)]
    number = max(earlier, default=-1) + 1
    measured = [measure(repository.base, sys.executable) for _ in range(CALIBRATIONS)]
    best_ns = {name: statistics.median(one.min_ns(name) for one in measured) for name in measured[0].kernels}
    excess_ns = statistics.median(one.excess_ns for one in measured)
    runs = SingleRuns(sys.executable, measured[-1])
    rules = _rules(options, runs)
    began, longest_s = time.monotonic(), 0.0
    while (passed_s := time.monotonic() - began) == 0 or passed_s + longest_s <= options.minutes * 60:
        plan = planting(number, list(best_ns))
        waits = spins(plan.shares, best_ns, excess_ns)
        planted_ns = {name: wait + excess_ns for name, wait in waits.items()}
        write_head(repository, number, waits)
        trials = _judged(repository, Round(number=number, planting=plan, planted_ns=planted_ns), rules, options.out)
        best_ns |= _base_ns(trials, runs.newest)
        longest_s = max(longest_s, time.monotonic() - began - passed_s)
        number += 1


def _rules(options: argparse.Namespace, runs: SingleRuns) -> list[Rule]:
    ours: list[Rule] = [Opsdebug(executable=options.opsdebug), Stored(runs), Stored(runs, divided=True)]
    if options.peers_python is None:
        return ours
    asv = Asv(python=options.peers_python, every=options.asv_every)
    return [*ours, PytestBenchmark(python=options.peers_python), asv]


def _judged(repository: Repository, plan: Round, rules: Sequence[Rule], out: Path) -> list[Trial]:
    """Ask every rule whose turn it is; what each says is written at once."""
    trials: list[Trial] = []
    operators = list(plan.planting.shares)
    for rule in rules:
        if plan.number % rule.every:
            continue
        began = time.monotonic()
        judgement = _asked(rule, repository, operators)
        found = trials_of(rule.name, plan, judgement, time.monotonic() - began)
        append(out, found)
        trials += found
        alarms = [trial.operator for trial in found if trial.answer is Answer.REGRESSED]
        _say(f"round {plan.number} {plan.planting.kind.value}: {rule.name}: {found[0].round_s:.0f} s, alarms {alarms}")
    return trials


def _asked(rule: Rule, repository: Repository, operators: Sequence[str]) -> Judgement:
    """What the rule says; of operators it does not mention, that it said nothing."""
    try:
        judgement = rule.judge(repository)
        missing = "not mentioned"
    except RuleError as failure:
        judgement, missing = Judgement(readings=()), str(failure)
        _say(f"{rule.name} failed: {failure}")
    mentioned = {reading.operator for reading in judgement.readings if not reading.control}
    silent = (
        Reading(operator=name, answer=Answer.FAILED, said=missing, ratio=None)
        for name in operators
        if name not in mentioned
    )
    return Judgement(readings=(*judgement.readings, *silent), processes=judgement.processes)


def trials_of(rule: str, plan: Round, judgement: Judgement, round_s: float) -> list[Trial]:
    """What is written of one rule in one round."""
    at = datetime.now(timezone.utc).isoformat(timespec="seconds")
    return [
        Trial(
            round=plan.number,
            at=at,
            rule=rule,
            operator=reading.operator,
            kind=Kind.CONTROL if reading.control else plan.planting.kind,
            share=0.0 if reading.control else plan.planting.shares[reading.operator],
            spin_ns=0.0 if reading.control else plan.planted_ns.get(reading.operator, 0.0),
            answer=reading.answer,
            said=reading.said,
            ratio=reading.ratio,
            base_ns=reading.base_ns,
            round_s=round_s,
            launches=reading.launches,
            processes=judgement.processes,
            cost_s=reading.cost_s,
        )
        for reading in judgement.readings
    ]


def _base_ns(trials: Sequence[Trial], newest: Measured) -> dict[str, float]:
    """The base's time now: median launch minimum of ours, or the newest single run; clocks drift."""
    times = {name: newest.min_ns(name) for name in newest.kernels}
    for trial in trials:
        minima = [launch.min_ns for launch in trial.launches if launch.arm == "base" and launch.part != "run"]
        if minima and trial.kind is not Kind.CONTROL:
            times[trial.operator] = statistics.median(minima)
    return times


def _say(text: str) -> None:
    sys.stderr.write(f"{datetime.now(timezone.utc):%H:%M:%S} {text}\n")


if __name__ == "__main__":
    main()

"""The table of an experiment: false alarms and detection of every rule, with exact bounds.

    python tests/benchmarks/qualification/summary.py trials.jsonl
    python tests/benchmarks/qualification/summary.py trials.jsonl --write docs/qualification.md

An inconclusive answer is neither an alarm nor a find, and counts as a trial. An operator of which a rule could say
nothing because it failed is no trial, and is counted apart.
"""

from __future__ import annotations

import argparse
import statistics
import sys
from collections.abc import Iterable, Sequence
from pathlib import Path

from bounds import lower, upper
from rotation import UNIFORM_SHARE
from trials import Answer, Kind, Trial, read

BEGIN = "<!-- summary of the experiment: written by summary.py -->"
"""The table stands between this line and the next."""

END = "<!-- end of the summary -->"

HEADER = (
    "rule",
    "A/A: alarms",
    "rate, at most",
    "A/A rounds with an alarm",
    "+5 % found",
    "+10 % found",
    "+15 % found",
    "uniform +10 % found",
    "slower by 10 or 15 %, only suspected",
    "inconclusive",
    "failed",
    "s a round",
)


def main(arguments: Sequence[str] | None = None) -> None:
    """Print, or write into a document."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("trials", type=Path, help="file of the experiment")
    parser.add_argument("--write", type=Path, help="document whose table is replaced")
    options = parser.parse_args(arguments)
    text = summary(read(options.trials))
    sys.stdout.write(text)
    if options.write is not None:
        page = options.write.read_text(encoding="utf-8")
        options.write.write_text(replaced(page, text), encoding="utf-8")


def summary(trials: Sequence[Trial]) -> str:
    """Markdown: when and how much, the table, how much was planted in fact, and what was answered wrongly."""
    if not trials:
        return "No trials.\n"
    rules = list(dict.fromkeys(trial.rule for trial in trials))
    table = [row(rule, [trial for trial in trials if trial.rule == rule]) for rule in rules]
    parts = [_extent(trials), _markdown(HEADER, table), *_controls(trials), *_planted(trials, rules), _alarms(trials)]
    return "\n\n".join(parts) + "\n"


def row(rule: str, trials: Sequence[Trial]) -> tuple[str, ...]:
    """One rule's counts."""
    judged = [trial for trial in trials if trial.kind is not Kind.CONTROL and trial.answer is not Answer.FAILED]
    same = [trial for trial in judged if trial.share == 0]
    uniform = [trial for trial in judged if trial.kind is Kind.UNIFORM]
    mixed = [trial for trial in judged if trial.kind is Kind.MIXED]
    large = [trial for trial in mixed if trial.share >= 0.10]
    alarms = _count(same, Answer.REGRESSED)
    failed = _count((trial for trial in trials if trial.kind is not Kind.CONTROL), Answer.FAILED)
    return (
        rule,
        f"{alarms} of {len(same)}",
        f"{alarms / len(same):.1%}, {upper(alarms, len(same)):.1%}" if same else "-",
        _rounds(judged),
        *(_found([trial for trial in mixed if trial.share == share]) for share in (0.05, 0.10, 0.15)),
        _found(uniform),
        f"{_count(large, Answer.SUSPECTED)} of {len(large)}",
        f"{_count(judged, Answer.INCONCLUSIVE)} of {len(judged)}",
        str(failed),
        f"{statistics.median(seconds):.0f}" if (seconds := _seconds(judged)) else "-",
    )


def replaced(page: str, text: str) -> str:
    """The page with another table.

    Raises:
        ValueError: it has no place for one.
    """
    before, begin, rest = page.partition(BEGIN)
    _, end, after = rest.partition(END)
    if not begin or not end:
        raise ValueError(f"the page has no lines {BEGIN!r} and {END!r}; put them where the table belongs")
    return f"{before}{begin}\n\n{text}\n{end}{after}"


def _count(trials: Iterable[Trial], answer: Answer) -> int:
    return sum(trial.answer is answer for trial in trials)


def _found(trials: Sequence[Trial]) -> str:
    if not trials:
        return "-"
    found = _count(trials, Answer.REGRESSED)
    return f"{found} of {len(trials)} ({found / len(trials):.1%}, at least {lower(found, len(trials)):.1%})"


def _rounds(judged: Sequence[Trial]) -> str:
    """Of rounds without any slowdown, those in which the rule alarmed for some operator."""
    rounds = {trial.round for trial in judged if trial.kind is Kind.SAME}
    loud = {trial.round for trial in judged if trial.kind is Kind.SAME and trial.answer is Answer.REGRESSED}
    return f"{len(loud)} of {len(rounds)}" if rounds else "-"


def _seconds(judged: Sequence[Trial]) -> list[float]:
    return list({trial.round: trial.round_s for trial in judged}.values())


def _extent(trials: Sequence[Trial]) -> str:
    times = sorted(trial.at for trial in trials)
    rounds = len({trial.round for trial in trials})
    operators = len({trial.operator for trial in trials})
    return (
        f"{rounds} rounds of {operators} operators, {times[0]} to {times[-1]}. "
        "*At most* and *at least* are one-sided 95 % bounds (Clopper-Pearson)."
    )


def _controls(trials: Sequence[Trial]) -> list[str]:
    """What rules found when they compared the base with itself of their own accord."""
    controls = [trial for trial in trials if trial.kind is Kind.CONTROL and trial.answer is not Answer.FAILED]
    if not controls:
        return []
    alarms = _count(controls, Answer.REGRESSED)
    return [
        f"Controls of our own runs, the base against itself: {alarms} alarms of {len(controls)}, "
        f"at most {upper(alarms, len(controls)):.1%}."
    ]


def _planted(trials: Sequence[Trial], rules: Sequence[str]) -> list[str]:
    """What the waits of +10 % came to beside the base as each rule timed it: the planting is only as good as this."""
    rows = []
    for rule in rules:
        wanted = [trial for trial in trials if trial.rule == rule and trial.share == UNIFORM_SHARE]
        shares = sorted(trial.spin_ns / trial.base_ns for trial in wanted if trial.base_ns)
        if shares:
            tenth = len(shares) // 10
            rows.append(
                (rule, *(f"{share:.1%}" for share in (shares[tenth], shares[len(shares) // 2], shares[~tenth])))
            )
    if not rows:
        return []
    title = "Planted as +10 %, beside the base's time as the rule read it:"
    return [title, _markdown(("rule", "tenth percentile", "median", "ninetieth"), rows)]


def _alarms(trials: Sequence[Trial]) -> str:
    """Every false alarm of ours, in its own words."""
    wrong = [
        f"- round {trial.round}, {trial.operator}: {trial.said}"
        for trial in trials
        if trial.rule.startswith("opsdebug") and trial.share == 0 and trial.answer is Answer.REGRESSED
    ]
    return "\n".join(["False alarms of ours: " + ("" if wrong else "none."), *wrong])


def _markdown(header: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    lines = [header, ["---"] * len(header), *rows]
    return "\n".join("| " + " | ".join(line) + " |" for line in lines)


if __name__ == "__main__":
    main()

"""`opsdebug replay` in words: what became of each bundle, and how sure that is.

Decides the sentences. How steadily a failure shows is `failures.flakiness`' to say; a bundle's own words are shown, and
made inert, for whoever sent it may have written anything.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence

from opsdebug_ci.model.replay import ReplayDocument, ReplayedBundle, ReplayOutcome, ShrunkReplay, Steadiness
from opsdebug_ci.model.selftest import Rate
from opsdebug_ci.report.escape import plain
from opsdebug_ci.report.subject import ending_lines

SHORT = 12
"""Digits of a sha256 that are shown: 48 bits tell ten thousand bundles apart with probability 0.9999998."""

WIDTH = 300
"""Characters of a bundle's own sentence that are shown."""

STEADINESS: Mapping[Steadiness, str] = {
    Steadiness.DETERMINISTIC: "deterministic",
    Steadiness.FLAKY: "flaky",
    Steadiness.UNSETTLED: "too few tries to say whether always",
    Steadiness.UNREPRODUCED: "no proof that it is gone",
}
"""What each class is called in a sentence."""


NOT_ALWAYS = "not always, but too few tries to say how often"
"""What is said where it showed in some tries, passed in others, and its rate is not known well."""


def replay_conclusion(bundles: Sequence[ReplayedBundle]) -> tuple[str, ...]:
    """Sentences, the most telling first."""
    if not bundles:
        return ("there is no bundle to replay",)
    if len(bundles) == 1:
        return outcome_sentences(bundles[0])
    counts = Counter(bundle.outcome for bundle in bundles)
    listed = ", ".join(f"{counts[outcome]:,} {_NAMES[outcome]}" for outcome in ReplayOutcome if counts[outcome])
    return (f"of {len(bundles):,} bundles {listed}",)


_NAMES: Mapping[ReplayOutcome, str] = {
    ReplayOutcome.REPRODUCED: "reproduced",
    ReplayOutcome.NOT_REPRODUCED: "not reproduced",
    ReplayOutcome.OTHERWISE: "failing in another way",
    ReplayOutcome.REFUSED: "refused",
    ReplayOutcome.IMPOSSIBLE: "impossible on this machine",
    ReplayOutcome.GONE: "without an operator",
    ReplayOutcome.UNJUDGED: "not judged",
}


def outcome_sentences(bundle: ReplayedBundle) -> tuple[str, ...]:
    """What became of one bundle."""
    return _SENTENCES[bundle.outcome](bundle)


def _reproduced(bundle: ReplayedBundle) -> tuple[str, ...]:
    counts = bundle.counts
    how = STEADINESS[bundle.steadiness] if bundle.steadiness is not None else ""
    if bundle.steadiness is Steadiness.UNSETTLED:
        how = f"every time, but {how}" if counts.reproduced == counts.judged else NOT_ALWAYS
    return (
        f"reproduced {counts.reproduced:,} of {counts.judged:,}{interval(bundle.rate)}: {how}",
        *_besides(bundle),
    )


def _not_reproduced(bundle: ReplayedBundle) -> tuple[str, ...]:
    tries = "1 try" if bundle.counts.judged == 1 else f"{bundle.counts.judged:,} tries"
    how = STEADINESS[Steadiness.UNREPRODUCED]
    return (f"not reproduced in {tries}{interval(bundle.rate)}: {how}", *_besides(bundle))


def _otherwise(bundle: ReplayedBundle) -> tuple[str, ...]:
    counts = bundle.counts
    first = f"not reproduced, but {counts.otherwise:,} of {counts.judged:,} tries failed in another way"
    return (first, *_besides(bundle))


def _besides(bundle: ReplayedBundle) -> tuple[str, ...]:
    others = tuple(
        f"{other.count:,} x another failure, {other.verdict} {other.fingerprint}: {plain(other.statement, WIDTH)}"
        for other in bundle.others
    )
    unjudged = bundle.counts.unjudged
    tries = "1 try" if unjudged == 1 else f"{unjudged:,} tries"
    return (*others, f"{tries} could not be judged: {_reason(bundle)}") if unjudged else others


def _refused(bundle: ReplayedBundle) -> tuple[str, ...]:
    return (f"refused: {_reason(bundle)}",)


def _impossible(bundle: ReplayedBundle) -> tuple[str, ...]:
    return (f"this machine cannot run it: {_reason(bundle)}",)


def _gone(bundle: ReplayedBundle) -> tuple[str, ...]:
    return (f"skipped: {_reason(bundle)}",)


def _unjudged(bundle: ReplayedBundle) -> tuple[str, ...]:
    return (f"nothing could be judged: {_reason(bundle)}",)


_SENTENCES: Mapping[ReplayOutcome, Callable[[ReplayedBundle], tuple[str, ...]]] = {
    ReplayOutcome.REPRODUCED: _reproduced,
    ReplayOutcome.NOT_REPRODUCED: _not_reproduced,
    ReplayOutcome.OTHERWISE: _otherwise,
    ReplayOutcome.REFUSED: _refused,
    ReplayOutcome.IMPOSSIBLE: _impossible,
    ReplayOutcome.GONE: _gone,
    ReplayOutcome.UNJUDGED: _unjudged,
}


def _reason(bundle: ReplayedBundle) -> str:
    return plain(bundle.reason or "no reason was given", WIDTH).rstrip(".")


def interval(rate: Rate | None) -> str:
    """` (Wilson 95 %: 83.9 to 100 %)`; nothing where nothing was counted."""
    return "" if rate is None else f" (Wilson 95 %: {_percent(rate.low)} to {_percent(rate.high)} %)"


def _percent(share: float) -> str:
    return f"{100 * share:.3g}"


def replay_text(document: ReplayDocument) -> str:
    """The answer as text, ending in a newline."""
    first, *rest = document.conclusion
    sections = [
        [f"REPLAY: {plain(first)}", *(f"  {plain(sentence)}" for sentence in rest)],
        *(_bundle(bundle, alone=len(document.bundles) == 1) for bundle in document.bundles),
        ending_lines(document.next),
    ]
    return "\n\n".join("\n".join(section) for section in sections if section) + "\n"


def _bundle(bundle: ReplayedBundle, *, alone: bool) -> list[str]:
    """Which bundle, what it recorded, what is run now, and what is not as it was."""
    name = bundle.sha256[:SHORT] or "without a sha256"
    outcome = [] if alone else [f"  {sentence}" for sentence in outcome_sentences(bundle)]
    lines = [f"bundle {name} in {plain(bundle.place)}", *outcome]
    if bundle.case is not None:
        cause = f"{bundle.cause}: " if bundle.cause is not None else ""
        lines += [f"  case {plain(bundle.case.name)}", f"  recorded {cause}{plain(bundle.statement or '-', WIDTH)}"]
    if bundle.source is not None:
        lines.append(f"  operator at {plain(bundle.source)}{_moved(bundle)}")
    if bundle.case is not None and bundle.counts.judged:
        digest = bundle.inputs_digest
        kept = (
            "made from the case: the bundle has none"
            if digest is None
            else f"bit for bit those of digest {digest[:SHORT]}"
        )
        lines.append(f"  inputs {kept}")
    lines += [f"  {plain(d.fact)} was {plain(d.recorded)}, here {plain(d.here)}" for d in bundle.differences]
    lines += [] if bundle.shrunk is None else _shrunk(bundle.shrunk)
    return [*lines, *(f"  note: {plain(note)}" for note in bundle.notes)]


def _shrunk(shrunk: ShrunkReplay) -> list[str]:
    """The smaller case, its border, and what else was met."""
    effort = f"{shrunk.trials:,} runs, {shrunk.seconds:.3g} s"
    ended = "; the budget ended it" if shrunk.ended else ""
    if not shrunk.smaller:
        return [f"  nothing smaller fails alike: {effort}{ended}", *(f"  note: {plain(note)}" for note in shrunk.notes)]
    unsure = "" if shrunk.verified else "; its cause could not be compared"
    kept = f", bundle {shrunk.bundle[:SHORT]}" if shrunk.bundle is not None else ""
    return [
        f"  shrunk to {plain(shrunk.case.name)}{kept}: {effort}{ended}{unsure}",
        *(f"    {plain(text)}" for text in (shrunk.boundary, shrunk.values) if text is not None),
        *(f"    another failure on the way: {plain(other, WIDTH)}" for other in shrunk.others),
        *(f"    note: {plain(note)}" for note in shrunk.notes),
    ]


def _moved(bundle: ReplayedBundle) -> str:
    commit = f" at commit {plain(bundle.commit, SHORT)}" if bundle.commit else ""
    if bundle.recorded_source is None or bundle.recorded_source == bundle.source:
        return f"; it failed{commit}" if commit else ""
    return f"; it was at {plain(bundle.recorded_source)}{commit}"

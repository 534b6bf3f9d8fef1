"""What a publication comes to, in one sentence a busy person can act on, and the counts behind it.

Decides what is named: what is missing and why, what is wrong with the failure of most cases, the other operators that
are wrong, those that are slower; before any count. The counts alone are free of text of others.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from opsdebug_ci.model.judgement import Group
from opsdebug_ci.model.publication import Conclusion, Publication, ShardState
from opsdebug_ci.model.shard import DEFAULT_SUITE
from opsdebug_ci.model.speed import ComparisonRun
from opsdebug_ci.report import rollup, speed
from opsdebug_ci.report.comment.brief import CUT
from opsdebug_ci.report.comment.failures import new_groups
from opsdebug_ci.report.comment.lacking import lacking_sentence
from opsdebug_ci.report.comment.leading import leading_failure
from opsdebug_ci.report.comment.names import listed, name, with_causes
from opsdebug_ci.report.comment.places import commit_link
from opsdebug_ci.report.comment.regressions import waiting_regressions
from opsdebug_ci.report.comment.since_push import fixed_words
from opsdebug_ci.report.escape import md_text
from opsdebug_ci.report.figures import counted

_UNNAMED = re.compile("[^A-Za-z0-9._-]")
"""What no suite or stage has in its name."""

ACCEPTED = "slower, accepted"
"""What the counts say of operators that became slower, which a person has accepted."""

OTHERS_NAMED = 2
"""Operators beside the one whose failure is told: whoever wants all of them reads the list."""

SENTENCE_LIMIT = 300
"""Characters of a sentence about speed: a name, three numbers, a commit."""


def verdict_block(publication: Publication, *, named: bool = True) -> str:
    """The verdict, then the counts; without names it is short whatever the input."""
    at = commit_link(publication.links, publication.head_commit)
    where = f" at {at}" if at else ""
    title = f"**opsdebug {_name_of(publication)}: {publication.conclusion}**{where}"
    sentence = f": {_sentence(publication)}" if named else ""
    stop = "" if sentence.endswith(CUT) else "."
    return f"{title}{sentence}{stop}  \n{_capital(counts(publication))}."


def counts(publication: Publication) -> str:
    """How many cases of how many operators came to what, and from how many shards; no text of others."""
    document, total = publication.document, len(publication.shards)
    waiting, accepted = len(waiting_regressions(publication)), len(publication.accepted)
    taken = sum(shard.state is ShardState.TAKEN for shard in publication.shards)
    run = _comparison(publication)
    unsettled = 0 if run is None else speed.unsettled(run)
    clauses = [
        "no case was judged" if document is None else rollup.judged(document),
        *([f"{counted(waiting, 'operator')} slower, needs a person"] if waiting else []),
        *([f"{counted(accepted, 'operator')} {ACCEPTED}"] if accepted else []),
        *_shown(run),
        *([f"speed of {counted(unsettled, 'operator')} not settled"] if unsettled else []),
        *([f"from {taken} of {total} shards" if taken < total else f"from {total} shards"] if total > 1 else []),
    ]
    return "; ".join(clauses)


def _comparison(publication: Publication) -> ComparisonRun | None:
    """What was compared; None: nothing."""
    performance = None if publication.document is None else publication.document.performance
    return None if performance is None else performance.comparison


def _shown(run: ComparisonRun | None) -> list[str]:
    """Operators that showed a slowdown which was not confirmed, in numbers: `1 operator 14 times as long, ...`."""
    shown = () if run is None else speed.unconfirmed(run)
    if run is None or not shown:
        return []
    most = "" if len(shown) == 1 else "up to "
    return [f"{counted(len(shown), 'operator')} {most}{speed.unconfirmed_words(run)}"]


def _sentence(publication: Publication) -> str:
    clauses = [
        lacking_sentence(publication),
        *_wrong(publication),
        *_slower(publication),
        *_accepted(publication),
    ]
    told = "; ".join(filter(None, clauses))
    shown = _unconfirmed(publication)
    return "; ".join([told, *shown] if told else [*shown, _nothing(publication, beside=bool(shown))])


def _unconfirmed(publication: Publication) -> list[str]:
    """What showed a slowdown that was not confirmed, by name: `**softmax**: 14 times as long, not confirmed ...`."""
    run = _comparison(publication)
    shown = () if run is None else speed.unconfirmed(run)
    if run is None or not shown:
        return []
    others = [name(group.worst.case.operator) for group in shown[1:]]
    more = f"; and {listed(others, OTHERS_NAMED)}" if others else ""
    return [f"**{name(shown[0].worst.case.operator)}**: {speed.unconfirmed_words(run)}{more}"]


def _wrong(publication: Publication) -> list[str]:
    document = publication.document
    groups = () if document is None else document.summary.groups
    new = () if document is None else new_groups(document)
    if new and document is not None:
        idle = "; nothing of it gates" if publication.conclusion is Conclusion.PASS else ""
        return [f"{leading_failure(document, new[0])}{_beside(new[0], new[1:])}{idle}"]
    if groups and publication.conclusion is Conclusion.FAIL:
        return [f"{_operators(groups)} still {'fails' if len(_named(groups)) == 1 else 'fail'}, as was known"]
    return []


def _slower(publication: Publication) -> list[str]:
    waiting = waiting_regressions(publication)
    document, run = publication.document, _comparison(publication)
    if not waiting or document is None:
        return []
    if publication.conclusion is Conclusion.REGRESSED and run is not None and waiting == document.regressions:
        return [f"{md_text(speed.conclusion(run), SENTENCE_LIMIT)}; a person must say whether it is worth it"]
    return [f"{listed([name(one) for one in waiting])} became slower, which needs a person"]


def _accepted(publication: Publication) -> list[str]:
    if publication.conclusion is not Conclusion.ACCEPTED:
        return []
    names = listed([name(one.operator) for one in publication.accepted])
    return [f"{names} became slower, which {listed(_people(publication))} accepted"]


def _people(publication: Publication) -> list[str]:
    return [name(login) for login in dict.fromkeys(one.by for one in publication.accepted)]


def _nothing(publication: Publication, *, beside: bool) -> str:
    """What is said where nothing is wrong, `beside` something that may be."""
    document = publication.document
    if publication.conclusion is Conclusion.INCONCLUSIVE:
        return "it cannot be said whether the operators are right"
    known = 0 if document is None else len(document.summary.groups)
    nothing = "nothing else" if beside else "nothing"
    found = f"{nothing} new is wrong, {counted(known, 'cause')} known already" if known else f"{nothing} is wrong"
    return "; ".join(filter(None, (found, fixed_words(publication))))


def _beside(lead: Group, rest: Sequence[Group]) -> str:
    """What else is wrong: more of the operator that is told, then others by name."""
    more = sum(group.operator == lead.operator for group in rest)
    others = [group for group in rest if group.operator != lead.operator]
    words = [
        *([f"{counted(more, 'more cause')} in it"] if more else []),
        *([_operators(others)] if others else []),
    ]
    return "".join(f"; and {word}" for word in words)


def _operators(groups: Sequence[Group]) -> str:
    """`softmax (tail_mask)`: with its causes where the operator has few."""
    return with_causes(((group.operator, str(group.cause)) for group in groups), OTHERS_NAMED)


def _named(groups: Sequence[Group]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(group.operator for group in groups))


def _name_of(publication: Publication) -> str:
    """`smoke`, with its suite where that is not the default one: nothing that needs escaping, as in the marker."""
    stage, suite = (_UNNAMED.sub("-", word)[:64] for word in (publication.stage, publication.suite))
    return stage if suite == DEFAULT_SUITE else f"{stage} (`{suite}`)"


def _capital(sentence: str) -> str:
    return f"{sentence[:1].upper()}{sentence[1:]}"

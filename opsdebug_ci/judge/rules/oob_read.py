"""Outputs that follow bytes of no element of any argument."""

from __future__ import annotations

from collections.abc import Iterator

from opsdebug_ci.judge.quantity import quantity
from opsdebug_ci.judge.rules.guarded import limit, moment
from opsdebug_ci.judge.rules.rule import Evidence, Subject
from opsdebug_ci.model.finding import Finding
from opsdebug_ci.model.memory import ForeignRead
from opsdebug_ci.model.vocabulary import Cause, Side

CONFIDENCE = 0.97
"""The bytes were changed, alone, and the bits followed."""

EXPLAINED = 0.85
"""The same where something else explains why they were read."""


def oob_read(subject: Subject) -> Iterator[Finding]:
    """Fires when output elements change with what lies around the arguments, or around the operator's own memory.

    Silent about what is read and makes no difference: vector code reads ahead. Less sure where a clue says that strides
    were ignored: the bytes are then read because of that.
    """
    strides = any(clue.cause is Cause.STRIDE_VIEW for clue in subject.observation.clues)
    for read in subject.observation.reads:
        follow = "follows" if read.elements == 1 else "follow"
        statement = (
            f"{quantity(read.elements, 'element')} of `{read.output}` {follow} what lies {_where(read)}: other bits "
            f"with {read.fill} there{moment(read.step, read.place)}"
        )
        evidence: Evidence = {
            "argument": read.argument,
            "side": str(read.side),
            "output": read.output,
            "elements": read.elements,
            "fill": read.fill,
            "step": read.step,
            "place": read.place,
            "limit": limit(subject),
        }
        yield subject.finding(Cause.OOB_READ, EXPLAINED if strides else CONFIDENCE, statement, evidence)


def _where(read: ForeignRead) -> str:
    whose = "the arguments" if read.argument is None else f"`{read.argument}`"
    if read.side is Side.GAP:
        return f"between the elements of {whose}, in its storage" if read.argument else f"between elements of {whose}"
    if read.side is Side.HEAD:
        return f"before {whose}"
    return f"behind {whose}" if read.argument else f"around {whose}"

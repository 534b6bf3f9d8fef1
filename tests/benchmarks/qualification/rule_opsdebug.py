"""`opsdebug compare`, asked as its users ask it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import final

import msgspec
from repository import Repository
from rules import Judgement, Reading, Rule, RuleError, command
from single_process import environment
from trials import Answer, Launch

from opsdebug_ci.model.speed import COMPARE_SCHEMA, CompareDocument, Comparison, SpeedVerdict

ANSWERS = {
    SpeedVerdict.REGRESSED: Answer.REGRESSED,
    SpeedVerdict.SUSPECTED: Answer.SUSPECTED,
    SpeedVerdict.SAME: Answer.QUIET,
    SpeedVerdict.FASTER: Answer.QUIET,
    SpeedVerdict.INCONCLUSIVE: Answer.INCONCLUSIVE,
    SpeedVerdict.NEW: Answer.FAILED,
    SpeedVerdict.MISSING: Answer.FAILED,
}
"""Every operator is in both commits: one that is new or missing was not found."""


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class Opsdebug(Rule):
    """This project."""

    executable: str
    """Path of `opsdebug`."""

    @property
    def name(self) -> str:
        return "opsdebug compare"

    def judge(self, repository: Repository) -> Judgement:
        words = [self.executable, "compare", "--base", "main", "--head", "head", "--json"]
        ran = command(words, folder=repository.base, environment=environment())
        try:
            return read(ran.out)
        except msgspec.DecodeError as error:
            raise RuleError(f"exit code {ran.code}, {error}: {ran.tail}") from error


def read(text: str) -> Judgement:
    """What a document says.

    Raises:
        msgspec.DecodeError: it is no such document.
    """
    document = msgspec.json.decode(text, type=CompareDocument)
    if document.schema != COMPARE_SCHEMA:
        raise msgspec.ValidationError(f"`schema` is {document.schema!r}; wanted {COMPARE_SCHEMA!r}")
    run = document.run
    readings = [
        *(_reading(comparison, control=False) for comparison in run.comparisons),
        *(_reading(comparison, control=True) for comparison in run.controls),
    ]
    return Judgement(readings=tuple(readings), processes=run.processes)


def _reading(comparison: Comparison, *, control: bool) -> Reading:
    effect = comparison.effect
    return Reading(
        operator=comparison.case.operator,
        answer=ANSWERS[comparison.verdict],
        said=f"{comparison.verdict.value}: {comparison.statement}",
        ratio=None if effect is None else effect.ratio,
        base_ns=comparison.base_ns,
        launches=tuple(
            Launch(arm=launch.arm, part=launch.round.value, min_ns=launch.min_ns, median_ns=launch.median_ns)
            for launch in comparison.launches
        ),
        cost_s=comparison.cost_s,
        control=control,
    )

"""What a step of the action comes to: computed first, told in one place.

Decides what a step without a run looks like. Deliberately tells nothing.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from opsdebug_ci.errors import OpsdebugError
from opsdebug_ci.github.workflow_commands import Annotation, Level
from opsdebug_ci.model import RunDocument, Verdict
from opsdebug_ci.model.published import PublishedDocument
from opsdebug_ci.pipeline.shard_report import LeftShard

NEXT = "next:"
"""How the line begins that says what to do."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Outcome:
    """What the step tells; computed first, applied in one place."""

    exit_code: int
    """Exit code of the step."""

    verdict: str
    """Verdict of the run; `error` when there is none."""

    failures: int
    """Cases that failed, crashed or timed out."""

    regressions: int
    """Operators that became slower and need a person."""

    annotations: tuple[Annotation, ...]
    """Remarks beside the code."""

    summary: str = ""
    """Markdown for the job summary; empty: nothing goes there."""

    report: Path | None = None
    """The document, when there is one."""

    summary_file: Path | None = None
    """The markdown as a file, when there is a document."""

    document: RunDocument | None = None
    """The run; None: there is none."""

    error: str = ""
    """Why there is none; untrusted text."""

    shard: LeftShard | None = None
    """What the job leaves for the one that tells; None: nothing."""

    bundles: Path | None = None
    """Directory of failure bundles, when there are any."""

    told: PublishedDocument | None = None
    """What was published; None: the step publishes nothing."""


def failed(error: OpsdebugError) -> Outcome:
    """The outcome of a run that could not be made: one line of error."""
    remark = remark_of(error, Level.ERROR)
    return failure(error.exit_code, remark.title, remark.message)


def remark_of(error: OpsdebugError, level: Level) -> Annotation:
    """An error as a remark of one line."""
    message = in_one_line(" ".join(line.split()) for line in str(error).splitlines())
    return Annotation(level=level, title=f"opsdebug: {error.code}", message=message)


def in_one_line(lines: Iterable[str]) -> str:
    """An error's lines as one, in which what to do next is set off from what is wrong."""
    text = ""
    for line in filter(None, lines):
        set_off = line.startswith(NEXT) and text[-1:] not in tuple(".?!:;")
        text += f"{'; ' if set_off else ' ' if text else ''}{line}"
    return text


def last_words(lines: Iterable[str]) -> str:
    """What a command said before it ended without an answer."""
    return in_one_line(lines) or "the command ended without a word; next: run it by hand"


def failure(exit_code: int, title: str, message: str) -> Outcome:
    """The outcome of a step that has no run, and why."""
    remark = Annotation(level=Level.ERROR, title=title, message=message)
    return Outcome(
        exit_code=exit_code,
        verdict=str(Verdict.ERROR),
        failures=0,
        regressions=0,
        annotations=(remark,),
        error=f"{title}: {message}",
    )

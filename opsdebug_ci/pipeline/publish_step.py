"""The run step of the action where it tells what other jobs found: one `opsdebug publish`.

Decides what that process is given: the token, since no code of the change runs here, and every choice as an option of
the workflow's own. What GitHub would not let it say, this step says in its log and summary.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TextIO

from opsdebug_ci.errors import InternalError, UsageError
from opsdebug_ci.github.environment import child_environment, with_token
from opsdebug_ci.github.inputs import ActionInputs
from opsdebug_ci.github.plain_text import one_line
from opsdebug_ci.github.workflow_commands import Annotation, Level
from opsdebug_ci.model.published import PublishedDocument, Remark
from opsdebug_ci.model.vocabulary import Gate
from opsdebug_ci.pipeline.child import run_child
from opsdebug_ci.pipeline.step_outcome import Outcome, failure, last_words
from opsdebug_ci.report import decode_published

DOCUMENT_CODES: tuple[int, ...] = (0, 1, 3, 4)
"""Exit codes of `opsdebug publish` that may come with a document."""

NOTHING_SAID = "none"
"""Verdict of a step that had nothing to say."""

LINE_LIMIT = 1_000
"""Characters of the line that tells it: two addresses and a few words."""

_LEVELS = {level.value: level for level in Level}


def publish_step(
    inputs: ActionInputs,
    directory: Path,
    document: Path,
    environ: Mapping[str, str],
    *,
    opsdebug: Sequence[str],
    stdout: TextIO,
) -> Outcome:
    """Tell, and what that came to.

    Args:
        inputs: of the action.
        directory: to run in.
        document: file for what was told.
        environ: the step's environment.
        opsdebug: the words that start the command line.
        stdout: where the runner reads commands.
    """
    result = run_child(
        [*opsdebug, *publish_arguments(inputs)],
        directory=directory,
        environ=with_token(child_environment(environ), environ),
        document=document,
        stdout=stdout,
    )
    told = _told(document) if result.exit_code in DOCUMENT_CODES else None
    if told is None:
        words = last_words(result.last_words)
        code = result.exit_code if result.exit_code > 0 else InternalError.exit_code
        return failure(code, f"opsdebug publish ended with {result.exit_code}", words)
    stdout.write(f"{_told_where(told)}\n")
    return _outcome(told, result.exit_code, inputs)


def _outcome(told: PublishedDocument, exit_code: int, inputs: ActionInputs) -> Outcome:
    remarks = told.remarks if inputs.annotations else ()
    return Outcome(
        exit_code=exit_code,
        verdict=told.conclusion or NOTHING_SAID,
        failures=told.failures,
        regressions=told.regressions,
        annotations=(*(_remark(remark) for remark in remarks), *(_note(note) for note in told.notes)),
        summary=told.summary if inputs.summary else "",
        told=told,
    )


def publish_arguments(inputs: ActionInputs) -> tuple[str, ...]:
    """Arguments of `opsdebug publish`. Values follow `=`, so none is ever read as an option."""
    options = {
        "--stage": inputs.stage,
        "--run-id": inputs.run_id,
        "--expected-shards": inputs.expected_shards,
        "--comment": inputs.comment,
        "--id": inputs.comment_id,
        "--workflow": inputs.workflow,
        "--author": inputs.comment_author,
        "--store": inputs.store,
        "--config": inputs.config,
        "--gate": str(Gate.NEVER) if inputs.gate == str(Gate.NEVER) else None,
    }
    return ("publish", "--json", *(f"{name}={value}" for name, value in options.items() if value))


def _told(document: Path) -> PublishedDocument | None:
    """None: the command ended with an error, and wrote none."""
    try:
        return decode_published(document.read_bytes())
    except UsageError:
        return None


def _told_where(told: PublishedDocument) -> str:
    """What was said and where, for who opens the log of a step that has failed."""
    what = f"{told.conclusion} at {told.head_commit[:7]}" if told.conclusion else "nothing to say"
    comment = ", ".join(filter(None, (told.comment, told.comment_url)))
    return one_line(f"opsdebug publish: {what}; comment {comment}; check {told.check_url or NOTHING_SAID}", LINE_LIMIT)


def _remark(remark: Remark) -> Annotation:
    level = _LEVELS.get(remark.level, Level.WARNING)
    return Annotation(level=level, title=remark.title, message=remark.message, file=remark.file, line=remark.line)


def _note(note: str) -> Annotation:
    return Annotation(level=Level.WARNING, title="opsdebug publish", message=note)

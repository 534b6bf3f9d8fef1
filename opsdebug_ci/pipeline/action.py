"""The run step of the GitHub Action: inputs in, one `opsdebug` run, outputs, summary and annotations out.

Decides in which order, and that a stranger's code never runs beside a token that can write. The run itself is a process
of its own, so that whatever happens to it the step still tells its outcome; what that process writes is shown with the
runner's commands stopped. Its steps:

(1) read the inputs and the event; (2) run; (3) tell. Steps before and after, creating the control side's environment
and exiting, are the caller's.
"""

from __future__ import annotations

import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TextIO

from opsdebug_ci.errors import EnvironmentLimitError, InternalError, OpsdebugError, UsageError
from opsdebug_ci.github.annotations import annotate
from opsdebug_ci.github.environment import child_environment
from opsdebug_ci.github.event import Event, read_event
from opsdebug_ci.github.input_use import check_use
from opsdebug_ci.github.inputs import CHANGED_AUTO, ActionInputs, given, read_inputs
from opsdebug_ci.github.outputs import write_outputs
from opsdebug_ci.github.runner import Runner, read_runner
from opsdebug_ci.github.summary import append_summary, fit_summary
from opsdebug_ci.github.workflow_commands import Annotation, Level, render_annotations
from opsdebug_ci.model import FAILING_VERDICTS, Stage
from opsdebug_ci.model.baseline import PULL_REQUEST_EVENTS
from opsdebug_ci.pipeline.child import ChildResult, run_child
from opsdebug_ci.pipeline.publish_step import publish_step
from opsdebug_ci.pipeline.push_step import push_step
from opsdebug_ci.pipeline.shard_report import Ending, bundle_directory, leave_shard
from opsdebug_ci.pipeline.step_outcome import Outcome, failed, failure, in_one_line, remark_of
from opsdebug_ci.plan import load_configuration
from opsdebug_ci.report import decode, markdown

DOCUMENT_CODES: tuple[int, ...] = (0, 1, 4)
"""Exit codes of `opsdebug ci` that come with a document."""

DEFAULT_PYTHON = "python3"
"""The job's interpreter, which set-up steps put first on PATH; the control side's own has no torch."""

FORK_ON_OWN_MACHINE = Annotation(
    level=Level.WARNING,
    title="opsdebug: a fork's code on your own machine",
    message="This pull request comes from a fork and runs on a self-hosted runner. Require approval for outside "
    "contributors, and use machines that are thrown away after the job.",
)
"""A stranger's operators run here with all the rights of the runner's account."""

TOKEN_WITHHELD = Annotation(
    level=Level.WARNING,
    title="opsdebug: the token is withheld",
    message="`token` is given where operators run, which are not shown it; it counts with `push` and `publish`. Leave "
    "it out here; where it is for a private store, docs/workflows.md shows how to check that out.",
)
"""Whoever gave it expects something of it."""


def run_action(environ: Mapping[str, str], *, opsdebug: Sequence[str], stdout: TextIO) -> int:
    """Run the step and return its exit code.

    Args:
        environ: the step's environment.
        opsdebug: the words that start the command line.
        stdout: where the runner reads commands.
    """
    runner = read_runner(environ)
    try:
        inputs = read_inputs(environ)
        check_use(environ)
        event = read_event(environ) if inputs.publish else _accepted(read_event(environ))
        if not inputs.publish and not inputs.push:
            stdout.writelines(f"{line}\n" for line in render_annotations(_warnings(event, runner, environ)))
        outcome = _run(inputs, event, runner, environ, opsdebug=opsdebug, stdout=stdout)
    except OpsdebugError as error:
        outcome = failed(error)
    outcome = _with_shard(outcome, runner, environ)
    return _tell(outcome, runner, stdout)


def _with_shard(outcome: Outcome, runner: Runner, environ: Mapping[str, str]) -> Outcome:
    """The outcome with what the job leaves for the one that tells. That it cannot be written changes no verdict."""
    ending = Ending(exit_code=outcome.exit_code, document=outcome.document, error=outcome.error)
    try:
        return replace(outcome, shard=leave_shard(ending, environ, runner))
    except EnvironmentLimitError as error:
        return replace(outcome, annotations=(*outcome.annotations, remark_of(error, Level.WARNING)))


def _warnings(event: Event, runner: Runner, environ: Mapping[str, str]) -> tuple[Annotation, ...]:
    """What is to be known of a job that runs operators, whatever comes of it."""
    strange, token = event.from_fork and runner.self_hosted, given(environ, "token")
    return (*([FORK_ON_OWN_MACHINE] if strange else []), *([TOKEN_WITHHELD] if token else []))


def _accepted(event: Event) -> Event:
    """`event`, unless it gives the code of a stranger more rights than it may have.

    NOTE: `issue_comment` is let pass: on such an event maintainers start runs on machines of their own, and whether the
    job's token can write, and whose code it checks out, its workflow decides.
    """
    if event.name == "pull_request_target":
        raise UsageError(
            "this job was triggered by `pull_request_target`, whose token can write; wanted `pull_request`",
            next_step="trigger the workflow by pull_request; the results go to the job summary",
        )
    if event.finished_event in PULL_REQUEST_EVENTS:
        raise UsageError(
            f"this job was triggered by the end of a run of `{event.finished_event}`, and its token can write; wanted "
            "no operator beside it",
            next_step="run operators in the workflow of pull_request, and here only `publish: true`",
        )
    return event


def _run(
    inputs: ActionInputs,
    event: Event,
    runner: Runner,
    environ: Mapping[str, str],
    *,
    opsdebug: Sequence[str],
    stdout: TextIO,
) -> Outcome:
    directory = runner.workspace / inputs.working_directory
    if not directory.is_dir():
        raise UsageError(
            f"`working-directory` is {inputs.working_directory!r}; wanted a directory of the repository",
            next_step="check the path, and that a checkout step comes first",
        )
    if inputs.publish:
        document = _new_directory(runner.temporary) / "published.json"
        return publish_step(inputs, directory, document, environ, opsdebug=opsdebug, stdout=stdout)
    if inputs.push:
        document = _new_directory(runner.temporary) / "sent.txt"
        return push_step(inputs, directory, document, environ, opsdebug=opsdebug, stdout=stdout)
    python = inputs.python or _configured_python(inputs, directory)
    report = _new_directory(runner.temporary) / "report.json"
    result = run_child(
        [*opsdebug, *arguments(inputs, event, python)],
        directory=directory,
        environ=child_environment(environ),
        document=report,
        stdout=stdout,
    )
    outcome = conclude(result, report, runner.workspace)
    return replace(
        outcome,
        summary=outcome.summary if inputs.summary else "",
        annotations=outcome.annotations if inputs.annotations or outcome.report is None else (),
        bundles=bundle_directory(directory),
    )


def _configured_python(inputs: ActionInputs, directory: Path) -> str:
    """Empty when the configuration names an interpreter, which the command line then finds by itself."""
    explicit = directory / inputs.config if inputs.config else None
    configuration = load_configuration(directory, explicit=explicit, operators_required=False)
    return DEFAULT_PYTHON if configuration.python is None else ""


def arguments(inputs: ActionInputs, event: Event, python: str) -> tuple[str, ...]:
    """Arguments of `opsdebug ci`. Values follow `=`, so none is ever read as an option."""
    base = "" if inputs.stage == str(Stage.REPLAY) else event.base_commit  # bundles are replayed whatever has changed
    changed = base if inputs.changed == CHANGED_AUTO else inputs.changed
    options = {
        "--stage": inputs.stage,
        "--config": inputs.config,
        "--operators": ",".join(inputs.operators),
        "--changed": changed,
        "--shard": inputs.shard,
        "--python": python,
        "--store": inputs.store,
        "--record": inputs.record,
        "--gate": inputs.gate,
        "--timeout": inputs.timeout,
        "--budget": inputs.budget,
    }
    return ("ci", "--json", *(f"{name}={value}" for name, value in options.items() if value))


def conclude(result: ChildResult, report: Path, workspace: Path) -> Outcome:
    """What a finished run comes to. Without a readable document it is never a pass."""
    if result.exit_code not in DOCUMENT_CODES:
        code = result.exit_code if result.exit_code > 0 else InternalError.exit_code
        words = in_one_line(result.last_words) or "the run ended without a word; next: run the same command by hand"
        return failure(code, f"opsdebug ended with {result.exit_code}", words)
    try:
        document = decode(report.read_bytes())
    except UsageError as error:
        raise InternalError(f"`opsdebug ci` ended with {result.exit_code}, but {error.message}") from error
    counts = document.summary.counts
    text = fit_summary(markdown(document))
    summary_file = report.with_name("summary.md")
    try:
        summary_file.write_text(text, encoding="utf-8", newline="\n")
    except OSError as error:
        raise _no_room(summary_file.parent, error) from error
    return Outcome(
        exit_code=result.exit_code or document.summary.exit_code,
        verdict=str(document.summary.verdict),
        failures=sum(counts.get(str(verdict), 0) for verdict in FAILING_VERDICTS),
        regressions=len(document.regressions),
        summary=text,
        annotations=annotate(document, workspace),
        report=report,
        summary_file=summary_file,
        document=document,
    )


def _tell(outcome: Outcome, runner: Runner, stdout: TextIO) -> int:
    """Outputs, summary and annotations, each whether or not the others can be written.

    Returns:
        The exit code of the step: not 0 where its outputs could not be written, since later steps read them.
    """
    code, remarks = outcome.exit_code, list(outcome.annotations)
    try:
        if runner.output_file is not None:
            write_outputs(runner.output_file, _outputs(outcome))
    except EnvironmentLimitError as error:
        code = code or error.exit_code
        remarks.insert(0, remark_of(error, Level.ERROR))
    try:
        if runner.summary_file is not None and outcome.summary:
            append_summary(runner.summary_file, outcome.summary)
    except EnvironmentLimitError as error:
        remarks.insert(0, remark_of(error, Level.WARNING))
    stdout.writelines(f"{line}\n" for line in render_annotations(remarks))
    stdout.flush()
    return code


def _outputs(outcome: Outcome) -> dict[str, str]:
    told = outcome.told
    return {
        "verdict": outcome.verdict,
        "failures": str(outcome.failures),
        "regressions": str(outcome.regressions),
        "exit-code": str(outcome.exit_code),
        "report-json": str(outcome.report or ""),
        "summary-md": str(outcome.summary_file or ""),
        "artifact-name": "" if outcome.shard is None else outcome.shard.name,
        "artifact-path": "" if outcome.shard is None else str(outcome.shard.directory),
        "bundle-dir": str(outcome.bundles or ""),
        "conclusion": "" if told is None else told.conclusion,
        "comment-url": "" if told is None else told.comment_url,
        "check-url": "" if told is None else told.check_url,
    }


def _new_directory(parent: Path) -> Path:
    try:
        return Path(tempfile.mkdtemp(prefix="opsdebug-report-", dir=parent))
    except OSError as error:
        raise _no_room(parent, error) from error


def _no_room(parent: Path, error: OSError) -> EnvironmentLimitError:
    return EnvironmentLimitError(
        f"`RUNNER_TEMP` is {str(parent)!r}: got {error.strerror}; wanted a directory that can be written",
        next_step="free space on the runner, or make the directory writable",
    )

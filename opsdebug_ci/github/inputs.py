"""The action's inputs: text from a workflow file, checked before anything is run with it.

Decides which values are accepted. Every value arrives in an environment variable, so nothing here was ever part of
a shell line; the checks keep a value from being read as an option, and a mistake from being found an hour later.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from opsdebug_ci.errors import ConfigurationError
from opsdebug_ci.model import Gate, Stage
from opsdebug_ci.model.publication import CommentPolicy
from opsdebug_ci.model.shard import DEFAULT_SUITE

PREFIX = "OPSDEBUG_INPUT_"
"""Variables that carry inputs: `working-directory` arrives as OPSDEBUG_INPUT_WORKING_DIRECTORY."""

STAGES: tuple[str, ...] = (str(Stage.SMOKE), str(Stage.FULL), str(Stage.REPLAY))
"""Stages that `opsdebug ci` knows."""

CHANGED_AUTO = "auto"
"""Take the base of the pull request or merge group from the event."""

SUITE, SUITE_WORDS = re.compile(r"[A-Za-z0-9._-]{1,64}"), "1 to 64 letters, digits, `.`, `_` or `-`"
"""What `comment-id` may be."""

AUTHOR, AUTHOR_WORDS = re.compile(r"[A-Za-z0-9_-]{1,100}(\[bot\])?"), "a login, e.g. `my-app[bot]`"
"""What `comment-author` may be."""

WORKFLOW = re.compile(r"\.github/workflows/[A-Za-z0-9._-]{1,200}\.ya?ml")
WORKFLOW_WORDS = "a file, e.g. `.github/workflows/opsdebug.yml`"
"""What `workflow` may be."""

_POLICIES = tuple(str(policy) for policy in CommentPolicy)

_TEXT_LIMIT = 4_096
_HIDDEN = re.compile(r"[\x00-\x1f\x7f-\x9f\u2028\u2029\ud800-\udfff]")
_REVISION = re.compile(r"(?!.*(\.\.|//|@\{))[\w][\w./@+#^~-]{0,249}")
_OPERATOR = re.compile(r"[\w*?\[][\w.*?\[\]!:/-]{0,199}")
_SHARD = re.compile(r"([1-9][0-9]{0,3})/([1-9][0-9]{0,3})")
_SECONDS = re.compile(r"[0-9]{1,7}(\.[0-9]{1,3})?")
_SHARDS = re.compile(r"[1-9][0-9]{0,3}")
_RUN = re.compile(r"[1-9][0-9]{0,18}")


@dataclass(frozen=True, slots=True, kw_only=True)
class ActionInputs:
    """What the workflow asked for; an empty text leaves the matter to the configuration."""

    stage: str
    """`smoke`, `full` or `replay`."""

    config: str
    """Path of the configuration, relative to the working directory."""

    operators: tuple[str, ...]
    """Names or globs; empty: all that are configured."""

    changed: str
    """Base commit or branch, or `auto`."""

    shard: str
    """`2/8`."""

    python: str
    """The worker's interpreter: a path or a name to find."""

    store: str
    """Where the baseline store is."""

    record: str
    """Directory the run is recorded in instead of the store."""

    push: str
    """Directory with recorded runs to send to the store, instead of running a stage."""

    gate: str
    """`new`, `all` or `never`."""

    timeout: str
    """Seconds for one case."""

    budget: str
    """Seconds for the whole run."""

    annotations: bool
    """Write annotations."""

    summary: bool
    """Write the job summary."""

    working_directory: str
    """Directory to run in, relative to the workspace."""

    publish: bool = False
    """Tell what the jobs of another run found, instead of running a stage."""

    comment: CommentPolicy = CommentPolicy.AUTO
    """When telling it makes a comment."""

    comment_id: str = DEFAULT_SUITE
    """Which of several comments and checks of a pull request: letters, digits, `.`, `_`, `-`."""

    expected_shards: int | None = None
    """Into how many shards the stage was divided; None: as the shards say."""

    run_id: int | None = None
    """Run whose shards are told of; None: the one whose end triggered this job."""

    workflow: str = ""
    """File of the workflow that run must be of; empty: any."""

    comment_author: str = ""
    """Login the comment is written under; empty: whose token it is."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Part:
    """Which part of which whole a job runs."""

    suite: str
    """Which of several comments and checks of a pull request."""

    shard: int
    """Which part, from 1."""

    shards: int
    """How many parts there are."""

    stage: str
    """`smoke`, `full` or `replay`."""


def read_inputs(environ: Mapping[str, str]) -> ActionInputs:
    """Check every input.

    Raises:
        ConfigurationError: lists every input that cannot be used, at once.
    """
    problems: list[str] = []

    def value(name: str, accepts: Callable[[str], object], wanted: str) -> str:
        text = given(environ, name)
        if text and (len(text) > _TEXT_LIMIT or not accepts(text)):
            problems.append(f"`{name}` is {shown(text)}; wanted {wanted}")
        return text

    inputs = ActionInputs(
        stage=value("stage", STAGES.__contains__, f"one of {', '.join(STAGES)}") or STAGES[0],
        config=value("config", _is_path, "a path"),
        operators=_names(value("operators", _are_operators, "operator names or globs")),
        changed=value("changed", _REVISION.fullmatch, f"`{CHANGED_AUTO}`, a branch or a commit"),
        shard=value("shard", _is_shard, "`i/n` with 1 <= i <= n, e.g. `2/8`"),
        python=value("python", _is_path, "the path or name of a Python interpreter"),
        store=value("store", _is_path, "a directory or store address"),
        record=value("record", _is_path, "a directory"),
        push=value("push", _is_path, "a directory"),
        gate=value("gate", [str(gate) for gate in Gate].__contains__, f"one of {', '.join(Gate)}"),
        timeout=value("timeout", _are_seconds, "seconds above zero"),
        budget=value("budget", _are_seconds, "seconds above zero"),
        annotations=value("annotations", _is_switch, "`true` or `false`") != "false",
        summary=value("summary", _is_switch, "`true` or `false`") != "false",
        working_directory=value("working-directory", _is_path, "a path") or ".",
        publish=value("publish", _is_switch, "`true` or `false`") == "true",
        comment=_policy(value("comment", _POLICIES.__contains__, f"one of {', '.join(_POLICIES)}")),
        comment_id=value("comment-id", SUITE.fullmatch, SUITE_WORDS) or DEFAULT_SUITE,
        expected_shards=_number(value("expected-shards", _SHARDS.fullmatch, "a number from 1 to 9999")),
        run_id=_number(value("run-id", _RUN.fullmatch, "the number of a run")),
        comment_author=value("comment-author", AUTHOR.fullmatch, AUTHOR_WORDS),
        workflow=value("workflow", WORKFLOW.fullmatch, WORKFLOW_WORDS),
    )
    _check(problems)
    return inputs


def _check(problems: Sequence[str]) -> None:
    if problems:
        raise ConfigurationError(
            "; ".join(problems), next_step="correct the `with:` block of this step; docs/action.md lists every input"
        )


def read_part(environ: Mapping[str, str]) -> Part | None:
    """Which part a job runs, as far as it can be told, also of one whose inputs cannot be used; None: it runs none."""
    if given(environ, "push") or given(environ, "publish") == "true":
        return None
    suite, shard, stage = (given(environ, name) for name in ("comment-id", "shard", "stage"))
    index, _, count = shard.partition("/") if _is_shard(shard) else ("1", "/", "1")
    return Part(
        suite=suite if SUITE.fullmatch(suite) else DEFAULT_SUITE,
        shard=int(index),
        shards=int(count),
        stage=stage if stage in STAGES else STAGES[0],
    )


def given(environ: Mapping[str, str], name: str) -> str:
    """The text of an input; empty: nobody gave it."""
    return environ.get(PREFIX + name.upper().replace("-", "_"), "").strip()


def _policy(text: str) -> CommentPolicy:
    return CommentPolicy(text) if text in _POLICIES else CommentPolicy.AUTO


def _number(text: str) -> int | None:
    return int(text) if _RUN.fullmatch(text) else None


def shown(text: str) -> str:
    """`text` quoted, on one line, short."""
    return ascii(text if len(text) <= 80 else text[:79] + "…")


def _is_path(text: str) -> bool:
    return not text.startswith("-") and not _HIDDEN.search(text)


def _names(text: str) -> tuple[str, ...]:
    return tuple(re.findall(r"[^\s,]+", text))


def _are_operators(text: str) -> bool:
    return all(_OPERATOR.fullmatch(name) for name in _names(text))


def _is_shard(text: str) -> bool:
    match = _SHARD.fullmatch(text)
    return match is not None and int(match[1]) <= int(match[2])


def _are_seconds(text: str) -> bool:
    return bool(_SECONDS.fullmatch(text)) and float(text) > 0


def _is_switch(text: str) -> bool:
    return text in ("true", "false")

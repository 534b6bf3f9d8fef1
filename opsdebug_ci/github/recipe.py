"""What a repository's workflows depend on: machines, container, interpreter, shards.

Decides which values may stand in a workflow, and the lines they become. Every value is held to an alphabet in which
nothing can end a line, open a comment or an expression, so that what is written is valid whatever was asked for.
Deliberately knows no template: `scaffold` puts the lines in their places.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass

from opsdebug_ci.errors import UsageError
from opsdebug_ci.model.vocabulary import Word

MOST_SHARDS = 256
"""Jobs that GitHub lets one matrix have."""

MOST_LABELS = 20
"""Far more than a runner is told apart by; keeps the line readable."""

HOSTED = "ubuntu-latest"
"""A machine of GitHub's, new for every job."""

_LABEL = re.compile(r"[A-Za-z0-9][A-Za-z0-9_.-]{0,99}")
_IMAGE = re.compile(
    r"[a-z0-9][a-z0-9._:/-]{0,254}(:[A-Za-z0-9_][A-Za-z0-9_.-]{0,127})?(?P<digest>@sha256:[0-9a-f]{64})?"
)
_BRANCH = re.compile(r"(?!.*(\.\.|//|/$|\.$))[A-Za-z0-9][A-Za-z0-9._/-]{0,199}")
_VERSION = re.compile(r"3\.(?P<minor>[0-9]{1,2})(\.[0-9]{1,3})?")
_NUMBER = re.compile(r"[0-9][^/]*")
_NAMED = re.compile(r"(?:.*/)?python(?P<version>[0-9][0-9.]*)")
_INTERPRETER = re.compile(r"[A-Za-z0-9_./~][A-Za-z0-9_./+-]{0,254}")
_PLAIN = re.compile(r"(?!(?:true|false|null|yes|no|on|off|y|n)$)[a-z][a-z0-9_.-]*")

OLDEST_WORKER, OLDEST_CONTROL, NEWEST = 10, 11, 14
"""Python 3.x: the oldest that operators run in, the oldest that the action itself runs in, the newest that its set-up
looks for."""

USUAL = "3.12"
"""Version that is set up where none was asked for, and beside one that is too old for the action itself."""

SET_UP = """\
- uses: actions/setup-python@a309ff8b426b58ec0e2a45f0f869d46889d02405 # v6.2.0
  with:
    python-version: {version}

# Your own build goes here; the operators run in this interpreter.
- name: Install torch
  run: python3 -m pip install torch numpy --index-url https://download.pytorch.org/whl/cpu"""
"""Steps on a machine that brings no torch."""

BROUGHT = """\
# Your own build goes here; the operators run in `{python}`, which must have your torch. The action itself needs a
# Python >= 3.11 with venv on PATH, be it the same."""
"""In place of those steps, where an interpreter is there."""

OWN_MACHINE = """\
# Code of pull requests runs on this machine: require approval for all outside contributors (Settings, Actions,
# General), and use runners that are thrown away after one job.
"""
"""Above `runs-on` of machines that outlive a job."""


class Workflow(Word):
    """A workflow that `init` writes."""

    PULL_REQUEST = "pull-request"
    """Runs the operators of pull requests and merge groups."""

    REPORT = "report"
    """Tells them what was found."""

    NIGHTLY = "nightly"
    """Records the default branch."""

    RELEASE = "release"
    """Replays what has failed before."""

    ACCEPT = "accept"
    """Lets a person accept a regression."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Recipe:
    """What is asked of the workflows, not yet checked."""

    workflows: tuple[Workflow, ...] = tuple(Workflow)
    """Which of them."""

    runs_on: tuple[str, ...] = (HOSTED,)
    """Labels of the machines that run operators."""

    bot_runs_on: tuple[str, ...] = (HOSTED,)
    """Labels of the machines whose token can write; they run no operator."""

    container: str = ""
    """Image that operators run in; empty: none."""

    gpus: bool = False
    """The container sees every GPU of its machine."""

    shards: int = 1
    """Jobs that share a stage."""

    python: str = ""
    """Version that a step sets up, e.g. `3.12`, or name or path of an interpreter that is there; empty: `3.12` on a
    machine of GitHub's, else `python3`."""

    branch: str = "main"
    """The default branch."""


def labels(text: str) -> tuple[str, ...]:
    """Labels from a list with commas."""
    return tuple(label.strip() for label in text.split(",") if label.strip())


def lines_of(recipe: Recipe) -> Mapping[str, str]:
    """What stands for each name in the templates; a text with line breaks for a whole line, an empty one for no line.

    Raises:
        UsageError: a value cannot stand in a workflow.
    """
    _check(recipe)
    version, python = _interpreter(recipe)
    divided = recipe.shards > 1
    return {
        "branch": _scalar(recipe.branch),
        "shards": str(recipe.shards),
        "of-shard": ", shard ${{ matrix.shard }}" if divided else "",
        "matrix": _matrix(recipe.shards) if divided else "",
        "shard-of-stage": "shard: ${{ matrix.shard }}" if divided else "",
        "machine": _machine(recipe),
        "bot-machine": _runs_on(recipe.bot_runs_on, "runs no operator"),
        "build": SET_UP.format(version=_set_up(version)) if version else BROUGHT.format(python=python),
        "python-of-stage": f"python: {_scalar(python)}",
    }


def _check(recipe: Recipe) -> None:
    _require(recipe.workflows, "workflow", "", f"one of {', '.join(Workflow)}")
    for option, given in (("runs-on", recipe.runs_on), ("bot-runs-on", recipe.bot_runs_on)):
        sound = 0 < len(given) <= MOST_LABELS and all(map(_LABEL.fullmatch, given))
        _require(sound, option, ", ".join(given), "labels of letters, digits, `.`, `_`, `-`, joined by commas")
    _require(
        not _shared(recipe), "bot-runs-on", ", ".join(recipe.bot_runs_on), "a label that no machine of `--runs-on` has"
    )
    image = not recipe.container or _IMAGE.fullmatch(recipe.container)
    _require(image, "container", recipe.container, "an image, e.g. `ghcr.io/acme/torch:2.13@sha256:...`")
    _require(recipe.container or not recipe.gpus, "gpus", "no container", "`--container IMAGE` beside it")
    _require(1 <= recipe.shards <= MOST_SHARDS, "shards", str(recipe.shards), f"1 to {MOST_SHARDS}")
    _require(
        not recipe.python or _is_usable(recipe.python),
        "python",
        recipe.python,
        f"a version from 3.{OLDEST_WORKER} to 3.{NEWEST}, or the name or path of an interpreter that is one",
    )
    _require(_BRANCH.fullmatch(recipe.branch), "branch", recipe.branch, "the name of a branch")


def _require(sound: object, option: str, got: str, wanted: str) -> None:
    if not sound:
        shown = ascii(got if len(got) <= 80 else got[:79] + "…")  # a line of a terminal
        raise UsageError(f"`--{option}` is {shown}; wanted {wanted}", next_step="opsdebug init --help")


def _is_usable(python: str) -> bool:
    """A version that operators run in, or an interpreter whose name does not say that it is another."""
    named = _NAMED.fullmatch(python)
    if (named is None and not _NUMBER.fullmatch(python)) or (named is not None and named["version"] == "3"):
        return bool(_INTERPRETER.fullmatch(python))
    known = _VERSION.fullmatch(python if named is None else named["version"])
    return known is not None and OLDEST_WORKER <= int(known["minor"]) <= NEWEST


def _set_up(version: str) -> str:
    """What the step that sets Python up is asked for: of several versions, the last is `python3`."""
    known = _VERSION.fullmatch(version)
    if known is not None and int(known["minor"]) < OLDEST_CONTROL:
        return f"| # the action itself runs in the first, your operators in the last\n      {USUAL}\n      {version}"
    return f'"{version}"'


def _interpreter(recipe: Recipe) -> tuple[str, str]:
    """The version to set up, or "", and the interpreter that the operators run in."""
    if _VERSION.fullmatch(recipe.python):
        return recipe.python, "python3"
    brings_its_own = recipe.python or recipe.container or _is_own(recipe.runs_on)
    return ("", recipe.python or "python3") if brings_its_own else (USUAL, "python3")


def _matrix(shards: int) -> str:
    parts = ", ".join(f'"{shard}/{shards}"' for shard in range(1, shards + 1))
    return f"strategy:\n  fail-fast: false # a shard that is cut short is no answer\n  matrix:\n    shard: [{parts}]"


def _machine(recipe: Recipe) -> str:
    """Where operators run: the machine, and the container on it."""
    own = _is_own(recipe.runs_on)
    where = (OWN_MACHINE if own else "") + _runs_on(recipe.runs_on, "the advice above is followed")
    if not recipe.container:
        return where
    pinned = _digest(recipe.container)
    ignore = "" if pinned else " # zizmor: ignore[unpinned-images] add the digest of the image you have reviewed"
    options = "\n  options: --gpus all" if recipe.gpus else ""
    return f"{where}\ncontainer:\n  image: {_scalar(recipe.container)}{ignore}{options}"


def _runs_on(given: tuple[str, ...], excuse: str) -> str:
    text = _scalar(given[0]) if len(given) == 1 else f"[{', '.join(map(_scalar, given))}]"
    return f"runs-on: {text}" + (f" # zizmor: ignore[self-hosted-runner] {excuse}" if _is_own(given) else "")


def _is_own(given: tuple[str, ...]) -> bool:
    """The machine is not one of GitHub's."""
    return "self-hosted" in (label.lower() for label in given)


def _shared(recipe: Recipe) -> bool:
    """A machine that runs operators has every label of the jobs that may write, and would be given them."""
    operators, bot = ({label.lower() for label in each} for each in (recipe.runs_on, recipe.bot_runs_on))
    return _is_own(recipe.runs_on) and bot <= operators


def _digest(image: str) -> str:
    match = _IMAGE.fullmatch(image)
    return (match["digest"] or "") if match else ""


def _scalar(text: str) -> str:
    """`text`, of one of the alphabets above, as a YAML string: quoted where it could be read as something else."""
    return text if _PLAIN.fullmatch(text) else f'"{text}"'

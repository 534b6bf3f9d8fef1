"""From "the workflow has finished" to "the comment is there": 24 operators, 1,000 cases, as a job does it.

`opsdebug publish` is a process of its own and asks the fake GitHub, which waits before each answer as long as GitHub
is away: 0.3 s is what a runner usually sees. The comment is there when GitHub has got it; the step ends later, after
another look whether it is the only one. With `--set-up` the job is the action's own, both steps of it: an environment
made each time, from the package index, and in it the run step, which compiles what it imports. What a job that runs a
stage takes to set up is told beside it, and seconds of the processor beside those of the clock, since they hold on a
busy machine too.

    python tests/benchmarks/bench_publish.py                         # the command alone
    python tests/benchmarks/bench_publish.py --set-up                # the action's steps
    python tests/benchmarks/bench_publish.py --set-up ACTION OTHER   # of several checkouts, in turns
"""

from __future__ import annotations

import json
import os
import resource
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

TESTS = Path(__file__).parents[1]
sys.path[:0] = [str(TESTS / folder) for folder in ("", "judge", "github", "publication")]

from github_server.faults import stalled  # noqa: E402 - behind the path to it
from publication_scene import WORKFLOW, Scene, scene  # noqa: E402 - as above

OPERATORS, CASES, SHARDS, ROUNDS = 24, 1_000, 3, 5
AWAY_S = 0.3
BUDGET_S, CALLS = 10.0, 12
EVERYTHING = "/**"
WRITTEN = "/repos/*/*/issues/**"


def whole_run() -> str:
    """Every fourth operator fails in a part of its cases."""
    each, more = divmod(CASES, OPERATORS)
    words = []
    for number in range(OPERATORS):
        count = each + (number < more)
        wrong = 7 if number % 4 == 0 else 0
        words += [f"operator_{number}:pass*{count - wrong}", *([f"operator_{number}:fail*{wrong}"] if wrong else [])]
    return " ".join(words)


@dataclass(frozen=True, slots=True, kw_only=True)
class Step:
    """What one step of a job took."""

    wall_s: float
    cpu_s: float
    began_s: float
    """Seconds since 1970, as the fake GitHub counts."""
    said: str
    """On standard output."""


def step(words: Sequence[str], environ: Mapping[str, str], code: int) -> Step:
    """Run it to its end, which has to be `code`."""
    before, began_s, began = resource.getrusage(resource.RUSAGE_CHILDREN), time.time(), time.monotonic()
    done = subprocess.run(words, env={**os.environ, **environ}, capture_output=True, text=True, check=False)
    wall_s, after = time.monotonic() - began, resource.getrusage(resource.RUSAGE_CHILDREN)
    assert done.returncode == code, done.stdout + done.stderr
    cpu_s = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    return Step(wall_s=wall_s, cpu_s=cpu_s, began_s=began_s, said=done.stdout)


def set_up(action: Path, temporary: Path, *, publish: bool) -> Step:
    """The action's first step."""
    environ = {
        "RUNNER_TEMP": str(temporary),
        "GITHUB_OUTPUT": str(temporary / "set-up"),
        "GITHUB_ACTION_PATH": str(action),
        "OPSDEBUG_INPUT_PUBLISH": "true" if publish else "false",
    }
    return step(["bash", str(action / ".github/action/bootstrap.sh")], environ, 0)


def told_by_the_action(here: Scene, run: int, action: Path, temporary: Path) -> Step:
    """The action's second step, in the environment that the first has made."""
    control = (temporary / "set-up").read_text(encoding="utf-8").partition("control=")[2].splitlines()[0]
    (temporary / "workspace").mkdir()
    environ = {
        **here.environ(),
        "RUNNER_TEMP": str(temporary),
        "GITHUB_WORKSPACE": str(temporary / "workspace"),
        "GITHUB_OUTPUT": str(temporary / "output"),
        "GITHUB_STEP_SUMMARY": str(temporary / "summary"),
        "OPSDEBUG_INPUT_PUBLISH": "true",
        "OPSDEBUG_INPUT_TOKEN": here.token,
        "OPSDEBUG_INPUT_RUN_ID": str(run),
        "OPSDEBUG_INPUT_WORKFLOW": WORKFLOW,
    }
    return step([control, "-I", "-X", "utf8", str(action / ".github/action/run.py")], environ, 1)


def told_by_the_command(here: Scene, run: int) -> Step:
    """The command alone, with everything it needs installed and compiled."""
    words = [sys.executable, "-m", "opsdebug_ci", "publish", "--json", f"--run-id={run}", f"--workflow={WORKFLOW}"]
    told = step(words, {**here.environ(), "OPSDEBUG_TOKEN": here.token}, 1)
    assert json.loads(told.said)["comment"] in ("created", "updated")
    return told


def there_s(here: Scene, seen: int, told: Step) -> float:
    """Seconds from the beginning of the step until GitHub had the comment."""
    (written,) = [
        one for one in here.server.requests[seen:] if one.method in ("POST", "PATCH") and one.is_of("*", WRITTEN)
    ]
    assert written.status in (200, 201)
    return written.at_s + AWAY_S - told.began_s


def checkout(action: Path, directory: Path) -> Path:
    """The action as a runner fetches it, without anything compiled."""
    for name in (".github/action", "opsdebug_ci"):
        shutil.copytree(action / name, directory / name, ignore=shutil.ignore_patterns("__pycache__"))
    return directory


def command_alone(here: Scene) -> None:
    ends = []
    for number in range(ROUNDS):
        run, seen = here.run(whole_run(), shards=SHARDS), len(here.server.requests)
        told = told_by_the_command(here, run.id)
        ends.append(told.wall_s)
        calls, there = len(here.server.requests) - seen, there_s(here, seen, told)
        say(f"  comment after {there:.2f} s, end after {told.wall_s:.2f} s (cpu {told.cpu_s:.2f} s), {calls} requests")
        if number % 2:
            here.push()
    say(f"end: median {statistics.median(ends):.2f} s; budget {CALLS} + {SHARDS} requests")


def action_in_turns(here: Scene, actions: Sequence[Path], root: Path) -> None:
    comments: dict[Path, list[float]] = {action: [] for action in actions}
    for number in range(ROUNDS):
        for action in actions:
            here.push()
            run, seen = here.run(whole_run(), shards=SHARDS), len(here.server.requests)
            with tempfile.TemporaryDirectory(dir=root) as directory:
                temporary = Path(directory)
                made = set_up(action, temporary, publish=True)
                told = told_by_the_action(here, run.id, action, temporary)
            there = made.wall_s + there_s(here, seen, told)
            comments[action].append(there)
            say(
                f"  {number} {action.name}: set-up {made.wall_s:.2f} s (cpu {made.cpu_s:.2f} s), "
                f"comment after {there:.2f} s, "
                f"end after {made.wall_s + told.wall_s:.2f} s (cpu {made.cpu_s + told.cpu_s:.2f} s)"
            )
    for action, taken in comments.items():
        with tempfile.TemporaryDirectory(dir=root) as directory:
            other = set_up(action, Path(directory), publish=False)
        median_s, most_s = statistics.median(taken), max(taken)
        say(f"{action.name}: comment median {median_s:.2f} s, most {most_s:.2f} s; budget {BUDGET_S} s")
        say(f"{action.name}: set-up of a job that runs a stage {other.wall_s:.2f} s (cpu {other.cpu_s:.2f} s)")


def say(line: str) -> None:
    sys.stdout.write(f"{line}\n")
    sys.stdout.flush()


def main() -> None:
    words = sys.argv[1:]
    with scene() as here, tempfile.TemporaryDirectory() as root:
        here.server.fail("*", EVERYTHING, stalled(AWAY_S), count=10**6)
        say(f"{OPERATORS} operators, {CASES:,} cases, {SHARDS} shards; every answer {AWAY_S} s away")
        if "--set-up" in words:
            sources = [Path(word).resolve() for word in words if word != "--set-up"] or [TESTS.parent]
            actions = [checkout(source, Path(root) / source.name) for source in sources]
            action_in_turns(here, actions, Path(root))
        else:
            command_alone(here)


if __name__ == "__main__":
    main()

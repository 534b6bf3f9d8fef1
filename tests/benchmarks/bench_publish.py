"""From "the workflow has finished" to "the comment is there": 24 operators, 1,000 cases, as a job does it.

`opsdebug publish` is a process of its own and asks the fake GitHub, which waits before each answer as long as GitHub
is away: 0.3 s is what a runner usually sees. What sets the job up is measured apart, since it depends on the package
index: `bash .github/action/bootstrap.sh`, for a job that only publishes and for one that runs a stage.

    python tests/benchmarks/bench_publish.py            # three shards
    python tests/benchmarks/bench_publish.py --set-up   # the set-up step too
"""

from __future__ import annotations

import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

TESTS = Path(__file__).parents[1]
sys.path.insert(0, str(TESTS))
sys.path.insert(0, str(TESTS / "judge"))
sys.path.insert(0, str(TESTS / "github"))
sys.path.insert(0, str(TESTS / "publication"))

from github_server.faults import stalled  # noqa: E402 - behind the path to it
from publication_scene import WORKFLOW, Scene, scene  # noqa: E402 - as above

OPERATORS, CASES, SHARDS, ROUNDS = 24, 1_000, 3, 5
AWAY_S = 0.3
BUDGET_S, CALLS = 10.0, 12
EVERYTHING = "/**"


def whole_run() -> str:
    """Every fourth operator fails in a part of its cases."""
    each, more = divmod(CASES, OPERATORS)
    words = []
    for number in range(OPERATORS):
        count = each + (number < more)
        wrong = 7 if number % 4 == 0 else 0
        words += [f"operator_{number}:pass*{count - wrong}", *([f"operator_{number}:fail*{wrong}"] if wrong else [])]
    return " ".join(words)


def published(here: Scene, run: int) -> tuple[float, int, str]:
    """Seconds, requests of the bot's, and what became of the comment."""
    before = len(here.server.requests)
    environ = {
        **os.environ,
        **here.environ(),
        "OPSDEBUG_TOKEN": here.token,
    }
    words = [sys.executable, "-m", "opsdebug_ci", "publish", "--json", f"--run-id={run}", f"--workflow={WORKFLOW}"]
    began = time.monotonic()
    done = subprocess.run(words, env=environ, capture_output=True, text=True, check=False)
    took = time.monotonic() - began
    assert done.returncode == 1, done.stderr
    return took, len(here.server.requests) - before, json.loads(done.stdout)["comment"]


def set_up(*, publish: bool) -> float:
    """Seconds of the action's set-up step."""
    with tempfile.TemporaryDirectory() as directory:
        environ = {
            **os.environ,
            "RUNNER_TEMP": directory,
            "GITHUB_OUTPUT": f"{directory}/output",
            "GITHUB_ACTION_PATH": str(TESTS.parent),
            "OPSDEBUG_INPUT_PUBLISH": "true" if publish else "false",
        }
        began = time.monotonic()
        subprocess.run(["bash", str(TESTS.parent / ".github/action/bootstrap.sh")], env=environ, check=True)
        return time.monotonic() - began


def main() -> None:
    with scene() as here:
        here.server.fail("*", EVERYTHING, stalled(AWAY_S), count=10**6)
        told = []
        for number in range(ROUNDS):
            run = here.run(whole_run(), shards=SHARDS)
            told.append(published(here, run.id))
            if number % 2:
                here.push()
        times = [took for took, _, _ in told]
        sys.stdout.write(f"{OPERATORS} operators, {CASES:,} cases, {SHARDS} shards; every answer {AWAY_S} s away\n")
        sys.stdout.write(f"seconds: median {statistics.median(times):.2f}, most {max(times):.2f}; budget {BUDGET_S}\n")
        for took, calls, comment in told:
            sys.stdout.write(f"  {took:.2f} s, {calls} requests (budget {CALLS} + {SHARDS}), comment {comment}\n")
    if "--set-up" in sys.argv:
        for publish in (True, False):
            took = [set_up(publish=publish) for _ in range(3)]
            sys.stdout.write(f"set-up, publish {publish}: median {statistics.median(took):.1f} s of {len(took)}\n")


if __name__ == "__main__":
    main()

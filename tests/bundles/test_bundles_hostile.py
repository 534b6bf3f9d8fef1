"""Bundles of strangers, read in one child process that is watched for time and memory."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from bundles_hostile import GOOD, HOSTILE

CHILD = """
import json, re, sys, time
from pathlib import Path
from opsdebug_ci.errors import BundleError
from opsdebug_ci.failures.bundle_reader import read_bundle

for line in sys.stdin:
    path = Path(json.loads(line))
    began = time.process_time()
    try:
        said = [type(read_bundle(path)).__name__, "", ""]
    except BundleError as error:
        said = ["refused", error.message, error.next_step]
    seconds = time.process_time() - began
    # Not ru_maxrss: it begins with the memory of the process this one was forked from.
    most = re.search(r"VmHWM:\\s*(\\d+) kB", Path("/proc/self/status").read_text())
    print(json.dumps([*said, seconds, int(most[1])]), flush=True)
"""

MIB = 1024
"""In KiB."""

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="reads the memory of the child from /proc")


@pytest.fixture(scope="module")
def answers(tmp_path_factory: pytest.TempPathFactory) -> dict[str, list[Any]]:
    """What the child said of each: outcome, message, next step, seconds of work, most memory so far in KiB."""
    folder = tmp_path_factory.mktemp("hostile")
    paths = {"good": folder / "good.opsbundle", "a folder": folder, "nothing": folder / "none.opsbundle"}
    paths["good"].write_bytes(GOOD)
    paths["a pipe"] = folder / "pipe.opsbundle"
    os.mkfifo(paths["a pipe"])
    paths["a sparse terabyte"] = folder / "sparse.opsbundle"
    with paths["a sparse terabyte"].open("wb") as file:
        file.truncate(2**40)
    for number, (name, (make, _)) in enumerate(HOSTILE.items()):
        paths[name] = folder / f"{number}.opsbundle"
        paths[name].write_bytes(make())
    done = subprocess.run(
        [sys.executable, "-c", CHILD],
        input="".join(json.dumps(str(path)) + "\n" for path in paths.values()),
        capture_output=True,
        text=True,
        check=True,
        env={**os.environ, "PYTHONPATH": str(Path(__file__).parents[2])},
    )
    return dict(zip(paths, map(json.loads, done.stdout.splitlines()), strict=True))


def test_there_are_many() -> None:
    assert len(HOSTILE) >= 60


def test_the_clean_twin_is_taken(answers: dict[str, list[Any]]) -> None:
    assert answers["good"][0] == "Bundle"


OTHERS = {
    "a folder": "is no file",
    "nothing": "cannot be read: No such file",
    "a pipe": "is no file",
    "a sparse terabyte": "has 1099511627776 bytes",
}


@pytest.mark.parametrize("name", [*OTHERS, *HOSTILE])
def test_it_is_refused_at_once_with_a_reason(answers: dict[str, list[Any]], name: str) -> None:
    outcome, message, next_step, seconds, most_kib = answers[name]
    assert outcome == "refused"
    assert re.search(OTHERS.get(name) or HOSTILE[name][1], message), message
    assert len(message) < 500
    assert next_step
    assert seconds < 1
    assert most_kib < 256 * MIB

"""A project on disk and the command in it, as a person at a terminal has them."""

from __future__ import annotations

import contextlib
import os
import platform
import subprocess
import sys
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

SCRIPT = Path(sys.executable).with_name("opsdebug")
"""The installed command."""

EVERYDAY = ("--dims", "N=4", "--dtype", "float32", "--seed", "0", "--inputs", "normal", "--layout", "contiguous")
"""Arguments of `run` that leave one case per operator."""

VERDICTS = ("--diagnosis", "0")
"""Arguments of `run` that leave failures unshrunk: their bundles alone are written."""

CONFIGURATION = 'operators = ["kernels.py"]\n'

HEADER = """
import ctypes
import os
import sys
from pathlib import Path

import torch

from opsdebug_ci import operator, tensor
"""

BODIES = {
    "twice": "x + x",
    "wrong": "x + 1",
    "segfaults": "ctypes.string_at(0)",
    "leaves": "os._exit(7)",
    "hangs": "max(iter(int, 1))",
    "hoards": "[torch.ones(2**20) for _ in iter(int, 1)]",
    "misshapen": "(x + x)[:3]",
    "spared": "x + x if 'torch._dynamo' not in sys.modules else x",
    "leaves_a_trace": "(Path('ran').touch(), x + x)[1]",
}
"""Operators by what they return; each is to return twice its argument."""


def kernels(*names: str) -> str:
    """A module with these operators."""
    return HEADER + "".join(
        f"""

@operator(kind="elementwise", x=tensor("N"), dims={{"N": 4}})
def {name}(x):
    return {BODIES[name]}


@{name}.reference("torch")
def _(x):
    return 2 * x
"""
        for name in names
    )


def project(directory: Path, *names: str, configuration: str = CONFIGURATION) -> Path:
    """A directory with a configuration and these operators."""
    directory.mkdir(parents=True, exist_ok=True)
    (directory / "opsdebug.toml").write_text(configuration)
    (directory / "kernels.py").write_text(kernels(*names))
    return directory


@dataclass(frozen=True, slots=True, kw_only=True)
class Ended:
    """How a command ended."""

    code: int
    """Exit code."""

    out: str
    """Standard output."""

    err: str
    """Standard error."""


def opsdebug(
    *arguments: str, at: Path, words: Sequence[str] = (str(SCRIPT),), environ: Mapping[str, str] | None = None
) -> Ended:
    """Run the command in a directory, outside CI."""
    done = subprocess.run(
        [*words, *arguments],
        cwd=at,
        env={**surroundings(), **(environ or {})},
        capture_output=True,
        text=True,
        stdin=subprocess.DEVNULL,
        timeout=120,
        check=False,
    )
    return Ended(code=done.returncode, out=done.stdout, err=done.stderr)


def surroundings() -> dict[str, str]:
    """This environment without what a CI job would add to it."""
    return {name: value for name, value in os.environ.items() if not name.startswith(("GITHUB_", "RUNNER_"))}


def scrub(text: str, **places: object) -> str:
    """`text` with paths replaced by their names, longest first, and without the Python version."""
    for name, place in sorted(places.items(), key=lambda item: -len(str(item[1]))):
        text = text.replace(str(place), name.upper())
    return text.replace(platform.python_version(), "3.x.y")


def processes_in(directory: Path) -> list[int]:
    """Processes whose working directory is `directory`."""
    found = []
    for entry in Path("/proc").iterdir():
        with contextlib.suppress(OSError):  # gone meanwhile
            if entry.name.isdigit() and (entry / "cwd").readlink() == directory:
                found.append(int(entry.name))
    return found


def await_none_in(directory: Path, timeout_s: float = 60.0) -> list[int]:
    """Processes left in `directory` after a while; killing is not instantaneous."""
    deadline = time.monotonic() + timeout_s
    while processes_in(directory) and time.monotonic() < deadline:
        time.sleep(0.02)
    return processes_in(directory)

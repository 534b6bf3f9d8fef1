"""The interpreter the workers run in: the user's, with their torch.

Decides whether it can serve at all, by running it. Deliberately does not import torch there, which takes a second or
more: a torch that is installed but broken shows when the first worker starts.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from collections.abc import Mapping
from dataclasses import dataclass

import msgspec

from opsdebug_ci.errors import EnvironmentLimitError
from opsdebug_ci.execution.environment import worker_environment

PYTHON_WANTED = (3, 10)
TORCH_WANTED = (2, 6)
PROBE_TIMEOUT_S = 60.0
"""Starting an interpreter from a cold network disk has been seen to take tens of seconds."""

# NOTE: must parse under any Python, 2.7 included. The working directory leaves the path before anything is imported.
_PROBE = """
import sys
here = sys.path.pop(0) if sys.path and sys.path[0] == "" else None
import json
found = {"version": list(sys.version_info[:3]), "packages": {}}
if sys.version_info >= (3, 10):
    import importlib.metadata, importlib.util
    if here is not None:
        sys.path.insert(0, here)
    for name in ("torch", "numpy", "mpmath"):
        spec = importlib.util.find_spec(name)
        if spec is not None and spec.origin is not None:
            try:
                found["packages"][name] = importlib.metadata.version(name)
            except importlib.metadata.PackageNotFoundError:
                found["packages"][name] = ""
sys.stdout.write("\\n" + json.dumps(found) + "\\n")
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class Interpreter:
    """An interpreter that can run workers."""

    path: str
    """Absolute path; links are kept, because a virtual environment is known by its link."""

    version: str
    """Python version."""

    torch: str
    """Its torch version; empty when a build of the user's own states none."""

    numpy: str | None
    """Its numpy version; None when it has none."""

    mpmath: str | None
    """Its mpmath version; None when it has none, and derived precise references are then float64 throughout."""


class _Probe(msgspec.Struct):
    version: tuple[int, int, int]
    packages: dict[str, str]


def check_interpreter(python: str | None, environment: Mapping[str, str] | None = None) -> Interpreter:
    """Run `python` (a path or a name; None: the one running this) and say what it has.

    Raises:
        EnvironmentLimitError: it is not there, does not run, is not Python >= 3.10, or has no torch >= 2.6.
    """
    path = _locate(python or sys.executable)
    probe = _run_probe(path, os.environ if environment is None else environment)
    version = ".".join(str(part) for part in probe.version)
    if probe.version < PYTHON_WANTED:
        raise EnvironmentLimitError(
            f"`python` is {path}: found Python {version}, wanted Python >= 3.10",
            next_step="set `python` to a newer interpreter that has your torch",
        )
    torch = probe.packages.get("torch")
    if torch is None:
        raise EnvironmentLimitError(
            f"no torch in {path}: found {_listed(version, probe.packages)}, wanted torch >= 2.6",
            next_step=f"`{path} -m pip install 'torch>=2.6'`, or set `python` to the interpreter that has it",
        )
    _check_torch(path, torch)
    return Interpreter(
        path=path,
        version=version,
        torch=torch,
        numpy=probe.packages.get("numpy"),
        mpmath=probe.packages.get("mpmath"),
    )


def _locate(python: str) -> str:
    found = shutil.which(os.path.expanduser(python))
    if found is None:
        raise EnvironmentLimitError(
            f"`python` is `{python}`: found no such program, wanted the path or name of an interpreter with torch",
            next_step="set `python` to what `python -c 'import sys; print(sys.executable)'` prints where torch works",
        )
    return os.path.abspath(found)


def _run_probe(path: str, environment: Mapping[str, str]) -> _Probe:
    try:
        done = subprocess.run(  # noqa: S603 - the interpreter the user configured
            [path, "-c", _PROBE],
            check=False,
            capture_output=True,
            env=worker_environment(environment, threads=1),
            stdin=subprocess.DEVNULL,
            timeout=PROBE_TIMEOUT_S,
        )
    except subprocess.TimeoutExpired as late:
        raise _unusable(path, f"no answer within {PROBE_TIMEOUT_S:.0f} s") from late
    except OSError as fault:
        raise _unusable(path, str(fault)) from fault
    last_line = done.stdout.rstrip(b"\n").rpartition(b"\n")[2]
    try:
        return msgspec.json.decode(last_line, type=_Probe)
    except msgspec.MsgspecError as fault:
        said = (done.stderr or done.stdout).decode(errors="replace").strip()[-300:]
        raise _unusable(path, f"exit status {done.returncode}, output `{said}`") from fault


def _unusable(path: str, found: str) -> EnvironmentLimitError:
    return EnvironmentLimitError(
        f"`python` is {path}: found {found}, wanted a Python that runs", next_step=f"try `{path} --version`"
    )


def _check_torch(path: str, torch: str) -> None:
    number = re.match(r"(\d+)\.(\d+)", torch)  # no number: a build of the user's own, which they must judge
    if number is not None and (int(number[1]), int(number[2])) < TORCH_WANTED:
        raise EnvironmentLimitError(
            f"torch in {path}: found {torch}, wanted torch >= 2.6",
            next_step=f"`{path} -m pip install 'torch>=2.6'`, or set `python` to an interpreter that has it",
        )


def _listed(version: str, packages: Mapping[str, str]) -> str:
    found = [f"Python {version}", *(f"{name} {number}".rstrip() for name, number in packages.items())]
    return ", ".join(found)

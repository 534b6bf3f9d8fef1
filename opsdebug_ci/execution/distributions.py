"""Which installed distributions own files, and where they were installed from.

Decides by asking the interpreter for the records of its installer, without importing what they list. A distribution
without a record owns nothing that can be known. Deliberately does not judge whose code it is.
"""

from __future__ import annotations

import subprocess
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path

import msgspec

from opsdebug_ci.errors import EnvironmentLimitError
from opsdebug_ci.execution.environment import worker_environment
from opsdebug_ci.execution.interpreter import PROBE_TIMEOUT_S

# RECORD is a CSV of paths relative to the directory of packages (core metadata, "Recording installed projects");
# `direct_url.json` is PEP 610, and has `dir_info` where a directory was installed. A single file at the top of an
# editable install is what finds its modules, not one of them.
# The working directory leaves the path before anything is imported: the person may have a json.py there.
_PROBE = """
import sys
sys.path[:] = [entry for entry in sys.path if entry]
import csv, importlib.metadata, json, os
wanted, found = set(json.load(sys.stdin)), []
for one in importlib.metadata.distributions():
    place = os.path.realpath(str(one.locate_file("")))
    rows = csv.reader((one.read_text("RECORD") or "").splitlines())
    names = [row[0].replace(os.sep, "/") for row in rows if row]
    try:
        origin = json.loads(one.read_text("direct_url.json") or "{}")
    except ValueError:
        origin = {}
    editable = origin.get("dir_info", {}).get("editable", False)
    owned = [name for name in names if not (editable and "/" not in name and name.endswith(".py"))]
    files = [path for path in (os.path.normpath(os.path.join(place, name)) for name in owned) if path in wanted]
    if files:
        found.append({
            "name": one.metadata["Name"] or "",
            "version": one.version or "",
            "directory_url": origin.get("url", "") if "dir_info" in origin else "",
            "files": files,
            "sources": [name for name in names if name.endswith(".py") and not name.startswith("../")],
        })
sys.stdout.write("\\n" + json.dumps(found) + "\\n")
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class Distribution:
    """One installed distribution that owns some of the files asked for."""

    name: str
    """Its name as its metadata spell it."""

    version: str
    """Its version."""

    directory_url: str
    """Address of the directory it was installed from; empty where it came as an archive or from an index."""

    files: tuple[str, ...]
    """Those of the files asked for that it owns; absolute."""

    sources: tuple[str, ...]
    """Every Python file it installed, relative to the directory of packages, in POSIX form."""


def owners(
    python: str, environment: Mapping[str, str], directory: Path, files: Iterable[str]
) -> tuple[Distribution, ...]:
    """Distributions that `python`, started in `directory`, finds and that own any of `files` (absolute, resolved).

    Raises:
        EnvironmentLimitError: it does not answer.
    """
    try:
        done = subprocess.run(  # noqa: S603 - the interpreter the user configured
            [python, "-c", _PROBE],
            check=True,
            capture_output=True,
            cwd=directory,
            env=worker_environment(environment, threads=1),
            input=msgspec.json.encode(sorted(files)),
            timeout=PROBE_TIMEOUT_S,
        )
        return msgspec.json.decode(done.stdout.rstrip(b"\n").rpartition(b"\n")[2], type=tuple[Distribution, ...])
    except (OSError, subprocess.SubprocessError, msgspec.MsgspecError) as fault:
        raise EnvironmentLimitError(
            f"`python` is {python}: found {fault}; wanted the packages installed there",
            next_step=f"try `{python} -m pip list`",
        ) from fault

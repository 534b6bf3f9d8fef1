"""Where an interpreter finds modules that are not installed but linked: editable installs and paths of `.pth` files.

Decides by asking the interpreter, without importing what it finds. Deliberately does not judge whose files they are.
"""

from __future__ import annotations

import subprocess
from collections.abc import Mapping
from pathlib import Path

import msgspec

from opsdebug_ci.errors import EnvironmentLimitError
from opsdebug_ci.execution.environment import worker_environment
from opsdebug_ci.execution.interpreter import PROBE_TIMEOUT_S

# PEP 610: `direct_url.json` of an editable install has `dir_info.editable`. Where its files are taken from is for the
# finder of each build tool to say, so `find_spec` is asked for every top-level name; that runs none of them.
# The working directory leaves the path before anything is imported: the person may have a json.py there.
_PROBE = """
import sys
sys.path[:] = [entry for entry in sys.path if entry]
import importlib.metadata, importlib.util, json, os
found = list(sys.path)
for one in importlib.metadata.distributions():
    try:
        editable = json.loads(one.read_text("direct_url.json") or "{}").get("dir_info", {}).get("editable")
    except ValueError:
        editable = False
    for name in (one.read_text("top_level.txt") or "").split() if editable else ():
        spec = importlib.util.find_spec(name)
        for place in (spec.submodule_search_locations or [spec.origin] if spec else ()):
            if place and os.path.exists(place):
                found.append(os.path.dirname(place))
sys.stdout.write("\\n" + json.dumps(found) + "\\n")
"""


def import_paths(python: str, environment: Mapping[str, str], directory: Path) -> tuple[Path, ...]:
    """Directories from which `python`, started in `directory`, imports top-level modules; resolved, in order.

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
            stdin=subprocess.DEVNULL,
            timeout=PROBE_TIMEOUT_S,
        )
        found = msgspec.json.decode(done.stdout.rstrip(b"\n").rpartition(b"\n")[2], type=list[str])
    except (OSError, subprocess.SubprocessError, msgspec.MsgspecError) as fault:
        raise EnvironmentLimitError(
            f"`python` is {python}: found {fault}; wanted the paths it imports from",
            next_step=f"try `{python} -m site`",
        ) from fault
    return tuple(dict.fromkeys((directory / entry).resolve() for entry in found))

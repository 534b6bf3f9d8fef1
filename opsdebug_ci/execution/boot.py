"""First lines of a worker: run as a script by the user's interpreter, never imported by the control side.

Decides where the worker finds opsdebug_ci and what happens to it when it hangs, crashes or loses its driver.
Deliberately decides nothing about cases: it hands two pipes and a file to the worker's loop.

The package is loaded from its place by path, before any finder is asked, so a directory or an editable install of the
same name cannot take its place. `entry`, a directory that holds only opsdebug_ci, comes first on `sys.path` for the
processes an operator spawns. The working directory follows only once our own imports are done, so that a `json.py`
in it shadows nothing of ours; the user's code then finds its modules as under `python -m`.

Usage: boot.py PACKAGE ENTRY REQUEST_FD REPLY_FD LIFELINE_FD TRAIL_FD
"""

from __future__ import annotations

import faulthandler
import fcntl
import importlib
import importlib.util
import os
import resource
import signal
import sys

PACKAGE_NAME = "opsdebug_ci"
STANDARD_ERROR = 2
READY = b'{"type":"Breadcrumb","phase":"discover","detail":"ready"}\n'
"""Tells the client that the interpreter, the package and the loop are in place."""


def load_package(directory: str) -> None:
    """Put the package in `directory` into `sys.modules`, whatever else goes by its name."""
    for name in [name for name in sys.modules if name.split(".")[0] == PACKAGE_NAME]:
        del sys.modules[name]
    spec = importlib.util.spec_from_file_location(
        PACKAGE_NAME, os.path.join(directory, "__init__.py"), submodule_search_locations=[directory]
    )
    if spec is None or spec.loader is None:
        raise ImportError(f"`{directory}` holds no package")
    module = importlib.util.module_from_spec(spec)
    sys.modules[PACKAGE_NAME] = module
    spec.loader.exec_module(module)


def prepare_signals() -> None:
    """SIGUSR1 prints where every thread is, so that a hang leaves a traceback; a crash leaves no core file."""
    faulthandler.register(signal.SIGUSR1, file=STANDARD_ERROR, all_threads=True)
    resource.setrlimit(resource.RLIMIT_CORE, (0, resource.getrlimit(resource.RLIMIT_CORE)[1]))


def die_with_driver(lifeline_fd: int) -> None:
    """Have the kernel kill this process group once the other end of `lifeline_fd` closes.

    fcntl(2), F_SETOWN and F_SETSIG, Linux only. A thread waiting for end of file would not do: an operator may hold
    the interpreter lock for ever. Elsewhere an idle worker still ends with the request pipe.
    """
    if sys.platform != "linux":
        return
    fcntl.fcntl(lifeline_fd, fcntl.F_SETOWN, -os.getpid())
    fcntl.fcntl(lifeline_fd, fcntl.F_SETSIG, signal.SIGKILL)
    fcntl.fcntl(lifeline_fd, fcntl.F_SETFL, fcntl.fcntl(lifeline_fd, fcntl.F_GETFL) | os.O_ASYNC)


def main(package: str, entry: str, request_fd: int, reply_fd: int, lifeline_fd: int, trail_fd: int) -> None:
    """Become a worker; returns when the request pipe ends."""
    for fd in (request_fd, reply_fd, lifeline_fd, trail_fd):
        os.set_inheritable(fd, False)
    die_with_driver(lifeline_fd)
    prepare_signals()
    safe_path = getattr(sys.flags, "safe_path", False)  # Python 3.11; set, this script's directory is not on the path
    sys.path[: 0 if safe_path else 1] = [entry]
    sys.argv = [PACKAGE_NAME]
    load_package(package)
    serve = importlib.import_module(f"{PACKAGE_NAME}.worker.process").serve
    if not safe_path:
        sys.path.insert(1, os.getcwd())
    os.write(reply_fd, READY)
    serve(request_fd, reply_fd, trail_fd)


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2], *(int(fd) for fd in sys.argv[3:]))

"""Starting worker processes in the user's interpreter.

Decides what a worker inherits: three pipe ends, a scrubbed environment, /dev/null to read, a log and a trail to write.
It gets its own session, so that a terminal's Ctrl-C does not reach it and one signal reaches everything it spawned.
Deliberately installs nothing into the interpreter, and does not speak the protocol.
"""

from __future__ import annotations

import contextlib
import os
import shutil
import signal
import subprocess
import tempfile
import threading
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import final

import opsdebug_ci
from opsdebug_ci.errors import EnvironmentLimitError, WorkerError
from opsdebug_ci.execution import boot

PACKAGE = Path(opsdebug_ci.__file__).resolve().parent
"""The package the workers are given: this one."""


@dataclass(frozen=True, slots=True, kw_only=True)
class WorkerProcess:
    """A started process and our ends of what connects us."""

    process: subprocess.Popen[bytes]
    """The process; it leads its own session and process group."""

    request_fd: int
    """Write requests here; non-blocking."""

    reply_fd: int
    """Read replies here; non-blocking."""

    lifeline_fd: int
    """Held open as long as the worker may live, never written."""

    log: Path
    """What it and its children print."""

    trail: Path
    """Its breadcrumbs, a line each. A file: nobody has to wake for one, and they are read only when it has died."""

    def kill(self) -> None:
        """Kill the whole process group; harmless when it is gone. Does not reap.

        NOTE: macOS answers EPERM for a group of zombies.
        """
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.killpg(self.process.pid, signal.SIGKILL)

    def release(self) -> None:
        """Kill, reap, close our ends and remove its files. For the owner, once, when nobody reads any more."""
        self.kill()
        self.process.wait()
        for fd in (self.request_fd, self.reply_fd, self.lifeline_fd):
            os.close(fd)
        self.log.unlink(missing_ok=True)
        self.trail.unlink(missing_ok=True)


@final
class Launcher:
    """Starts workers and can kill all of them at once, from any thread.

    Args:
        python: absolute path of the interpreter.
        environment: variables of the workers, already scrubbed.
        directory: working directory of the workers.
        package: the `opsdebug_ci` directory they are given.
    """

    def __init__(
        self, python: str, environment: Mapping[str, str], *, directory: Path, package: Path = PACKAGE
    ) -> None:
        self.python = python
        self._environment = dict(environment)
        self._directory = directory
        self._package = package
        self._temporary = tempfile.TemporaryDirectory(prefix="opsdebug-", ignore_cleanup_errors=True)
        self._entry = _entry(Path(self._temporary.name), package)
        self._lock = threading.Lock()
        self._workers: list[WorkerProcess] = []
        self._started = 0
        self._closed = False

    def start(self) -> WorkerProcess:
        """Start one worker; it is not known to serve yet.

        Raises:
            EnvironmentLimitError: the system refuses to start the interpreter.
            WorkerError: the launcher is closed.
        """
        with self._lock:
            if self._closed:
                raise WorkerError("the workers were stopped while a new one was being started")
            self._started += 1
            worker = self._spawn(Path(self._temporary.name) / f"worker-{self._started}")
            self._workers.append(worker)
            return worker

    def release(self, worker: WorkerProcess) -> None:
        """Kill and forget one worker."""
        with self._lock:
            self._workers.remove(worker)
        worker.release()

    def stop(self) -> None:
        """Kill every worker and start no more; their owners see them die."""
        with self._lock:
            self._closed = True
            for worker in self._workers:
                worker.kill()

    def close(self) -> None:
        """Release every worker and remove the temporary directory. Nobody may be reading from them any more."""
        self.stop()
        while self._workers:
            self._workers.pop().release()
        self._temporary.cleanup()

    def _spawn(self, name: Path) -> WorkerProcess:
        log, trail = name.with_suffix(".log"), name.with_suffix(".trail")
        request_read, request_write = os.pipe()
        reply_read, reply_write = os.pipe()
        lifeline_read, lifeline_write = os.pipe()
        theirs = (request_read, reply_write, lifeline_read)
        ours = (request_write, reply_read, lifeline_write)
        try:
            process = self._popen(log, trail, theirs)
        except OSError as fault:
            for fd in ours:
                os.close(fd)
            raise EnvironmentLimitError(
                f"`{self.python}` could not be started in {self._directory}: {fault}",
                next_step=f"try `{self.python} --version` there",
            ) from fault
        finally:
            for fd in theirs:
                os.close(fd)
        os.set_blocking(request_write, False)
        os.set_blocking(reply_read, False)
        return WorkerProcess(
            process=process,
            request_fd=request_write,
            reply_fd=reply_read,
            lifeline_fd=lifeline_write,
            log=log,
            trail=trail,
        )

    def _popen(self, log: Path, trail: Path, pipes: tuple[int, int, int]) -> subprocess.Popen[bytes]:
        # Appending, so that both can be truncated while the worker writes.
        with log.open("ab", buffering=0) as output, trail.open("ab", buffering=0) as crumbs:
            fds = (*pipes, crumbs.fileno())
            return subprocess.Popen(  # noqa: S603 - the interpreter the user configured
                [
                    self.python,
                    "-u",  # what an operator printed before it died must be in the log
                    *("-X", "faulthandler"),
                    boot.__file__,
                    str(self._package),
                    self._entry,
                    *(str(fd) for fd in fds),
                ],
                cwd=self._directory,
                env=self._environment,
                pass_fds=fds,
                start_new_session=True,
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=subprocess.STDOUT,
            )


def _entry(temporary: Path, package: Path) -> str:
    """A directory that holds the package and nothing else of the control side's interpreter."""
    entry = temporary / "path"
    entry.mkdir()
    try:
        (entry / boot.PACKAGE_NAME).symlink_to(package, target_is_directory=True)
    except OSError:  # a file system without links
        shutil.copytree(package, entry / boot.PACKAGE_NAME)
    return str(entry)

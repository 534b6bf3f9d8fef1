"""C sources of the catalogue, compiled once per user with the system's compiler and loaded through ctypes.

Decides which compiler, with which flags, and where the library is kept: a directory of the user's own, under a name
that is the hash of source, flags and compiler, so that a change of any makes a new library. Knows no operator.
"""

from __future__ import annotations

import ctypes
import functools
import hashlib
import os
import shlex
import shutil
import subprocess
import tempfile
from pathlib import Path

from opsdebug_ci.errors import EnvironmentLimitError

COMPILERS = ("cc", "gcc", "clang")
"""Tried in this order when the environment variable CC names none."""

FLAGS = ("-std=c11", "-O2", "-fPIC", "-shared", "-ffp-contract=off", "-Wall", "-Wextra")
"""No fast-math and no contraction: the source says what is rounded, and when."""

SOURCES = Path(__file__).parent / "c"

TIMEOUT_S = 60.0
"""Seconds a compiler may take."""


def cache_directory() -> Path:
    """Where compiled libraries are kept: `$XDG_CACHE_HOME/opsdebug-ci/compiled`, by default below `~/.cache`."""
    root = os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache"
    return Path(root) / "opsdebug-ci" / "compiled"


def compiler_command() -> list[str]:
    """The compiler to call. Raises EnvironmentLimitError when there is none."""
    named = shlex.split(os.environ.get("CC", ""))
    candidates = [named] if named else [[name] for name in COMPILERS]
    for command in candidates:
        if shutil.which(command[0]):
            return command
    tried = ", ".join(command[0] for command in candidates)
    raise EnvironmentLimitError(
        f"no C compiler: tried {tried}, found none", next_step="install gcc or clang, or set CC to a compiler"
    )


def load(name: str, directory: Path | None = None) -> ctypes.CDLL:
    """Library compiled from `c/<name>.c`, kept in `directory` (the user's cache when None).

    Raises EnvironmentLimitError: no compiler, it refused the source, or the directory cannot be written or loaded from.
    """
    source = SOURCES / f"{name}.c"
    command = compiler_command()
    folder = cache_directory() if directory is None else directory
    try:
        library = folder / f"{name}-{_digest(source, command)}.so"
        if not library.exists():
            folder.mkdir(mode=0o700, parents=True, exist_ok=True)
            _compile(command, source, library)
        return ctypes.CDLL(str(library))
    except OSError as error:
        raise EnvironmentLimitError(
            f"cannot keep or load compiled `{source.name}` in {folder}: {error}",
            next_step="set XDG_CACHE_HOME to a directory that can be written and executed from",
        ) from error


def _digest(source: Path, command: list[str]) -> str:
    parts = (source.read_bytes(), " ".join((*command, *FLAGS)).encode(), _version(tuple(command)).encode())
    return hashlib.sha256(b"\0".join(parts)).hexdigest()[:32]


@functools.cache
def _version(command: tuple[str, ...]) -> str:
    return _run([*command, "--version"]).stdout


def _compile(command: list[str], source: Path, library: Path) -> None:
    """Compile beside `library` under a temporary name, then rename: another process sees all of it or nothing."""
    handle, temporary = tempfile.mkstemp(dir=library.parent, prefix=".", suffix=".so")
    os.close(handle)
    try:
        result = _run([*command, *FLAGS, str(source), "-o", temporary, "-lm"])
        if result.returncode:
            raise EnvironmentLimitError(
                f"`{command[0]}` refused {source.name} (exit {result.returncode}): {result.stderr.strip()[:500]}",
                next_step="set CC to a C11 compiler",
            )
        Path(temporary).replace(library)
    finally:
        Path(temporary).unlink(missing_ok=True)


def _run(command: list[str]) -> subprocess.CompletedProcess[str]:
    try:
        return subprocess.run(command, capture_output=True, text=True, check=False, timeout=TIMEOUT_S)  # noqa: S603 - a list of arguments, no shell
    except subprocess.TimeoutExpired as error:
        raise EnvironmentLimitError(
            f"`{shlex.join(command)}` did not end within {TIMEOUT_S:.0f} s", next_step="set CC to another compiler"
        ) from error

"""How an invocation may end: by a signal, by a reader that leaves, by a fault of ours."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
import types
from pathlib import Path

import click
import pytest
from cli_notation import (
    BODIES,
    EVERYDAY,
    SCRIPT,
    VERDICTS,
    await_none_in,
    opsdebug,
    processes_in,
    project,
    surroundings,
)

from opsdebug_ci import __version__
from opsdebug_ci.cli import outcome
from opsdebug_ci.cli.commands import COMMANDS
from opsdebug_ci.errors import InternalError
from opsdebug_ci.model import Verdict
from opsdebug_ci.report.json_format import decode

HEED_SIGNALS = (
    "import os, signal, sys\n"
    "for number in (signal.SIGTERM, signal.SIGHUP, signal.SIGINT):\n"
    "    signal.signal(number, signal.SIG_DFL)\n"
    "os.execvp(sys.argv[1], sys.argv[1:])"
)
"""As started at a terminal, wherever the tests run: `nohup` and jobs in the background hand on what they ignore."""


@pytest.mark.parametrize(("number", "code"), [(signal.SIGTERM, 143), (signal.SIGHUP, 129), (signal.SIGINT, 130)])
def test_a_signal_ends_the_command_and_leaves_nothing(number: signal.Signals, code: int, tmp_path: Path) -> None:
    place = project(tmp_path / "project", "hangs")
    temporary = tmp_path / "temporary"
    temporary.mkdir()
    command = subprocess.Popen(
        [sys.executable, "-c", HEED_SIGNALS, SCRIPT, "run", "hangs", *EVERYDAY],
        cwd=place,
        env={**surroundings(), "TMPDIR": str(temporary)},
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    try:
        assert command.stderr is not None
        assert command.stderr.readline() == "1 case\n"
        time.sleep(0.2)
        assert len(processes_in(place)) >= 2, "the command and a worker"
        command.send_signal(number)
        out, err = command.communicate(timeout=120)
    finally:
        command.kill()
        command.wait()
    assert (command.returncode, out, err.strip()) == (code, "", "")
    assert await_none_in(place) == []
    assert list(temporary.iterdir()) == []


@pytest.mark.parametrize(
    ("names", "judged"),
    [(("twice", "hangs"), ["twice"]), (("never_imported",), [])],
    ids=("within a case", "before the first case"),
)
def test_json_ends_with_a_valid_document_when_terminated(
    names: tuple[str, ...], judged: list[str], tmp_path: Path
) -> None:
    place = project(tmp_path / "project", *(name for name in names if name in BODIES))
    if not judged:
        (place / "kernels.py").write_text("import pathlib, time\npathlib.Path('begun').touch()\ntime.sleep(600)\n")
    command = subprocess.Popen(
        [sys.executable, "-c", HEED_SIGNALS, SCRIPT, "run", "--json", *EVERYDAY],
        cwd=place,
        env=surroundings(),
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    try:
        assert command.stderr is not None
        if judged:
            assert [command.stderr.readline() for _ in range(2)] == ["2 cases\n", "1/2 cases, 0 in trouble\n"]
        while not judged and not (place / "begun").exists():
            time.sleep(0.1)
        command.send_signal(signal.SIGTERM)
        out, _ = command.communicate(timeout=120)
    finally:
        command.kill()
        command.wait()
    document = decode(out.encode())
    assert command.returncode == 143
    assert [each.case.operator for each in document.observations] == judged
    assert (document.summary.verdict, document.summary.exit_code) == (Verdict.INCONCLUSIVE, 4)
    assert document.notes[0].startswith("ended by a signal: ")
    assert await_none_in(place) == []


def through(place: Path, pipeline: str) -> subprocess.CompletedProcess[str]:
    """Run a shell pipeline in which `opsdebug` is the command, with the exit code of the command."""
    script = f'set -o pipefail; opsdebug() {{ {SCRIPT} "$@"; }}; {pipeline}'
    return subprocess.run(
        ["bash", "-c", script], cwd=place, env=surroundings(), capture_output=True, text=True, timeout=120, check=False
    )


def test_a_reader_that_leaves_changes_neither_result_nor_standard_error(tmp_path: Path) -> None:
    place = project(tmp_path / "project", "wrong")
    ended = through(place, f"opsdebug run {' '.join((*EVERYDAY, *VERDICTS))} -vv | true")
    assert (ended.returncode, ended.stdout, ended.stderr) == (1, "", "1 case\n1/1 cases, 1 in trouble\n")


def test_a_log_nobody_reads_changes_no_result(tmp_path: Path) -> None:
    place = project(tmp_path / "project", "wrong")
    ended = through(place, f"opsdebug run {' '.join((*EVERYDAY, *VERDICTS))} --json 2>&1 >document.json | true")
    assert (ended.returncode, ended.stdout, ended.stderr) == (1, "", "")
    assert (place / "document.json").read_text().startswith('{"schema":"opsdebug.run/1"')


def test_help_to_a_reader_that_leaves(tmp_path: Path) -> None:
    ended = through(tmp_path, "opsdebug run --help | true")
    assert (ended.stdout, ended.stderr) == ("", "")


def command_that_raises(error: Exception) -> types.ModuleType:
    """A module of the registry whose command fails with `error`."""
    module = types.ModuleType("opsdebug_broken_command")

    @click.command()
    def command() -> int:
        raise error

    module.command = command  # type: ignore[attr-defined]
    return module


@pytest.mark.parametrize(
    ("error", "told"),
    [
        (ZeroDivisionError("division by zero"), "ZeroDivisionError: division by zero"),
        (InternalError("a case was judged twice"), "InternalError: internal error: a case was judged twice"),
    ],
    ids=("unforeseen", "broken invariant"),
)
def test_a_fault_of_ours_is_told_with_version_and_address(
    error: Exception, told: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setitem(sys.modules, "opsdebug_broken_command", command_that_raises(error))
    monkeypatch.setitem(COMMANDS, "broken", ("opsdebug_broken_command", "Fails."))
    assert outcome(["broken"]) == 70
    out, err = capsys.readouterr()
    assert out == ""
    *trace, last, where, machine, step = err.splitlines()
    assert (trace[0], last.endswith(told)) == ("Traceback (most recent call last):", True)
    assert where == "opsdebug [internal]: internal error in `opsdebug broken`"
    assert machine.startswith(f"  opsdebug-ci {__version__}, Python {sys.version.split()[0]}, ")
    assert step == "  next: report it with the lines above: https://github.com/opsdebug-ci/opsdebug-ci/issues"


def test_an_error_of_the_person_is_no_fault_of_ours(tmp_path: Path) -> None:
    ended = opsdebug("run", "--dims", "N", at=tmp_path)
    assert (ended.code, ended.out) == (2, "")
    assert ended.err == (
        "opsdebug [usage]: `--dims` has `N`; wanted NAME=SIZE with a whole number >= 0\n"
        "  next: write e.g. --dims B=1,S=128\n"
    )


def test_progress_is_a_bar_on_a_terminal(tmp_path: Path) -> None:
    place = project(tmp_path / "project", "wrong")
    ours, theirs = os.openpty()
    command = subprocess.Popen(
        [SCRIPT, "run", "wrong", *EVERYDAY, *VERDICTS, "--json"],
        cwd=place,
        env={**surroundings(), "TERM": "xterm", "COLUMNS": "100"},
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=theirs,
    )
    os.close(theirs)
    shown = bytearray()
    try:
        while True:
            shown += os.read(ours, 4096)
    except OSError:  # Linux: the other end is closed
        pass
    finally:
        os.close(ours)
    out, _ = command.communicate(timeout=60)
    assert (command.returncode, out[:10]) == (1, b'{"schema":')
    text = shown.decode()
    assert "1/1" in text
    assert "1 in trouble" in text
    assert "cases" not in text, "the lines are for logs"

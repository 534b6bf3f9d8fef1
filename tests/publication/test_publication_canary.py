"""A token that is watched through whole `opsdebug publish` processes, and what they leave when they are cut short.

It may be in the environment of the process and in the header `Authorization` of requests to the interface, and nowhere
else: not in what is printed, sent, stored or written anywhere, nor in an argument of any process.
"""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from subprocess import PIPE
from typing import Any

import pytest
from github_server import answered, outage, retyped, stalled
from github_server.answers import error
from github_server.faults import Effect
from person_scene import COMMAND, STEP, Ended, Repository, executable, repository
from publication_scene import NUMBER, REPOSITORY

from opsdebug_ci.pipeline.publication.held_signals import held_signals

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="looks at processes through /proc")

CHECKS, ARTIFACTS = "/repos/*/*/check-runs", "/repos/*/*/actions/runs/*/artifacts"
COMMENTS, RUN = "/repos/*/*/issues/*/comments", "/repos/*/*/actions/runs/*"


@pytest.fixture
def here(tmp_path: Path) -> Iterator[Repository]:
    with repository(tmp_path, str(tmp_path / "baselines")) as found:
        yield found


class Arguments:
    """Arguments of every process below this one, as they come and go; looked at every few milliseconds."""

    def __init__(self) -> None:
        self.seen: set[bytes] = set()
        self._over = threading.Event()
        self._watcher = threading.Thread(target=self._watch)

    def __enter__(self) -> Arguments:
        self._watcher.start()
        return self

    def __exit__(self, *raised: object) -> None:
        self._over.set()
        self._watcher.join()

    def _watch(self) -> None:
        while not self._over.wait(0.02):
            for pid in below(os.getpid()):
                with suppress(OSError):
                    self.seen.add(Path(f"/proc/{pid}/cmdline").read_bytes())


def below(pid: int) -> list[int]:
    """The processes that `pid` started, and those that they did."""
    found: list[int] = []
    waiting = [pid]
    while waiting:
        for task in Path(f"/proc/{waiting.pop()}/task").glob("*/children"):
            with suppress(OSError):
                children = [int(word) for word in task.read_text().split()]
                found += children
                waiting += children
    return found


def sent(here: Repository) -> str:
    """Everything that reached the servers but for the header `Authorization` of the interface's."""
    assert [visit for visit in here.server.storage.visits if visit.authorized] == []
    return repr(here.server.requests) + repr(here.server.storage.visits)


def nowhere(token: str, here: Repository, ended: Ended) -> None:
    """The token is not in what the process printed or sent, nor in any file it could write."""
    files = [path for path in here.place.rglob("*") if path.is_file()]
    assert files
    written = b"".join(path.read_bytes() for path in files)
    assert token not in ended.out + ended.err + sent(here)
    assert token.encode() not in written
    assert "Traceback" not in ended.err + ended.out


@contextmanager
def watched() -> Iterator[Arguments]:
    with Arguments() as arguments:
        yield arguments
    words = b"\n".join(arguments.seen)
    assert b"opsdebug_ci\0publish" in words  # it was looked at


def test_the_watch_finds_a_token_that_is_there(tmp_path: Path) -> None:
    with Arguments() as arguments, subprocess.Popen(["/bin/sh", "-c", "read _; : canary-4711"], stdin=PIPE) as there:
        until(lambda: b"canary-4711" in b"\n".join(list(arguments.seen)), there)
        there.communicate(b"\n")


def test_a_publication_and_an_acceptance_leave_no_token(tmp_path: Path) -> None:
    """Through the action, with a store on a branch, and a git that writes its arguments down."""
    forge, log = tmp_path / "forge.git", tmp_path / "arguments"
    subprocess.run(["git", "init", "--quiet", "--bare", "--template=", str(forge)], check=True)
    executable(tmp_path / "bin" / "git", f'#!/bin/sh\nprintf "%s\\n" "$*" >> "{log}"\nexec /usr/bin/git "$@"\n')
    path = f"{tmp_path / 'bin'}{os.pathsep}{os.environ['PATH']}"
    with repository(tmp_path, f"branch:opsdebug-baselines@file://{forge}") as here:
        token = here.scene.token
        here.server.comment(REPOSITORY, NUMBER, f"is {token} yours?", author="eve")
        run = here.run("softmax")
        with watched() as arguments:
            told = here.job("workflow_run", {"action": "completed", "workflow_run": {"id": run.id}}, step=True)
            nowhere(token, here, told)
            said = here.says("/opsdebug accept softmax fine")
            here.wait()
            done = here.job("issue_comment", said, step=True, PATH=path)
        nowhere(token, here, done)
        assert (told.exit_code, done.exit_code, here.check.conclusion) == (1, 0, "neutral")
        assert " push " in log.read_text(encoding="utf-8")
        assert token.encode() not in b"\n".join(arguments.seen)


@pytest.mark.parametrize("status", [403, *(pytest.param(status, marks=pytest.mark.slow) for status in (401, 404, 422))])
def test_a_server_that_refuses_and_repeats_the_token_is_not_quoted(here: Repository, status: int) -> None:
    """It repeats it whole, and with a character in it that nobody sees."""
    token = here.scene.token
    echo = answered(error(status, f"Bearer {token} is refused, and so is {token[:9]}\u200b{token[9:]}"))
    for method, pattern in (("POST", CHECKS), ("POST", COMMENTS), ("PATCH", "**")):
        here.server.fail(method, pattern, echo, count=9)
    with watched() as arguments:
        ended = here.report(here.run("softmax"))
    nowhere(token, here, ended)
    assert (ended.exit_code, ended.told.conclusion, ended.told.comment) == (1, "regressed", "refused")
    assert ended.err.count("***") >= 2
    assert token.encode() not in b"\n".join(arguments.seen)


@pytest.mark.slow
@pytest.mark.parametrize("status", [401, 404])
def test_a_run_that_is_refused_ends_without_the_token(here: Repository, status: int) -> None:
    here.server.fail("GET", RUN, answered(error(status, f"no {here.scene.token} here")), count=9)
    ended = here.report(here.run("softmax"))
    nowhere(here.scene.token, here, ended)
    assert (ended.exit_code, ended.out) == (3, "")
    assert "***" in ended.err


@pytest.mark.slow
def test_doubt_and_answers_that_repeat_the_token_leave_none(here: Repository) -> None:
    token = here.scene.token
    here.server.fail("POST", COMMENTS, outage(502, acted=True))
    here.server.fail("POST", CHECKS, retyped("status", token))
    here.server.fail("GET", COMMENTS, retyped("body", token), first=2)
    ended = here.report(here.run("softmax"))
    nowhere(token, here, ended)
    assert (ended.exit_code, ended.told.conclusion) == (1, "regressed")


@pytest.mark.parametrize(
    ("variables", "error"),
    [
        ({"OPSDEBUG_TOKEN": "{token}\n"}, "`token` has blanks"),
        pytest.param({"OPSDEBUG_TOKEN": "{token}\r\nX-Evil: 1"}, "`token` has blanks", marks=pytest.mark.slow),
        ({"GITHUB_API_URL": "http://bot:{token}@127.0.0.1:1"}, "`GITHUB_API_URL` is"),
        pytest.param(
            {"GITHUB_SERVER_URL": "http://bot:{token}@127.0.0.1:1"}, "`GITHUB_SERVER_URL` is", marks=pytest.mark.slow
        ),
    ],
)
def test_a_token_where_it_cannot_be_used_is_not_shown(here: Repository, variables: dict[str, str], error: str) -> None:
    given = {name: value.format(token=here.scene.token) for name, value in variables.items()}
    event = {"action": "completed", "workflow_run": {"id": here.run("softmax").id}}
    ended = here.job("workflow_run", event, **given)
    nowhere(here.scene.token, here, ended)
    assert (ended.exit_code, ended.out) == (2, "")
    assert error in ended.err


# --- cut short --------------------------------------------------------------------------------------------------


def until(met: Callable[[], object], process: subprocess.Popen[Any]) -> None:
    deadline = time.monotonic() + 60
    while not met():
        assert time.monotonic() < deadline
        assert process.poll() is None
        time.sleep(0.02)


def cut_short(here: Repository, process: subprocess.Popen[str], number: signal.Signals) -> Ended:
    """Send the signal, and wait for the end."""
    process.send_signal(number)
    out, err = process.communicate(timeout=120)
    return Ended(exit_code=process.returncode, out=out, err=err)


TERM, INT = signal.SIGTERM, signal.SIGINT


@pytest.mark.parametrize(
    ("method", "path", "effect", "number"),
    [
        ("GET", ARTIFACTS, stalled(300.0), INT),
        ("POST", CHECKS, stalled(3.0, acted=True), TERM),  # it is made, and nobody has heard of it
        pytest.param("POST", CHECKS, stalled(3.0, acted=True), INT, marks=pytest.mark.slow),
        pytest.param("GET", ARTIFACTS, stalled(300.0), TERM, marks=pytest.mark.slow),
        pytest.param("GET", COMMENTS, stalled(300.0), TERM, marks=pytest.mark.slow),
    ],
)
def test_a_publication_that_is_cut_short_closes_its_check(
    here: Repository, method: str, path: str, effect: Effect, number: signal.Signals
) -> None:
    run = here.run("softmax")
    fault = here.server.fail(method, path, effect)
    process = here.start(COMMAND, "workflow_run", {"action": "completed", "workflow_run": {"id": run.id}})
    until(lambda: fault.seen and here.scene.checks(), process)
    ended = cut_short(here, process, number)
    nowhere(here.scene.token, here, ended)
    assert (ended.exit_code, ended.out) == (128 + number, "")
    assert (here.check.status, here.check.conclusion) == ("completed", "cancelled")
    assert here.scene.ours == []
    told = here.reported(run)  # once more, and everything is said
    assert (told.conclusion, told.comment, here.check.conclusion) == ("regressed", "created", "action_required")


def test_a_second_signal_does_not_wait() -> None:
    """The first waits for the end of the step, which may take minutes."""
    heard: list[int] = []
    before = signal.signal(INT, lambda number, frame: heard.append(number))
    try:
        with held_signals():
            signal.raise_signal(INT)
            assert heard == []
            signal.raise_signal(INT)
            assert heard == [INT]
        assert heard == [INT, INT]
        with held_signals():
            pass
        signal.raise_signal(INT)
        assert heard == [INT, INT, INT]
    finally:
        signal.signal(INT, before)


@pytest.mark.slow
@pytest.mark.parametrize("words", [COMMAND, STEP])
def test_a_server_that_hangs_up_gets_no_second_chance_to_show_it(here: Repository, words: tuple[str, ...]) -> None:
    """It is tried again until the job is cancelled."""
    calls: list[bytes] = []
    with socket.create_server(("127.0.0.1", 0)) as listener:

        def hang_up() -> None:
            with suppress(OSError):
                while True:
                    connection, _ = listener.accept()
                    with connection:
                        calls.append(connection.recv(2**16))

        threading.Thread(target=hang_up, daemon=True).start()
        url = f"http://127.0.0.1:{listener.getsockname()[1]}"
        event = {"action": "completed", "workflow_run": {"id": 7}}
        process = here.start(words, "workflow_run", event, GITHUB_API_URL=url)
        until(lambda: len(calls) >= 2, process)
        ended = cut_short(here, process, signal.SIGTERM)
    nowhere(here.scene.token, here, ended)
    assert ended.exit_code == 128 + signal.SIGTERM
    token = here.scene.token.encode()
    for call in calls:
        lines = [line for line in call.split(b"\r\n") if token in line]
        assert [line.partition(b":")[0].lower() for line in lines] == [b"authorization"]

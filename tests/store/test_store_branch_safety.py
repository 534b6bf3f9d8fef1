"""What a store on a branch must not do: run what a configuration plants, change a repository, tell a secret."""

from __future__ import annotations

import base64
import hashlib
import os
import subprocess
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest
from branch_remotes import (
    BRANCH,
    BRISK,
    BRISK_READING,
    NOT_THE_PERSON,
    Forge,
    WatchedGit,
    executable,
    paths_of,
    run_files,
)

from opsdebug_ci.errors import OpsdebugError, StoreError, UsageError
from opsdebug_ci.store.places.backend import StoreFile
from opsdebug_ci.store.places.branch import BranchBackend

CANARY = "ghs_canary0123456789"
ENCODED = base64.b64encode(f"x-access-token:{CANARY}".encode()).decode()

OWN = (".git/objects", f".git/refs/heads/{BRANCH}", f".git/logs/refs/heads/{BRANCH}")
"""What of a repository that is the place itself belongs to the branch."""


class Person:
    """A repository with a work tree that is in the middle of something."""

    def __init__(self, directory: Path) -> None:
        self.directory = directory
        self.root = directory / "work"
        self.root.mkdir()
        self.git("init", "--quiet", "--template=", "--initial-branch=main")
        (self.root / "kept.py").write_text("kept = 1\n")
        self.git("add", "kept.py")
        self.git("commit", "--quiet", "--message=kept")
        (self.root / "kept.py").write_text("kept = 2\n")
        (self.root / "staged.py").write_text("staged = 1\n")
        self.git("add", "staged.py")
        (self.root / "untracked.py").write_text("untracked = 1\n")

    def git(self, *words: str) -> str:
        identity = ("-c", "user.name=A", "-c", "user.email=a@example.org")
        environ = {**os.environ, **NOT_THE_PERSON}
        done = subprocess.run(
            ["git", "-C", str(self.root), *identity, *words], env=environ, capture_output=True, text=True, check=True
        )
        return done.stdout.strip()

    def backend(self, location: str = f"branch:{BRANCH}", cache: str = "cache", **environ: str) -> BranchBackend:
        around = {**os.environ, **NOT_THE_PERSON, "OPSDEBUG_CACHE": str(self.directory / cache), **environ}
        return BranchBackend(location, self.root, around, writing=BRISK, reading=BRISK_READING)

    def digest(self, *without: str) -> str:
        """Of every file here, with its name."""
        told = hashlib.sha256()
        for path in sorted(self.root.rglob("*")):
            name = path.relative_to(self.root).as_posix()
            if path.is_file() and not name.startswith(without or ("\0",)):
                told.update(f"{name}\0".encode() + path.read_bytes() + b"\0")
        return told.hexdigest()

    def plant(self, trap: Path, *, remotes: bool = True) -> None:
        """Everything in a configuration that makes git run something, as far as it has anything to do with us."""
        executable(trap, f"#!/bin/sh\necho \"$0 $*\" >> '{trap}.sprung'\nexit 1\n")
        hooks = self.root / ".git" / "planted-hooks"
        hooks.mkdir()
        names = (
            "pre-push pre-receive update post-receive post-update reference-transaction pre-auto-gc post-index-change "
            "proc-receive push-to-checkout pre-commit post-commit"
        )
        for name in names.split():
            executable(hooks / name, trap.read_text())
        settings = {
            "core.fsmonitor": str(trap),
            "core.hooksPath": str(hooks),
            "core.sshCommand": str(trap),
            "core.gitProxy": str(trap),
            "core.askPass": str(trap),
            "core.pager": str(trap),
            "core.editor": str(trap),
            "core.alternateRefsCommand": str(trap),
            "credential.helper": f"!{trap}",
            "filter.planted.clean": str(trap),
            "filter.planted.smudge": str(trap),
            "filter.planted.process": str(trap),
            "gpg.program": str(trap),
            "commit.gpgSign": "true",
            "push.gpgSign": "true",
            "uploadpack.packObjectsHook": str(trap),
            "remote.origin.uploadpack": str(trap),
            "remote.origin.receivepack": str(trap),
            "remote.origin.proxy": "http://127.0.0.1:9",
            "remote.opsdebug-store.url": f"ext::{trap}",
            "remote.opsdebug-store.receivepack": str(trap),
            "receive.denyCurrentBranch": "updateInstead",
            "protocol.ext.allow": "always",
            "protocol.allow": "always",
            f"url.ext::{trap}.insteadOf": "file://",
            f"url.ext::{trap} .pushInsteadOf": "/",
        }
        for key, value in settings.items():
            if remotes or not key.startswith("remote."):
                self.git("config", key, value)
        (self.root / ".gitattributes").write_text("* filter=planted\n")


@pytest.fixture
def forge(tmp_path: Path) -> Forge:
    return Forge(tmp_path)


@pytest.fixture
def person(tmp_path: Path) -> Person:
    return Person(tmp_path)


def use_it(backend: BranchBackend) -> None:
    """Everything that can be done to a store."""
    backend.check_writable()
    assert not backend.exists()
    backend.add(run_files("one", b"a bundle"))
    backend.add(run_files("two"))
    backend.exchange([StoreFile(path="runs/date=2026-11-01/pack-1.parquet", data=b"pack")], [])
    assert backend.exists()
    backend.mirror()
    assert backend.read(run_files("one", b"a bundle")[0].path) == b"a bundle"


def test_origin_of_the_repository_around_is_the_place(forge: Forge, person: Person) -> None:
    person.git("remote", "add", "origin", forge.url)
    (person.root / "below").mkdir()
    before = person.digest()
    use_it(person.backend())
    assert paths_of("one", "two") <= forge.files()
    assert person.digest() == before


def test_an_origin_that_is_a_relative_path_starts_from_the_top(forge: Forge, person: Person) -> None:
    person.git("remote", "add", "origin", "../forge.git")
    below = person.root / "below"
    below.mkdir()
    around = {**os.environ, **NOT_THE_PERSON, "OPSDEBUG_CACHE": str(person.directory / "cache")}
    BranchBackend(f"branch:{BRANCH}", below, around).add(run_files("one"))
    assert forge.files() == paths_of("one")


def test_without_a_remote_the_repository_itself_is_the_place(person: Person) -> None:
    before = person.digest(*OWN)
    use_it(person.backend())
    assert person.digest(*OWN) == before
    assert person.git("diff", "--name-only") == "kept.py"
    assert person.git("diff", "--cached", "--name-only") == "staged.py"
    assert person.git("rev-list", "--count", BRANCH) == "1"


def test_other_remotes_than_origin_are_not_guessed(forge: Forge, person: Person) -> None:
    person.git("remote", "add", "upstream", forge.url)
    with pytest.raises(StoreError, match="has no remote `origin`, but upstream"):
        person.backend().add(run_files("one"))


def test_outside_of_a_repository_there_is_no_branch(tmp_path: Path) -> None:
    with pytest.raises(StoreError, match="is in no git repository"):
        BranchBackend(f"branch:{BRANCH}", tmp_path, {}).exists()


@pytest.mark.parametrize("origin", [True, False], ids=["origin", "itself"])
def test_nothing_that_a_configuration_plants_is_run(origin: bool, forge: Forge, person: Person) -> None:
    if origin:
        person.git("remote", "add", "origin", forge.url)
    trap = person.directory / "trap"
    person.plant(trap, remotes=origin)
    without = () if origin else OWN
    before = person.digest(*without)
    use_it(person.backend())
    assert not Path(f"{trap}.sprung").exists()
    assert person.digest(*without) == before


def test_the_trap_is_one(person: Person) -> None:
    trap = person.directory / "trap"
    person.plant(trap)
    around = {**os.environ, **NOT_THE_PERSON}
    subprocess.run(["git", "-C", str(person.root), "status"], env=around, check=False, capture_output=True)
    assert Path(f"{trap}.sprung").exists()


def test_an_origin_on_this_machine_that_was_planted_runs_no_hook(person: Person, forge: Forge) -> None:
    forge.hook(f"touch '{person.directory}/sprung'")
    person.git("remote", "add", "origin", str(forge.path))
    person.backend().add(run_files("one"))
    assert forge.files() == paths_of("one")
    assert not (person.directory / "sprung").exists()
    person.backend(f"branch:{BRANCH}@{forge.path}").add(run_files("two"))
    assert (person.directory / "sprung").exists(), "a person named it: its hooks are its rules"


def test_an_origin_that_names_a_program_is_refused(person: Person) -> None:
    person.git("remote", "add", "origin", f"ext::touch {person.directory}/sprung")
    with pytest.raises(UsageError, match="is no address of a repository"):
        person.backend().exists()
    assert not (person.directory / "sprung").exists()


def test_a_partial_clone_is_not_the_place_itself(person: Person) -> None:
    person.git("config", "core.repositoryFormatVersion", "1")
    person.git("config", "extensions.partialClone", "away")
    with pytest.raises(StoreError, match="is a partial clone"):
        person.backend().exists()


def test_the_branch_that_is_checked_out_is_left_alone(person: Person) -> None:
    person.git("config", "receive.denyCurrentBranch", "updateInstead")
    before = person.digest(".git/objects")
    with pytest.raises(StoreError):
        person.backend("branch:main").add(run_files("one"))
    assert person.digest(".git/objects") == before


class Server:
    """A server of repositories that keeps what it is asked with."""

    def __init__(self) -> None:
        self.asked: list[tuple[str, str | None]] = []
        self.code = 401
        self.url = ""

    def answer(self, handler: BaseHTTPRequestHandler) -> None:
        self.asked.append((handler.path, handler.headers.get("Authorization")))
        handler.send_response(self.code)
        handler.send_header("Location", "http://localhost:9/other")
        handler.send_header("Content-Length", "0")
        handler.end_headers()


@contextmanager
def serving() -> Iterator[Server]:
    server = Server()

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            server.answer(self)

        def log_message(self, format: str, *args: object) -> None:
            """Nothing: the test reads what was asked."""

    http = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=http.serve_forever)
    thread.start()
    server.url = f"127.0.0.1:{http.server_port}"
    try:
        yield server
    finally:
        http.shutdown()
        thread.join()
        http.server_close()


@pytest.fixture
def server() -> Iterator[Server]:
    with serving() as running:
        yield running


def everything(directory: Path) -> bytes:
    """Every byte of every file below."""
    return b"\0".join(path.read_bytes() for path in directory.rglob("*") if path.is_file())


def test_a_password_in_an_address_goes_to_its_server_and_nowhere_else(server: Server, tmp_path: Path) -> None:
    watched = WatchedGit(tmp_path / "bin")
    around = {"PATH": watched.path, "OPSDEBUG_CACHE": str(tmp_path / "cache"), "HOME": str(tmp_path)}
    location = f"branch:{BRANCH}@http://me:{CANARY}@{server.url}/o/r.git"
    backend = BranchBackend(location, tmp_path, around, writing=BRISK, reading=BRISK_READING)
    with pytest.raises(StoreError) as told:
        backend.add(run_files("one"))
    assert {sent for _, sent in server.asked} == {"basic " + base64.b64encode(f"me:{CANARY}".encode()).decode()}
    assert "(authentication)" in told.value.message
    seen = f"{told.value}{told.value!r}{told.value.__cause__}{backend.location}{vars(backend)}{watched.log.read_text()}"
    assert CANARY not in seen
    assert CANARY.encode() not in everything(tmp_path)
    assert backend.location == f"branch:{BRANCH}@http://***@{server.url}/o/r.git"


def test_no_token_goes_to_another_server_or_over_http(server: Server, tmp_path: Path) -> None:
    around = {
        "OPSDEBUG_CACHE": str(tmp_path / "cache"),
        "PATH": os.environ["PATH"],
        "CI": "true",
        "GITHUB_TOKEN": CANARY,
    }
    for own in ("https://github.com", f"http://{server.url}", f"https://{server.url}"):
        backend = BranchBackend(f"branch:a@http://{server.url}/r", tmp_path, {**around, "GITHUB_SERVER_URL": own})
        with pytest.raises(StoreError):
            backend.exists()
    assert server.asked
    assert {sent for _, sent in server.asked} == {None}


def test_credentials_are_not_sent_on_to_where_a_server_points(server: Server, tmp_path: Path) -> None:
    around = {"PATH": os.environ["PATH"], "OPSDEBUG_CACHE": str(tmp_path / "cache"), "HOME": str(tmp_path)}
    with serving() as other:
        server.code = 302
        backend = BranchBackend(f"branch:a@http://me:{CANARY}@{server.url}/r", tmp_path, around)
        with pytest.raises(StoreError, match=r"\(moved\)"):
            backend.exists()
        assert other.asked == []
    assert len(server.asked) == 1


def test_the_token_is_in_the_environment_of_git_alone(forge: Forge, tmp_path: Path) -> None:
    watched = WatchedGit(tmp_path / "bin")
    environment = tmp_path / "environment"
    watched.pushing(f"env > '{environment}'", "")
    forge.hook(f"echo 'remote: {CANARY} {ENCODED}' >&2; exit 1")
    backend = forge.backend(PATH=watched.path, CI="true", GITHUB_TOKEN=CANARY)
    with pytest.raises(StoreError) as told:
        backend.add(run_files("one"))
    assert "***" in told.value.message
    assert CANARY not in f"{told.value}{told.value!r}{backend!r}{watched.log.read_text()}"
    assert CANARY not in environment.read_text(), "this remote is on no server"
    assert "GIT_CONFIG_GLOBAL=/dev/null" in environment.read_text().splitlines()


def test_a_token_speaks_for_us_at_its_own_server_over_https(tmp_path: Path) -> None:
    """git is stopped before it goes anywhere: there is no such server."""
    watched = WatchedGit(tmp_path / "bin")
    environment = tmp_path / "environment"
    executable(tmp_path / "bin" / "git", f"#!/bin/sh\necho \"$*\" >> '{watched.log}'\nenv > '{environment}'\nexit 1\n")
    around = {
        "PATH": watched.path,
        "OPSDEBUG_CACHE": str(tmp_path / "cache"),
        "OPSDEBUG_TOKEN": CANARY,
        "GITHUB_TOKEN": "other",
    }
    backend = BranchBackend(f"branch:{BRANCH}@https://github.com/o/r", tmp_path, around, reading=BRISK_READING)
    with pytest.raises(OpsdebugError) as told:
        backend.exists()
    lines = environment.read_text().splitlines()
    values = [line.partition("=")[2] for line in lines if ENCODED in line]
    assert values == [f"AUTHORIZATION: basic {ENCODED}"]
    assert any(line.endswith("=http.https://github.com/.extraheader") for line in lines)
    assert CANARY not in environment.read_text(), "only its encoded form, which the server asks for"
    assert ENCODED not in f"{told.value}{watched.log.read_text()}"
    assert CANARY not in f"{told.value}{watched.log.read_text()}"

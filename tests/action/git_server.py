"""Bare repositories on https: anybody may read, and whoever pushes must have a token that may write contents.

git's own http-backend does the work. Decides who may push, and writes down with which token somebody did.
"""

from __future__ import annotations

import base64
import os
import shutil
import subprocess
from pathlib import Path
from types import TracebackType
from urllib.parse import urlsplit

from github_server.certificate import self_signed
from github_server.state import State
from github_server.wire import Arrival, Departure, Wire

PUSHING = "git-receive-pack"


class GitServer:
    """`with GitServer(directory, server.state) as remote:` and `remote.url` is what GITHUB_SERVER_URL says."""

    def __init__(self, directory: Path, state: State) -> None:
        directory.mkdir()
        self.directory = directory
        self.state = state
        self.pushes: list[str] = []
        """Names of the tokens with which something was pushed, in order."""

        self.refused: list[str] = []
        """Names of the tokens, empty for none, with which nothing may be pushed, and somebody tried to."""

        self._certificate = self_signed(directory)
        self._wire = Wire(self._respond, self._certificate)

    @property
    def url(self) -> str:
        return self._wire.address

    def __enter__(self) -> GitServer:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, raised: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._wire.close()
        assert not self._wire.mishaps, self._wire.mishaps

    def create(self, name: str) -> Path:
        """A repository without anything; its directory."""
        path = self.directory / name
        subprocess.run(["git", "init", "--quiet", "--bare", "--initial-branch=main", str(path)], check=True)
        for setting in ("uploadpack.allowFilter", "uploadpack.allowAnySHA1InWant"):
            subprocess.run(["git", "-C", str(path), "config", setting, "true"], check=True)
        return path

    def trusting_git(self) -> Path:
        """A directory with a program `git` that trusts this server, as the system's would if it knew its authority."""
        directory = self.directory / "bin"
        directory.mkdir()
        program = directory / "git"
        program.write_text(f"#!/bin/sh\nGIT_SSL_CAINFO='{self._certificate[0]}' exec '{shutil.which('git')}' \"$@\"\n")
        program.chmod(0o755)
        return directory

    def _respond(self, arrival: Arrival) -> Departure:
        target = urlsplit(arrival.target)
        named, may = self._pusher(arrival.headers.get("authorization", ""))
        if PUSHING in f"{target.path}?{target.query}" and not may:
            self.refused.append(named)
            return Departure(status=403 if named else 401, headers={} if named else {"WWW-Authenticate": "Basic"})
        if target.path.endswith(PUSHING):
            self.pushes.append(named)
        return self._answered(arrival, target.path, target.query, named)

    def _pusher(self, header: str) -> tuple[str, bool]:
        """Name of the token that somebody comes with, and whether it may push."""
        text = base64.b64decode(header.partition(" ")[2]).decode().partition(":")[2]
        with self.state.lock:
            token = self.state.tokens.get(text)
        return ("", False) if token is None else (token.name, token.permissions.get("contents") == "write")

    def _answered(self, arrival: Arrival, path: str, query: str, user: str) -> Departure:
        variables = {
            "GIT_PROJECT_ROOT": str(self.directory),
            "GIT_HTTP_EXPORT_ALL": "1",
            "GIT_PROTOCOL": arrival.headers.get("git-protocol", ""),
            "REQUEST_METHOD": arrival.method,
            "PATH_INFO": path,
            "QUERY_STRING": query,
            "CONTENT_TYPE": arrival.headers.get("content-type", ""),
            "CONTENT_LENGTH": str(len(arrival.body)),
            "HTTP_CONTENT_ENCODING": arrival.headers.get("content-encoding", ""),
            "REMOTE_ADDR": "127.0.0.1",
            "REMOTE_USER": user,
        }
        done = subprocess.run(
            ["git", "http-backend"],
            input=arrival.body,
            env={**os.environ, **{name: value for name, value in variables.items() if value}},
            capture_output=True,
            check=True,
        )
        head, _, content = done.stdout.partition(b"\r\n\r\n")
        headers = dict(line.split(": ", 1) for line in head.decode().split("\r\n"))
        status = int(headers.pop("Status", "200").split()[0])
        return Departure(status=status, headers=headers, content=content)

"""Servers of object storage on this machine, and one in front of them that can be told to misbehave."""

from __future__ import annotations

import hashlib
import http.client
import socket
import subprocess
import sys
import threading
import time
import urllib.error
import urllib.request
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from urllib.parse import unquote, urlsplit

from opsdebug_ci.store.files.layout import bundle_path
from opsdebug_ci.store.places.backend import StoreFile
from opsdebug_ci.store.places.objects import ObjectBackend

DAY = "date=2026-11-29"

KEY, SECRET, TOKEN = "AKIDCANARYCANARY", "canary/secret/canary/secret", "canary-token-canary-token"


@dataclass(frozen=True, slots=True, kw_only=True)
class Storage:
    """A server, and how to get at a bucket of it."""

    scheme: str
    address: str

    def backend(self, base: str, cache: Path, patience_s: float = 20.0) -> ObjectBackend:
        environ = {
            {"s3": "AWS_ENDPOINT_URL", "gs": "STORAGE_EMULATOR_HOST"}[self.scheme]: self.address,
            "AWS_ACCESS_KEY_ID": KEY,
            "AWS_SECRET_ACCESS_KEY": SECRET,
            "AWS_SESSION_TOKEN": TOKEN,
            "OPSDEBUG_CACHE": str(cache),
        }
        return ObjectBackend(f"{self.scheme}://{base}", environ, patience_s)

    def make_bucket(self, name: str) -> None:
        path, data = (f"/{name}", None) if self.scheme == "s3" else ("/storage/v1/b", f'{{"name":"{name}"}}'.encode())
        method = "PUT" if self.scheme == "s3" else "POST"
        request = urllib.request.Request(self.address + path, data, {"Content-Type": "application/json"}, method=method)
        with urllib.request.urlopen(request) as answer:
            assert answer.status == 200


def run_files(run_id: str, extra: bytes = b"") -> list[StoreFile]:
    """The files of a run: a bundle, rows of two tables, and the run; each says what it is."""
    data = f"bundle of {run_id}".encode() * 500
    bundle = StoreFile(path=bundle_path(hashlib.sha256(data).hexdigest()), data=data)
    tables = ("accuracy", "timings", "runs")
    return [bundle, *(StoreFile(path=f"{t}/{DAY}/{run_id}.parquet", data=t.encode() + extra) for t in tables)]


@contextmanager
def running(scheme: str) -> Iterator[tuple[Storage, subprocess.Popen[bytes]]]:
    """A server with nothing in it, and its process; ended at the end."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = str(free.getsockname()[1])
    commands = {
        "s3": [sys.executable, "-m", "moto.server", "-H", "127.0.0.1", "-p", port],
        "gs": [sys.executable, "-m", "gcp_storage_emulator", "start", "--host", "127.0.0.1", "--port", port, "-M"],
    }
    process = subprocess.Popen(commands[scheme], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    try:
        storage = Storage(scheme=scheme, address=f"http://127.0.0.1:{port}")
        _await(storage.address, process)
        yield storage, process
    finally:
        process.kill()
        process.wait()


def _await(address: str, process: subprocess.Popen[bytes]) -> None:
    while True:
        assert process.poll() is None, "the server ended"
        try:
            urllib.request.urlopen(address).close()
            return
        except urllib.error.HTTPError as answer:
            answer.close()
            return
        except urllib.error.URLError:
            time.sleep(0.02)


@dataclass(frozen=True, slots=True, kw_only=True)
class Answer:
    """What the server in front says instead of passing a request on; status 0: it cuts the connection."""

    status: int
    code: str = ""
    message: str = "said so"


HOP_BY_HOP = ("expect", "connection", "transfer-encoding", "content-length")
"""Headers that are for the server in front."""

Rule = Callable[[str, str], "Answer | None"]
"""Method and unquoted path with query of a request -> what to say instead of passing it on."""


@dataclass(slots=True)
class Front:
    """A server in front of another one."""

    behind: str
    rule: Rule = lambda method, path: None
    most_keys: int | None = None
    """Objects in one page of a listing, instead of what is asked for."""
    seen: list[str] = field(default_factory=list)
    """`METHOD path` of every request, in order."""
    storage: Storage = Storage(scheme="s3", address="")


@contextmanager
def in_front(behind: Storage) -> Iterator[Front]:
    """A server in front of `behind`, to be told what to do."""
    front = Front(behind=behind.address)
    methods = {f"do_{method}": _Handler.serve for method in ("GET", "PUT", "HEAD", "DELETE", "POST")}
    handler = type("Handler", (_Handler,), {"front": front, **methods})
    server = ThreadingHTTPServer(("127.0.0.1", 0), handler)
    server.daemon_threads = True
    front.storage = Storage(scheme=behind.scheme, address=f"http://127.0.0.1:{server.server_address[1]}")
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02})
    thread.start()
    try:
        yield front
    finally:
        server.shutdown()
        thread.join()
        server.server_close()


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    front: Front

    def log_message(self, format: str, *arguments: object) -> None:
        """Nothing is printed."""

    def serve(self) -> None:
        body = b"".join(self._chunks())
        path = unquote(self.path)
        self.front.seen.append(f"{self.command} {path}")
        answer = self.front.rule(self.command, path)
        if answer is None:
            self._pass_on(body)
        elif answer.status == 0:
            self.connection.shutdown(socket.SHUT_RDWR)
            self.close_connection = True
        else:
            text = f"<Error><Code>{answer.code}</Code><Message>{answer.message}</Message></Error>".encode()
            self._say(answer.status, [("Content-Type", "application/xml")], text)

    def _chunks(self) -> Iterator[bytes]:
        if self.headers.get("Transfer-Encoding", "").lower() != "chunked":
            yield self.rfile.read(int(self.headers.get("Content-Length") or 0))
            return
        while size := int(self.rfile.readline(), 16):
            yield self.rfile.read(size)
            self.rfile.readline()
        self.rfile.readline()

    def _pass_on(self, body: bytes) -> None:
        path = self.path
        if self.front.most_keys is not None:
            path = path.replace("max-keys=1000", f"max-keys={self.front.most_keys}")
        connection = http.client.HTTPConnection(urlsplit(self.front.behind).netloc)
        try:
            headers = {k: v for k, v in self.headers.items() if k.lower() not in HOP_BY_HOP}
            connection.request(self.command, path, body, headers)
            answer = connection.getresponse()
            data = answer.read()
        except OSError:
            self.close_connection = True
            return
        finally:
            connection.close()
        skipped = ("transfer-encoding", "connection", *(("content-length",) if self.command != "HEAD" else ()))
        self._say(answer.status, [(k, v) for k, v in answer.getheaders() if k.lower() not in skipped], data)

    def _say(self, status: int, headers: Sequence[tuple[str, str]], data: bytes) -> None:
        self.send_response(status)
        for name, value in headers:
            self.send_header(name, value)
        if self.command != "HEAD":
            self.send_header("Content-Length", str(len(data)))
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(data)

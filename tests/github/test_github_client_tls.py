"""Certificates: who is believed, and what is said of one who is not."""

from __future__ import annotations

import socket
import ssl
import threading
from pathlib import Path

import pytest
from github_server.certificate import self_signed
from scripted_github import TOKEN, Clock, answer, scripted

from opsdebug_ci.errors import GithubUnreachableError, UsageError
from opsdebug_ci.github.api.client import open_client
from opsdebug_ci.github.api.records import User

ADA = {"login": "ada", "id": 7}
VARIABLES = ("REQUESTS_CA_BUNDLE", "CURL_CA_BUNDLE", "SSL_CERT_FILE")


@pytest.fixture(scope="module")
def certificate(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A server's certificate, signed by itself, with its key behind it."""
    folder = tmp_path_factory.mktemp("tls")
    made, key = self_signed(folder)
    path = folder / "both.pem"
    path.write_bytes(made.read_bytes() + key.read_bytes())
    return path


@pytest.fixture
def tls(certificate: Path, monkeypatch: pytest.MonkeyPatch) -> ssl.SSLContext:
    for name in VARIABLES:
        monkeypatch.delenv(name, raising=False)
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(certificate)
    return context


@pytest.mark.parametrize("verb", ["get", "post"])
def test_a_certificate_nobody_signed_is_told_at_once_and_gets_no_token(tls: ssl.SSLContext, verb: str) -> None:
    clock = Clock()
    with scripted(tls=tls) as server:
        client = open_client(api_url=server.url, token=TOKEN, clock=clock)
        with pytest.raises(GithubUnreachableError, match="certificate") as caught:
            client.get("/x", User) if verb == "get" else client.post("/x", User, {})
        assert server.seen == []
    assert type(caught.value) is GithubUnreachableError
    assert "REQUESTS_CA_BUNDLE" in caught.value.next_step
    assert (client.calls, clock.sleeps) == (1, [])


def test_the_authority_of_a_server_of_ones_own_is_believed(
    tls: ssl.SSLContext, certificate: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with scripted(*[answer(200, ADA)] * 2, tls=tls) as server:
        assert open_client(api_url=server.url, token=TOKEN, ca_bundle=str(certificate)).get("/x", User).login == "ada"
        monkeypatch.setenv("REQUESTS_CA_BUNDLE", str(certificate))
        assert open_client(api_url=server.url, token=TOKEN).get("/x", User).login == "ada"


@pytest.mark.parametrize("variable", ["REQUESTS_CA_BUNDLE", "CURL_CA_BUNDLE", ""])
def test_a_file_of_certificates_that_is_not_there_is_told_before_anything_is_sent(
    tls: ssl.SSLContext, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, variable: str
) -> None:
    missing = str(tmp_path / "missing.pem")
    if variable:
        monkeypatch.setenv(variable, missing)
    with scripted(tls=tls) as server, pytest.raises(UsageError, match=r"missing\.pem"):
        open_client(api_url=server.url, token=TOKEN, ca_bundle="" if variable else missing)


def test_a_handshake_that_breaks_may_be_tried_again(tls: ssl.SSLContext) -> None:
    """A server that speaks no TLS, or is about to stop."""
    clock = Clock()
    with socket.create_server(("127.0.0.1", 0)) as server:
        threading.Thread(target=answer_in_clear, args=(server,), daemon=True).start()
        address = f"https://127.0.0.1:{server.getsockname()[1]}"
        client = open_client(api_url=address, token=TOKEN, clock=clock, budget_s=1.0)
        with pytest.raises(GithubUnreachableError, match="after 2 tries"):
            client.get("/x", User)
    assert clock.sleeps == [0.5]


def answer_in_clear(server: socket.socket) -> None:
    for _ in range(2):
        connection, _ = server.accept()
        with connection:
            connection.recv(2**16)
            connection.sendall(b"HTTP/1.1 400 Bad Request\r\n\r\n")

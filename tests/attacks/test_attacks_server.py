"""Another server than github.com, and a report that is cancelled half-way: A33, A34."""

from __future__ import annotations

import signal
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from attack_documents import HEAD
from attack_list import attack, twin
from github_server import GithubServer, stalled
from github_server.certificate import self_signed
from hostile_job import ROOT, obeyed, read_outputs
from report_scene import REPOSITORY, Scene, failing

from opsdebug_ci.errors import GithubUnreachableError

BELIEVED = ("REQUESTS_CA_BUNDLE", "CURL_CA_BUNDLE", "SSL_CERT_FILE")


@pytest.fixture(scope="module")
def certificate(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    """Of a server of one's own, signed by itself, and its key."""
    return self_signed(tmp_path_factory.mktemp("tls"))


@pytest.fixture
def enterprise(certificate: tuple[Path, Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Scene]:
    """The scene on a server with another path, port and certificate."""
    for name in BELIEVED:
        monkeypatch.delenv(name, raising=False)
    with GithubServer("/api/v3", certificate=certificate) as server:
        yield Scene(server, tmp_path)


@attack("A33")
@pytest.mark.slow
@pytest.mark.parametrize("variable", ["REQUESTS_CA_BUNDLE", "SSL_CERT_FILE"])
def test_the_step_works_on_a_server_of_ones_own(
    variable: str, enterprise: Scene, certificate: tuple[Path, Path], tmp_path: Path
) -> None:
    enterprise.upload(failing())
    done = enterprise.step(**{variable: str(certificate[0])})
    assert (done.returncode, done.stderr, obeyed(done.stdout)) == (1, "", [])
    (ours,) = enterprise.ours()
    home = f"https://127.0.0.1:{enterprise.server.html.rpartition(':')[2]}/{REPOSITORY}"
    assert f"{home}/commit/{HEAD}" in ours.body
    assert f"{home}/actions/runs/" in ours.body
    assert "github.com" not in ours.body
    assert read_outputs((tmp_path / "output").read_text(encoding="utf-8"))["verdict"] == "fail"


@attack("A33")
def test_a_server_of_ones_own_in_this_process(
    enterprise: Scene, certificate: tuple[Path, Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("REQUESTS_CA_BUNDLE", str(certificate[0]))
    enterprise.upload(failing())
    assert enterprise.publish().comment == "created"
    assert all(request.path.startswith("/repos/") or request.path == "/user" for request in enterprise.server.requests)


@attack("A33")
def test_a_certificate_nobody_believes_gets_no_token(enterprise: Scene) -> None:
    with pytest.raises(GithubUnreachableError, match="certificate") as told:
        enterprise.publish()
    assert "REQUESTS_CA_BUNDLE" in told.value.next_step
    assert enterprise.server.requests == ()


@attack("A24")
def test_an_archive_over_http_is_not_taken_from_a_server_that_has_https(
    enterprise: Scene, certificate: tuple[Path, Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("REQUESTS_CA_BUNDLE", str(certificate[0]))
    enterprise.upload(failing())
    address = enterprise.server.storage.wire.address.replace("https:", "http:")
    enterprise.server.artifact_location = lambda artifact: f"{address}/x.zip"
    assert enterprise.publish().conclusion == "incomplete"
    assert enterprise.server.storage.visits == []


@attack("A33")
def test_no_address_of_github_com_is_asked_by_the_program() -> None:
    sources = [path.read_text(encoding="utf-8") for path in (ROOT / "opsdebug_ci").rglob("*.py")]
    assert len(sources) > 200
    assert [text for text in sources if "api." + "github.com" in text] == []


@twin("A33")
def test_the_same_on_a_server_without_path_and_certificate(scene: Scene) -> None:
    scene.upload(failing())
    assert scene.publish().comment == "created"


def child_of(pid: int) -> int | None:
    """The process that `opsdebug publish` is, once it is there."""
    for entry in Path("/proc").glob("[0-9]*"):
        try:
            parent = int((entry / "stat").read_text().rpartition(")")[2].split()[1])
        except (FileNotFoundError, ProcessLookupError):
            continue
        if parent == pid:
            return int(entry.name)
    return None


@attack("A34")
@attack("A31")
@pytest.mark.skipif(sys.platform != "linux", reason="looks at processes through /proc")
def test_a_report_that_is_cancelled_closes_its_check(scene: Scene, tmp_path: Path) -> None:
    """While the step waits for the list of artifacts, the check is open; the token is on no command line then."""
    scene.server.fail("GET", "/repos/*/*/actions/runs/*/artifacts", stalled(300.0))
    process = scene.start()
    deadline = time.monotonic() + 60
    while not scene.server.asked("POST", "/repos/*/*/check-runs"):
        assert time.monotonic() < deadline
        assert process.poll() is None
        time.sleep(0.02)
    publishing = child_of(process.pid)
    assert publishing is not None
    words = [Path(f"/proc/{pid}/cmdline").read_bytes().decode() for pid in (process.pid, publishing)]
    assert "publish" in words[1].split("\0")
    assert [line for line in words if scene.token in line] == []
    process.send_signal(signal.SIGTERM)
    out, err = process.communicate(timeout=120)
    assert (process.returncode, err) == (128 + signal.SIGTERM, "")
    assert "Traceback" not in out
    check = scene.check()
    assert (check.status, check.conclusion) == ("completed", "cancelled")
    assert scene.comments() == ()
    left = b"".join(path.read_bytes() for path in tmp_path.rglob("*") if path.is_file())
    assert scene.token not in out
    assert scene.token.encode() not in left
    assert read_outputs((tmp_path / "output").read_text(encoding="utf-8"))["verdict"] == "error"


@attack("A34")
@pytest.mark.slow
@pytest.mark.parametrize("place", ["/proc", "none"])
def test_a_report_without_a_temporary_directory_is_an_error_of_the_machine(place: str, scene: Scene) -> None:
    scene.upload(failing())
    done = scene.step(RUNNER_TEMP=place)
    assert (done.returncode, done.stderr) == (3, "")
    assert f"`RUNNER_TEMP` is '{place}'" in done.stdout
    assert scene.server.requests == ()

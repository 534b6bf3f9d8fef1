"""The same conversation with our fake GitHub and with one that others wrote: both must say the same.

The other is the emulator of `emulator/package.json`, a program for Node.js. What it is known to get wrong, by GitHub's
documentation and description, is left out of the conversation:

    a comment of more than 65,536 characters, 51 annotations    it takes them
    a comment changed to nothing                                it takes it
    annotations                                                 it forgets them and lists them in an object
    reactions to comments; pull requests as issues; pull requests of a commit; artifacts     it has none
    a check run of an unknown commit                            it makes it
    `conclusion` without `status`                               it does not complete the check
    a job's token, an unknown token                             it knows no permissions: all are the owner
    `Link` by the repository's number                           it links by name
"""

from __future__ import annotations

import os
import shutil
import socket
import subprocess
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
import requests
from github_server import GithubServer

REPOSITORY = "octocat/kernels"
TOKEN = "canary-token"
LOCKED = Path(__file__).with_name("emulator")
SEED = f"""
tokens:
  {TOKEN}: {{login: octocat, scopes: [repo]}}
github:
  users: [{{login: octocat}}]
  repos: [{{owner: octocat, name: kernels, auto_init: true}}]
"""

pytestmark = pytest.mark.slow


@dataclass(frozen=True, slots=True, kw_only=True)
class Place:
    """A GitHub with a pull request of the branch `change`."""

    url: str
    token: str
    number: int
    head: str

    def ask(
        self, method: str, rest: str, body: object = None, *, text: str | None = None, known: bool = True
    ) -> requests.Response:
        """One request about the repository; `text`: a body that may be no JSON; `known`: with the token."""
        headers = {"Authorization": f"Bearer {self.token}"} if known else {}
        address = f"{self.url}/repos/{REPOSITORY}{rest}"
        with requests.request(method, address, data=text, json=body, headers=headers, timeout=30) as reply:
            assert reply.content is not None
        return reply


@pytest.fixture
def ours() -> Iterator[GithubServer]:
    """Our server."""
    with GithubServer() as server:
        yield server


@pytest.fixture
def fake(ours: GithubServer) -> Place:
    """A pull request there."""
    ours.repository(REPOSITORY)
    ours.pull_request(REPOSITORY, 1, head_sha="a" * 40, title="A change")
    permissions = {"pull-requests": "write", "checks": "write"}
    token = ours.token(login="octocat", permissions=permissions, repository=REPOSITORY)
    return Place(url=ours.url, token=token, number=1, head="a" * 40)


@pytest.fixture(scope="module")
def program(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The emulator, installed: where OPSDEBUG_EMULATOR says, or now."""
    if "OPSDEBUG_EMULATOR" in os.environ:
        return Path(os.environ["OPSDEBUG_EMULATOR"])
    npm = shutil.which("npm")
    if npm is None or shutil.which("node") is None:
        pytest.skip("there is no Node.js to run the emulator with")
    folder = tmp_path_factory.mktemp("emulator")
    for name in ("package.json", "package-lock.json"):
        shutil.copy(LOCKED / name, folder)
    command = [npm, "ci", "--ignore-scripts", "--no-audit", "--no-fund"]
    done = subprocess.run(command, check=False, cwd=folder, capture_output=True, text=True, timeout=240)
    if done.returncode != 0:
        pytest.skip(f"the emulator cannot be had: {done.stderr.strip()[-300:]}")
    return folder / "node_modules" / "emulate" / "dist" / "index.js"


@pytest.fixture
def emulator(program: Path, tmp_path: Path) -> Iterator[Place]:
    """Theirs."""
    (tmp_path / "seed.yaml").write_text(SEED, encoding="utf-8")
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    url = f"http://127.0.0.1:{port}"
    command = ["node", str(program), "--service", "github", "--port", str(port), "--base-url", url]
    with (tmp_path / "log").open("wb") as log:
        process = subprocess.Popen([*command, "--seed", "seed.yaml"], cwd=tmp_path, stdout=log, stderr=log)
        try:
            wait_for(port, process)
            yield opened(Place(url=url, token=TOKEN, number=0, head=""))
        finally:
            process.terminate()
            process.wait(timeout=30)


def wait_for(port: int, process: subprocess.Popen[bytes]) -> None:
    """Until it answers; half a minute is a hundred times what it takes."""
    until = time.monotonic() + 30
    while time.monotonic() < until and process.poll() is None:
        with socket.socket() as attempt:
            if attempt.connect_ex(("127.0.0.1", port)) == 0:
                return
        time.sleep(0.05)
    raise AssertionError(f"the emulator does not answer; its exit code is {process.poll()}")


def opened(place: Place) -> Place:
    """The same with a branch of one commit and a pull request."""
    main = place.ask("GET", "/git/ref/heads/main").json()["object"]["sha"]
    file = {"path": "a.txt", "mode": "100644", "type": "blob", "content": "x"}
    tree = place.ask("POST", "/git/trees", {"tree": [file]}).json()["sha"]
    commit = place.ask("POST", "/git/commits", {"message": "m", "tree": tree, "parents": [main]}).json()["sha"]
    place.ask("POST", "/git/refs", {"ref": "refs/heads/change", "sha": commit})
    pull = place.ask("POST", "/pulls", {"title": "A change", "head": "change", "base": "main"}).json()
    return Place(url=place.url, token=place.token, number=pull["number"], head=commit)


def conversation(place: Place) -> list[Any]:
    """Everything that is asked, and of every answer what is comparable."""
    return [*comments(place), *checks(place), *pulls(place)]


def comments(place: Place) -> Iterator[Any]:
    """Create, list by pages, edit, delete."""
    path = f"/issues/{place.number}/comments"
    first = place.ask("POST", path, {"body": "one"})
    document = first.json()
    address = f"/issues/comments/{document['id']}"
    fields = document["body"], document["user"]["login"], document["issue_url"].removeprefix(place.url)
    yield "created", first.status_code, fields, document["url"] == f"{place.url}/repos/{REPOSITORY}{address}"
    yield "nothing", place.ask("POST", path, {"body": ""}).status_code
    yield "no comment", place.ask("POST", path, {"text": "x"}).status_code
    yield "no JSON", place.ask("POST", path, text="{").status_code
    yield "nobody", place.ask("POST", path, {"body": "x"}, known=False).status_code
    for index in range(140):
        place.ask("POST", path, {"body": f"comment {index}"})
    for query in ("", "?per_page=100", "?per_page=100&page=2", "?per_page=50&page=2", "?page=9", "?per_page=1000"):
        page = place.ask("GET", path + query)
        yield query, page.status_code, [one["body"] for one in page.json()], sorted(page.links)
    ids = [one["id"] for one in place.ask("GET", f"{path}?per_page=100").json()]
    yield "order", ids == sorted(ids)
    edited = place.ask("PATCH", address, {"body": 'zwei | "2" <!-- \u00e9\U0001f600 -->'})
    yield "edited", edited.status_code, edited.json()["body"], edited.json()["id"] == document["id"]
    yield "read", place.ask("GET", address).json()["body"]
    yield "deleted", place.ask("DELETE", address).status_code, place.ask("DELETE", address).content != b""
    yield "gone", place.ask("GET", address).status_code, place.ask("PATCH", address, {"body": "x"}).status_code
    yield "elsewhere", place.ask("POST", "/issues/99/comments", {"body": "x"}).status_code


def checks(place: Place) -> Iterator[Any]:
    """Create, update, list, refuse."""

    def said(reply: requests.Response) -> Any:
        one = reply.json()
        output = {name: one["output"][name] for name in ("title", "summary", "text")}
        done = one["completed_at"] is not None
        return reply.status_code, one["name"], one["status"], one["conclusion"], done, one["external_id"], output

    def create(**body: Any) -> requests.Response:
        return place.ask("POST", "/check-runs", {"name": "opsdebug smoke", "head_sha": place.head, **body})

    started = create(status="in_progress", external_id="e", output={"title": "t", "summary": "s"})
    yield "started", said(started), started.json()["head_sha"] == place.head
    address = f"/check-runs/{started.json()['id']}"
    yield "told", said(place.ask("PATCH", address, {"output": {"title": "u", "summary": "v", "text": "w"}}))
    yield "completed", said(place.ask("PATCH", address, {"status": "completed", "conclusion": "failure"}))
    yield "again", said(create())
    yield "other", said(create(name="other", status="completed", conclusion="success"))
    for name, value in (("conclusion", "sucess"), ("status", "done"), ("status", "completed"), ("name", "")):
        yield "refused", name, create(**{name: value}).status_code
    yield "read", said(place.ask("GET", address)), place.ask("GET", "/check-runs/999999").status_code
    for query in ("", "?filter=all", "?check_name=other", "?status=completed&filter=all", "?check_name=none"):
        listed = place.ask("GET", f"/commits/{place.head}/check-runs{query}").json()
        found = [(one["name"], one["status"], one["conclusion"]) for one in listed["check_runs"]]
        yield query, listed["total_count"], found


def pulls(place: Place) -> Iterator[Any]:
    """Find one by its branch."""
    heads = ("head=octocat:change", "head=octocat:other", "head=other:change")
    for query in (*heads, "state=closed", "state=all", "base=x"):
        reply = place.ask("GET", f"/pulls?{query}")
        yield query, reply.status_code, [(one["number"], one["head"]["label"], one["state"]) for one in reply.json()]
    one = place.ask("GET", f"/pulls/{place.number}").json()
    yield "one", one["title"], one["head"]["sha"] == place.head, one["head"]["repo"]["full_name"], one["base"]["ref"]
    yield "none", place.ask("GET", "/pulls/99").status_code
    permission = place.ask("GET", "/collaborators/octocat/permission").json()
    yield "permission", permission["permission"], permission["user"]["login"]


PLANTED = ["request.text", "request", "request.conclusion", "request.status"]
"""What is asked against the description, to be refused."""


def test_the_emulator_and_ours_say_the_same(fake: Place, ours: GithubServer, emulator: Place) -> None:
    said = conversation(fake)
    assert {one.where for one in ours.take_violations()} == set(PLANTED)
    assert said == conversation(emulator)
    assert len(said) == 41

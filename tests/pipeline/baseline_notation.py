"""A remote with its people, its CI jobs and the store they share, without operators: what is tested is which commit is
compared with. Each stored run has one failure whose fingerprint names its commit, so that it says where it came from.
"""

from __future__ import annotations

import itertools
import json
import os
import subprocess
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

from opsdebug_ci.github import ci_context, read_event
from opsdebug_ci.model import (
    CaseDocument,
    Confidence,
    Machine,
    ObservationDocument,
    ReferenceUse,
    Revision,
    RunDocument,
    RunRecord,
    Stage,
    Summary,
    Verdict,
)
from opsdebug_ci.pipeline.baseline import recorded_baseline
from opsdebug_ci.pipeline.trigger import trigger_of
from opsdebug_ci.pipeline.verification import Baseline
from opsdebug_ci.plan import read_revision
from opsdebug_ci.store.places.backends import open_store

MACHINE = Machine(
    key="m1",
    system="Linux x86_64",
    cpu="a CPU",
    cores=2,
    memory_bytes=8 << 30,
    devices=(),
    python="3.11.7",
    torch="2.13.0",
    versions={},
    threads=1,
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Told:
    """What one job found."""

    commit: str
    """It tested this."""

    baseline: str | None
    """Commit compared with."""

    how: str
    """What the document says of it."""

    known: frozenset[str]
    """Beginnings of the commits whose failures are known."""


@dataclass(kw_only=True)
class Forge:
    """A bare remote, one author, and jobs that check out from it."""

    directory: Path
    """Of everything."""

    runs: Iterator[int] = field(default_factory=lambda: itertools.count(1))
    """Numbers of CI runs."""

    stored: Iterator[int] = field(default_factory=lambda: itertools.count(1))
    """Numbers of stored runs."""

    def __post_init__(self) -> None:
        self.author = self.directory / "author"
        self.remote = self.directory / "remote.git"
        self.store = str(self.directory / "store")
        for place, options in ((self.author, ()), (self.remote, ("--bare",))):
            place.mkdir()
            git(place, "init", "--quiet", "--initial-branch=main", *options)
        git(self.author, "remote", "add", "origin", f"file://{self.remote}")

    def commit(self, **files: str) -> str:
        """A commit of the author's that writes these files."""
        for name, text in files.items():
            (self.author / name).write_text(text)
        git(self.author, "add", "--all")
        git(self.author, "commit", "--quiet", "--allow-empty", f"--message=change {next(self.stored)}")
        return self.at("HEAD")

    def at(self, name: str) -> str:
        """Hash of the author's commit of that name."""
        return git(self.author, "rev-parse", name)

    def do(self, *words: str) -> None:
        """Something else the author does."""
        git(self.author, *words)

    def push(self, ref: str = "main", *, to: str | None = None) -> None:
        """Push it, also where that rewrites history."""
        self.do("push", "--quiet", "--force", "origin", f"{ref}:refs/heads/{to or ref}")

    def pushed(self, ref: str = "main", *, event: str = "push", attempt: int = 1, run: int | None = None) -> Told:
        """The job of a push, schedule or dispatch of the default branch; `run` is that of an earlier attempt."""
        payload = {"repository": {"default_branch": "main"}}
        return self._job(f"refs/heads/{ref}", event, payload, attempt=attempt, run=run)

    def pulled(self, head: str, base: str, *, merged_onto: str, depth: int | None = None) -> Told:
        """The job of a pull request whose event holds `head` and `base`, on the merge that was made for it."""
        self.do("switch", "--quiet", "--detach", merged_onto)
        self.do("merge", "--quiet", "--no-ff", "--message=merge", head)
        self.do("push", "--quiet", "--force", "origin", "HEAD:refs/pull/7/merge")
        self.do("switch", "--quiet", "main")
        home = {"full_name": "somebody/kernels"}
        sides = {
            "head": {"sha": head, "ref": "topic", "repo": home},
            "base": {"sha": base, "ref": "main", "repo": home},
        }
        payload = {"repository": {"default_branch": "main"}, "pull_request": {"number": 7, **sides}}
        return self._job("refs/pull/7/merge", "pull_request", payload, depth=depth)

    def grouped(self, base: str) -> Told:
        """The job of a merge queue on what the author has checked out, which is put onto `base`."""
        ref = f"refs/heads/gh-readonly-queue/main/pr-7-{base}"
        self.do("push", "--quiet", "--force", "origin", f"HEAD:{ref}")
        group = {"head_sha": self.at("HEAD"), "base_sha": base, "base_ref": "refs/heads/main"}
        return self._job(ref, "merge_group", {"repository": {"default_branch": "main"}, "merge_group": group})

    def shallow(self) -> Told:
        """The job of a push that checks out the commit only."""
        return self._job("refs/heads/main", "push", {"repository": {"default_branch": "main"}}, depth=1)

    def by_hand(self, changed: str | None = None) -> Told:
        """The author runs it in the own clone."""
        return self._decided(self.author, {}, changed=changed)

    def _job(
        self,
        ref: str,
        event: str,
        payload: object,
        *,
        attempt: int = 1,
        run: int | None = None,
        depth: int | None = None,
    ) -> Told:
        number = next(self.runs) if run is None else run
        place = self.directory / f"job{len(list(self.directory.iterdir()))}"
        place.mkdir()
        (place / "event.json").write_text(json.dumps(payload))
        clone = place / "clone"
        clone.mkdir()
        git(clone, "init", "--quiet")
        git(clone, "remote", "add", "origin", f"file://{self.remote}")
        wanted = ["+refs/heads/*:refs/remotes/origin/*"] if depth is None else [f"--depth={depth}"]
        git(clone, "fetch", "--quiet", "--no-tags", "origin", *wanted, f"+{ref}:refs/remotes/job/ref")
        git(clone, "checkout", "--quiet", "--detach", "refs/remotes/job/ref")
        environ = {
            "GITHUB_EVENT_NAME": event,
            "GITHUB_EVENT_PATH": str(place / "event.json"),
            "GITHUB_JOB": "operators",
            "GITHUB_REPOSITORY": "somebody/kernels",
            "GITHUB_RUN_ID": str(number),
            "GITHUB_RUN_ATTEMPT": str(attempt),
            "GITHUB_SHA": git(clone, "rev-parse", "HEAD"),
            "GITHUB_REF": ref,
        }
        return self._decided(clone, environ)

    def _decided(self, root: Path, environ: dict[str, str], changed: str | None = None) -> Told:
        """What a stage decides before it runs a case, and stores after the last one."""
        event = read_event(environ)
        revision = read_revision(root, base=changed)
        trigger = trigger_of(event, changed)
        found = recorded_baseline(self.store, root, trigger, revision, recording=event.recording)
        if event.recording:
            open_store(self.store).append(self._document(revision, found, environ))
        known = frozenset(fingerprint.removeprefix("v2:") for fingerprint in found.known.fingerprints)
        return Told(commit=revision.commit, baseline=found.known.commit, how=found.how, known=known)

    def _document(self, revision: Revision, found: Baseline, environ: dict[str, str]) -> RunDocument:
        number = next(self.stored)
        run = RunRecord(
            id=f"r{number:04}",
            commit=revision.commit,
            stage=Stage.SMOKE,
            started_at=f"2026-11-29T10:20:{number % 60:02}Z",
            duration_ns=1,
            machine=MACHINE,
            revision=revision,
            ci=ci_context(environ, stage=Stage.SMOKE),
            tool_version="0.1.0",
            config_hash="0" * 64,
        )
        return RunDocument(
            schema="opsdebug.run/1",
            run=run,
            observations=(_failure(revision.commit),),
            summary=Summary(verdict=Verdict.FAIL, exit_code=1, counts={"fail": 1}, groups=()),
            next=(),
            stage="smoke",
            baseline=found.known.commit,
            baseline_how=found.how,
        )


def git(place: Path, *words: str) -> str:
    """Ask git."""
    identity = ("-c", "user.name=A", "-c", "user.email=a@example.org", "-c", "commit.gpgsign=false")
    environment = {**os.environ, "GIT_CONFIG_GLOBAL": os.devnull, "GIT_CONFIG_NOSYSTEM": "1"}
    done = subprocess.run(
        ["git", *identity, *words], cwd=place, env=environment, capture_output=True, text=True, check=True
    )
    return done.stdout.strip()


def _failure(commit: str) -> ObservationDocument:
    case = CaseDocument(
        id="add-0",
        name="add[0]",
        operator="add",
        dtype="float32",
        dims={"S": 4},
        layout="contiguous",
        inputs="normal",
        seed=0,
        device="cpu",
        direction="forward",
    )
    return ObservationDocument(
        case=case,
        verdict=Verdict.FAIL,
        reason=None,
        reference=ReferenceUse(used=None, confidence=Confidence.LOW, dissent=None),
        accuracy=None,
        outputs=(),
        findings=(),
        timing=None,
        fingerprint=f"v2:{commit[:12]}",
    )

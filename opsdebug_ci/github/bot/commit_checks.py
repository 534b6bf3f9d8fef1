"""Checks of one name on one commit: which are ours, and how one is opened and changed.

Decides what is done where no answer tells whether a request was obeyed: GitHub would open a second check, and add the
same annotations again, so the server is asked what there is. Deliberately knows nothing of what a check says.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from opsdebug_ci.errors import GithubAmbiguousError, GithubRefusedError
from opsdebug_ci.github.api.interface import Api
from opsdebug_ci.github.api.records import CheckRun
from opsdebug_ci.github.bot.check_output import Annotations, Output

TRIES = 3
"""Of what may not be done twice, while no answer tells whether it was done. What is sent in between may be sent again,
so the client waits there until the server answers; more tries would wait no longer."""

_NOT_OURS = (403, 404)
_IDENTITY = re.compile(r"opsdebug/([A-Za-z0-9._-]{1,64})/([a-z]{1,16})/([0-9]{1,15})/([0-9]{1,9})(?:/([0-9a-f]{16}))?")


@dataclass(frozen=True, slots=True, kw_only=True)
class CheckIdentity:
    """Of which run a check is; GitHub keeps it as the check's `external_id`."""

    suite: str
    """Which of several checks of a commit."""

    stage: str
    """`smoke`, `full` or `replay`."""

    run_number: int
    """Of the CI run within its workflow."""

    attempt: int
    """Of the CI run, from 1."""

    origin: str = ""
    """Where run numbers can be compared, as `origin_of` gives it; empty: not known."""

    @property
    def external_id(self) -> str:
        """As GitHub keeps it."""
        whence = f"/{self.origin}" if self.origin else ""
        return f"opsdebug/{self.suite}/{self.stage}/{self.run_number}/{self.attempt}{whence}"

    @property
    def order(self) -> tuple[int, int]:
        """Grows from run to run of one origin, and from attempt to attempt."""
        return self.run_number, self.attempt


def origin_of(workflow: str, event: str, repository: int) -> str:
    """Stands for runs of which a later one replaces an earlier one: of one workflow, for one event, of code from one
    repository. What others find of the same commit is no answer to what these found.

    Args:
        workflow: its file.
        event: what triggers it.
        repository: number of the one the code came from; 0: not known.
    """
    return hashlib.sha256(f"{workflow}\0{event}\0{repository}".encode("utf-8", "replace")).hexdigest()[:16]


def read_identity(external_id: str | None) -> CheckIdentity | None:
    """The identity in `external_id`; None: it is none of ours."""
    found = _IDENTITY.fullmatch(external_id or "")
    if found is None:
        return None
    suite, stage, number, attempt, origin = found.groups(default="")
    return CheckIdentity(suite=suite, stage=stage, run_number=int(number), attempt=int(attempt), origin=origin)


def told(check: CheckRun) -> int:
    """Annotations it has."""
    return 0 if check.output is None else check.output.annotations_count


Identified = tuple[CheckIdentity, CheckRun]
"""A check and of which run it says that it is."""


def same_app(one: CheckRun, other: CheckRun) -> bool:
    """Both are of one app."""
    return _app(one) == _app(other)


def _app(check: CheckRun) -> str:
    return "" if check.app is None else check.app.slug


@dataclass(frozen=True, slots=True, kw_only=True)
class CommitChecks:
    """Checks of one name on one commit."""

    api: Api
    """Acts as the app whose checks are ours."""

    repository: str
    """`owner/name`."""

    commit: str
    """Full hash."""

    name: str
    """Of the checks."""

    def ours(self, identity: CheckIdentity) -> list[Identified]:
        """Those of the same suite, stage and origin, the one that GitHub shows last: it shows the newest."""
        found = self.api.pages(
            f"/repos/{self.repository}/commits/{self.commit}/check-runs",
            CheckRun,
            {"check_name": self.name, "filter": "all"},
            within="check_runs",
        )
        return [
            (known, check)
            for check in sorted(found, key=lambda check: check.id)
            if (known := read_identity(check.external_id)) is not None
            and check.name == self.name
            and (known.suite, known.stage, known.origin) == (identity.suite, identity.stage, identity.origin)
        ]

    def take(self, check: CheckRun, opening: Mapping[str, object]) -> CheckRun | None:
        """`check`, open again; None: it is another app's, whatever it calls itself."""
        try:
            return self.change(check, opening)
        except GithubRefusedError as refusal:
            if refusal.status not in _NOT_OURS:
                raise
            return None

    def without_others(self, found: Sequence[Identified], than: CheckIdentity) -> list[Identified]:
        """`found` without those of apps that we are not, where one of theirs claims a later run than ours.

        Whose a check is, only trying to change it tells: here to what it is.
        """
        later = {_app(check): check for known, check in found if known.order > than.order}
        others = {app for app, check in later.items() if self.take(check, {"external_id": check.external_id}) is None}
        return [(known, check) for known, check in found if _app(check) not in others]

    def change(self, check: CheckRun, body: Mapping[str, object]) -> CheckRun:
        """`check` as `body` says."""
        return self.api.patch(f"/repos/{self.repository}/check-runs/{check.id}", CheckRun, body)

    def add(self, check: CheckRun, body: Mapping[str, object], output: Output, batch: Annotations) -> CheckRun:
        """`check` as `body` says, with more annotations.

        GitHub would add those again that are sent again. So they are sent once, and where no answer tells, the check
        does; the rest of what is said is sent without them then, which waits until the server takes it.
        """
        if not batch:
            return self.change(check, {**body, "output": output.body()})
        path = f"/repos/{self.repository}/check-runs/{check.id}"
        whole = {**body, "output": output.body(batch)}
        for _ in range(TRIES - 1):
            try:
                return self.api.patch(path, CheckRun, whole, once=True)
            except GithubAmbiguousError:
                now = self.change(check, {**body, "output": output.body()})
            if told(now) >= told(check) + len(batch):
                return now
        return self.api.patch(path, CheckRun, whole, once=True)

    def open(self, opening: Mapping[str, object], identity: CheckIdentity) -> CheckRun:
        """A new one. Where the answer leaves open whether there is one now, the list tells."""
        body = {"name": self.name, "head_sha": self.commit, **opening}
        path = f"/repos/{self.repository}/check-runs"
        for _ in range(TRIES - 1):
            try:
                return self.api.post(path, CheckRun, body)
            except GithubAmbiguousError:
                made = [check for known, check in self.ours(identity) if known == identity]
            if made:
                return made[-1]
        return self.api.post(path, CheckRun, body)

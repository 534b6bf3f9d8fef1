"""What the bot says of a commit, before it is put into words: whole runs, what they come to, what changed.

Decides the words for what a publication comes to. Deliberately holds no text of the comment.
"""

from __future__ import annotations

import hashlib
from dataclasses import dataclass

from opsdebug_ci.model.document import RunDocument
from opsdebug_ci.model.vocabulary import Word


class Conclusion(Word):
    """What is said of a commit; the worst first."""

    ERROR = "error"
    """A shard had no run: wrong configuration, a machine that cannot run it, a fault of ours."""

    FAIL = "fail"
    """Operators are wrong, and that gates."""

    INCOMPLETE = "incomplete"
    """A shard is missing or was not taken, or not every planned case was judged. Never a pass."""

    REGRESSED = "regressed"
    """Nothing is wrong, and an operator became slower: that needs a person."""

    INCONCLUSIVE = "inconclusive"
    """References disagree, or nothing was judged."""

    ACCEPTED = "accepted"
    """Only regressions gated, and a person has accepted every one of them."""

    PASS = "pass"  # noqa: S105 - a verdict
    """The gate passes."""


class ShardState(Word):
    """What became of one planned shard."""

    TAKEN = "taken"
    """Its run is part of what is said."""

    MISSING = "missing"
    """No artifact of it is there."""

    REJECTED = "rejected"
    """Its artifact is not what it must be."""

    FAILED = "failed"
    """It says that it has no run."""


class CommentPolicy(Word):
    """When a comment is created; one that is there is kept up to date under every policy but `off`."""

    AUTO = "auto"
    """For what gates: new failures, regressions, what is incomplete or broken. Not for what is inconclusive."""

    CHANGES = "changes"
    """As `auto`, and for every other difference from the baseline or the last push: failures that are gone, operators
    now faster."""

    FAILURES = "failures"
    """Only for operators that fail or became slower, not for what is incomplete, inconclusive or broken."""

    OFF = "off"
    """Never, and one that is there is left as it is."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ShardOutcome:
    """One planned shard."""

    shard: int
    """Which, from 1."""

    state: ShardState
    """What became of it."""

    attempt: int = 0
    """Attempt of the CI run it was taken from; 0: it was not."""

    reason: str = ""
    """Why it was not taken, in one sentence; untrusted text may be part of it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class FailureKey:
    """A failure group as it is remembered from push to push."""

    fingerprint: str
    """Versioned identity of the cause."""

    operator: str
    """Operator; untrusted text."""

    cause: str
    """Named cause."""

    @property
    def digest(self) -> str:
        """Stands for its fingerprint where there is no room for the whole."""
        return failure_digest(self.fingerprint)


def failure_digest(fingerprint: str) -> str:
    """40 bits of a hash: two of a thousand failures share one with a chance of 5e-7 (n^2 / 2^41)."""
    return hashlib.sha256(fingerprint.encode("utf-8", "replace")).hexdigest()[:10]


@dataclass(frozen=True, slots=True, kw_only=True)
class Changes:
    """What changed since the last push of the same pull request that was reported whole."""

    since: str
    """Newest commit of the change at that push; full hash."""

    new: tuple[FailureKey, ...] = ()
    """Failures that were not there."""

    fixed: tuple[FailureKey, ...] = ()
    """Failures that are gone, of operators that were judged again."""

    still: tuple[FailureKey, ...] = ()
    """Failures that were there already."""

    doubtful: tuple[FailureKey, ...] = ()
    """Failures that are new, or were there and known: the baseline cannot be read now, and what was known then is not
    remembered."""

    unjudged: tuple[FailureKey, ...] = ()
    """Failures of operators that were not judged this time, so that nothing is said of them."""


@dataclass(frozen=True, slots=True, kw_only=True)
class AcceptedRegression:
    """A regression that a person has accepted on the pull request."""

    operator: str
    """Operator; untrusted text."""

    commit: str
    """Newest commit of the change when it was accepted; full hash."""

    by: str
    """Login of whoever accepted it, whose right to do so was verified."""

    at: str
    """When; ISO 8601, UTC."""

    reason: str
    """Why; untrusted text, may be empty."""

    until: str | None = None
    """When it lapses, as `at`; None: never."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ReportedHead:
    """What was said of one commit of a pull request."""

    commit: str
    """Newest commit of the change; full hash."""

    failures: tuple[FailureKey, ...]
    """Failure groups that were not known at the baseline."""

    regressed: tuple[str, ...]
    """Operators flagged as slower, accepted ones included."""

    unlisted: tuple[str, ...] = ()
    """Digests of failures for which there was no room: enough to see that one was there, too little to say that it is
    gone."""

    whole: bool = True
    """Every failure is listed or among `unlisted`; if not, none can be called new."""

    known: tuple[str, ...] | None = None
    """Digests of failures that were there and known at the baseline; None: that is not remembered."""

    def had(self, fingerprint: str) -> bool:
        """A failure of that fingerprint was there, or may have been; if not, it is new."""
        listed = any(failure.fingerprint == fingerprint for failure in self.failures)
        return listed or not self.whole or failure_digest(fingerprint) in (*self.unlisted, *(self.known or ()))


@dataclass(frozen=True, slots=True, kw_only=True)
class CommentState:
    """What a comment remembers beside its text. Part of the comment, hidden; as trusted as whoever may edit it."""

    version: int
    """1; a state of any other version is none."""

    stage: str
    """`smoke`, `full` or `replay`."""

    ci_run: int
    """Id of the CI run that is shown."""

    run_number: int
    """Its number within its workflow: grows from run to run."""

    attempt: int
    """Its attempt."""

    conclusion: str
    """What was said."""

    body: str
    """sha256 of the visible text."""

    head: ReportedHead
    """What was said of the newest commit."""

    complete: bool
    """Every planned shard was taken."""

    previous: ReportedHead | None = None
    """The commit before it that was reported whole; None: there is none."""

    accepted: tuple[AcceptedRegression, ...] = ()
    """Accepted at the newest commit."""

    workflow: str = ""
    """File of the workflow, within which run numbers can be compared; empty: not known."""

    reported_at: str = ""
    """When what the run found was written here, by the server's clock, ISO 8601, where the comment was changed since to
    say what a person accepted, and for nothing else; empty: when the comment was last changed."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RunLinks:
    """Where a reader finds more; trusted: made by us from the server's own answers."""

    run_url: str = ""
    """Page of the CI run; empty: there is none."""

    commit_url: str = ""
    """Page of the newest commit, without its hash: `https://.../commit/`; empty: none."""

    attempt: int = 0
    """Attempt of the CI run."""

    bundles: str = ""
    """How to have the failure bundles, in words, commands in backticks; empty: not known."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Publication:
    """Everything that is said of one stage of one commit."""

    suite: str
    """Which of several comments and checks."""

    stage: str
    """`smoke`, `full` or `replay`."""

    head_commit: str
    """Newest commit of the change; full hash."""

    conclusion: Conclusion
    """What it comes to."""

    reasons: tuple[str, ...]
    """Why it is incomplete, broken or inconclusive, in sentences; untrusted text may be part of them."""

    shards: tuple[ShardOutcome, ...]
    """Every planned shard, in order."""

    document: RunDocument | None
    """All taken shards as one run; None: none was taken."""

    changes: Changes | None = None
    """Against the last push; None: there was none, or nothing is known of it."""

    fixed: tuple[FailureKey, ...] = ()
    """Failures recorded at the baseline, each of whose cases passes now."""

    accepted: tuple[AcceptedRegression, ...] = ()
    """Regressions a person has accepted at this commit."""

    links: RunLinks = RunLinks()
    """Where to find more."""

    @property
    def complete(self) -> bool:
        """Every planned shard was taken."""
        return all(shard.state is ShardState.TAKEN for shard in self.shards) and bool(self.shards)

"""The public form of a replay: what `opsdebug replay --json` prints and its text is rendered from.

Schema `opsdebug.replay/1`.

History:
    1  first version
"""

from __future__ import annotations

from dataclasses import dataclass

from opsdebug_ci.model.case_document import CaseDocument
from opsdebug_ci.model.selftest import Rate
from opsdebug_ci.model.vocabulary import Cause, Verdict, Word

REPLAY_SCHEMA = "opsdebug.replay/1"
"""Name and version of the document."""


class Steadiness(Word):
    """How steadily a failure shows on the same bytes; `failures.flakiness` decides it."""

    DETERMINISTIC = "deterministic"
    """It shows nearly always."""
    FLAKY = "flaky"
    """It shows at times, and how often is roughly known."""
    UNSETTLED = "unsettled"
    """It showed, but the tries are too few to say which."""
    UNREPRODUCED = "unreproduced"
    """It did not show. That is no proof that it is gone."""


class ReplayOutcome(Word):
    """What the replay of one bundle came to."""

    REPRODUCED = "reproduced"
    """The same failure showed."""
    NOT_REPRODUCED = "not_reproduced"
    """Every try that could be judged passed."""
    OTHERWISE = "otherwise"
    """It failed, but never in the recorded way."""
    REFUSED = "refused"
    """The bundle, or its inputs on this machine, are not what they must be."""
    IMPOSSIBLE = "impossible"
    """This machine lacks what the case needs."""
    GONE = "gone"
    """The operator does not exist any more."""
    UNJUDGED = "unjudged"
    """No try could be judged."""


@dataclass(frozen=True, slots=True, kw_only=True)
class TryCounts:
    """What became of the tries."""

    reproduced: int = 0
    """Failed with the recorded failure."""

    otherwise: int = 0
    """Failed in another way."""

    passed: int = 0
    """Passed."""

    unjudged: int = 0
    """Could not be judged; these count as no tries."""

    @property
    def judged(self) -> int:
        """Tries that count."""
        return self.reproduced + self.otherwise + self.passed


@dataclass(frozen=True, slots=True, kw_only=True)
class OtherFailure:
    """A failure that showed instead of the recorded one."""

    fingerprint: str
    """Versioned identity of its cause."""

    verdict: Verdict
    """What its tries came to."""

    count: int
    """Tries that ended so."""

    statement: str
    """What is said of the first of them."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Difference:
    """A fact of the surroundings that is not what it was."""

    fact: str
    """Which one, e.g. `torch`."""

    recorded: str
    """When it failed."""

    here: str
    """Now."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ShrunkReplay:
    """What the shrinking of a reproduced failure came to."""

    case: CaseDocument
    """The smallest case that fails for the same cause."""

    smaller: bool
    """It is smaller than that of the bundle."""

    verified: bool
    """Its cause was compared with the recorded one."""

    bundle: str | None
    """sha256 of its own bundle; None: nothing smaller was found, or it could not be written."""

    boundary: str | None
    """The border in words, e.g. `fails at n=129, passes at n=128`; None: not known."""

    values: str | None
    """What is left of its values, in words; None: they were not reduced."""

    trials: int
    """Runs it took."""

    seconds: float
    """Time it took."""

    ended: bool
    """The budget ended it: there may be a smaller case."""

    others: tuple[str, ...] = ()
    """Other failures met on the way, a sentence each."""

    notes: tuple[str, ...] = ()
    """What a reader must know."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ReplayedBundle:
    """One bundle and what became of it."""

    sha256: str
    """Of its bytes; empty when they could not be read."""

    place: str
    """Where it was found."""

    outcome: ReplayOutcome
    """What its replay came to."""

    reason: str | None = None
    """Why it was refused, could not be run, or not be judged; None otherwise."""

    case: CaseDocument | None = None
    """What is run; None: the bundle could not be read."""

    fingerprint: str | None = None
    """Versioned identity of the recorded failure."""

    cause: Cause | None = None
    """Its most probable cause."""

    statement: str | None = None
    """What was said of it."""

    commit: str = ""
    """Full hash of the code that failed, or empty."""

    recorded_source: str | None = None
    """`file:line` of the operator then, as the bundle says. It is never run."""

    source: str | None = None
    """`file:line` of the operator that was run: the one in this checkout."""

    inputs_digest: str | None = None
    """Digest of the bytes that every judged try ran on; None: the bundle has none, and they were made from the case."""

    counts: TryCounts = TryCounts()
    """What became of the tries."""

    rate: Rate | None = None
    """Share of the judged tries that reproduced it; None: there were none."""

    steadiness: Steadiness | None = None
    """How steadily it shows; None: nothing was judged."""

    others: tuple[OtherFailure, ...] = ()
    """Failures that showed instead, the most frequent first."""

    differences: tuple[Difference, ...] = ()
    """What is not as it was when it failed."""

    notes: tuple[str, ...] = ()
    """What a reader must know."""

    shrunk: ShrunkReplay | None = None
    """A smaller case of the same failure; None: none was looked for, or the failure did not show."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ReplayDocument:
    """Answer of `opsdebug replay`."""

    schema: str
    """REPLAY_SCHEMA."""

    bundles: tuple[ReplayedBundle, ...]
    """In the order they were asked for."""

    conclusion: tuple[str, ...]
    """What it comes to, a sentence each, the most telling first."""

    next: tuple[str, ...]
    """Commands to run next."""

    exit_code: int
    """1 reproduced, 0 not reproduced, 2 refused, 3 impossible on this machine, 4 it fails otherwise or nothing was
    judged; of several bundles the first of 1, 2, 3, 4, 0 that applies, but 0 where one passed and others are gone."""

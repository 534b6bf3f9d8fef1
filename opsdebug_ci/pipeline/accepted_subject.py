"""What an acceptance is about, found by what the store and the bundles say.

Decides what a name stands for: an operator, which means how fast it is; else the beginning of a fingerprint; or the one
failure with a named cause. A name that stands for nothing, or for several things, is refused with those it may mean.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from difflib import get_close_matches

from opsdebug_ci.errors import UsageError
from opsdebug_ci.model.acceptance import Acceptance
from opsdebug_ci.model.failure_list import CauseState, FailureCause
from opsdebug_ci.report.escape import plain

SHOWN = 10
"""Candidates a message names."""

NEAREST = 3
"""Similar names a message offers."""

MOST_COMPARED = 200
"""Characters of a name that are compared with others; no operator is called more."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Subject:
    """What an acceptance is about."""

    operator: str
    """Operator it concerns."""

    fingerprint: str | None = None
    """Its failure; None: how fast it is."""

    statement: str = ""
    """What the failure is, in a sentence; empty: how fast the operator is."""

    @property
    def words(self) -> str:
        """What it is, in words."""
        return f"how fast {self.operator} is" if self.fingerprint is None else f"failure {self.fingerprint}"

    def is_of(self, acceptance: Acceptance) -> bool:
        """An acceptance is about the same."""
        if self.fingerprint is not None or acceptance.fingerprint is not None:
            return self.fingerprint == acceptance.fingerprint
        return self.operator == acceptance.operator


def subject_of(
    target: str, cause: str | None, causes: Sequence[FailureCause], operators: Sequence[str], *, accepted: bool
) -> Subject:
    """What is meant.

    Args:
        target: an operator, or the beginning of a fingerprint.
        cause: named cause of the failure that is meant; the target may then be its operator, or empty.
        causes: what is recorded.
        operators: names that are recorded.
        accepted: a failure that is accepted is meant, rather than an open one; decides only beside a cause.

    Raises:
        UsageError: nothing is meant, or several things are.
    """
    if cause is not None:
        return _of_cause(target, cause, causes, CauseState.ACCEPTED if accepted else CauseState.OPEN)
    if target in operators:
        return Subject(operator=target)
    wanted = target.strip().lower()
    named = {member: told for told in reversed(causes) for member in (*reversed(told.members), told.fingerprint)}
    exact = [fingerprint for fingerprint in named if fingerprint == wanted]
    meant = exact or [fingerprint for fingerprint in named if wanted and _begins(fingerprint, wanted)]
    if len(meant) == 1:
        return _failure(meant[0], named[meant[0]])
    if meant:
        raise _several(target, meant)
    raise _nothing(target, operators, tuple(named))


def _of_cause(target: str, cause: str, causes: Sequence[FailureCause], state: CauseState) -> Subject:
    meant = [told for told in causes if told.cause == cause and told.state is state and target in ("", told.operator)]
    if len(meant) == 1:
        return _failure(meant[0].fingerprint, meant[0])
    of = f" of `{plain(target, 80)}`" if target else ""
    if meant:
        raise _several(f"{cause}{of}", [told.fingerprint for told in meant])
    there = sorted({f"{told.cause} of {plain(told.operator, 80)}" for told in causes if told.state is state})
    raise UsageError(
        f"no {state} failure{of} has cause `{plain(cause, 80)}`; wanted one that is recorded: "
        f"{', '.join(there[:SHOWN]) or 'there is none'}",
        next_step="`opsdebug failures` lists what is recorded",
    )


def _failure(fingerprint: str, cause: FailureCause) -> Subject:
    return Subject(operator=cause.operator, fingerprint=fingerprint, statement=cause.statement or cause.cause)


def _begins(fingerprint: str, wanted: str) -> bool:
    """`wanted` begins it, or its digits behind the version."""
    return fingerprint.startswith(wanted) or fingerprint.partition(":")[2].startswith(wanted)


def _several(target: str, meant: Sequence[str]) -> UsageError:
    return UsageError(
        f"`{plain(target, 80)}` stands for {len(meant):,} failures: {', '.join(sorted(meant)[:SHOWN])}; wanted one",
        next_step="write more digits of one of them",
    )


def _nothing(target: str, operators: Sequence[str], fingerprints: Sequence[str]) -> UsageError:
    near = get_close_matches(target[:MOST_COMPARED], (*operators, *fingerprints), n=NEAREST)
    offered = f"; did you mean {' or '.join(f'`{plain(name, 80)}`' for name in near)}?" if near else ""
    return UsageError(
        f"`{plain(target, 80)}` is no recorded operator, and no recorded failure begins with it{offered}",
        next_step='opsdebug failures, or opsdebug sql "select distinct operator from accuracy"',
    )

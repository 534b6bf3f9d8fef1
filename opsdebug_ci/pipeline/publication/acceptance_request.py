"""A person says on a pull request that a regression is as it should be.

(1) whether they told the bot anything; (2) whether they may, as the server says; (3) which commit is the newest, and
whether what they have read is about it; (4) what they mean; (5) the acceptance is stored; (6) they are answered.

Decides that nothing is accepted that the person cannot have seen: a push, or a report, that came after what they wrote
makes them say it again. Deliberately accepts no failure: that is done by hand, and by its fingerprint. The publication
is made again by the caller.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from opsdebug_ci.errors import StoreError, UsageError
from opsdebug_ci.github.api.interface import Api
from opsdebug_ci.github.api.records import PullRequest
from opsdebug_ci.github.bot.answer import reply, show_done
from opsdebug_ci.github.bot.author import Author
from opsdebug_ci.github.bot.instruction import (
    FORM,
    Instruction,
    Misunderstood,
    label_instruction,
    read_instruction,
)
from opsdebug_ci.github.bot.permission import may_write
from opsdebug_ci.github.person_event import PersonRequest
from opsdebug_ci.model.acceptance import Acceptance
from opsdebug_ci.model.publication import AcceptedRegression
from opsdebug_ci.pipeline.accept import lapse_of, reason_of
from opsdebug_ci.pipeline.publication.meaning import NAME_WIDTH, meant_among, not_reported, too_late
from opsdebug_ci.pipeline.publication.outcome import Accepted, Declined, Handled
from opsdebug_ci.pipeline.publication.told_comments import ToldComment, told_comments
from opsdebug_ci.pipeline.records import read_records
from opsdebug_ci.pipeline.world import World
from opsdebug_ci.pipeline.writing import check_may_accept
from opsdebug_ci.report.escape import md_code, md_text, plain
from opsdebug_ci.store.baseline_store import BaselineStore
from opsdebug_ci.store.identity import ENTROPY_BYTES, new_run_id
from opsdebug_ci.store.memory.history import every_acceptance

REPLY_LIMIT = 1_000
"""Characters of a reply: a few sentences, with the names of operators that may be meant."""

_PERSON = "User"


@dataclass(frozen=True, slots=True, kw_only=True)
class Forge:
    """Where the request was made."""

    api: Api
    """Acts as `author`."""

    repository: str
    """`owner/name`."""

    author: Author
    """Whose comments are ours."""


def handle_request(request: PersonRequest, forge: Forge, store: BaselineStore, world: World) -> Handled:
    """Carry out what a person asked for, or say why not. The same request again changes nothing.

    Args:
        request: what they did, from the event.
        forge: where.
        store: what is accepted is stored here.
        world: effects.

    Raises:
        UsageError: this job may not store what a person accepts.
        GithubError: the server does not tell what must be known.
        StoreError: the store can neither be read nor written; the person is told that it failed.
    """
    instruction = read_instruction(request.body) if request.comment else label_instruction(request.label)
    if instruction is None:
        return Declined(reason="nothing was told to the bot", tell=False)
    if not _may(request, forge):
        who = plain(request.login, NAME_WIDTH)
        return Declined(reason=f"`{who}` may not write to {forge.repository}: passed over", tell=False)
    check_may_accept(world.environ)
    try:
        handled = _carried_out(instruction, request, forge, store, world)
    except UsageError as mistake:
        handled = Declined(reason=f"{mistake.message}. Next: {mistake.next_step}", tell=True)
    except StoreError:
        _answer(request, forge, Declined(reason="It could not be recorded: the log of the job says why.", tell=True))
        raise
    return replace(handled, notes=_answer(request, forge, handled))


def _may(request: PersonRequest, forge: Forge) -> bool:
    return request.kind == _PERSON and may_write(forge.api, forge.repository, request.login, request.account)


def _carried_out(
    instruction: Instruction | Misunderstood,
    request: PersonRequest,
    forge: Forge,
    store: BaselineStore,
    world: World,
) -> Handled:
    if isinstance(instruction, Misunderstood):
        return Declined(reason=f"Not understood: {instruction.problem}", tell=True, command=FORM)
    pull = forge.api.get(f"/repos/{forge.repository}/pulls/{request.number}", PullRequest)
    head = pull.head.sha
    if pull.state != "open":
        return Declined(reason="This pull request is not open, so nothing waits for an acceptance.", tell=True)
    before = _counting(store, request, world)
    if _is_past(request, forge, before, head):
        return Declined(reason="carried out already, at a commit that is no longer the newest", tell=False)
    comments = told_comments(forge.api, forge.repository, request.number, forge.author)
    current = tuple(comment for comment in comments if comment.state.head.commit == head)
    flagged = tuple(dict.fromkeys(name for comment in current for name in comment.state.head.regressed))
    meant = meant_among(instruction, flagged, current) if current else not_reported(head, comments)
    if isinstance(meant, Declined):
        return meant
    wished = [_acceptance(name, instruction, request, forge, head) for name in meant]
    new = [one for one in wished if not any(_is_same(one, other) for other in before)]
    late = too_late(instruction, request, head, current) if new else None
    if late is not None:
        return late
    if new:
        store.accept(*new)
        before = _counting(store, request, world)
    return _outcome(meant, flagged, head, before, current)


def _counting(store: BaselineStore, request: PersonRequest, world: World) -> tuple[Acceptance, ...]:
    """What counts now, by whichever of the two clocks is ahead."""
    return every_acceptance(read_records(store, needed=True).root, max(request.at, world.now()))


def _is_past(request: PersonRequest, forge: Forge, before: Sequence[Acceptance], head: str) -> bool:
    """It was carried out, and there were pushes since."""
    done = [one for one in before if one.operator is not None and one.id == _id(request, forge, one.operator)]
    return bool(done) and all(one.commit != head for one in done)


def _acceptance(operator: str, instruction: Instruction, request: PersonRequest, forge: Forge, head: str) -> Acceptance:
    """The same for the same request, whenever it is handled."""
    until = None if instruction.until is None else lapse_of(instruction.until, request.at, "until=")
    return Acceptance(
        id=_id(request, forge, operator),
        operator=operator,
        commit=head,
        accepted_by=request.login,
        accepted_at=request.at.isoformat(),
        reason=reason_of(instruction.reason or f"accepted on pull request #{request.number}", "the reason"),
        until=None if until is None else until.isoformat(),
        pull_request=request.number,
    )


def _id(request: PersonRequest, forge: Forge, operator: str) -> str:
    facts = (forge.repository.lower(), request.number, request.comment or request.label, request.login, operator)
    digest = hashlib.sha256("\0".join(map(str, facts)).encode("utf-8", "replace")).digest()
    return new_run_id(request.at, digest[:ENTROPY_BYTES])


def _is_same(one: Acceptance, other: Acceptance) -> bool:
    """They accept the same speed, for the same reason, by the same person, as long."""
    return (one.operator, one.commit, one.accepted_by, one.reason, one.end) == (
        other.operator,
        other.commit,
        other.accepted_by,
        other.reason,
        other.end,
    )


def _outcome(
    meant: Sequence[str],
    flagged: Sequence[str],
    head: str,
    counting: Sequence[Acceptance],
    current: tuple[ToldComment, ...],
) -> Handled:
    found: Mapping[str, Acceptance] = {
        one.operator: one
        for one in counting
        if one.fingerprint is None and one.operator is not None and one.commit == head
    }
    lacking = [plain(name, NAME_WIDTH) for name in meant if name not in found]
    if lacking:
        return Declined(
            reason=f"It was withdrawn since: {', '.join(lacking)}. Say it again if it is to count.", tell=True
        )
    regressions = tuple(
        AcceptedRegression(
            operator=name,
            commit=head,
            by=found[name].accepted_by,
            at=found[name].accepted_at,
            reason=found[name].reason,
            until=found[name].until,
        )
        for name in flagged
        if name in found
    )
    return Accepted(regressions=regressions, comments=current)


def _answer(request: PersonRequest, forge: Forge, handled: Handled) -> tuple[str, ...]:
    """Tell the person; why they could not be told, for the log."""
    if isinstance(handled, Accepted):
        note = show_done(forge.api, forge.repository, request.comment) if request.comment else None
        return () if note is None else (note,)
    if not handled.tell:
        return ()
    text = md_text(handled.reason, REPLY_LIMIT)
    text += f"\n\n{md_code(handled.command)}" if handled.command else ""
    name = str(request.comment) if request.comment else f"{request.label}\0{request.at.isoformat()}"
    note = reply(forge.api, forge.repository, request.number, name, text, forge.author)
    return () if note is None else (note,)

"""Which flagged operators a person means, and whether they can have read of them.

Decides that only the very name counts, and that what is reported after something was said makes it to be said again.
"""

from __future__ import annotations

from collections.abc import Sequence

from opsdebug_ci.github.bot.instruction import Instruction
from opsdebug_ci.github.person_event import PersonRequest
from opsdebug_ci.github.plain_text import one_line
from opsdebug_ci.model.instruction import instruction_for
from opsdebug_ci.pipeline.publication.outcome import Declined
from opsdebug_ci.pipeline.publication.told_comments import ToldComment
from opsdebug_ci.plan.problem import suggestion
from opsdebug_ci.report.escape import plain

NAME_WIDTH = 80
"""Characters of a name in a sentence."""

_COMPARED = 1_000
"""Characters of names that are compared; a comment cannot name longer ones."""


def not_reported(head: str, comments: Sequence[ToldComment]) -> Declined:
    """What is told where none of our comments is about the newest commit."""
    told = f"; what is reported is about {comments[0].state.head.commit[:12]}" if comments else ""
    return Declined(
        reason=f"No report about the newest commit, {head[:12]}, stands here{told}, so that nobody can have read which "
        "operators are flagged. Wait for the report, then say it again.",
        tell=True,
    )


def meant_among(
    instruction: Instruction, flagged: Sequence[str], current: Sequence[ToldComment]
) -> tuple[str, ...] | Declined:
    """The flagged operators that are accepted; only the very name counts."""
    wanted = instruction.operator
    found = tuple(name for name in flagged if wanted is None or one_line(name, _COMPARED) == wanted)
    if found and (wanted is None or len(found) == 1):
        return found
    shown = "" if wanted is None else plain(wanted, NAME_WIDTH)
    if found:
        return Declined(reason=f"{len(found)} flagged operators look like `{shown}`; accept it by hand.", tell=True)
    if wanted is not None and _fails(wanted, current):
        return Declined(
            reason=f"`{shown}` is wrong, not slow; a failure is accepted by hand, by its fingerprint.",
            tell=True,
            command='opsdebug baselines accept FINGERPRINT --reason "..."',
        )
    if wanted is None or not flagged:
        return Declined(
            reason=f"No operator is flagged as slower at the newest commit.{_forgotten(current)}", tell=True
        )
    near = suggestion(wanted, [plain(name, NAME_WIDTH) for name in flagged])
    command = instruction_for(flagged[0]) if len(flagged) == 1 else ""
    return Declined(
        reason=f"`{shown}` is not flagged as slower; {near}{_forgotten(current)}", tell=True, command=command
    )


def too_late(
    instruction: Instruction, request: PersonRequest, head: str, current: Sequence[ToldComment]
) -> Declined | None:
    """What was read may not be what is reported now. Instants of the server are whole seconds."""
    changed = any(comment.since >= request.at for comment in current)
    if not changed and (request.comment or request.head == head):
        return None
    again = "" if instruction.operator is None else instruction_for(instruction.operator)
    how = "put the label again" if not request.comment else "say it again"
    return Declined(
        reason=f"The report changed after this was said; it is about {head[:12]} now. Look at it, then {how}.",
        tell=True,
        command=again,
    )


def _fails(operator: str, current: Sequence[ToldComment]) -> bool:
    failures = (failure for comment in current for failure in comment.state.head.failures)
    return any(one_line(failure.operator, _COMPARED) == operator for failure in failures)


def _forgotten(current: Sequence[ToldComment]) -> str:
    whole = all(comment.state.head.whole for comment in current)
    return (
        "" if whole else " The comment had no room to remember every one: accept it with `opsdebug baselines accept`."
    )

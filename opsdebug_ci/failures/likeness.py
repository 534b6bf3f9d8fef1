"""When two bunches of failures of one operator are one cause.

Two lists. `ALIKE`: both show the same thing. `SYMPTOM`: the first shows less than the second, or what the second brings
about; there must be exactly one such second. Every rule answers with the reason, or with nothing. No rule joins two
failures whose first bad steps are known and differ.
"""

from __future__ import annotations

from collections.abc import Callable

from opsdebug_ci.failures.bunch import ALWAYS, Bunch
from opsdebug_ci.failures.fingerprint import same_named, same_step, same_unnamed, same_zone, unnamed
from opsdebug_ci.failures.frames import alike
from opsdebug_ci.failures.kind import MEMORY, MEMORY_SIGNALS, VALUES
from opsdebug_ci.failures.separators import covers
from opsdebug_ci.model import Cause

Rule = Callable[[Bunch, Bunch], str]
"""Why two bunches are one cause; empty: they are not, as far as the rule can tell."""

WRITES = ("oob_write", "scratch_oob")

CONSEQUENCES: dict[str, tuple[str, ...]] = {
    **dict.fromkeys(WRITES, (*VALUES, *MEMORY_SIGNALS, "nondeterministic", "device_sticky")),
    "oob_read": (*VALUES, "crash:SIGSEGV", "crash:SIGBUS", "nondeterministic", "device_sticky"),
    "uninit_output": (*VALUES, "nondeterministic"),
    "nondeterministic": ("mismatch",),
    "device_sticky": (*VALUES, *MEMORY_SIGNALS),
}
"""Kind -> kinds it may bring about in the same run."""

EXPLAINED, UNEXPLAINED = "explained by the same", "unexplained as well"

TESTED = (EXPLAINED, UNEXPLAINED)
"""Reasons that are no likeness: a hypothesis was tested on both."""

UNSPECIFIC = frozenset(
    map(str, (Cause.UNKNOWN, Cause.NAN_INF_HANDLING, Cause.NONDETERMINISM_RACE, Cause.CRASH_SEGFAULT))
)
"""Causes that name a symptom: wrong values of any other cause have an explanation of their own."""


def same_bytes(first: Bunch, second: Bunch) -> str:
    """The same kind in the same step at the same tensor: the side differs by layout alone, or one condition holds."""
    mine, other = first.identity, second.identity
    if mine.kind != other.kind or mine.kind not in MEMORY or not _same_spot(first, second):
        return ""
    if mine.zone != other.zone:
        return f"{_spot(first)}, {mine.zone} in one layout and {other.zone} in another"
    shared = _shared_condition(first, second)
    return f"{_spot(first)}, same side, {shared}" if shared else ""


def same_values(first: Bunch, second: Bunch) -> str:
    """Wrong values that one hypothesis explains, tested on both; or that none does, which are one finding: a cause read
    off one case, beside others that have none, is what the same fault looks like there."""
    mine, other = first.identity, second.identity
    if first.hypothesis and first.hypothesis == second.hypothesis:
        return EXPLAINED
    if not {mine.kind, other.kind} <= set(VALUES):
        return ""
    untested = not first.hypothesis and not second.hypothesis
    if mine.kind == other.kind and untested and (unnamed(mine) or unnamed(other)):
        return UNEXPLAINED
    return f"{_spot(first)}, same cause in {_dtypes(first, second)}" if _same_cause(first, second) else ""


def _same_cause(first: Bunch, second: Bunch) -> bool:
    """One named cause in the same step of the same output, where no hypothesis tells two apart."""
    told_apart = first.hypothesis and second.hypothesis
    return not told_apart and same_named(first.identity, second.identity) and _same_spot(first, second)


def same_stack(first: Bunch, second: Bunch) -> str:
    """Two of three frames in common, or nearly the same text; one type of exception, or signals of broken memory."""
    mine, other = first.identity, second.identity
    broken = {mine.kind, other.kind} <= set(MEMORY_SIGNALS)
    if (mine.kind == other.kind or broken) and same_step(mine, other) and alike(mine.frames, other.frames):
        return f"same stack, innermost `{other.frames[0]}`"
    return ""


def less_known(first: Bunch, second: Bunch) -> str:
    """All that is known of the first holds of the second, of which the step, the stack or the output is known too."""
    mine, other = first.identity, second.identity
    if mine.kind == other.kind == "nondeterministic" and other.target and not mine.target and same_step(mine, other):
        return f"which output was not told; elsewhere it is `{other.target}`"
    if mine.kind != other.kind or mine.target != other.target or not same_zone(mine, other):
        return ""
    if mine.kind in VALUES and not (same_named(mine, other) or same_unnamed(mine, other)):
        return ""
    if other.node and not mine.node and mine.frames == other.frames:
        return f"its step was not looked for; elsewhere it is `{other.node}`"
    if other.frames and not mine.frames and mine.node == other.node:
        return f"its stack was not kept; elsewhere it is `{other.frames[0]}`"
    return ""


def consequence(first: Bunch, second: Bunch) -> str:
    """The second can bring the first about, and does: in the same step, or it holds wherever the first fails."""
    mine, other = first.identity, second.identity
    if mine.kind not in CONSEQUENCES.get(other.kind, ()) or not same_step(mine, other):
        return ""
    if mine.kind in VALUES and mine.cause not in UNSPECIFIC and not _is_memory_cause(mine.cause):
        return ""
    if mine.node and mine.node == other.node:
        return f"follows from `{other.kind}` in the same step `{mine.node}`"
    if covers(second.separators, first.cases):
        return f"follows from `{other.kind}`, which shows where {second.separators[0].text}, as all its cases are"
    return ""


ALIKE: tuple[Rule, ...] = (same_bytes, same_values, same_stack)
"""Rules that hold both ways."""

SYMPTOM: tuple[Rule, ...] = (less_known, consequence)
"""Rules that make the first a part of the second."""


def _is_memory_cause(cause: str) -> bool:
    return cause in (str(Cause.OOB_WRITE), str(Cause.OOB_READ), str(Cause.UNINITIALISED))


def _shared_condition(first: Bunch, second: Bunch) -> str:
    """What the simplest answer of each has to do with the other: they must separate both."""
    mine, other = first.conditions, second.conditions
    if not mine or not other or mine[0] not in other or other[0] not in mine:
        return ""
    return "both in every case" if mine[0] == ALWAYS else f"both where {mine[0]}"


def _same_spot(first: Bunch, second: Bunch) -> bool:
    mine, other = first.identity, second.identity
    return (mine.node, mine.target) == (other.node, other.target) and same_zone(mine, other)


def _spot(bunch: Bunch) -> str:
    return f"same step `{bunch.identity.node}`" if bunch.identity.node else "same tensor"


def _dtypes(first: Bunch, second: Bunch) -> str:
    return ", ".join(sorted({case.dtype for bunch in (first, second) for case in bunch.cases}))

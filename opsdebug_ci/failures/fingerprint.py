"""The versioned identity of a root cause.

Decides which facts make two failures the same one. Deliberately without shapes, seeds, exact offsets, counts,
messages, device index and paths, which vary while the cause does not.

Always hashed are the operator, the kind and the tensor it shows at: every case of a defect has them, whatever its
shape, seed and dtype. Beyond them each kind has what is stable for it:

    values      cause, dtype family, first bad step, whether bad elements are the tail or head of one dim
    memory      first bad step, side of the storage, whether the nearest byte is beside it (16 bytes) or away;
                not the dtype and not the cause: an address is wrong in every dtype, and the kind names the cause
    reads       first bad step alone: whose bytes were read is told apart only sometimes
    exceptions  type and innermost three frames of the user's code
    crashes     signal and the same frames; not the phase, for broken memory shows later
    timeouts    nothing more, nor running out of memory: where it was caught is chance

What is looked for only while there is time (step, named cause, frames of a crash) may be missing in one case of a
defect and there in the next. Those cases get two fingerprints, which `merging` makes one group again.

History:
    v1  operator, top cause, blame, output, dtype family, and one detail: classes, exception, signal or argument
    v2  kind, target, step, zone and frames; cause, dtype family and pattern only where values are wrong; no blame
"""

from __future__ import annotations

import hashlib
import json

from opsdebug_ci.failures.frames import alike, crash_frames, exception_frames
from opsdebug_ci.failures.kind import MEMORY, OUT_OF_BOUNDS, VALUES, failed, kind_of
from opsdebug_ci.failures.place import place_of
from opsdebug_ci.model import FINGERPRINT_VERSION, Cause, Identity, Judgement
from opsdebug_ci.model.dtype import FLOAT_FORMATS

DIGITS = 16
"""Hex digits: 64 bits, so ten thousand causes collide with probability about 3e-12."""

BEYOND = ("tail", "gap")
"""Zones one write past the end of a row touches: the gap behind it in a padded tensor, the tail in a dense one."""


def identity(judgement: Judgement) -> Identity | None:
    """What tells this failure from others, in clear; None for a case that did not fail."""
    if not failed(judgement):
        return None
    kind = kind_of(judgement)
    place = place_of(judgement.observation, kind)
    return Identity(
        operator=judgement.case.operator,
        kind=kind,
        cause=str(judgement.findings[0].cause),
        target=place.target,
        node=place.node,
        zone=place.zone,
        distance=place.distance,
        pattern=place.pattern,
        frames=_frames(judgement, kind),
        dtype_family=dtype_family(judgement.case.dtype),
    )


LIKELY = 0.5
"""Confidence from which a cause counts as suspected: the scale of docs/causes.md has hints from there."""


def fingerprint(judgement: Judgement) -> str | None:
    """`v2:` and 16 hex digits, of this failure by itself; None for a case that did not fail."""
    found = identity(judgement)
    return None if found is None else digest(found)


def digest(found: Identity) -> str:
    """Hash of what is stable of an identity."""
    text = json.dumps(_hashed(found), sort_keys=True, separators=(",", ":"))
    return f"{FINGERPRINT_VERSION}:{hashlib.sha256(text.encode()).hexdigest()[:DIGITS]}"


def same_cause(first: Judgement, second: Judgement) -> bool:
    """Whether two failures are one, as far as one launch of each can tell; what is missing in one does not part them.

    For whoever changes the shape, layout, dtype or values of a failing case and must not slip to another defect.
    """
    mine, other = identity(first), identity(second)
    if mine is None or other is None:
        return False
    if (mine.operator, mine.target) != (other.operator, other.target) or not same_step(mine, other):
        return False
    if mine.kind != other.kind:
        return {mine.kind, other.kind} <= set(VALUES) and same_named(mine, other)
    if mine.kind in VALUES:
        return same_named(mine, other) or same_unnamed(mine, other) or _share_a_suspicion(first, second)
    if mine.frames and other.frames:
        return mine.frames == other.frames or alike(mine.frames, other.frames)
    return same_zone(mine, other)


def _share_a_suspicion(first: Judgement, second: Judgement) -> bool:
    """Bad elements lie at one edge, and the cause of one is suspected in the other: rules rank by the numbers."""
    mine, other = (_edge(found.pattern) for found in map(identity, (first, second)) if found is not None)
    mutual = first.findings[0].cause in _suspected(second) or second.findings[0].cause in _suspected(first)
    return bool(mine) and mine == other and mutual


def _suspected(judgement: Judgement) -> set[Cause]:
    """Named causes that are more likely than not."""
    likely = (found.cause for found in judgement.findings if found.confidence >= LIKELY)
    return set(likely) - {Cause.UNKNOWN}


def same_step(mine: Identity, other: Identity) -> bool:
    """Whether the first bad steps are one, or one of them is not known."""
    return not mine.node or not other.node or mine.node == other.node


def same_zone(mine: Identity, other: Identity) -> bool:
    """Whether the same side of a storage was touched."""
    beyond = mine.zone in BEYOND and other.zone in BEYOND
    return mine.kind == "oob_read" or mine.zone == other.zone or beyond


def dtype_family(name: str) -> str:
    """`narrow` below 32 bits, where accumulation in the own dtype shows; `wide` from there; else `integer`."""
    if name not in FLOAT_FORMATS:
        return "integer"
    return "narrow" if FLOAT_FORMATS[name].bits < 32 else "wide"


def unnamed(found: Identity) -> bool:
    """No rule could name the cause."""
    return found.cause == Cause.UNKNOWN.value


def same_named(mine: Identity, other: Identity) -> bool:
    """One named cause. Making NaN and infinities is another defect than losing them."""
    special = mine.cause == Cause.NAN_INF_HANDLING.value and "special_lost" in (mine.kind, other.kind)
    return mine.cause == other.cause and not unnamed(mine) and (mine.kind == other.kind or not special)


def same_unnamed(mine: Identity, other: Identity) -> bool:
    """At least one cause could not be named: the numbers must be of one family, and bad elements lie alike."""
    patterns = {_edge(mine.pattern), _edge(other.pattern)} - {""}
    return (unnamed(mine) or unnamed(other)) and mine.dtype_family == other.dtype_family and len(patterns) < 2


def _frames(judgement: Judgement, kind: str) -> tuple[str, ...]:
    raised, process = judgement.observation.exception, judgement.observation.process
    if kind.startswith("exception:") and raised is not None:
        return exception_frames(raised)
    return crash_frames(process) if kind.startswith("crash:") and process is not None else ()


def _hashed(found: Identity) -> dict[str, object]:
    facts: dict[str, object] = {"operator": found.operator, "kind": found.kind, "target": found.target}
    if found.kind in VALUES:
        edge = _edge(found.pattern)
        return {**facts, "node": found.node, "cause": found.cause, "pattern": edge, "dtype": found.dtype_family}
    if found.kind in MEMORY:
        touched = found.kind in OUT_OF_BOUNDS and found.kind != "oob_read"
        where = {"zone": found.zone, "away": found.distance not in ("", "0", "<=16 B")} if touched else {}
        return {**facts, "node": found.node, **where}
    return {**facts, "node": found.node, "frames": list(found.frames)}


def _edge(pattern: str) -> str:
    """Tails and heads: the other patterns follow the values, and the sizes when few elements are there."""
    return pattern if pattern.startswith(("tail", "head")) else ""

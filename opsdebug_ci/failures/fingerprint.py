"""The versioned identity of a root cause.

Decides which facts make two failures the same one. Deliberately without shapes, seeds, offsets, counts and messages,
which vary while the cause does not.

History:
    v1  operator, top cause, blame, output, dtype family, and one detail: classes, exception, signal or argument
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable

from opsdebug_ci.model.dtype import FLOAT_FORMATS
from opsdebug_ci.model.judgement import Judgement
from opsdebug_ci.model.observation import Observation
from opsdebug_ci.model.vocabulary import FAILING_VERDICTS, Cause

VERSION = "v1"
DIGITS = 16
"""Hex digits: 64 bits, so ten thousand causes collide with probability about 3e-12."""

_NON_FINITE = ("nan", "+inf", "-inf")


def fingerprint(judgement: Judgement) -> str | None:
    """`v1:` and 16 hex digits; None for a case that did not fail."""
    if judgement.verdict not in FAILING_VERDICTS or not judgement.findings:
        return None
    top = judgement.findings[0]
    facts = {
        "operator": judgement.case.operator,
        "cause": str(top.cause),
        "blame": str(top.blame),
        "output": top.evidence.get("output"),
        "dtype": dtype_family(judgement.case.dtype),
        "detail": _detail(top.cause, judgement.observation),
    }
    text = json.dumps(facts, sort_keys=True, separators=(",", ":"))
    return f"{VERSION}:{hashlib.sha256(text.encode()).hexdigest()[:DIGITS]}"


def fingerprints(judgements: Iterable[Judgement]) -> dict[str, str]:
    """Case id -> fingerprint, of the cases that failed."""
    found = ((judgement.case.id, fingerprint(judgement)) for judgement in judgements)
    return {case_id: identity for case_id, identity in found if identity is not None}


def dtype_family(name: str) -> str:
    """`narrow` below 32 bits, where accumulation in the own dtype shows; `wide` from there; else `integer`."""
    if name not in FLOAT_FORMATS:
        return "integer"
    return "narrow" if FLOAT_FORMATS[name].bits < 32 else "wide"


def _detail(cause: Cause, observation: Observation) -> list[str]:
    """The facts that tell two failures of one cause apart."""
    if cause is Cause.NAN_INF_HANDLING:
        return _classes(observation)
    if cause in (Cause.INPUT_MUTATED, Cause.OOB_WRITE):
        inside = cause is Cause.INPUT_MUTATED
        return sorted({reading.argument for reading in observation.memory if reading.inside is inside})
    process, exception = observation.process, observation.exception
    return [
        *([exception.type] if exception is not None else []),
        *([process.signal or "exit", str(process.phase)] if process is not None else []),
    ]


def _classes(observation: Observation) -> list[str]:
    """Cells in which NaN or infinity takes part; zeros, subnormals and normals are all `finite` here."""
    cells = {
        (_class(cell.expected), _class(cell.actual))
        for output in observation.outputs
        if output.accuracy is not None
        for cell in output.accuracy.class_mismatches
    }
    return sorted(f"{expected}->{actual}" for expected, actual in cells if expected != actual)


def _class(name: str) -> str:
    return name if name in _NON_FINITE else "finite"

"""An output of another dtype than the reference's."""

from __future__ import annotations

from collections.abc import Iterator

from opsdebug_ci.judge.rules.rule import Evidence, Subject
from opsdebug_ci.model.dtype import FLOAT_FORMATS
from opsdebug_ci.model.finding import Finding
from opsdebug_ci.model.vocabulary import Cause

PRECISE_INSTEAD = "; a reference in float64 is `precise`, not `torch`"
"""The likely mistake where the torch reference returns float64 for narrower inputs."""


def wrong_dtype(subject: Subject) -> Iterator[Finding]:
    """Fires for each output of another dtype than the reference's. Silent about its values.

    The torch reference alone says which dtype is right: the others compute in whatever is exact enough.
    """
    for output in subject.observation.outputs:
        got, wanted = output.actual.dtype, output.expected.dtype
        if got != wanted:
            advice = PRECISE_INSTEAD if wanted == "float64" and _narrower(subject.case.dtype) else ""
            statement = f"`{output.name}` has dtype {got}, wanted {wanted} as reference `torch` returned it{advice}"
            evidence: Evidence = {"output": output.name, "actual": got, "expected": wanted}
            yield subject.finding(Cause.DTYPE_PROMOTION, 0.95, statement, evidence)


def _narrower(dtype: str) -> bool:
    return dtype in FLOAT_FORMATS and dtype != "float64"

"""The failure that a verdict begins with: which operator, in which dtypes, what is wrong with numbers.

Decides its words. Which failure leads, the order of the groups says: the one of most cases.
"""

from __future__ import annotations

import re

from opsdebug_ci.model.document import RunDocument
from opsdebug_ci.model.judgement import Group
from opsdebug_ci.model.vocabulary import FAILING_VERDICTS
from opsdebug_ci.report.comment.brief import brief
from opsdebug_ci.report.comment.names import listed, name

DTYPES_NAMED = 2
"""Of more than two, none is what the failure is about."""

STATEMENT_LIMIT = 140
"""Characters of a statement: with a name, a commit and two other names the line stays under 300."""

_OUTPUT = re.compile(r"^`[^`]{1,60}`: ")
"""An output, as many statements begin; the list of failures names it."""


def leading_failure(document: RunDocument, group: Group) -> str:
    """`**softmax** float16: 12 of 16,384 elements (0.0732 %) are wrong`."""
    words = brief(_OUTPUT.sub("", group.statement), STATEMENT_LIMIT)
    dtypes = _dtypes(document, group)
    where = f" {listed([name(dtype) for dtype in dtypes])}" if 0 < len(dtypes) <= DTYPES_NAMED else ""
    return f"**{name(group.operator)}**{where}: {words or group.cause}"


def _dtypes(document: RunDocument, group: Group) -> list[str]:
    """Of every failing case of the group, each once, in order of appearance."""
    mine = {*group.cases}
    failing = (
        each.case
        for each in document.observations
        if each.verdict in FAILING_VERDICTS and (each.fingerprint == group.fingerprint or each.case.id in mine)
    )
    return list(dict.fromkeys(case.dtype for case in failing))

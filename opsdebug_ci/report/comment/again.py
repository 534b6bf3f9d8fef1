"""How a reader sees a failure again: the very case that is shown, then the smallest like it.

Decides that nothing is offered that cannot work: a bundle that nobody can fetch is not named.
"""

from __future__ import annotations

import re

from opsdebug_ci.model.document import ObservationDocument
from opsdebug_ci.model.judgement import Group
from opsdebug_ci.report.escape import md_code

_BUNDLE = re.compile(r"[0-9a-f]{64}")

DIGITS = 12
"""Of a bundle's hash in a command, as the run itself writes it."""


def again_line(case: ObservationDocument | None, group: Group, *, fetched: bool) -> str:
    """`Reproduce: opsdebug replay HASH; smallest case: opsdebug replay HASH`; empty: nothing is known to do.

    Args:
        case: the one that is shown; None: there is none.
        group: what it is an example of.
        fetched: its bundles are to be had.
    """
    finding = case.findings[0] if case is not None and case.findings else None
    by_itself = None if finding is None else finding.next
    if not fetched:
        return f"Reproduce: {md_code(by_itself)}" if by_itself else ""
    mine, smallest = _replay(case), group.replay
    if mine and smallest and not smallest.startswith(mine):  # what follows the same bundle are options
        return f"Reproduce: {md_code(mine)}; smallest case: {md_code(smallest)}"
    again = smallest or mine or by_itself
    return f"Reproduce: {md_code(again)}" if again else ""


def _replay(case: ObservationDocument | None) -> str | None:
    """Of its own bundle."""
    bundle = None if case is None else case.bundle
    return f"opsdebug replay {bundle[:DIGITS]}" if bundle and _BUNDLE.fullmatch(bundle) else None

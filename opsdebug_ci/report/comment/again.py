"""How a reader sees a failure again: the very case that is shown, then the smallest like it.

Decides that nothing is offered that cannot work: a bundle that nobody can fetch is not named.
"""

from __future__ import annotations

import re

from opsdebug_ci.model.document import ObservationDocument
from opsdebug_ci.model.judgement import Group
from opsdebug_ci.report.escape import md_code, md_text

_BUNDLE = re.compile(r"[0-9a-f]{64}")

SIZES_LIMIT = 120
"""Characters of a case's sizes: eight dims of four letters and ten digits."""

DIGITS = 12
"""Of a bundle's hash in a command, as the run itself writes it."""


def again_line(case: ObservationDocument | None, group: Group, *, fetched: bool) -> str:
    """`Reproduce: opsdebug replay HASH; smallest case, M=7, N=250, float16: opsdebug replay HASH`; empty: nothing is
    known to do.

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
        return f"Reproduce: {md_code(mine)}; smallest case{_sizes(group, ', ')}: {md_code(smallest)}"
    again = smallest or mine or by_itself
    other = _sizes(group, " at ") if smallest and not mine else ""
    return f"Reproduce{other}: {md_code(again)}" if again else ""


def _sizes(group: Group, joint: str) -> str:
    """Of the smallest case, which is another than the one that is shown."""
    return f"{joint}{md_text(group.smallest, SIZES_LIMIT)}" if group.smallest else ""


def _replay(case: ObservationDocument | None) -> str | None:
    """Of its own bundle."""
    bundle = None if case is None else case.bundle
    return f"opsdebug replay {bundle[:DIGITS]}" if bundle and _BUNDLE.fullmatch(bundle) else None

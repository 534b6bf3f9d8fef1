"""What `attribute` and `trace` say in the same words: the case, the conclusion, the next commands."""

from __future__ import annotations

from collections.abc import Sequence

from opsdebug_ci.model.inquiry import Subject
from opsdebug_ci.report.escape import plain


def heading_lines(command: str, subject: Subject, conclusion: Sequence[str]) -> list[str]:
    """Conclusion first, then which case it is about and what its run found."""
    first, *rest = conclusion or ("nothing to say",)
    finding = subject.findings[0] if subject.findings else None
    found = f"; {finding.cause} {finding.confidence:.2f}: {plain(finding.statement)}" if finding is not None else ""
    return [
        f"{command}: {plain(first)}",
        *(f"  {plain(sentence)}" for sentence in rest),
        f"case {plain(subject.case.name)}: {subject.verdict}{found}",
        f"  {plain(subject.chosen)}",
    ]


def ending_lines(commands: Sequence[str]) -> list[str]:
    """The next commands."""
    return [f"next: {plain(command)}" for command in commands]

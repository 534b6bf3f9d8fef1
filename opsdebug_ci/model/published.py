"""What `opsdebug publish` did: what was said of a commit, where, and what could not be.

Schema `opsdebug.published/1`.

History:
    1  first version
"""

from __future__ import annotations

from dataclasses import dataclass

PUBLISHED_SCHEMA = "opsdebug.published/1"
"""Name and version of the document."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Remark:
    """One annotation, for the log where the check could not carry it."""

    level: str
    """`error` or `warning`."""

    title: str
    """Heading; untrusted text."""

    message: str
    """Text; untrusted."""

    file: str | None = None
    """POSIX path relative to the repository, or None."""

    line: int | None = None
    """Line in `file` from 1, or None."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PublishedDocument:
    """Outcome of one publication."""

    schema: str
    """PUBLISHED_SCHEMA."""

    conclusion: str
    """What was said, a word of `Conclusion`; empty: there was nothing to say, as `notes` explain."""

    exit_code: int
    """0 pass or accepted, 1 failing or regressed, 4 incomplete or inconclusive, 3 no run, as the stage itself ends."""

    head_commit: str
    """Newest commit of the change; empty: not known."""

    pull_request: int | None
    """Number; None: the run is of none, or it is not certain of which."""

    comment: str
    """What became of the comment: `created`, `updated`, `unchanged`, `kept_newer`, `not_wanted`, `refused`, ..."""

    comment_url: str
    """Page of the comment; empty: there is none."""

    check_url: str
    """Page of the check; empty: there is none."""

    failures: int
    """Cases that failed, crashed or timed out."""

    regressions: int
    """Operators that became slower and that nobody accepted."""

    summary: str
    """The same as markdown, for the job summary."""

    remarks: tuple[Remark, ...] = ()
    """Annotations that no check carries."""

    notes: tuple[str, ...] = ()
    """What a person must know or do, in sentences, e.g. which permission is missing."""

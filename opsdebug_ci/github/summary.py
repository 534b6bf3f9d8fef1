"""The job summary: markdown in the file `$GITHUB_STEP_SUMMARY` names.

Decides how a summary is cut to GitHub's limit without leaving a block open. Deliberately renders nothing.
"""

from __future__ import annotations

import re
from pathlib import Path

from opsdebug_ci.errors import EnvironmentLimitError

SUMMARY_LIMIT_BYTES = 1_000_000
"""UTF-8 bytes per step. GitHub discards the whole summary above 1 MiB; the rest is margin."""

CUT_NOTICE = "\n\n_The summary was cut here to fit GitHub's limit; the report file has everything._\n"
"""Last words of a cut summary."""

_FENCE = re.compile(r"^ {0,3}(`{3,}|~{3,})", re.MULTILINE)


def fit_summary(markdown: str, limit: int = SUMMARY_LIMIT_BYTES) -> str:
    """`markdown` in at most `limit` bytes of UTF-8.

    What is too long is cut between two lines where there is a line to cut at; open `<details>` and code fences are
    closed. A limit too small for the notice itself gives an empty text.
    """
    data = markdown.encode("utf-8", "replace")
    if len(data) <= limit:
        return data.decode()
    room = limit - len(CUT_NOTICE.encode())
    while room > 0:
        kept = _whole_lines(data[:room])
        text = kept + _closing(kept) + CUT_NOTICE
        excess = len(text.encode()) - limit
        if excess <= 0:
            return text
        room -= excess
    return ""


def append_summary(path: Path, markdown: str) -> None:
    """Append `markdown` to the file at `path`, within the limit of the whole file.

    Raises:
        EnvironmentLimitError: it cannot be written.
    """
    try:
        used = path.stat().st_size if path.exists() else 0
        with path.open("a", encoding="utf-8", newline="\n") as stream:
            stream.write(fit_summary(markdown, SUMMARY_LIMIT_BYTES - used))
    except OSError as error:
        raise EnvironmentLimitError(
            f"`GITHUB_STEP_SUMMARY` is {str(path)!r}: got {error.strerror}; wanted room for the job summary",
            next_step="free space on the runner",
        ) from error


def _whole_lines(data: bytes) -> str:
    text = data.decode("utf-8", "ignore")
    cut = text.rfind("\n")
    if cut >= 0:
        return text[: cut + 1]
    tag = text.rfind("<")
    return text[:tag] if tag > text.rfind(">") else text


def _closing(text: str) -> str:
    """What closes the blocks still open at the end of `text`."""
    fence = ""
    for match in _FENCE.finditer(text):
        mark = match.group(1)
        if not fence:
            fence = mark
        elif mark.startswith(fence):
            fence = ""
    open_details = max(0, len(re.findall(r"<details\b", text)) - text.count("</details>"))
    return (f"\n{fence}\n" if fence else "") + "\n</details>" * open_details

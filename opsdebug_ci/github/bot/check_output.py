"""What a check shows: title, summary and annotations, as GitHub takes them.

Decides what is cut and which annotation can stand beside a line. The rest is told in the summary, as a block of code,
where nothing of an untrusted text has a meaning. Deliberately sends nothing.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from opsdebug_ci.github.plain_text import one_line, plain_text
from opsdebug_ci.github.workflow_commands import repository_path
from opsdebug_ci.model.vocabulary import Word

BATCH = 50
"""Annotations of one request: GitHub takes no more, and adds those of several requests."""

ANNOTATION_LIMIT = 1_000
"""Of a check: twenty requests. More are not read by anybody; the summary counts them."""

TITLE_LIMIT = 255
"""Characters of a title."""

SUMMARY_LIMIT_BYTES = 65_535
"""Of a summary, in UTF-8: GitHub's limit, which it counts in characters."""

MESSAGE_LIMIT_BYTES = 64 * 2**10
"""Of an annotation's message: GitHub's limit."""

_LAST_LINE = 2**31 - 1
"""Lines are 32 bits there."""

_UNPLACED = 20
"""Annotations without a place that the summary lists."""

_UNPLACED_LINE = 200
"""Characters of a line of that list."""

CUT_NOTE = "\n\nThe rest does not fit here: it is in the job summary."
"""Ends a summary that was cut."""


class AnnotationLevel(Word):
    """How an annotation is shown."""

    NOTICE = "notice"
    WARNING = "warning"
    FAILURE = "failure"


@dataclass(frozen=True, slots=True, kw_only=True)
class CheckAnnotation:
    """One remark beside a line of code, where the line is known."""

    path: str | None
    """POSIX path relative to the repository; None: not known."""

    line: int | None
    """Line in it, from 1; None: not known."""

    level: AnnotationLevel
    """How it is shown."""

    title: str
    """Heading; one line, untrusted."""

    message: str
    """Text; may have several lines, untrusted."""


Annotations = Sequence[Mapping[str, object]]
"""As GitHub takes them."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Output:
    """What a check is to show, cut to what GitHub takes."""

    title: str
    """Heading."""

    summary: str
    """Markdown."""

    annotations: tuple[Mapping[str, object], ...]
    """Those that have a place, as GitHub takes them."""

    def body(self, annotations: Annotations = ()) -> dict[str, object]:
        """The field `output` of a request, with some of the annotations."""
        shown: dict[str, object] = {"title": self.title, "summary": self.summary}
        return {**shown, "annotations": list(annotations)} if annotations else shown


def output_of(title: str, summary: str, annotations: Sequence[CheckAnnotation]) -> Output:
    """Title, summary and annotations as GitHub takes them; nothing of them is empty, which GitHub refuses."""
    placed = [sent for annotation in annotations if (sent := _placed(annotation)) is not None]
    unplaced = [annotation for annotation in annotations if _placed(annotation) is None]
    more = _unplaced(unplaced)
    if len(placed) > ANNOTATION_LIMIT:
        more += f"\n\n{len(placed) - ANNOTATION_LIMIT:,} more annotations are not shown beside the code."
    room = SUMMARY_LIMIT_BYTES - len(more.encode())
    return Output(
        title=one_line(title, TITLE_LIMIT) or "opsdebug",
        summary=_cut(summary.strip() or "Nothing to add.", room) + more,
        annotations=tuple(placed[:ANNOTATION_LIMIT]),
    )


def _placed(annotation: CheckAnnotation) -> Mapping[str, object] | None:
    """As GitHub takes it; None: it has no place inside the repository."""
    path = None if annotation.path is None else repository_path(annotation.path)
    if path is None or annotation.line is None or not 1 <= annotation.line <= _LAST_LINE:
        return None
    title = one_line(annotation.title, TITLE_LIMIT)
    message = _bytes(plain_text(annotation.message, MESSAGE_LIMIT_BYTES).strip(), MESSAGE_LIMIT_BYTES)
    return {
        "path": path,
        "start_line": annotation.line,
        "end_line": annotation.line,
        "annotation_level": str(annotation.level),
        "message": message or title or "no message",
        **({"title": title} if title else {}),
    }


def _unplaced(annotations: Sequence[CheckAnnotation]) -> str:
    """They as an indented block of code, a line each: there no character has a meaning, and a line cannot end it."""
    if not annotations:
        return ""
    lines = [f"    {one_line(_in_a_line(annotation), _UNPLACED_LINE)}" for annotation in annotations[:_UNPLACED]]
    if len(annotations) > _UNPLACED:
        lines.append(f"    and {len(annotations) - _UNPLACED:,} more")
    return "\n\nWithout a line in this repository:\n\n" + "\n".join(lines)


def _in_a_line(annotation: CheckAnnotation) -> str:
    return f"{annotation.level}: {annotation.title}: {annotation.message.strip().split(chr(10), 1)[0]}"


def _cut(summary: str, room: int) -> str:
    """`summary` where it fits, else its beginning up to the end of a line, and that it was cut."""
    if len(summary.encode("utf-8", "replace")) <= room:
        return summary
    kept = _bytes(summary, room - len(CUT_NOTE.encode()))
    return (kept.rsplit("\n", 1)[0] if "\n" in kept else kept) + CUT_NOTE


def _bytes(text: str, limit: int) -> str:
    """The beginning of `text` that has at most `limit` bytes, no character cut in two."""
    return text.encode("utf-8", "replace")[:limit].decode("utf-8", "ignore")

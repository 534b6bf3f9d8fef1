"""The last line: where the run is, which attempt, which version, and how to have no such comment."""

from __future__ import annotations

from opsdebug_ci import __version__
from opsdebug_ci.model.publication import Publication
from opsdebug_ci.report.comment.places import run_link


def footer(publication: Publication, *, silence: bool) -> str:
    """One line of small print.

    Args:
        publication: what is told.
        silence: say how to turn the comment off.
    """
    links = publication.links
    parts = [
        *filter(None, [run_link(links, "CI run")]),
        *([f"attempt {links.attempt}"] if links.attempt > 1 else []),
        f"opsdebug-ci {__version__}",
        *(["silence this: `comment: off`"] if silence else []),
    ]
    return f"<sub>{' · '.join(parts)}</sub>"

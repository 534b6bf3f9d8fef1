"""JSON out of artifacts, which whoever wrote the code under test may have written.

Decides what the document of a shard may cost. Deliberately knows nothing of what the text is about.
"""

from __future__ import annotations

from typing import Any

from opsdebug_ci.errors import ArtifactError
from opsdebug_ci.model.strict_json import Bounds, strict_json

DEEPEST = 32
"""Objects and lists within each other; a document of ours has 11."""

LONGEST_NUMBER = 32
"""Characters of a number; a float64 needs 24, an int64 20."""

LONGEST_TEXT = 2**20
"""Characters of one text; the longest of ours are what an operator printed, 4 KiB."""

MOST_VALUES = 7_000_000
"""Marks that part values: documents of runs have one in ten bytes, and so the largest as many. A value costs here up to
64 bytes and its place, whatever it costs in the text."""

_NEXT = "look at the job that uploaded it; a file that `opsdebug ci` wrote is never refused for this"


def read_untrusted(data: bytes, limit: int) -> Any:
    """The plain value of a JSON text.

    Args:
        data: the text.
        limit: bytes it may have.

    Raises:
        ArtifactError: it is no JSON, leaves open what it means, or costs more than it may.
    """
    bounds = Bounds(size=limit, values=MOST_VALUES, depth=DEEPEST, number=LONGEST_NUMBER, text=LONGEST_TEXT)
    return strict_json(data, bounds, refusal)


def refusal(why: str) -> ArtifactError:
    """The error of a document that is not taken."""
    return ArtifactError(f"the document of a shard is not taken: {why}", next_step=_NEXT)

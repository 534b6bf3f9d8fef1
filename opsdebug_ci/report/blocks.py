"""Blocks of markdown: lists that say how much they leave out, and what is folded away.

Decides their form alone. Lines and titles are inert already.
"""

from __future__ import annotations

from collections.abc import Sequence


def listing(title: str, lines: Sequence[str], most: int) -> list[str]:
    """A list of at most so many lines, below its title where it has one; nothing where there is no line."""
    shown = [f"- {line}" for line in lines[:most]]
    hidden = len(lines) - len(shown)
    more = [f"- and {hidden:,} more."] if hidden else []
    above = f"{title}\n\n" if title else ""
    return [above + "\n".join([*shown, *more])] if lines else []


def fold(summary: str, blocks: Sequence[str]) -> list[str]:
    """`blocks` folded away below `summary`; nothing where there is nothing to fold."""
    return [f"<details><summary>{summary}</summary>", *blocks, "</details>"] if blocks else []

"""A comment in a page as GitHub shows it: GitHub's own style sheet, a column of a given width, light or dark."""

from __future__ import annotations

import html
from pathlib import Path

from gfm import rendered

STYLE = Path(__file__).with_name("github_markdown") / "github-markdown.css"
"""GitHub's style sheet for comments, as the package github-markdown-css 5.9.0 extracted it; licence beside it."""

THEMES = ("light", "dark")

WIDTHS = (320, 375, 768, 1280)
"""Phones, a tablet, a screen; CSS pixels."""

_BOX = """
body { margin: 0; padding: 8px; }
.markdown-body { box-sizing: border-box; max-width: 860px; margin: 0 auto; padding: 16px; font-size: 14px;
  border: 1px solid var(--borderColor-default); border-radius: 6px; background: var(--bgColor-default); }
"""
"""Around the comment, which GitHub shows at 14 px in a column that is never wider than this."""


_GROUND = {"light": "#ffffff", "dark": "#0d1117"}
"""Of the page around it."""


def comment_page(markdown: str, theme: str, *, unfolded: bool = False) -> str:
    """A whole page with one comment."""
    body = rendered(markdown)
    shown = body.replace("<details>", "<details open>") if unfolded else body
    style = _style(theme)
    return (
        f'<!doctype html><html lang="en" style="color-scheme: {theme}"><meta charset="utf-8">'
        f'<meta name="viewport" content="width=device-width"><style>{style}{_BOX}</style>'
        f'<body style="background: {_GROUND[theme]}"><article class="markdown-body">{shown}</article></body></html>'
    )


def _style(theme: str) -> str:
    """The style sheet, which asks the system for its theme, as if that were `theme`."""
    text = STYLE.read_text(encoding="utf-8")
    for one in THEMES:
        text = text.replace(f"(prefers-color-scheme: {one})", "all" if one == theme else "not all")
    return text


def framed(pages: dict[str, str], width: int, *, height: int = 1600) -> str:
    """Pages side by side, each in a frame of that width."""
    frames = "".join(
        f'<iframe name="{html.escape(name)}" srcdoc="{html.escape(page)}" '
        f'style="width: {width}px; height: {height}px; border: 0"></iframe>'
        for name, page in pages.items()
    )
    return f'<!doctype html><meta charset="utf-8"><body style="margin: 0">{frames}</body>'

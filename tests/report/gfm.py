"""Markdown as GitHub reads it, by GitHub's own library, and what it became: structure apart from text."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from html.parser import HTMLParser

import cmarkgfm
from cmarkgfm.cmark import Options

EXTENSIONS = ("table", "autolink", "tagfilter", "strikethrough", "tasklist")

AS_A_COMMENT = Options.CMARK_OPT_UNSAFE | Options.CMARK_OPT_FOOTNOTES | Options.CMARK_OPT_HARDBREAKS
"""HTML passes, as it does before GitHub's own filter; a line end is a line break."""


def rendered(markdown: str) -> str:
    """The HTML."""
    return cmarkgfm.markdown_to_html_with_extensions(markdown, options=AS_A_COMMENT, extensions=EXTENSIONS)


@dataclass(frozen=True, slots=True, kw_only=True)
class Element:
    """One element in the order of the page."""

    tag: str
    """Name."""

    attributes: tuple[tuple[str, str | None], ...]
    """As written."""


@dataclass(slots=True, kw_only=True)
class Page:
    """What a text became."""

    elements: list[Element] = field(default_factory=list)
    """Every element."""

    text: str = ""
    """Everything that is read, code included."""

    prose: str = ""
    """The same without code and without what links of ours show: where GitHub looks for mentions, issues, commits."""

    comments: list[str] = field(default_factory=list)
    """Hidden remarks."""

    def tags(self) -> set[str]:
        return {element.tag for element in self.elements}

    def links(self) -> set[str | None]:
        return {dict(element.attributes).get("href") for element in self.elements if element.tag == "a"}


class _Reader(HTMLParser):
    def __init__(self) -> None:
        super().__init__(convert_charrefs=True)
        self.page = Page()
        self.apart = 0

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.page.elements.append(Element(tag=tag, attributes=tuple(attrs)))
        self.apart += tag in ("code", "a")

    def handle_endtag(self, tag: str) -> None:
        self.apart -= tag in ("code", "a")

    def handle_data(self, data: str) -> None:
        self.page.text += data
        if not self.apart:
            self.page.prose += data

    def handle_comment(self, data: str) -> None:
        self.page.comments.append(data)


def page(markdown: str) -> Page:
    """`markdown` rendered and read."""
    reader = _Reader()
    reader.feed(rendered(markdown))
    reader.close()
    return reader.page


ACTIVE = re.compile(
    r"(?<![\w`])@[A-Za-z0-9]|(?<!&)#\d|\bGH-\d|https?://|\bwww\.\w|[\w.]@[\w-]+\.\w|:[\w+-]+:|\b(?=\d*[a-f])[0-9a-f]{7,40}\b|\$\S",
    re.IGNORECASE,
)
"""What GitHub's later filters act on: mentions, issues, addresses, mail, emoji by name, commits, mathematics."""

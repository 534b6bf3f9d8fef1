"""Texts of others in the comment, read as GitHub reads it: they are seen, and nothing is made of them."""

from __future__ import annotations

import re
from dataclasses import replace

import pytest
from gfm import ACTIVE, page
from hypothesis import example, given, settings
from hypothesis import strategies as st
from publication_notation import EVERY, EVIL, LINKS, hostile

from opsdebug_ci.report.comment import check_title, rungs
from opsdebug_ci.report.escape import md_code, md_prose, md_text, plain

OURS = {
    *("a", "br", "code", "details", "h4", "li", "p", "strong", "sub", "summary", "ul"),
    *("table", "tbody", "td", "th", "thead", "tr"),
}
"""Elements that our own words make."""

PIECES = (
    *(
        ":-:",
        "---",
        "===",
        "# ",
        "#1",
        "- ",
        "* ",
        "+ ",
        "1. ",
        "1) ",
        "> ",
        "|",
        "`",
        "``",
        "```",
        "~~~",
        "~",
        "\\",
        "\n",
    ),
    *(
        "<b>",
        "</details>",
        "<!--",
        "-->",
        "&lt;",
        "&#64;",
        "[x]",
        "[ ] ",
        "[^1]",
        "[^1]:",
        "](",
        "![",
        "<img src=x",
        "$",
    ),
    *("javascript:", "http://", "https://e.x", "www.", "a@b.c", "@me", "ftp://x.y", "mailto:", "xmpp:", "://", "GH-1"),
    *(":tada:", "deadbeef01", "_", "__", "**", "\u202e", "\u200b", "\x1b[31m", "\ud800", "\U0001f600", "x", " ", "\t"),
)
"""What means something to markdown, HTML or GitHub."""

HOSTILE = st.lists(st.one_of(st.sampled_from(PIECES), st.text(max_size=3)), max_size=14).map("".join)

FRAMES = {
    "paragraph": ("{}", {"p"}),
    "below a line": ("word\n{}", {"p", "br"}),
    "in a list": ("- **{}**: x  \n  {}", {"ul", "li", "strong", "br"}),
    "in a cell": ("| a |\n|---|\n| {} |", {"table", "thead", "tbody", "tr", "th", "td"}),
    "in brackets": ("a ({}).", {"p"}),
}
"""Where a text may stand, and what that place is made of."""


def seen(text: str) -> str:
    """Without what nobody sees, and with any run of blanks as one."""
    return " ".join(text.replace("\u200b", "").split())


@settings(max_examples=200)
@given(text=HOSTILE, frame=st.sampled_from(sorted(FRAMES)))
@example(text=":-:", frame="below a line")
@example(text=":-:$ftp://x.y", frame="below a line")
@example(text=EVIL, frame="in a cell")
def test_a_text_is_seen_and_makes_nothing(text, frame):
    form, tags = FRAMES[frame]
    shown = page(form.replace("{}", md_text(text)))
    assert shown.tags() <= tags | {"code", "span"}
    assert not shown.links() and not shown.comments
    assert seen(plain(text, 200)) in seen(shown.text)
    assert not ACTIVE.search(shown.prose.replace("$", "¤"))


@settings(max_examples=200)
@given(text=HOSTILE, frame=st.sampled_from(sorted(set(FRAMES) - {"in a cell"})))
@example(text="`a``b`", frame="paragraph")
@example(text="`a`deadbeef01`b`", frame="paragraph")
@example(text="0` 0`", frame="below a line")
@example(text="deadbeef01A", frame="below a line")
def test_a_sentence_with_names_in_backticks_makes_nothing_but_code(text, frame):
    form, tags = FRAMES[frame]
    shown = page(form.replace("{}", md_prose(text)))
    assert shown.tags() <= tags | {"code", "span"}
    assert not shown.links() and not shown.comments
    assert seen(plain(text, 200).replace("`", "")) in seen(shown.text.replace("`", ""))
    assert not ACTIVE.search(shown.prose.replace("$", "¤"))


@settings(max_examples=200)
@given(text=HOSTILE)
def test_code_is_code(text):
    shown = page(f"x {md_code(text)} y")
    assert shown.tags() <= {"p", "code"}
    assert seen(shown.text) == seen(f"x {plain(text, 1000)} y")


def test_the_referee_sees_what_is_not_escaped():
    """Each attack, as it is, makes something that the checks above forbid."""
    for text in ("<b>x</b>", "[x](y)", "![x](y)", "www.e.xy", "# x", "- x", "a\n:-:", "> x", "~~x~~", "*x*", "    x"):
        assert page(text).tags() - {"p", "br", "code"}, text
    for text in ("@me", "#1", "GH-1", "a@b.cd", ":tada:", "deadbeef01", "$x$"):
        assert ACTIVE.search(page(text).prose) or page(text).links(), text
    assert page("<!-- opsdebug-ci:v1 id=default -->").comments


@settings(max_examples=25)
@given(text=HOSTILE.filter(plain))
@example(text=EVIL)
@example(text="</details>")
@example(text="<!-- opsdebug-ci:v1 id=default -->")
@example(text="0")
def test_every_form_of_a_whole_comment_is_made_of_our_own_elements(text):
    for form in rungs(hostile(text), limit_bytes=65_000):
        shown = page(form)
        assert shown.tags() <= OURS | {"span"}
        assert {link for link in shown.links() if not link.startswith(LINKS.commit_url)} <= {LINKS.run_url}
        assert not shown.comments
        assert not ACTIVE.search(shown.prose.replace("$", "¤"))
        assert shown.text.startswith("opsdebug smoke")


def test_the_comment_has_as_many_tables_items_and_folds_as_with_a_plain_name():
    evil, tame = (
        [element.tag for element in page(rungs(hostile(text), limit_bytes=65_000)[0]).elements]
        for text in (EVIL, "softmax")
    )
    for tag in ("table", "tr", "td", "th", "li", "ul", "details", "summary", "h4", "a", "sub"):
        assert evil.count(tag) == tame.count(tag), tag


def test_a_hostile_name_is_read_as_it_is():
    shown = page(rungs(hostile(), limit_bytes=65_000)[0]).text.replace("\u200b", "")
    for word in ("@org/team #1 fixes #2 GH-3", "<img src=x onerror=alert(1)>", "<!-- opsdebug-ci:v1 id=default -->"):
        assert word in shown
    assert "\u202e" not in shown and "\x1b" not in shown


@pytest.mark.parametrize("name", EVERY)
def test_the_title_holds_no_text_of_others(name):
    told = EVERY[name]()
    assert re.fullmatch(r"[a-z]+: [A-Za-z0-9 ,;]+", check_title(told))
    assert check_title(replace(told, reasons=(EVIL,), suite=EVIL, stage=EVIL)) == check_title(told)

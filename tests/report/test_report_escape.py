"""Untrusted text: attacks on the comment render as themselves and do nothing."""

import html
import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from opsdebug_ci.report.escape import md_code, md_text, plain

ZERO_WIDTH = "&#8203;"
DOLLAR = "<span>&#36;</span>"

ATTACKS = {
    "mention": ("@org/team", f"@{ZERO_WIDTH}org/team"),
    "issue": ("fixes #1", f"fixes #{ZERO_WIDTH}1"),
    "issue elsewhere": ("a/b#2", f"a/b#{ZERO_WIDTH}2"),
    "issue by prefix": ("GH-12", f"GH{ZERO_WIDTH}-12"),
    "image": ("<img src=x>", "&lt;img src=x&gt;"),
    "comment": ("<!-- marker -->", "&lt;!-- marker --&gt;"),
    "cell": ("a|b", "a&#124;b"),
    "fence": ("```", "&#96;&#96;&#96;"),
    "link": ("[x](javascript:alert)", "&#91;x&#93;(javascript:alert)"),
    "image link": ("![x](y)", "!&#91;x&#93;(y)"),
    "address": ("https://e.x/?a=b&c", f"https:{ZERO_WIDTH}//e.x/?a=b&amp;c"),
    "bare address": ("see www.e.x", f"see www{ZERO_WIDTH}.e.x"),
    "mail": ("mailto:a@b.c", f"mailto{ZERO_WIDTH}:a@{ZERO_WIDTH}b.c"),
    "entity": ("&lt;b&gt;", "&amp;lt;b&amp;gt;"),
    "emphasis": ("*a* _b_ ~c~ layer_norm", "&#42;a&#42; &#95;b&#95; &#126;c&#126; layer_norm"),
    "backslash": ("\\*", "&#92;&#42;"),
    "mathematics": ("$x$", f"{DOLLAR}x{DOLLAR}"),
    "newline": ("x\nverdict=pass\r\n\n- item", "x verdict=pass - item"),
    "workflow command": ("::error file=x::", f"{ZERO_WIDTH}:{ZERO_WIDTH}:error file=x:{ZERO_WIDTH}:"),
    "group": ("##[group]", f"#{ZERO_WIDTH}#{ZERO_WIDTH}&#91;group&#93;"),
    "version": ("3.11.2", "3.11.2"),
    "list": ("- x", f"{ZERO_WIDTH}- x"),
    "numbered list": ("12. x", f"{ZERO_WIDTH}12. x"),
    "heading underline": ("===", f"{ZERO_WIDTH}==="),
    "head of a table": (":-:", f"{ZERO_WIDTH}:{ZERO_WIDTH}-:"),
    "emoji by name": (":tada: :+1:", f"{ZERO_WIDTH}:{ZERO_WIDTH}tada: :{ZERO_WIDTH}+1:"),
    "commit": ("a1b2c3d and 0c0ffee", "`a1b2c3d` and `0c0ffee`"),
    "number of many digits": ("12345678 1.25003457", "12345678 1.25003457"),
    "shell": ('a";curl x|sh;" $(id)', f'a";curl x&#124;sh;" {DOLLAR}(id)'),
    "bidirectional": ("safe\u202egnp.exe\u2066", "safegnp.exe"),
    "zero width": ("a\u200bb\u200d\ufeffc\u00ad", "abc"),
    "invisible letters": ("a\u3164\u2800\u115fb", "ab"),
    "ANSI": ("\x1b[31mred\x1b[0m \x1b]0;title\x07x", "red x"),
    "NUL": ("a\x00b", "ab"),
    "lone surrogate": ("a\ud800b", "ab"),
    "tag characters": ("a\U000e0041b", "ab"),
    "emoji": ("ok \U0001f600", "ok \U0001f600"),
    "line separators": ("a\u2028b\x85c", "a b c"),
    "C++ name": ("aten::gelu", f"aten:{ZERO_WIDTH}:{ZERO_WIDTH}gelu"),
    "ordinary": ("gelu_add_residual[B=1,S=4]", "gelu_add_residual&#91;B=1,S=4&#93;"),
}


@pytest.mark.parametrize("name", ATTACKS)
def test_attack_is_inert(name):
    text, markdown = ATTACKS[name]
    assert md_text(text) == markdown


def test_what_hides_behind_many_characters_that_cannot_be_seen_is_not_looked_for():
    assert plain("x" + "\u200b" * 1_000_000 + "y", 10) == "x…"
    assert plain("\u200b" * 100 + "xy", 10) == "xy"


def test_long_name_is_cut():
    assert md_text("x" * 100_000) == "x" * 199 + "…"
    assert md_text("x" * 200) == "x" * 200


@given(st.text())
def test_any_text_renders_as_its_visible_self_and_holds_nothing_active(text):
    markdown = md_text(text)
    markdown = markdown.replace("<span>&#36;</span>", "&#36;")
    assert html.unescape(markdown.replace("`", "")).replace("\u200b", "") == plain(text, 200)
    markdown = re.sub("`[0-9a-f]{7,64}`", "", markdown)
    assert not re.search(r"[<>`|*\[\]\\~$\n\r\x00-\x1f\x7f\u202a-\u202e\u2066-\u2069]", markdown)
    assert not re.search(r"[@#](?!&#8203;|\d)|://|&(?!amp;|lt;|gt;|#\d+;)", markdown)
    markdown.encode("utf-8")


@given(st.text(alphabet="`a @#<\n|\u202e", max_size=20))
def test_code_span_closes_where_it_should(text):
    span, line = md_code(text), plain(text)
    if not line:
        assert span == ""
        return
    fence = re.match("`+", span).group()
    inside = span[len(fence) : -len(fence)]
    assert span.endswith(fence) and inside.strip(" ") == line
    assert len(fence) not in {len(run) for run in re.findall("`+", inside)}


def test_code_span_of_a_command():
    assert md_code("opsdebug run 'a`b'") == "``opsdebug run 'a`b'``"
    assert md_code("`x`") == "`` `x` ``"

"""The comment in a real browser, as GitHub shows it: light and dark, narrow and wide.

One start of the browser: every publication in every theme at every width stands in a frame of its own, and a script in
the page measures them all, folds opened.
"""

from __future__ import annotations

import json

import pytest
from chromium import answer, program
from comment_pages import THEMES, WIDTHS, comment_page, framed
from publication_notation import EVERY, EVIL, LINKS, many

from opsdebug_ci.report.comment import rungs

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(program() is None, reason="no chromium here: install it, or name it in OPSDEBUG_CHROMIUM"),
]

SHOWN = {**EVERY, "many causes": lambda: many(60), "a long name": lambda: many(2, "x{}" + "y" * 100_000)}

MEASURE = """
<script>
function measured(frame) {
  const page = frame.contentDocument, root = page.documentElement, box = page.querySelector(".markdown-body");
  const scrolls = element => ["auto", "scroll"].includes(getComputedStyle(element).overflowX);
  const inScroller = element => element !== box && (scrolls(element) || inScroller(element.parentElement));
  const right = box.getBoundingClientRect().right;
  const all = [...box.querySelectorAll("*")];
  return {
    page: [root.scrollWidth, root.clientWidth],
    beyond: all.filter(e => !inScroller(e) && e.getBoundingClientRect().right > right + 0.5).map(e => e.tagName),
    clipped: all.filter(e => e.clientWidth && e.scrollWidth > e.clientWidth + 1 && !scrolls(e)
      && getComputedStyle(e).overflowX !== "visible").map(e => e.tagName),
    rows: [...box.querySelectorAll("table")].map(t => [...t.rows].map(r => r.cells.length)),
    tags: [...new Set(all.map(e => e.tagName.toLowerCase()))].sort(),
    links: [...new Set([...box.querySelectorAll("a")].map(e => e.href))].sort(),
    attributes: [...new Set(all.flatMap(e => e.getAttributeNames()))].sort(),
    text: box.innerText,
    colours: [getComputedStyle(box).color, getComputedStyle(box).backgroundColor],
  };
}
addEventListener("load", () => {
  const told = {};
  for (const frame of document.querySelectorAll("iframe")) told[frame.name] = measured(frame);
  const answer = document.createElement("pre");
  answer.id = "answer";
  answer.textContent = JSON.stringify(told);
  document.body.append(answer);
});
</script>
"""


@pytest.fixture(scope="module")
def seen(tmp_path_factory):
    """What every page measured, by publication, theme and width."""
    told = {}
    for width in WIDTHS:
        pages = {
            json.dumps([name, theme, width]): comment_page(markdown, theme, unfolded=True)
            for name, made in SHOWN.items()
            for markdown in rungs(made(), limit_bytes=65_000)[:1]
            for theme in THEMES
        }
        directory = tmp_path_factory.mktemp(f"width{width}")
        told |= {
            tuple(json.loads(key)): value for key, value in answer(framed(pages, width) + MEASURE, directory).items()
        }
    return told


def planted(html: str, width: int, directory) -> dict[str, object]:
    """The measurements of a comment with a defect in it."""
    page = comment_page("x", "light").replace("<p>x</p>", html)
    return answer(framed({"planted": page}, width) + MEASURE, directory)["planted"]


def test_every_page_was_measured(seen):
    assert len(seen) == len(SHOWN) * len(THEMES) * len(WIDTHS)
    assert all(one["text"].startswith("opsdebug smoke") for one in seen.values())


def test_nothing_is_wider_than_the_page_or_cut_off(seen):
    for key, one in seen.items():
        wide, room = one["page"]
        assert wide <= room == key[2], key
        assert not one["beyond"] and not one["clipped"], key


def test_tables_are_whole(seen):
    rows = {key: one["rows"] for key, one in seen.items() if one["rows"]}
    assert {key[0] for key in rows} >= {"clean", "failing", "hostile", "many causes"}
    assert all(cells == 7 for tables in rows.values() for table in tables for cells in table)
    assert all(len(table) >= 3 for tables in rows.values() for table in tables)


def test_nothing_is_made_of_what_others_wrote(seen):
    ours = {"a", "br", "code", "details", "h4", "li", "p", "span", "strong", "sub", "summary", "ul"}
    table = {"table", "tbody", "td", "th", "thead", "tr"}
    for key, one in seen.items():
        assert set(one["tags"]) <= ours | table, key
        assert set(one["attributes"]) <= {"align", "href", "open"}, key
        assert all(link == LINKS.run_url or link.startswith(LINKS.commit_url) for link in one["links"]), key


def test_hostile_names_are_seen(seen):
    for key, one in seen.items():
        if key[0] == "hostile":
            text = " ".join(one["text"].replace("\u200b", "").split())
            assert "@org/team #1 fixes #2 GH-3 a/b#4 <img src=x onerror=alert(1)> <b>bold</b> <!--" in text
            assert "</details>" in text and "\u202e" not in text and "\u202e" in EVIL


def test_themes_are_two(seen):
    light, dark = ({tuple(one["colours"]) for key, one in seen.items() if key[1] == theme} for theme in THEMES)
    assert len(light) == len(dark) == 1 and light != dark


def test_the_measurements_see_a_planted_defect(tmp_path):
    wide = planted('<p style="white-space: nowrap">' + "x" * 500 + "</p>", 320, tmp_path)
    assert wide["page"][0] > 320
    cut = planted('<p style="white-space: nowrap; overflow: hidden">' + "x" * 500 + "</p>", 320, tmp_path)
    assert cut["clipped"] == ["P"]
    box = planted('<div style="width: 600px">x</div>', 320, tmp_path)
    assert box["beyond"] == ["DIV"]

"""Text of strangers in everything that is shown: A8, A9, A25."""

from __future__ import annotations

import unicodedata
from collections.abc import Callable
from pathlib import Path, PurePosixPath, PureWindowsPath

import pytest
from attack_documents import Page, publication, run_document
from attack_list import attack, twin
from hostile_job import obeyed

from opsdebug_ci.github.annotations import annotate
from opsdebug_ci.github.summary import SUMMARY_LIMIT_BYTES, append_summary, fit_summary
from opsdebug_ci.github.workflow_commands import LEVEL_LIMIT, Annotation, Level, render_annotations
from opsdebug_ci.model import RunDocument
from opsdebug_ci.report import markdown
from opsdebug_ci.report.comment import check_summary, check_title, rungs

COMMENT_LIMIT = 65_000


def comment(document: RunDocument) -> str:
    """The fullest form of the comment."""
    return rungs(publication(document), limit_bytes=COMMENT_LIMIT)[0]


def check(document: RunDocument) -> str:
    """The text of the check."""
    return check_summary(publication(document), COMMENT_LIMIT)


PLACES = pytest.mark.parametrize("shown", [markdown, comment, check], ids=["summary", "comment", "check"])

HOSTILE = [
    "@org/team",
    "@everyone look",
    "#1 fixes #2 GH-3 acme/kernels#4",
    "<img src=https://evil.example/x.png>",
    "<script>alert(1)</script>",
    "<!-- opsdebug-ci:v1 id=default -->",
    "--><!--",
    "a | b || c |---| d",
    "```\n</details>",
    "`` ` ```",
    "[x](javascript:alert(1)) ![y](https://evil.example/y.png)",
    "[x]: https://evil.example",
    "https://evil.example www.evil.example mailto:a@evil.example",
    "x_www.evil.example x__www.evil.example/a x_mailto:a@evil.example",
    "</details></summary></table>",
    "- [x] done\n# heading\n> quote",
    "**bold** _i_ ~~s~~ $x$ $$y$$",
    "&lt;b&gt; &#64;org",
    "\\@org \\<b>",
    "::error::x ##[error]y",
    "[^1] [^1]: a note",
    "~~~mermaid\n===\n---",
]
"""Each is the name of an operator that fails, what is said of it, and the name of one that passes."""


def document(name: str) -> RunDocument:
    return run_document([name, "clean"], passing=[f"{name} too", "clean too"], statement=f"wrong: {name}")


HARMLESS = document("harmless")


def structure(page: Page) -> dict[str, int]:
    """Elements but those that we ourselves put around a stranger's characters: code, and spans that say nothing."""
    return {tag: count for tag, count in page.elements.items() if tag not in ("code", "span")}


@attack("A8")
@PLACES
@pytest.mark.parametrize("name", HOSTILE, ids=ascii)
def test_a_name_is_inert_text(name: str, shown: Callable[[RunDocument], str]) -> None:
    page, usual = Page(shown(document(name))), Page(shown(HARMLESS))
    assert structure(page) == structure(usual)
    assert page.addresses == usual.addresses
    assert page.comments == usual.comments
    assert page.references == usual.references
    assert " ".join(name.split()) in page.seen


@twin("A8")
@PLACES
def test_a_harmless_page_has_a_table_and_no_link_to_elsewhere(shown: Callable[[RunDocument], str]) -> None:
    page = Page(shown(HARMLESS))
    assert page.elements["table"] == 1
    assert page.elements["tr"] == 5
    assert [address for address in page.addresses if not address.startswith("https://github.com/acme/kernels/")] == []
    assert "harmless too" in page.seen


@attack("A8")
def test_unescaped_the_same_names_would_do_harm() -> None:
    """The attack is one: what the reader here sees when a name is put into markdown as it is."""
    pages = [Page(text) for text in HOSTILE]
    assert {"img", "a", "h1", "blockquote", "strong", "pre"} <= {tag for page in pages for tag in page.elements}
    assert {"@org", "#1", "GH-3"} <= {reference for page in pages for reference in page.references}
    assert [" opsdebug-ci:v1 id=default "] in [page.comments for page in pages]


INVISIBLE = {
    "bidirectional": ("safe\u202egnp.exe\u202c \u2066x\u2069", "safegnp.exe x"),
    "zero width": ("ad\u200bmin\u200d\ufeff\u2060", "admin"),
    "terminal": ("\x1b[31mred\x1b[0m\x1b]0;title\x07", "red"),
    "NUL": ("a\0b\x08\x7f\x9b", "ab"),
    "half a pair": ("a\ud800b\udfffc", "abc"),
    "private and unassigned": ("a\ue000b\U0010ffffc", "abc"),
    "blank letters": ("a\u3164b\u115fc\u2800d", "abcd"),
    "tags": ("a\U000e0041\U000e0042b", "ab"),
    "variation selectors": ("a\ufe00b\ufe0fc\u180bd\U000e0100e🧨\ufe0f\ufe0e\ufe0f", "abcde🧨\ufe0f"),
}


@attack("A9")
@PLACES
@pytest.mark.parametrize(("name", "kept"), INVISIBLE.values(), ids=INVISIBLE)
def test_what_cannot_be_seen_is_gone(name: str, kept: str, shown: Callable[[RunDocument], str]) -> None:
    text = shown(document(name))
    assert text.encode("utf-8").decode("utf-8") == text
    hidden = [c for c in text if unicodedata.category(c) in ("Cc", "Cf", "Cs", "Co", "Cn") and c not in "\n\u200b"]
    assert hidden == []
    assert kept in Page(text).seen


@twin("A9")
@PLACES
@pytest.mark.parametrize("name", ["emoji 🧨👍🏽", "naïve", "数学演算子", "Ünïcode", "e\u0301"], ids=ascii)
def test_what_can_be_seen_is_kept(name: str, shown: Callable[[RunDocument], str]) -> None:
    assert name in Page(shown(document(name))).seen


@attack("A9")
@pytest.mark.parametrize(("name", "kept"), INVISIBLE.values(), ids=INVISIBLE)
def test_annotations_hide_nothing(name: str, kept: str) -> None:
    (line,) = render_annotations(annotate(run_document([name], statement=name), PurePosixPath("/w")))
    assert obeyed(line) == [line]
    assert line.encode("utf-8").decode("utf-8") == line
    hidden = [c for c in line if unicodedata.category(c) in ("Cc", "Cf", "Cs")]
    assert hidden == []
    assert kept[:2] in line


MANY = run_document([f"operator_{number}" for number in range(5_000)], statement="x" * 1_000)
SOME = run_document([f"operator_{number}" for number in range(500)], statement="x" * 1_000)
LONG = run_document(["n" * 100_000], passing=["p" * 100_000], statement="s" * 300_000)


@attack("A25")
@pytest.mark.slow
@pytest.mark.parametrize("run", [MANY, LONG], ids=["5,000 failures", "names of 100,000"])
def test_the_comment_keeps_its_budget_and_its_verdict(run: RunDocument) -> None:
    forms = rungs(publication(run), limit_bytes=COMMENT_LIMIT)
    assert [len(form.encode()) for form in forms] == sorted((len(form.encode()) for form in forms), reverse=True)
    assert max(len(form.encode()) for form in forms) <= COMMENT_LIMIT
    assert len(forms[-1].encode()) < 1_000
    assert all("fail" in form.splitlines()[0] for form in forms)
    assert len(check_summary(publication(run), COMMENT_LIMIT).encode()) <= COMMENT_LIMIT
    assert len(check_title(publication(run))) <= 255


@attack("A25")
@pytest.mark.parametrize("run", [SOME, LONG], ids=["500 failures", "names of 100,000"])
def test_what_is_shown_is_below_every_limit(run: RunDocument) -> None:
    assert len(comment(run).encode()) <= COMMENT_LIMIT
    assert "fail" in comment(run).splitlines()[0]


@attack("A25")
@pytest.mark.parametrize("run", [SOME, LONG], ids=["500 failures", "names of 100,000"])
def test_the_summary_keeps_its_budget(run: RunDocument) -> None:
    assert len(markdown(run).encode()) <= COMMENT_LIMIT


@attack("A25")
def test_a_summary_of_five_megabytes_is_cut_and_closed(tmp_path: Path) -> None:
    text = "<details>\n\n```\n" + "ü" * 79 + "\n" + ("word " * 20 + "\n") * 50_000
    cut = fit_summary(text)
    assert len(cut.encode()) <= SUMMARY_LIMIT_BYTES
    assert "\n```\n\n</details>" in cut
    for _ in range(3):
        append_summary(tmp_path / "summary", text)
    assert (tmp_path / "summary").stat().st_size <= SUMMARY_LIMIT_BYTES


@attack("A25")
def test_of_1000_annotations_those_that_are_shown_are_written() -> None:
    remarks = annotate(run_document([f"operator_{number}" for number in range(1_000)]), PurePosixPath("/w"))
    assert len(remarks) == 1_000
    lines = render_annotations(remarks)
    assert len(obeyed("\n".join(lines))) == LEVEL_LIMIT
    assert lines[-1] == "990 more annotations are in the job summary only"


@attack("A25")
@pytest.mark.parametrize(
    ("file", "line"),
    [
        ("../x.py", 3),
        ("kernels/../../x.py", 3),
        ("/etc/passwd", 3),
        ("C:\\a\\b.py", 3),
        ("C:/a/b.py", 3),
        ("kernels\\gelu.py", 3),
        ("a\nb.py", 3),
        ("a\u202eb.py", 3),
        ("", 3),
    ],
)
def test_a_path_that_leads_elsewhere_is_dropped_and_the_remark_kept(file: str, line: int) -> None:
    (command,) = render_annotations(annotate(run_document(["gelu"], file=file, line=line), PurePosixPath("/w")))
    assert command.startswith("::error title=gelu")
    assert obeyed(command) == [command]


@attack("A25")
@pytest.mark.parametrize("line", [0, -1])
def test_a_line_that_is_none_is_dropped(line: int) -> None:
    (command,) = render_annotations(annotate(run_document(["gelu"], line=line), PurePosixPath("/w")))
    assert command.startswith("::error file=kernels/gelu.py,title=gelu")


@twin("A25")
def test_a_small_run_is_shown_whole_and_in_place() -> None:
    run = run_document(["gelu"], file="/w/kernels/gelu.py")
    assert "gelu" in Page(comment(run)).seen
    (command,) = render_annotations(annotate(run, PurePosixPath("/w")))
    assert command.startswith("::error file=kernels/gelu.py,line=3,title=gelu")
    (windows,) = annotate(run_document(["gelu"], file="C:\\w\\kernels\\gelu.py"), PureWindowsPath("C:\\w"))
    assert windows == Annotation(
        level=Level.ERROR, title=windows.title, message=windows.message, file="kernels/gelu.py", line=3
    )


@twin("A25")
def test_a_summary_that_fits_is_left_as_it_is() -> None:
    assert fit_summary("# ü\n") == "# ü\n"

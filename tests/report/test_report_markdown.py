"""The markdown report: whole output, rungs, attacks."""

# ruff: noqa: E501, W291 - whole outputs as they are, hard line breaks included

import html
import re
from dataclasses import replace

import pytest
from judge_notation import ended, judged, output, raised, ran
from publication_notation import with_known
from report_notation import GOOD, demo, run_document

from opsdebug_ci.report import markdown
from opsdebug_ci.report.markdown import COMMENT_LIMIT

EVIL = "@org/team #1 fixes #2 <img src=x> <!-- opsdebug-ci:v1 id=smoke --> | ``` javascript:alert \u202e\x1b[31m \n\n# title"


def test_one_of_everything():
    assert (
        markdown(demo())
        == """\
**opsdebug: fail** · smoke · `0123456789ab`: 4 of 10 cases of 7 operators failed; 3 pass, 1 error, 1 inconclusive, 1 skipped.

#### Failures: 3 causes, 4 cases

- **softmax**: `unknown`, blames the operator, 2 cases  
  `out0`: 12 of 16,384 elements (0.0732 %) are wrong; worst at &#91;3, 17&#93;: got 1.25, wanted 1, allowed 0.001 (error 250 x that)  
  for example &#91;B=1,S=4,H=8 float16 contiguous normal seed=0 cpu&#93;; in common: mismatch in out0  
  Reproduce: `opsdebug run softmax --dims B=1,S=4,H=8 --dtype float16 --seed 0 --inputs normal --layout contiguous`

- **gelu**: `exception`, blames the operator, 1 case  
  the operator raised ValueError: bad shape (at ops.py:7 softmax)  
  for example &#91;B=2 float32 contiguous normal seed=0 cpu&#93;  
  Reproduce: `opsdebug run gelu --dims B=2 --dtype float32 --seed 0 --inputs normal --layout contiguous`

- **scan**: `hang`, blames the operator, 1 case  
  did not finish within the time limit while the operator ran  
  for example &#91;N=5 float32 contiguous normal seed=0 cpu&#93;  
  Reproduce: `opsdebug run scan --dims N=5 --dtype float32 --seed 0 --inputs normal --layout contiguous`

#### Not settled

- inconclusive, 1 case of erf: `out0`: compared with `precise`, `torch` differs on 5 elements, by up to 8 x what references may, and it accepts 2 elements which `precise` rejects
- error, 1 case of erf: the inputs could not be made: `inputs` returned None

#### Skipped

- skipped, 1 case of conv2d: no C compiler here

Never judged: conv2d (every case skipped).

<details><summary>All operators</summary>

| operator | cases | pass | fail | other | worst error | ULP P99 |
|---|---:|---:|---:|---:|---:|---:|
| softmax | 2 | 0 | 2 | 0 | 250 x tol, red | 3 |
| gelu | 1 | 0 | 1 | 0 | - | - |
| scan | 1 | 0 | 1 | 0 | - | - |
| erf | 2 | 0 | 0 | 2 | red | - |
| conv2d | 1 | 0 | 0 | 1 | - | - |
| add | 2 | 2 | 0 | 0 | amber | 1 |
| mine | 1 | 1 | 0 | 0 | 0 | - |

Amber, passing within the worst case: 1 (wrong_rounding 1).

Judged by their own tolerance: mine.

Unchanged, not run: matmul, mean.

Not on this machine: c_sum.

</details>

Next: `opsdebug run softmax --dims B=1,S=4,H=8 --dtype float16 --seed 0 --inputs normal --layout contiguous`
"""
    )


def failing(number, name="op{}", message="bad shape"):
    return run_document([judged(raised(message=message), operator=name.format(i)) for i in range(number)])


def head(markdown_text):
    return markdown_text.splitlines()[0].split(" · ")[0]


@pytest.mark.parametrize(
    "document",
    [
        failing(5_000),
        failing(1, "x" * 100_000),
        failing(300, "{}" + "<" * 500, "<" * 5_000),
        run_document([judged(ended("skipped", reason="<" * 5_000 + str(i)), operator=f"op{i}") for i in range(2_000)]),
        run_document([judged(ran(GOOD), operator=f"{i}" + "|" * 300) for i in range(3_000)]),
        run_document([judged(ran(GOOD))], unchanged=tuple(f"{i}" + "@" * 300 for i in range(3_000))),
    ],
    ids=["5,000 failures", "one long name", "long statements", "skipped", "table", "unchanged"],
)
def test_size_is_kept_with_the_verdict(document):
    shown = markdown(document)
    assert len(shown.encode()) <= COMMENT_LIMIT
    assert re.fullmatch(r"\*\*opsdebug: (fail|pass|inconclusive)\*\*", head(shown))
    assert shown.count("<details>") == shown.count("</details>")


def test_each_rung_leaves_out_more_and_keeps_the_head():
    document = demo()
    full = markdown(document)
    shown, limit = [full], len(full.encode()) - 1
    for _ in range(3):
        shown.append(markdown(document, limit))
        limit = len(shown[-1].encode()) - 1
    assert [len(text) for text in shown] == sorted({len(text) for text in shown}, reverse=True)
    assert [("<details>" in text, "### Skipped" in text, "### Failures" in text) for text in shown] == [
        (True, True, True),
        (False, True, True),
        (False, False, True),
        (False, False, False),
    ]
    assert {head(text) for text in shown} == {head(full)}
    assert markdown(document, 1) == shown[-1]
    assert len(shown[-1].encode()) < 1_000


def test_hostile_names_stay_inert_everywhere():
    document = run_document(
        [
            judged(raised(EVIL, EVIL), operator=EVIL),
            judged(ran(output(EVIL, disputed=1)), operator=EVIL, seed=1),
            judged(ended("skipped", reason=EVIL), operator=EVIL, seed=2),
        ],
        unchanged=(EVIL,),
        unavailable=[(EVIL, EVIL)],
    )
    shown = markdown(document)
    prose = re.sub(r"(`+)(?!`).+?(?<!`)\1(?!`)", "", shown.split("\n", 1)[1])
    named = re.sub(r"&#(?!8203;)\d+;|^#+ ", "", prose, flags=re.MULTILINE)
    assert not re.search(r"(?<!&)[@#](?!&#8203;)|<(?!/?details>|/?summary>)|`", named)
    assert "\u202e" not in shown and "\x1b" not in shown
    rows = [line for line in shown.splitlines() if line.startswith("|")]
    assert {line.count("|") for line in rows} == {8}
    assert not any(line.startswith("# ") for line in shown.splitlines())


def test_command_survives_whole_inside_its_span():
    shown = markdown(run_document([judged(raised(), operator="a`b")]))
    assert "Reproduce: ``opsdebug run 'a`b' --dims" in html.unescape(shown)


def test_what_is_new_comes_first_and_what_was_known_is_folded_away():
    run = with_known(demo(), "softmax", "scan")
    shown = markdown(run)
    new, _, rest = shown.partition("<details><summary>2 causes known already, not of this change</summary>")
    known, _, _ = rest.partition("</details>")
    assert ("**gelu**" in new, "**softmax**" in new, "**scan**" in new) == (True, False, False)
    assert ("**gelu**" in known, "**softmax**" in known, "**scan**" in known) == (False, True, True)
    assert "#### Failures: 1 cause, 1 case\n" in new
    assert "#### Failures" not in markdown(with_known(demo(), "softmax", "scan", "gelu"))
    for limit in (len(shown.encode()) - 1, 3_000):
        assert shown.count("<details>") == shown.count("</details>")
        assert "known already" in markdown(run, limit)


def test_a_command_in_a_note_is_shown_as_one():
    run = replace(run_document([judged(ran(GOOD))]), notes=("`opsdebug replay HASH --shrink` takes <its> own time",))
    assert "Note: `opsdebug replay HASH --shrink` takes &lt;its&gt; own time." in markdown(run)

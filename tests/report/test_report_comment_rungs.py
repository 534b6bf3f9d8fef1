"""Forms of a comment: whatever the publication, each keeps the verdict and fits."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st
from judge_notation import ended, judged, ran
from publication_notation import EVERY, HEAD, failing, hostile, key, many, publication
from report_notation import GOOD, run_document

from opsdebug_ci.model.publication import Publication, RunLinks
from opsdebug_ci.report.comment import check_summary, check_title, rungs

LIMIT = 65_000

LAST = 1_000
"""Bytes of the last form at most."""

DOLLARS = "$" * 100_000
"""The longest way there is to write a character."""


def size(text: str) -> int:
    return len(text.encode())


def judged_once(names: list[str]) -> Publication:
    return publication(run_document([judged(ran(GOOD), operator=name) for name in names]), "pass")


LARGE = {
    "5,000 failures": many,
    "one name of 100,000 characters": lambda: many(1, "x" * 100_000),
    "long statements": lambda: many(300, "{}" + "<" * 500),
    "characters that grow": lambda: replace(hostile(DOLLARS), fixed=()),
    "5,000 failures fixed": lambda: replace(
        failing(), fixed=tuple(key(f"{number}{DOLLARS}", DOLLARS) for number in range(5_000))
    ),
    "many reasons to skip": lambda: publication(
        run_document([judged(ended("skipped", reason="<" * 5_000 + str(i)), operator=f"op{i}") for i in range(300)]),
        "inconclusive",
    ),
    "a table of 3,000 rows": lambda: judged_once([f"{i}" + "|" * 300 for i in range(3_000)]),
    "500 regressions": lambda: replace(
        failing(), document=replace(failing().document, regressions=tuple(f"{i}" + "$" * 300 for i in range(500)))
    ),
}


@pytest.mark.parametrize("name", [*EVERY, *LARGE])
def test_every_form_stands_by_itself(name):
    told = {**EVERY, **LARGE}[name]()
    forms = rungs(told, limit_bytes=LIMIT)
    assert len(forms) >= 4
    assert all(size(text) <= LIMIT for text in forms) and size(forms[-1]) < LAST
    sizes = [size(text) for text in forms]
    assert sizes == sorted(sizes, reverse=True)
    for text in forms:
        assert (
            text.startswith("**opsdebug smoke") and f": {told.conclusion}** at [`{HEAD[:7]}`](" in text.split("\n")[0]
        )
        assert text.count("\n<details><summary>") == text.splitlines().count("</details>")
        assert text.rstrip().endswith("</sub>")
    assert len(check_title(told)) <= 255 and "\n" not in check_title(told)


@pytest.mark.parametrize("limit", [0, 3_000, 20_000])
@pytest.mark.parametrize("name", ["failing", "characters that grow"])
def test_a_smaller_limit_is_kept_by_all_but_the_last(name, limit):
    *forms, last = rungs({**EVERY, **LARGE}[name](), limit_bytes=limit)
    assert all(size(text) <= limit for text in forms) and size(last) < LAST
    assert check_summary({**EVERY, **LARGE}[name](), 0).startswith("**opsdebug smoke")


@given(
    suite=st.text(max_size=100),
    stage=st.text(max_size=100),
    url=st.text(alphabet="https://e.x/()[] \n", max_size=2_000),
    commit=st.text(alphabet="0123456789abcdefg\n`", max_size=80),
)
def test_the_last_form_is_short_whatever_it_is_about(suite, stage, url, commit):
    links = RunLinks(run_url=f"https://{url}", commit_url=f"https://{url}", attempt=10**6, bundles=url)
    told = replace(EVERY["incomplete"](), suite=suite, stage=stage, head_commit=commit, links=links)
    last = rungs(told, limit_bytes=0)[-1]
    assert size(last) < LAST and ": incomplete**" in last.split("\n")[0]


def test_the_longest_addresses_and_counts_fit():
    long = "https://" + "e" * 172
    links = RunLinks(run_url=long, commit_url=long, attempt=99)
    told = replace(
        LARGE["500 regressions"](), suite="s" * 64, stage="t" * 64, head_commit="a" * 64, links=links, accepted=()
    )
    assert size(rungs(told, limit_bytes=0)[-1]) < LAST

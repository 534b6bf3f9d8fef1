"""A change that mends what failed at the baseline is told so."""

from __future__ import annotations

from dataclasses import replace

from publication_notation import BASELINE, EVERY, clean, key, publication

from opsdebug_ci.model.publication import Publication
from opsdebug_ci.report.comment import check_summary, check_title, rungs

LIMIT = 65_000


def fixing(*operators: str) -> Publication:
    told = clean()
    document = replace(told.document, baseline=BASELINE)
    return publication(document, "pass", fixed=tuple(key(name, "tail_mask") for name in operators))


def test_what_is_fixed_is_named_with_the_commit_it_failed_at() -> None:
    told = rungs(fixing("halved", "rope"), limit_bytes=LIMIT)[0]
    at = f"[`3fa9c21`](https://github.example/acme/kernels/commit/{BASELINE})"
    assert f"\n\n2 fixed since the baseline, {at}: halved (tail_mask) and rope (tail_mask).\n\n" in told
    assert ": nothing is wrong; 2 fixed since the baseline.  \n" in told.splitlines(keepends=True)[0]
    assert told.count("2 fixed") == 2


def test_the_check_says_it_too() -> None:
    told = fixing("halved")
    assert check_title(told) == "pass: 0 of 4 cases of 2 operators failed; 4 pass; 1 fixed since the baseline"
    assert "1 fixed since the baseline, [" in check_summary(told, LIMIT)


def test_a_baseline_without_a_name_is_told_without_one() -> None:
    told = fixing("halved")
    told = replace(told, document=replace(told.document, baseline=None))
    assert "1 fixed since the baseline: halved (tail_mask)." in rungs(told, limit_bytes=LIMIT)[0]


def test_of_many_a_few_are_named() -> None:
    told = rungs(fixing(*(f"op{number}" for number in range(30))), limit_bytes=LIMIT)[0]
    assert "op9 (tail_mask) and 20 more." in told


def test_nothing_is_said_where_nothing_is_fixed() -> None:
    for name in ("clean", "failing", "known", "incomplete"):
        told = EVERY[name]()
        assert "since the baseline" not in rungs(told, limit_bytes=LIMIT)[0] + check_title(told)

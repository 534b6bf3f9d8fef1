"""What showed a slowdown that was not confirmed is told by name, before what is settled."""

from __future__ import annotations

from dataclasses import replace

import pytest
from publication_notation import clean, regressed
from speed_notation import compare_document, compared, compared_run

from opsdebug_ci.model.performance import PerformanceDocument
from opsdebug_ci.model.publication import Publication
from opsdebug_ci.report.comment import check_summary, check_title, rungs
from opsdebug_ci.report.compare import compare_text
from opsdebug_ci.report.speed import unconfirmed

LIMIT = 65_000
SOFTMAX = "softmax N=8 inconclusive +1285 [1195, 1465] x4 sees 13"
SAME = "gelu N=8 same +0.1 [-1, 1] x4"


def told(*comparisons: str, **facts: object) -> Publication:
    run = compared_run(*map(compared, comparisons), **{"complete": False, **facts})
    publication = clean()
    return replace(publication, document=replace(publication.document, performance=PerformanceDocument(comparison=run)))


def test_a_pull_request_that_passes_says_so_in_its_first_sentence_and_its_title() -> None:
    publication = told(SOFTMAX, SAME)
    for form in (*rungs(publication, limit_bytes=LIMIT)[:-1], check_summary(publication, LIMIT)):
        sentence, counts = form.split("\n\n")[0].split("  \n")
        assert sentence.endswith(
            ": **softmax**: 14 times as long, not confirmed in the time there was; nothing else is wrong."
        )
        assert counts.endswith("4 pass; 1 operator 14 times as long, not confirmed in the time there was.")
    assert check_title(publication) == (
        "pass: 0 of 4 cases of 2 operators failed; 4 pass; "
        "1 operator 14 times as long, not confirmed in the time there was"
    )


def test_several_are_named_the_worst_first_and_each_once() -> None:
    publication = told(
        "gelu N=8 inconclusive +30 [25, 35] x4",
        SOFTMAX,
        "softmax N=64 inconclusive +900 [800, 1000] x4",
        "add N=8 inconclusive +4 [-12, 22] x4 sees 18",
    )
    assert (
        ": **softmax**: 14 times as long, not confirmed in the time there was; and gelu; nothing"
        in (rungs(publication, limit_bytes=LIMIT)[0])
    )
    assert check_title(publication).endswith(
        "; 2 operators up to 14 times as long, not confirmed in the time there was; speed of 1 operator not settled"
    )


def test_beside_what_regressed_it_is_told_after_it() -> None:
    publication = regressed()
    run = publication.document.performance.comparison
    run = replace(run, comparisons=(*run.comparisons, compared(SOFTMAX)), complete=False)
    publication = replace(
        publication, document=replace(publication.document, performance=PerformanceDocument(comparison=run))
    )
    first = rungs(publication, limit_bytes=LIMIT)[0].split("\n\n")[0]
    assert first.index("layer_norm is 11 % slower") < first.index("**softmax**: 14 times as long, not confirmed")


def test_the_conclusion_of_a_comparison_names_it() -> None:
    run = compared_run(compared(SOFTMAX), compared(SAME), complete=False)
    assert compare_text(compare_document(run)).startswith(
        "INCONCLUSIVE: softmax: 14 times as long, not confirmed in the time there was; 1 operator inconclusive, "
    )


@pytest.mark.parametrize(
    ("comparison", "facts"),
    [
        ("softmax N=8 inconclusive +30 [5, 55] x4 sees 18", {}),
        ("softmax N=8 inconclusive +8 [7, 9] x4", {}),
        ("softmax N=8 inconclusive -60 [-65, -55] x4", {}),
        ("softmax N=8 suspected +30 [25, 35] x8", {}),
        (SOFTMAX, {"contaminated": "gelu of the base was called regressed against itself"}),
    ],
    ids=["the interval holds the threshold", "below the threshold", "faster", "told otherwise", "not believed"],
)
def test_nothing_is_named_that_did_not_show_beyond_its_threshold(comparison: str, facts: dict[str, object]) -> None:
    publication = told(comparison, SAME, **facts)
    assert unconfirmed(publication.document.performance.comparison) == ()
    assert "**softmax**: " not in rungs(publication, limit_bytes=LIMIT)[0]
    assert "not confirmed" not in check_title(publication)
    assert ": nothing is wrong." in rungs(publication, limit_bytes=LIMIT)[0]

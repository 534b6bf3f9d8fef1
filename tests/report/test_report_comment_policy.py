"""When a comment is created: one row per publication, one column per policy."""

from __future__ import annotations

from dataclasses import replace

import pytest
from judge_notation import judged, output, raised, ran
from publication_notation import EVERY, clean, faster, key, publication, with_known
from report_notation import GOOD, run_document

from opsdebug_ci.model.publication import Changes, CommentPolicy, Conclusion
from opsdebug_ci.report.comment import wanted

FAILED = run_document([judged(raised(), operator="gelu"), judged(ran(GOOD), operator="add")])
DISPUTED = run_document([judged(ran(output(disputed=2)), operator="erf")])
FIXED = Changes(since="b" * 40, fixed=(key("gelu", "exception"),))

TABLE = {
    "clean": (clean(), "no no no no"),
    "failing": (EVERY["failing"](), "yes yes yes no"),
    "regressed": (EVERY["regressed"](), "yes yes yes no"),
    "accepted": (EVERY["accepted"](), "no yes no no"),
    "known only": (EVERY["known"](), "no no no no"),
    "known, and all of them gate": (publication(with_known(FAILED, "gelu"), "fail"), "yes yes yes no"),
    "incomplete": (EVERY["incomplete"](), "yes yes no no"),
    "incomplete, and something fails": (publication(FAILED, "incomplete"), "yes yes yes no"),
    "broken": (EVERY["broken"](), "yes yes no no"),
    "inconclusive": (publication(DISPUTED, "inconclusive"), "no no no no"),
    "fails, and nothing gates": (publication(FAILED, "pass"), "no yes no no"),
    "fixed": (replace(clean(), changes=FIXED), "no yes no no"),
    "fixed since the baseline": (replace(clean(), fixed=(key("gelu", "exception"),)), "no yes no no"),
    "faster": (faster(), "no yes no no"),
}
"""auto, changes, failures, off."""


@pytest.mark.parametrize("name", TABLE)
def test_a_comment_is_created(name):
    told, words = TABLE[name]
    answers = ["yes" if wanted(told, policy) else "no" for policy in CommentPolicy]
    assert " ".join(answers) == words


def test_every_conclusion_is_in_the_table():
    assert {told.conclusion for told, _ in TABLE.values()} == set(Conclusion)

"""What a replay is told as, and its schema."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from opsdebug_ci.failures.flakiness import steadiness
from opsdebug_ci.model import Cause, Verdict
from opsdebug_ci.model.case_document import CaseDocument
from opsdebug_ci.model.replay import (
    REPLAY_SCHEMA,
    Difference,
    OtherFailure,
    ReplayDocument,
    ReplayedBundle,
    ReplayOutcome,
    ShrunkReplay,
    TryCounts,
)
from opsdebug_ci.model.wilson import wilson
from opsdebug_ci.report import schema_text
from opsdebug_ci.report.replay import outcome_sentences, replay_conclusion, replay_text

PAGE = Path(__file__).parents[2] / "docs" / "schema" / "opsdebug.replay.1.json"

CASE = CaseDocument(
    id="1234567890abcdef",
    name="gelu[N=129 float32 contiguous normal seed=0 cpu]",
    operator="gelu",
    dtype="float32",
    dims={"N": 129},
    layout="contiguous",
    inputs="normal",
    seed=0,
    device="cpu",
    direction="forward",
)

REPRODUCED = ReplayedBundle(
    sha256="5791ea8acb6e" + "0" * 52,
    place=".opsdebug",
    outcome=ReplayOutcome.REPRODUCED,
    case=CASE,
    fingerprint="v2:0123456789abcdef",
    cause=Cause.TAIL_MASK,
    statement="`out0`: right up to N = 128",
    commit="c" * 40,
    recorded_source="kernels.py:10",
    source="kernels.py:12",
    inputs_digest="9" * 64,
    differences=(Difference(fact="torch", recorded="2.9.0", here="2.13.0"),),
    notes=("its inputs take 99 bytes",),
)


def counted(reproduced: int, *, otherwise: int = 0, passed: int = 0, unjudged: int = 0) -> ReplayedBundle:
    counts = TryCounts(reproduced=reproduced, otherwise=otherwise, passed=passed, unjudged=unjudged)
    outcome = (
        ReplayOutcome.REPRODUCED
        if reproduced
        else ReplayOutcome.OTHERWISE
        if otherwise
        else ReplayOutcome.NOT_REPRODUCED
    )
    return replace(
        REPRODUCED,
        outcome=outcome,
        counts=counts,
        rate=wilson(reproduced, counts.judged),
        steadiness=steadiness(reproduced, counts.judged),
    )


@pytest.mark.parametrize(
    ("bundle", "sentence"),
    [
        (
            counted(20),
            "reproduced 20 of 20 (Wilson 95 %: 83.9 to 100 %): every time, but too few tries to say whether always",
        ),
        (counted(35), "reproduced 35 of 35 (Wilson 95 %: 90.1 to 100 %): deterministic"),
        (counted(10, passed=10), "reproduced 10 of 20 (Wilson 95 %: 29.9 to 70.1 %): flaky"),
        (
            counted(1, passed=19),
            "reproduced 1 of 20 (Wilson 95 %: 0.888 to 23.6 %): not always, but too few tries to say how often",
        ),
        (counted(0, passed=20), "not reproduced in 20 tries (Wilson 95 %: 0 to 16.1 %): no proof that it is gone"),
        (counted(0, otherwise=3, passed=1), "not reproduced, but 3 of 4 tries failed in another way"),
    ],
)
def test_the_first_sentence(bundle: ReplayedBundle, sentence: str) -> None:
    assert outcome_sentences(bundle)[0] == sentence


@pytest.mark.parametrize(
    ("outcome", "sentence"),
    [
        (ReplayOutcome.REFUSED, "refused: why not"),
        (ReplayOutcome.IMPOSSIBLE, "this machine cannot run it: why not"),
        (ReplayOutcome.GONE, "skipped: why not"),
        (ReplayOutcome.UNJUDGED, "nothing could be judged: why not"),
    ],
)
def test_what_was_not_tried_says_why(outcome: ReplayOutcome, sentence: str) -> None:
    assert outcome_sentences(replace(REPRODUCED, outcome=outcome, reason="why not.")) == (sentence,)


def test_several_bundles_are_counted_by_outcome() -> None:
    gone = replace(REPRODUCED, outcome=ReplayOutcome.GONE, reason="x")
    assert replay_conclusion([counted(20), gone, gone]) == ("of 3 bundles 1 reproduced, 2 without an operator",)
    assert replay_conclusion([]) == ("there is no bundle to replay",)


def test_the_whole_text_and_what_a_stranger_wrote_is_inert() -> None:
    other = OtherFailure(fingerprint="v2:f", verdict=Verdict.CRASH, count=2, statement="\x1b[2Jkilled by SIGSEGV")
    shrunk = ShrunkReplay(
        case=replace(CASE, name="gelu[N=3]"),
        smaller=True,
        verified=True,
        bundle="a" * 64,
        boundary="fails at N=3, passes at N=2",
        values="1 element decides: x[0]",
        trials=92,
        seconds=17.5,
        ended=False,
        others=("a second bug",),
    )
    bundle = replace(
        counted(3, otherwise=2, passed=5, unjudged=1), others=(other,), reason="no\u202e memory.", shrunk=shrunk
    )
    document = ReplayDocument(
        schema=REPLAY_SCHEMA, bundles=(bundle,), conclusion=outcome_sentences(bundle), next=("opsdebug x",), exit_code=1
    )
    assert (
        replay_text(document)
        == """\
REPLAY: reproduced 3 of 10 (Wilson 95 %: 10.8 to 60.3 %): flaky
  2 x another failure, crash v2:f: killed by SIGSEGV
  1 try could not be judged: no memory

bundle 5791ea8acb6e in .opsdebug
  case gelu[N=129 float32 contiguous normal seed=0 cpu]
  recorded tail_mask: `out0`: right up to N = 128
  operator at kernels.py:12; it was at kernels.py:10 at commit ccccccccccc…
  inputs bit for bit those of digest 999999999999
  torch was 2.9.0, here 2.13.0
  shrunk to gelu[N=3], bundle aaaaaaaaaaaa: 92 runs, 17.5 s
    fails at N=3, passes at N=2
    1 element decides: x[0]
    another failure on the way: a second bug
  note: its inputs take 99 bytes

next: opsdebug x
"""
    )


def test_the_committed_schema_is_that_of_the_types() -> None:
    assert PAGE.read_text(encoding="utf-8") == schema_text(REPLAY_SCHEMA)

"""One failure is one case: what is said of it, the example, and how to see it again."""

from __future__ import annotations

from dataclasses import replace

import pytest
from judge_notation import judged, output, ran
from publication_notation import LINKS, publication
from report_notation import run_document

from opsdebug_ci.model.document import RunDocument
from opsdebug_ci.model.publication import Publication
from opsdebug_ci.report import markdown
from opsdebug_ci.report.comment import rungs

FIRST, SECOND, SHRUNK = "a1" * 32, "b2" * 32, "c3" * 32
RUN = "`opsdebug run softmax --dims B=1,S=4,H=8 --dtype float32 --seed {} --inputs normal --layout contiguous`"


def document(*bundles: str | None, group: str | None = SHRUNK, statement: int = 0) -> RunDocument:
    """Two cases of one cause, the second with more wrong elements, with these bundles; the group has one of its own,
    and the statement of the case of that number."""
    run = run_document([judged(ran(output(rejected=3 + seed)), seed=seed) for seed in (0, 1)])
    observations = tuple(
        replace(one, bundle=bundle)
        for one, bundle in zip(run.observations, bundles or (None,) * len(run.observations), strict=True)
    )
    (found,) = run.summary.groups
    told = replace(
        found,
        statement=observations[statement].findings[0].statement,
        bundle=group,
        replay=None if group is None else f"opsdebug replay {group[:12]}",
    )
    return replace(run, observations=observations, summary=replace(run.summary, groups=(told,)))


def told(run: RunDocument, bundles: str = "`gh run download 7`") -> list[str]:
    """The lines of the only cause."""
    failing: Publication = publication(run, "fail", links=replace(LINKS, bundles=bundles))
    lines = rungs(failing, limit_bytes=65_000)[0].splitlines()
    start = next(number for number, line in enumerate(lines) if line.startswith("- **softmax**"))
    return [line.strip() for line in lines[start : lines.index("", start)]]


@pytest.mark.parametrize(
    ("bundles", "group", "again"),
    [
        ((FIRST, SECOND), FIRST, "`opsdebug replay a1a1a1a1a1a1`"),
        ((FIRST, SECOND), SHRUNK, "`opsdebug replay a1a1a1a1a1a1`; smallest case: `opsdebug replay c3c3c3c3c3c3`"),
        ((None, None), SHRUNK, "`opsdebug replay c3c3c3c3c3c3`"),
        (("../../etc", None), SHRUNK, "`opsdebug replay c3c3c3c3c3c3`"),
        ((None, None), None, RUN.format(0)),
    ],
)
def test_the_case_that_is_shown_is_the_one_that_is_seen_again(bundles, group, again):
    assert told(document(*bundles, group=group))[-1] == f"Reproduce: {again}"


@pytest.mark.parametrize(
    ("bundles", "group", "again"),
    [
        (
            (FIRST, SECOND),
            SHRUNK,
            "Reproduce: `opsdebug replay a1a1a1a1a1a1`; smallest case, M=7, N=250, float16: "
            "`opsdebug replay c3c3c3c3c3c3`",
        ),
        ((None, None), SHRUNK, "Reproduce at M=7, N=250, float16: `opsdebug replay c3c3c3c3c3c3`"),
        ((FIRST, SECOND), FIRST, "Reproduce: `opsdebug replay a1a1a1a1a1a1`"),
        ((None, None), None, f"Reproduce: {RUN.format(0)}"),
    ],
)
def test_the_smallest_case_is_told_by_its_sizes(bundles, group, again):
    run = document(*bundles, group=group)
    found = replace(run.summary.groups[0], smallest="M=7, N=250, float16")
    assert told(replace(run, summary=replace(run.summary, groups=(found,))))[-1] == again


def test_sizes_that_are_none_are_inert_and_short():
    run = document(FIRST, SECOND)
    found = replace(run.summary.groups[0], smallest="@org <b>\n`x` " + "y" * 1_000)
    (line,) = told(replace(run, summary=replace(run.summary, groups=(found,))))[-1:]
    assert len(line) < 400 and "<b>" not in line and "@org" not in line


def test_the_example_is_the_case_whose_statement_is_shown():
    for number, seed, own in ((0, "seed=0", "a1a1a1a1a1a1"), (1, "seed=1", "b2b2b2b2b2b2")):
        run = document(FIRST, SECOND, statement=number)
        _, statement, example, again = told(run)
        assert statement.startswith(f"`out0`: {3 + number} of ")
        assert f" {seed} cpu" in example
        assert again.startswith(f"Reproduce: `opsdebug replay {own}`; ")


def test_a_statement_of_no_case_leaves_the_first_as_example():
    run = document(FIRST, SECOND)
    group = replace(run.summary.groups[0], statement="of no case")
    assert " seed=0 cpu" in told(replace(run, summary=replace(run.summary, groups=(group,))))[2]


def test_without_bundles_to_fetch_the_case_itself_is_run():
    lines = told(document(FIRST, SECOND), bundles="")
    assert lines[-1] == f"Reproduce: {RUN.format(0)}"
    assert "replay" not in "".join(lines)


def test_a_run_of_this_machine_has_its_bundles():
    assert "Reproduce: `opsdebug replay a1a1a1a1a1a1`; smallest case: " in markdown(document(FIRST, SECOND))


def test_a_case_that_is_not_there_is_not_reproduced_from_a_bundle_nobody_has():
    run = replace(document(FIRST, SECOND), observations=())
    assert told(run)[-1] == "Reproduce: `opsdebug replay c3c3c3c3c3c3`"
    assert not any(line.startswith("Reproduce") for line in told(run, bundles=""))


def test_a_bundle_that_is_named_with_options_is_no_smaller_case():
    run = document(FIRST, SECOND, group=FIRST)
    group = replace(run.summary.groups[0], replay=f"opsdebug replay {FIRST[:12]} --python python3")
    run = replace(run, summary=replace(run.summary, groups=(group,)))
    assert told(run)[-1] == f"Reproduce: `opsdebug replay {FIRST[:12]} --python python3`"

"""Next commands repeat what this invocation was given, and nothing else."""

from __future__ import annotations

from dataclasses import replace

import pytest
from judge_notation import judged, output, ran
from report_notation import run_document

from opsdebug_ci.report import respelled

FAILED = run_document([judged(ran(output(rejected=1, over_tolerance=1)), operator="gelu")])
PASSED = run_document([judged(ran(output()), operator="gelu")])


def test_nothing_given_changes_nothing() -> None:
    assert respelled(FAILED, {"--config": None, "--store": None}) is FAILED


@pytest.mark.parametrize(
    ("options", "added"),
    [
        ({"--config": "a b/opsdebug.toml"}, " --config 'a b/opsdebug.toml'"),
        ({"--python": "py", "--repeat": "20"}, " --python py --repeat 20"),
        ({"--store": "elsewhere"}, ""),
    ],
)
def test_a_rerun_is_told_what_it_needs(options: dict[str, str], added: str) -> None:
    document = respelled(FAILED, options)
    assert document.next == (FAILED.next[0] + added,)
    assert document.observations[0].findings[0].next == FAILED.observations[0].findings[0].next + added


def test_a_query_is_told_which_store() -> None:
    assert respelled(PASSED, {"--store": "a store", "--python": "py"}).next == (
        "opsdebug sql \"select operator, count(*) from accuracy group by 1\" --store 'a store'",
    )


def test_what_was_given_replaces_what_a_finding_advises() -> None:
    raced = run_document([judged(ran(output(), repeat_mismatches=1), operator="gelu")])
    advised = raced.observations[0].findings[0].next
    assert advised.endswith(" --repeat 10")
    again = respelled(raced, {"--repeat": "50"}).observations[0].findings[0].next
    assert again == advised.replace(" --repeat 10", " --repeat 50")


def test_a_replay_is_told_what_it_needs() -> None:
    group = replace(FAILED.summary.groups[0], bundle="ab" * 32, replay="opsdebug replay abababababab")
    document = replace(FAILED, summary=replace(FAILED.summary, groups=(group,)))
    again = respelled(document, {"--config": "x.toml", "--repeat": "3"}).summary.groups[0]
    assert again.replay == "opsdebug replay abababababab --config x.toml"

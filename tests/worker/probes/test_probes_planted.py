"""Every rule of the semantic-variant library and every probe explains its planted failure, and nothing else."""

from __future__ import annotations

import pytest
from planted_failures import PLANTED, PlantedFailure

from opsdebug_ci.numerics.variants import ARGUMENT_RULES, CALL_RULES
from opsdebug_ci.worker.probes import PROBES

NAMES = [planted.name for planted in PLANTED]


def test_every_rule_and_probe_has_a_planted_failure() -> None:
    planted = {failure.rule for failure in PLANTED}
    rules = {rule.__name__ for rule in (*CALL_RULES, *ARGUMENT_RULES, *PROBES)} - {"altered_reference"}
    assert planted == rules


@pytest.mark.parametrize("planted", PLANTED, ids=NAMES)
def test_a_planted_failure_is_explained(planted: PlantedFailure) -> None:
    clues = planted.clues()
    probes = {probe.__name__ for probe in PROBES}
    wanted = planted.rule if planted.rule in probes else "altered_reference"
    said = [clue for clue in clues if clue.rule == wanted and clue.cause is planted.cause]
    assert said, [(clue.rule, clue.cause, clue.statement) for clue in clues]
    assert said[0].confidence >= 0.7  # less where all bad elements hold one value
    assert planted.says in said[0].statement
    assert len({(clue.rule, clue.cause, clue.statement) for clue in clues}) == len(clues), "told twice"


@pytest.mark.parametrize("planted", PLANTED, ids=NAMES)
def test_its_clean_twin_gives_no_clue(planted: PlantedFailure) -> None:
    observation = planted.observe(planted.right)
    assert [output.rejected for output in observation.outputs] == [0]
    assert observation.clues == ()

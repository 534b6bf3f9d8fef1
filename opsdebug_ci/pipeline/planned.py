"""What a stage was to run, before it was divided: so that the parts can be put together again and none be missing.

Decides what parts of one whole have in common: stage, files, selection, gate, and the cases themselves in order.
Deliberately not the baseline, nor the machine beyond what it lets be planned: neither changes what there is to run.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Sequence

from opsdebug_ci.model.document import PlanFacts
from opsdebug_ci.model.run import Revision
from opsdebug_ci.model.vocabulary import Gate, Stage
from opsdebug_ci.pipeline.selection import Selection


def plan_facts(
    selection: Selection, gate: Gate, revision: Revision, whole: Sequence[str], *, mine: int
) -> PlanFacts | None:
    """Facts of a plan; None where cases were picked by hand.

    Args:
        selection: what was asked for.
        gate: which failures gate.
        revision: the code under test.
        whole: id of every case before the run was divided, in order; of a replay, the hashes of its bundles.
        mine: how many of them are this run's.
    """
    if selection.stage is Stage.RUN:
        return None
    facts = {
        "stage": str(selection.stage),
        "code": revision.tree or revision.commit,
        "operators": list(selection.patterns),
        "gate": str(gate),
        "cases": list(whole),
    }
    text = json.dumps(facts, sort_keys=True, separators=(",", ":"))
    return PlanFacts(id=hashlib.sha256(text.encode()).hexdigest(), cases=len(whole), mine=mine, gate=gate)

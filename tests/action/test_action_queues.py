"""Which runs of the workflows wait for each other: of several that wait in one group GitHub drops all but the last."""

from __future__ import annotations

import re

from workflow_files import loaded

from opsdebug_ci.github.scaffold import scaffold

OWN = {
    # A fork can have pull requests with the newest commit of anybody's: its reports must not take the place of theirs.
    "opsdebug-report.yml": "github.event.workflow_run.id",
    "opsdebug-accept.yml": "github.run_id",
    "opsdebug-release.yml": "github.run_id",
    "opsdebug-nightly.yml": "github.sha",
    "opsdebug.yml": "github.ref",
}
"""By what a run waits only for runs of its own kind: its own attempts, its commit, its pull request."""


def test_no_run_is_dropped_for_one_of_somebody_else() -> None:
    for file in scaffold():
        name = file.path.rpartition("/")[2]
        if name in OWN:
            group = loaded(file.text)["concurrency"]["group"]
            assert re.findall(r"\$\{\{ ([a-z_.]+) \}\}", group)[-1] == OWN[name], name

"""How long the command line takes to answer: `--help`, and the smallest query, beside a bare interpreter."""

from __future__ import annotations

import subprocess
import sys
import tempfile
from pathlib import Path

from side_by_side import against, medians, show

sys.path.insert(0, str(Path(__file__).parents[1] / "store"))

from store_documents import run_document

from opsdebug_ci.store.places.backends import open_store

ROUNDS = 20
BUDGETS_S = {"opsdebug --help": 0.15, "opsdebug sql 'select 1'": 0.5}
"""Budgets of the design, for the whole process."""


def main() -> None:
    """Measure and print."""
    script = str(Path(sys.executable).with_name("opsdebug"))
    with tempfile.TemporaryDirectory() as directory:
        open_store(Path(directory) / "baselines").append(run_document("add:pass"))
        commands = {
            "python -c pass": [sys.executable, "-c", "pass"],
            "opsdebug --help": [script, "--help"],
            "opsdebug sql 'select 1'": [script, "sql", "select 1"],
        }

        def runner(command: list[str]) -> object:
            return subprocess.run(command, cwd=directory, check=True, capture_output=True)

        found = medians({name: lambda c=command: runner(c) for name, command in commands.items()}, rounds=ROUNDS)
    rows = [
        (
            name,
            f"{seconds:.3f}",
            *((f"{BUDGETS_S[name]}", against(seconds, BUDGETS_S[name])) if name in BUDGETS_S else ("", "")),
        )
        for name, seconds in found.items()
    ]
    show(f"Start, median of {ROUNDS}", ("process", "seconds", "budget", ""), rows)


if __name__ == "__main__":
    main()

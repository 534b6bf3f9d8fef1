"""The bank: operators as engineers write them, right and wrong, written by people who had not read the rules.

A right operator never fails; a wrong one does. Nothing is said of causes. Each module has a run of its own.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

BANK = Path(__file__).parent
MODULES = sorted(path.stem for path in BANK.glob("*.py") if not path.stem.startswith("test_"))
FAILING = {"fail", "crash", "timeout", "error", "inconclusive"}


@pytest.mark.slow
@pytest.mark.timeout(1200)
@pytest.mark.parametrize("module", MODULES)
def test_right_operators_pass_and_wrong_ones_fail(module: str, tmp_path: Path) -> None:
    (tmp_path / "opsdebug.toml").write_text(f'operators = ["{BANK / module}.py"]\n')
    answer = subprocess.run(
        [sys.executable, "-m", "opsdebug_ci", "run", "*", "--json"],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=False,
        env={**os.environ, "TRITON_INTERPRET": "1", "PYTHONPATH": str(BANK.parents[1])},
    )
    verdicts: dict[str, set[str]] = {}
    for observation in json.loads(answer.stdout)["observations"]:
        verdicts.setdefault(observation["case"]["operator"], set()).add(observation["verdict"])
    assert verdicts
    alarmed = {name: found & FAILING for name, found in verdicts.items() if name.endswith("_right") and found & FAILING}
    missed = [name for name, found in verdicts.items() if name.endswith("_wrong") and "fail" not in found]
    assert (alarmed, missed) == ({}, [])

"""What importing costs: the shared values need the standard library alone."""

from __future__ import annotations

import subprocess
import sys

import pytest

import opsdebug_ci

HEAVY = ("torch", "numpy", "msgspec", "mpmath", "pyarrow", "duckdb", "click", "github", "rich")


@pytest.mark.parametrize(
    "statement",
    [
        "import opsdebug_ci",
        "import opsdebug_ci.model, opsdebug_ci.model.message, opsdebug_ci.model.wire, opsdebug_ci.errors",
        "from opsdebug_ci import Contract, Cost, Unsupported, checkpoint, scalar, tensor",
    ],
)
def test_shared_values_import_nothing_heavy(statement: str) -> None:
    script = f"{statement}\nimport sys\nprint(sorted(set({HEAVY!r}) & set(sys.modules)))"
    answer = subprocess.run([sys.executable, "-W", "error", "-c", script], capture_output=True, text=True, check=True)
    assert (answer.stdout, answer.stderr) == ("[]\n", "")


def test_a_name_the_package_does_not_have_is_named_with_those_it_has() -> None:
    with pytest.raises(AttributeError) as mistake:
        opsdebug_ci.tensors  # noqa: B018 - the access is the test
    assert str(mistake.value) == (
        "module `opsdebug_ci` has no `tensors`; it has Contract, Cost, Operator, Unsupported, capture, checkpoint, "
        "operator, scalar, tensor"
    )

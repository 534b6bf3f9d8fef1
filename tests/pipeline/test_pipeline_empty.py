"""The key `empty`: who decides what raising on an empty input comes to."""

from __future__ import annotations

from pathlib import Path

from pipeline_notation import RIGHT, SMOKE, repository

from opsdebug_ci.model import Verdict
from opsdebug_ci.pipeline.ci import run_stage
from opsdebug_ci.pipeline.workbench import workbench

OPERATORS = """
from opsdebug_ci import Contract, operator, tensor

def twice(x):
    return x + x

def refusing(x):
    if not x.numel():
        raise ValueError("no rows")
    return x + x

OPERATORS = dict(x=tensor("N D"), dims={"N": 3, "D": 4}, kind="elementwise")
ragged = operator(**OPERATORS)(refusing)
ragged.reference("torch")(twice)
promised = operator(**OPERATORS, name="promised", contract=Contract(empty="fail"))(refusing)
promised.reference("torch")(twice)
"""


def test_file_operator_and_contract_decide(tmp_path: Path) -> None:
    project = repository(tmp_path, sound=RIGHT)
    (tmp_path / "ragged.py").write_text(OPERATORS)
    project.configure()

    def decided(empty: object) -> dict[str, str | None]:
        with workbench(project.configuration(empty=empty), project.world(), workers=1) as bench:
            return {each.name: each.contract.empty for each in bench.catalogue.operators}

    assert decided(None) == {"refusing": "skip", "promised": "fail", "sound": "skip"}
    assert decided({"ragged.py": "fail"}) == {"refusing": "fail", "promised": "fail", "sound": None}
    assert decided({"default": "fail", "refusing": "skip"}) == {"refusing": "skip", "promised": "fail", "sound": "fail"}
    document = run_stage(SMOKE, project.configuration(gate="all"), project.world()).document
    failed = {each.case.operator for each in document.observations if each.verdict is Verdict.FAIL}
    skipped = {each.case.operator for each in document.observations if each.verdict is Verdict.SKIPPED}
    assert (failed, skipped) == ({"promised"}, {"refusing"})

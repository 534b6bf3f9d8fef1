"""A small notation for cases run in this process: `run(operator, N=5)`."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

import torch

from opsdebug_ci import Contract, Operator, tensor
from opsdebug_ci.judge import judge
from opsdebug_ci.model import Case, Family, Judgement, Layout, Observation, ReferenceKind
from opsdebug_ci.model.message import Breadcrumb, RunCase
from opsdebug_ci.worker.case_run import run_case


def case_of(
    operator: Operator,
    *,
    dtype: str | None = None,
    layout: str = "contiguous",
    inputs: str = "normal",
    seed: int = 0,
    checks: Iterable[str] = ("torch", "naive", "precise"),
    **dims: int,
) -> Case:
    """The everyday case of an operator, with what is given replaced."""
    return Case(
        operator=operator.name,
        dims={**operator.dims, **dims},
        dtype=dtype or operator.dtypes[0],
        layout=Layout(layout),
        inputs=Family(inputs),
        seed=seed,
        checks=tuple(ReferenceKind(check) for check in checks),
    )


def run(operator: Operator, *, repeats: int = 1, hunt_s: float = 30.0, **fields: object) -> Observation:
    return run_case(
        operator, RunCase(case=case_of(operator, **fields), repeats=repeats, hunt_s=hunt_s), lambda breadcrumb: None
    )


def trail_of(operator: Operator, **fields: object) -> list[str]:
    """Breadcrumbs as `phase` or `phase: detail`."""
    crumbs: list[Breadcrumb] = []
    run_case(operator, RunCase(case=case_of(operator, **fields)), crumbs.append)
    return [f"{crumb.phase}: {crumb.detail}" if crumb.detail else str(crumb.phase) for crumb in crumbs]


def judged(operator: Operator, case: Case) -> Judgement:
    observation = run_case(operator, RunCase(case=case), lambda breadcrumb: None)
    return judge(case, observation, operator.contract)


def unary(function, reference=None, *, contract: Contract | None = None, kind: str = "elementwise", **options):
    """An operator of one tensor `x` of N elements; `reference` computes 2 * x unless given."""
    return Operator(
        "unary",
        function,
        {"x": tensor("N")},
        {"torch": reference or (lambda x: 2 * x)},
        kind=kind,
        dims={"N": 6},
        contract=contract,
        **options,
    )


@dataclass(slots=True)
class Counting:
    """A function that counts its launches and sees what it was given."""

    function: object
    """What it computes."""

    launches: int = 0
    """Calls so far."""

    def __call__(self, x: torch.Tensor) -> object:
        self.launches += 1
        return self.function(x)

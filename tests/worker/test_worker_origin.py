"""Where what is not finite comes from: observed after a failure, silent elsewhere."""

from __future__ import annotations

import torch
from worker_notation import run, unary

from opsdebug_ci import Operator
from opsdebug_ci.model import Cause
from opsdebug_ci.model.health import Flow, StepSource


def right(x: torch.Tensor) -> torch.Tensor:
    return x * x + 1.0


def with_nan(x: torch.Tensor) -> torch.Tensor:
    return torch.where(x > 0.0, right(x), torch.log(-right(x)))


def test_the_step_that_makes_nan_is_observed_with_its_line() -> None:
    observation = run(unary(with_nan, right), N=40)
    origin = observation.origin
    assert origin is not None
    assert (origin.name, origin.source, origin.flow, origin.nan) == ("log", StepSource.CALL, Flow.APPEAR, 40)
    assert origin.place is not None
    assert origin.place.startswith(f"{__file__}:")
    said = [clue for clue in observation.clues if clue.rule == "health_origin"]
    assert all(clue.cause is Cause.NAN_INF_HANDLING for clue in said)
    assert [clue.statement.partition(" (")[0] for clue in said] == ["NaN first appears in call `log`"]


def test_what_the_reference_makes_too_is_no_origin() -> None:
    def off(x: torch.Tensor) -> torch.Tensor:
        return torch.log(-right(x)).nan_to_num(1.1)

    observation = run(unary(off, lambda x: torch.log(-right(x)).nan_to_num(1.0)), N=40)
    assert [output.rejected for output in observation.outputs] == [40]
    assert observation.origin is None
    legal = run(unary(lambda x: torch.log(-right(x)) + 0.5, lambda x: torch.log(-right(x))), N=40)
    assert legal.origin is None


def test_finite_failures_and_passing_cases_have_none() -> None:
    assert run(unary(lambda x: 2.1 * x), N=40).origin is None
    assert run(unary(lambda x: torch.log(-right(x)), lambda x: torch.log(-right(x))), N=40).origin is None


def test_nan_that_the_operator_drops_is_told_by_the_step_that_drops_it() -> None:
    def own(seed: int, dims: dict[str, int], dtype: str) -> list[torch.Tensor]:
        values = torch.linspace(0.5, 2.0, dims["N"])
        values[7] = float("nan")
        return [values]

    dropping = Operator(
        "dropping",
        lambda x: torch.nan_to_num(x, nan=7.0) * 2.0,
        own,
        {"torch": lambda x: x * 2.0},
        dims={"N": 40},
    )
    observation = run(dropping, layout="own", inputs="own")
    assert observation.origin is None
    said = [clue.statement for clue in observation.clues if clue.rule == "health_origin"]
    assert [statement.partition(" (")[0] for statement in said] == [
        "NaN or infinities first vanish in call `nan_to_num`"
    ]

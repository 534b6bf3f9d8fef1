"""`trace` in the worker: planted steps are named, clean ones are not, and what cannot be compared is said."""

from __future__ import annotations

from collections.abc import Callable

import pytest
import torch
from worker_notation import case_of, unary

from opsdebug_ci import Operator, checkpoint, tensor
from opsdebug_ci.model import Status, Zone
from opsdebug_ci.model.health import Flow, StepSource
from opsdebug_ci.model.message import TraceCase
from opsdebug_ci.model.trace import CaseTrace
from opsdebug_ci.model.vocabulary import CheckpointMode
from opsdebug_ci.report.trace import first_jump, first_unhealthy, is_harmless, trace_conclusion
from opsdebug_ci.worker.tracing import trace


def traced(operator: Operator, mode: str = "all", limit: int | None = None, **fields: object) -> CaseTrace:
    request = TraceCase(
        case=case_of(operator, **fields),
        mode=CheckpointMode(mode),
        health_limit=1e30,
        health_limits={},
        step_limit=limit,
    )
    return trace(operator, request, lambda breadcrumb: None)


def zones(found: CaseTrace) -> dict[str, str | None]:
    return {step.name: None if step.zone is None else str(step.zone) for step in found.steps}


def softmax_like(approximate: Callable[[torch.Tensor], torch.Tensor]) -> Callable[[torch.Tensor], torch.Tensor]:
    def function(x: torch.Tensor) -> torch.Tensor:
        shifted = checkpoint("shifted", x - x.amax())
        powers = checkpoint("powers", approximate(shifted))
        return checkpoint("shares", powers / powers.sum())

    return function


def rough(x: torch.Tensor) -> torch.Tensor:
    return torch.where(x.abs() > 3.0, 1.001 * torch.exp(x), torch.exp(x))


def test_the_first_wrong_step_is_named_with_what_separates_its_elements() -> None:
    found = traced(unary(softmax_like(rough), softmax_like(torch.exp)), N=400)
    assert zones(found) == {"shifted": "green", "powers": "red", "shares": "red", "out0": "red"}
    jump = first_jump(found.steps)
    assert jump is not None
    assert jump.name == "powers"
    assert jump.split is not None
    assert (jump.split.feature, jump.split.balanced_accuracy) in (("|shifted|", 1.0), ("shifted", 1.0), ("x", 1.0))
    assert "step `powers`: error jumps from " in trace_conclusion(found, CheckpointMode.ALL)[0]


@pytest.mark.parametrize("dtype", ["float32", "float16", "bfloat16"])
def test_a_right_operator_has_no_red_step(dtype: str) -> None:
    widened = softmax_like(torch.exp)
    right = unary(lambda x: widened(x.float()).to(x.dtype), widened, dtypes=(dtype,), kind="softmax")
    found = traced(right, N=400, dtype=dtype)
    assert Zone.RED not in {step.zone for step in found.steps}
    assert first_jump(found.steps) is None


def test_rounds_of_a_loop_pair_one_by_one() -> None:
    def loop(wrong: int) -> Callable[[torch.Tensor], torch.Tensor]:
        def function(x: torch.Tensor) -> torch.Tensor:
            for step in range(3):
                x = checkpoint("halved", x / (2.0 if step != wrong else 2.001))
            return x

        return function

    found = traced(unary(loop(1), loop(-1)), N=40)
    assert zones(found) == {"halved": "green", "halved #2": "red", "halved #3": "red", "out0": "red"}


def test_marks_without_a_partner_are_told() -> None:
    def marked(x: torch.Tensor) -> torch.Tensor:
        return checkpoint("mine", 2 * checkpoint("both", x))

    def reference(x: torch.Tensor) -> torch.Tensor:
        return 2 * checkpoint("theirs", checkpoint("both", x))

    found = traced(unary(marked, reference))
    assert {step.name: step.unpaired for step in found.steps} == {
        "both": None,
        "mine": "no reference marks it",
        "out0": None,
    }
    assert found.notes == ("marked by a reference alone: `theirs`",)


def test_without_marks_the_calls_both_begin_with_are_compared() -> None:
    def function(x: torch.Tensor) -> torch.Tensor:
        return torch.tanh(x.abs() * 1.001) + 1

    found = traced(unary(function, lambda x: torch.sigmoid(x.abs() * 1.0) + 1), N=40)
    assert [(step.name, step.source) for step in found.steps] == [
        ("abs", StepSource.CALL),
        ("mul", StepSource.CALL),
        ("out0", StepSource.OUTPUT),
    ]
    assert zones(found) == {"abs": "green", "mul": "red", "out0": "red"}
    assert found.notes[0].startswith("no checkpoints: mark a step with")
    assert found.notes[1] == (
        "compared are the first 2 ATen calls; then the operator calls `tanh`, the reference `sigmoid`"
    )


def test_where_nothing_aligns_that_is_said_and_the_outputs_remain() -> None:
    found = traced(unary(lambda x: x.mul(2).add(1e-3)), N=8)
    other = traced(unary(lambda x: torch.from_numpy(x.numpy() * 2)), N=8)
    assert zones(found)["out0"] == "red"
    assert zones(other) == {"out0": "green"}
    assert "no ATen calls to compare either" in other.notes[1]


def test_a_reference_that_breaks_in_float64_is_heard_as_it_is_written() -> None:
    def narrow(x: torch.Tensor) -> torch.Tensor:
        assert x.dtype is torch.float32
        return checkpoint("doubled", 2 * x)

    found = traced(unary(lambda x: checkpoint("doubled", x + x), narrow), N=8)
    assert [step.name for step in found.steps] == ["doubled", "out0"]
    assert found.steps[0].unpaired is None


def test_a_naive_reference_that_marks_is_enough() -> None:
    def naive(x: torch.Tensor) -> torch.Tensor:
        return checkpoint("doubled", x.double() * 2)

    marked = Operator(
        "marked",
        lambda x: checkpoint("doubled", x * 2.5),
        {"x": tensor("N")},
        {"naive": naive},
        kind="elementwise",
        dims={"N": 8},
    )
    found = traced(marked)
    jump = first_jump(found.steps)
    assert jump is not None
    assert (jump.name, jump.zone) == ("doubled", None)  # nothing says how far correct steps lie apart


def test_a_limit_of_steps_keeps_the_first_ones_and_the_outputs() -> None:
    found = traced(unary(softmax_like(rough), softmax_like(torch.exp)), limit=1, N=40)
    assert [step.name for step in found.steps] == ["shifted", "out0"]


def test_mode_none_compares_the_outputs_alone() -> None:
    assert [step.source for step in traced(unary(softmax_like(rough)), "none", N=8).steps] == [StepSource.OUTPUT]


def test_an_operator_that_raises_is_told_as_run_tells_it() -> None:
    found = traced(unary(lambda x: x[99]), N=8)
    assert (found.steps, found.observation.status) == ((), Status.RAISED)


def overflowing(x: torch.Tensor) -> torch.Tensor:
    squares = x * 1e25 * (x * 1e25)
    return x * 1e25 / squares.sum().sqrt() * 1e20


def test_health_names_the_step_that_overflows() -> None:
    found = traced(unary(overflowing, lambda x: x / (x * x).sum().sqrt() * 1e20), "health", N=8)
    event = first_unhealthy(found)
    assert event is not None
    assert (event.name, event.flow, event.infinite) == ("mul #3", Flow.APPEAR, 8)
    assert not is_harmless(found)
    assert trace_conclusion(found, CheckpointMode.HEALTH)[0].startswith("8 infinities appear in call `mul #3`")


def test_health_calls_what_the_reference_has_too_legal() -> None:
    found = traced(unary(lambda x: torch.log(x * 0), lambda x: torch.log(x * 0)), "health", N=8)
    assert [(event.name, event.flow, event.legal) for event in found.health] == [("log", Flow.APPEAR, True)]
    assert first_unhealthy(found) is None


def test_health_tells_new_nan_from_those_handed_on() -> None:
    def function(x: torch.Tensor) -> torch.Tensor:
        infinite = x / 0.0
        return torch.nan_to_num(checkpoint("difference", infinite - infinite) + 0.0)

    found = traced(unary(function, lambda x: x * 0.0), "health", N=8)
    assert [(event.name, event.flow) for event in found.health] == [
        ("div", Flow.APPEAR),
        ("sub", Flow.APPEAR),
        ("difference", Flow.PROPAGATE),
        ("add", Flow.PROPAGATE),
        ("nan_to_num", Flow.DISAPPEAR),
    ]
    assert is_harmless(found)


def test_health_of_a_healthy_operator_is_silent() -> None:
    found = traced(unary(softmax_like(torch.exp), softmax_like(torch.exp)), "health", N=8)
    assert found.health == ()
    assert found.looked_at > 5


def test_health_inside_a_step_is_placed_and_named() -> None:
    found = traced(unary(lambda x: torch.log(torch.log(x * 0.0) * 2.0), lambda x: x), "health", N=8)
    assert [event.name for event in found.health] == ["log", "mul #2", "log #2"]
    event = first_unhealthy(found)
    assert event is not None
    assert event.place is not None
    assert event.place.startswith(__file__)
    assert "test_worker_tracing.py:" in trace_conclusion(found, CheckpointMode.HEALTH)[0]


def test_health_of_an_opaque_operator_is_told_at_its_output() -> None:
    def opaque(x: torch.Tensor) -> torch.Tensor:
        values = x.numpy().copy()
        values[3] = float("nan")
        return torch.from_numpy(values)

    found = traced(unary(opaque, lambda x: x), "health", N=8)
    assert [(event.name, event.source, event.flow) for event in found.health] == [
        ("out0", StepSource.OUTPUT, Flow.APPEAR),
    ]
    assert traced(unary(lambda x: torch.from_numpy(x.numpy().copy()), lambda x: x), "health", N=8).health == ()


def bisected(operator: Operator, mode: str = "none", **dims: int) -> CaseTrace:
    request = TraceCase(
        case=case_of(operator, **dims),
        mode=CheckpointMode(mode),
        health_limit=1e30,
        health_limits={},
        bisect=True,
    )
    return trace(operator, request, lambda breadcrumb: None)


def chain(wrong: int, length: int = 9) -> Callable[[torch.Tensor], torch.Tensor]:
    def function(x: torch.Tensor) -> torch.Tensor:
        for step in range(length):
            x = torch.tanh(x * (1.5 if step != wrong else 1.501))
        return x

    return function


@pytest.mark.parametrize("wrong", [0, 4, 8])
def test_bisection_names_the_call_that_spoils_an_output(wrong: int) -> None:
    found = bisected(unary(chain(wrong), chain(-1)), N=40).bisections
    assert [(one.output, one.replaced, one.shared) for one in found] == [("out0", 2 * wrong + 1, 18)]
    assert found[0].step == ("mul" if wrong == 0 else f"mul #{wrong + 1}")
    assert found[0].alone
    assert found[0].launches <= 8
    assert found[0].place is not None


def test_bisection_answers_for_each_branch() -> None:
    def branches(one: float, other: float) -> Callable[[torch.Tensor], tuple[torch.Tensor, torch.Tensor]]:
        return lambda x: (torch.exp(x * one), torch.sigmoid(x + other))

    found = bisected(unary(branches(1.001, 0.001), branches(1.0, 0.0)), N=40)
    assert [(one.output, one.step) for one in found.bisections] == [("out0", "mul"), ("out1", "add")]
    sentence = trace_conclusion(found, CheckpointMode.NONE)[0]
    assert sentence.startswith("call `mul` (test_worker_tracing.py:")
    assert sentence.endswith("spoils `out0`: right with the reference's results of the first 1 of 4 shared calls")


def test_of_two_spoiling_calls_the_last_is_named() -> None:
    def twice(factor: float) -> Callable[[torch.Tensor], torch.Tensor]:
        return lambda x: torch.sigmoid(torch.exp(x * factor) * factor)

    (found,) = bisected(unary(twice(1.01), twice(1.0)), N=40).bisections
    assert (found.step, found.alone) == ("mul #2", True)  # what comes before it is replaced with it


def test_where_no_experiment_can_be_made_that_is_said() -> None:
    right = bisected(unary(lambda x: 2 * x), N=8)
    foreign = bisected(unary(lambda x: torch.from_numpy(x.numpy() * 2.1)), N=8)
    elsewhere = bisected(unary(lambda x: (x * 2).sub(1.0), lambda x: (x * 2).add(1.0)), N=8)
    assert (right.bisections, foreign.bisections, elsewhere.bisections) == ((), (), ())
    assert right.notes == ("nothing to bisect: every output is right",)
    assert foreign.notes == ("no bisection: operator and torch reference begin with no call in common",)
    assert elsewhere.notes[0].startswith("no bisection of `out0`: it stays wrong with the reference's results of all 1")


def test_a_checkpoint_that_lies_otherwise_than_in_the_reference_is_told() -> None:
    def rows(flip: bool) -> Callable[[torch.Tensor], torch.Tensor]:
        def function(x: torch.Tensor) -> torch.Tensor:
            h = x.view(2, 4) * 2.0
            return checkpoint("h", h.t().contiguous().t() if flip else h).reshape(-1)

        return function

    (change,) = traced(unary(rows(True), rows(False)), N=8).layouts
    assert (change.tensor, change.field, change.before, change.after, change.step) == (
        "h",
        "stride",
        "(4, 1)",
        "(1, 2)",
        None,
    )
    assert traced(unary(rows(False), rows(False)), N=8).layouts == ()


def test_an_argument_that_a_step_lays_out_otherwise_is_told() -> None:
    def squeezing(x: torch.Tensor) -> torch.Tensor:
        y = x * 2
        x.unsqueeze_(0)
        return y

    found = traced(unary(squeezing), "health", N=8).layouts
    assert [(change.tensor, change.field, change.before, change.after, change.step) for change in found] == [
        ("x", "shape", "[8]", "[1, 8]", "unsqueeze_"),
        ("x", "stride", "(1,)", "(0, 1)", "unsqueeze_"),
    ]

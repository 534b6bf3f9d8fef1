"""Every node is shown: inside custom operators, backward, in-place and out= calls, Triton launches; each has a name."""

from __future__ import annotations

import pytest
import torch
from trace_notation import flows, watched

from opsdebug_ci import checkpoint
from opsdebug_ci.catalogue.triton_runtime import unavailable_reason

NO_TRITON = unavailable_reason()
needs_triton = pytest.mark.skipif(NO_TRITON is not None, reason=str(NO_TRITON))


@torch.library.custom_op("opsdebug_trace_test::logs", mutates_args=())
def logs(x: torch.Tensor) -> torch.Tensor:
    return torch.log(x) + 1.0


@torch.library.custom_op("opsdebug_trace_test::roots", mutates_args=())
def roots(x: torch.Tensor) -> torch.Tensor:
    return torch.from_numpy(x.numpy() ** 0.5)


@torch.library.custom_op("opsdebug_trace_test::spoiled", mutates_args=("x",))
def spoiled(x: torch.Tensor) -> None:
    x.numpy()[0] = float("nan")


def _save(ctx, inputs, output) -> None:
    ctx.save_for_backward(*inputs)


def _gradient(ctx, gradient: torch.Tensor) -> torch.Tensor:
    (x,) = ctx.saved_tensors
    return gradient / (x - x)


logs.register_autograd(_gradient, setup_context=_save)

MINUS = torch.tensor([-1.0, 2.0])
PLUS = torch.tensor([1.0, 2.0])


def test_a_call_inside_a_custom_operator_is_blamed_and_not_the_operator() -> None:
    assert flows(logs, MINUS) == [
        "appear call logs/log",
        "propagate call logs/add",
        "propagate call logs",
    ]


def test_the_second_launch_of_a_custom_operator_has_a_name_of_its_own() -> None:
    assert "appear call logs #2/log" in flows(lambda x: logs(logs(x) - 9.0), PLUS)


@pytest.mark.filterwarnings("ignore:invalid value encountered:RuntimeWarning")
def test_an_opaque_custom_operator_is_blamed_itself() -> None:
    assert flows(roots, MINUS) == ["appear call roots"]


def test_a_custom_operator_that_returns_nothing_is_judged_by_what_it_writes() -> None:
    def function(x: torch.Tensor) -> torch.Tensor:
        y = x.clone()
        spoiled(y)
        return y

    assert flows(function, PLUS) == ["appear call spoiled"]


@pytest.mark.parametrize("function", [logs, roots], ids=["python", "opaque"])
def test_healthy_custom_operators_are_silent(function) -> None:
    assert flows(function, PLUS) == []


def test_custom_operators_keep_results_and_gradients() -> None:
    x = torch.tensor([1.0, 4.0], requires_grad=True)
    plain = torch.autograd.grad(logs(x).sum(), x)[0]
    seen: list[torch.Tensor] = []

    def function(x: torch.Tensor) -> torch.Tensor:
        leaf = x.detach().requires_grad_()
        result = logs(leaf)
        seen.append(torch.autograd.grad(result.sum(), leaf)[0])
        return result.detach()

    events = watched(function, x)
    assert torch.equal(seen[0], plain)
    assert [(event.flow, event.name.split("/")[-1]) for event in events][:1] == [("appear", "div")]
    assert "Backward" in events[0].name


def test_a_gradient_that_overflows_is_named_by_the_step_it_differentiates() -> None:
    def function(x: torch.Tensor) -> torch.Tensor:
        leaf = x.detach().requires_grad_()
        return torch.autograd.grad(leaf.sqrt().sum(), leaf)[0]

    assert flows(function, torch.tensor([0.0, 1.0])) == ["appear call SqrtBackward0/div"]
    assert flows(function, torch.tensor([4.0, 1.0])) == []


def test_in_place_calls_are_judged_by_what_was_there_before() -> None:
    assert flows(lambda x: x.clone().sub_(1.0).log_(), torch.tensor([0.5])) == ["appear call log_"]
    assert flows(lambda x: x.clone().log_(), torch.tensor([float("nan")])) == [
        "propagate call clone",
        "propagate call log_",
    ]


def test_what_an_out_buffer_held_before_is_nothing_read() -> None:
    def function(x: torch.Tensor) -> torch.Tensor:
        return torch.log(x, out=torch.full_like(x, float("nan")))

    assert flows(function, MINUS)[-1] == "appear call log"
    assert [flow for flow in flows(function, PLUS) if not flow.endswith("full_like")] == []


def test_fresh_memory_is_no_news_until_it_is_read() -> None:
    def fresh(x: torch.Tensor) -> torch.Tensor:
        held = torch.empty_like(x)
        held.numpy()[...] = float("nan")  # as memory may, and as a kernel outside torch does
        return held

    assert flows(lambda x: fresh(x).copy_(x), PLUS) == []
    assert flows(lambda x: fresh(x) + x, PLUS) == [
        "appear call memory that no step wrote, read by add",
        "propagate call add",
    ]


def test_what_fresh_memory_held_is_told_from_what_is_written_into_a_part_of_it() -> None:
    def function(x: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
        held = torch.empty(3)
        held.numpy()[...] = float("nan") if x.numel() == 2 else 0.0
        held[torch.tensor([0, 1])] = y
        return held * 1.0

    assert flows(function, PLUS, PLUS)[-2:] == [
        "appear call memory that no step wrote, read by mul",
        "propagate call mul",
    ]
    assert flows(function, torch.ones(1), torch.log(MINUS))[-2:] == ["propagate call index_put_", "propagate call mul"]


def test_a_write_outside_torch_is_told_where_it_is_read() -> None:
    def function(x: torch.Tensor) -> torch.Tensor:
        y = x * 2.0
        y.numpy()[0] = float("nan")
        return y + 1.0

    assert flows(function, PLUS) == [
        "appear call memory that changed between two steps, read by add",
        "propagate call add",
    ]


def test_a_number_handed_in_is_an_argument() -> None:
    assert flows(lambda x: x.masked_fill(x > 1.0, float("-inf")), PLUS) == ["propagate call masked_fill"]
    mask = torch.tensor([0.0, float("-inf")])
    assert flows(lambda x, m: torch.softmax(x + m, 0), PLUS, mask) == ["propagate call add", "disappear call _softmax"]


def test_views_are_no_steps() -> None:
    x = torch.tensor([[float("nan"), 1.0], [2.0, 3.0]])
    assert flows(lambda x: x[1].view(2, 1).t(), x) == []


@pytest.mark.parametrize(
    ("name", "function"),
    [
        ("fmax", lambda x: torch.fmax(x, torch.zeros_like(x))),
        ("where", lambda x: torch.where(torch.isnan(x), torch.zeros_like(x), x)),
        ("nan_to_num", torch.nan_to_num),
    ],
)
def test_nan_that_disappears_is_followed_to_where_it_does(name: str, function) -> None:
    assert flows(lambda x: function(torch.log(x)), MINUS) == ["appear call log", f"disappear call {name}"]


def test_nan_that_passes_is_followed() -> None:
    x = torch.tensor([-1.0])
    for passing in (torch.relu, lambda y: y.clamp(0.0, 1.0), lambda y: torch.maximum(y, torch.zeros_like(y))):
        assert [flow.split()[0] for flow in flows(lambda x, f=passing: f(torch.log(x)), x)] == ["appear", "propagate"]


def test_the_second_of_a_name_is_numbered_and_placed() -> None:
    def function(x: torch.Tensor) -> torch.Tensor:
        y = torch.log(x)
        return torch.log(y - 5.0)

    event = watched(function, PLUS)[0]
    assert event.name == "log #2"
    assert event.place is not None
    assert event.place.startswith(__file__)


def test_checkpoints_are_steps() -> None:
    assert flows(lambda x: checkpoint("h", torch.log(x)) * 1.0, MINUS)[:2] == [
        "appear call log",
        "propagate checkpoint h",
    ]


@needs_triton
def test_nan_made_in_a_kernel_is_the_launch_s() -> None:
    import trace_kernels as kernels  # noqa: PLC0415 - needs Triton

    events = watched(lambda x: kernels.run(kernels.shares, kernels.run(kernels.doubles, x)) * 1.0, PLUS)
    assert [f"{event.flow} {event.source} {event.name}" for event in events] == [
        "appear launch shares",
        "propagate call mul",
    ]
    assert events[0].infinite == 2
    assert events[0].place is not None
    assert "trace_kernels.py" in events[0].place


@needs_triton
def test_a_kernel_that_hands_on_or_is_healthy_is_not_blamed() -> None:
    import trace_kernels as kernels  # noqa: PLC0415 - needs Triton

    assert flows(lambda x: kernels.run(kernels.doubles, x), PLUS) == []
    assert flows(lambda x: kernels.run(kernels.doubles, torch.log(x)), MINUS) == [
        "appear call log",
        "propagate launch doubles",
    ]
    assert flows(lambda x: kernels.run(kernels.doubles, x, torch.log(-x)), PLUS)[-1] == "disappear launch doubles"


@needs_triton
def test_a_kernel_that_is_handed_bits_is_looked_at_as_what_they_stand_for() -> None:
    import trace_kernels as kernels  # noqa: PLC0415 - needs Triton

    def function(x: torch.Tensor) -> torch.Tensor:
        out = torch.empty_like(x)
        kernels.run(kernels.copies, x.view(torch.int16), out.view(torch.int16))
        return out * 1.0

    x = torch.tensor([float("nan"), 1.0], dtype=torch.bfloat16)
    assert flows(function, x) == ["propagate launch copies", "propagate call mul"]
    assert flows(function, torch.ones(2, dtype=torch.bfloat16)) == []


@needs_triton
def test_launches_are_left_alone_outside_the_block() -> None:
    from triton.runtime import interpreter  # noqa: PLC0415 - needs Triton

    before = interpreter.InterpretedFunction.run
    flows(lambda x: x + 1.0, PLUS)
    assert interpreter.InterpretedFunction.run is before

"""Nothing that happens while properties are asked or causes are sought changes what a case came to."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
import torch
from worker_notation import case_of, judged, unary

from opsdebug_ci import Contract, Operator, scalar, tensor
from opsdebug_ci.model import Verdict
from opsdebug_ci.worker.containment import heard


@pytest.fixture(autouse=True)
def unbroken(request: pytest.FixtureRequest, caplog: pytest.LogCaptureFixture) -> Iterator[None]:
    """No rule breaks off here, but where a test makes one."""
    yield
    if "caplog" not in request.function.__code__.co_varnames:
        assert [record.getMessage() for record in caplog.get_records("call")] == []


def verdict(operator: Operator, **case: object) -> Verdict:
    return judged(operator, case_of(operator, **case)).verdict


def verdict_on(make, function, reference, kind: str = "elementwise") -> Verdict:
    operator = Operator("own", function, make, {"torch": reference}, kind=kind, dims={"N": 4})
    return verdict(operator, inputs="own", layout="own")


def drawn(seed: int, *shape: int) -> torch.Tensor:
    return torch.randn(*shape, generator=torch.Generator().manual_seed(seed))


ODD = [
    RecursionError("deep"),
    MemoryError("full"),
    torch.OutOfMemoryError("full"),
    StopIteration(),
    SystemExit(3),
    KeyboardInterrupt(),
    GeneratorExit(),
    BaseException("odd"),
]
"""What user code may raise, and much code does not expect."""


def only_at_first(error: BaseException, function):
    """`function` on the values it met first, `error` on all others."""
    known: list[torch.Tensor] = []

    def guarded(x):
        known.append(x.double().clone()) if not known else None
        if x.shape != known[0].shape or not torch.equal(x.double(), known[0]):
            raise error
        return function(x)

    return guarded


@pytest.mark.parametrize("error", ODD, ids=lambda error: type(error).__name__)
def test_an_operator_that_raises_on_altered_inputs_fails_for_its_values(error: BaseException) -> None:
    assert verdict(unary(only_at_first(error, lambda x: 2 * x + 0.1))) is Verdict.FAIL


@pytest.mark.parametrize("error", ODD, ids=lambda error: type(error).__name__)
def test_a_reference_that_raises_on_altered_inputs_still_judges(error: BaseException) -> None:
    assert verdict(unary(lambda x: 2 * x + 0.1, only_at_first(error, lambda x: 2 * x))) is Verdict.FAIL
    assert verdict(unary(lambda x: 2 * x, only_at_first(error, lambda x: 2 * x))) is Verdict.PASS


def test_a_scalar_that_is_undefined_for_one_row_breaks_nothing() -> None:
    inputs = {"x": tensor("B N"), "s": scalar(lambda dims, _: 1.0 / (dims["B"] - 1))}
    promise = Contract(batch_invariant=True)
    right = Operator(
        "rows",
        lambda x, s: x * s,
        inputs,
        {"torch": lambda x, s: x * s},
        kind="elementwise",
        dims={"B": 4, "N": 8},
        contract=promise,
    )
    assert verdict(right) is Verdict.PASS


@pytest.mark.parametrize("dtype", ["float8_e4m3fn", "float8_e5m2", "uint16", "bool", "complex64"])
def test_arguments_of_every_dtype_are_investigated(dtype: str) -> None:
    kept = getattr(torch, dtype)

    def make(seed, dims, _):
        return (drawn(seed, 8, 16).mul(4).abs().to(kept), drawn(seed + 1, 16))

    def product(a, b):
        return (a.real if a.is_complex() else a.to(torch.float32)) * b

    assert verdict_on(make, product, product) is Verdict.PASS
    assert verdict_on(make, lambda a, b: product(a, b) + 0.1, product) is Verdict.FAIL


@pytest.mark.parametrize("dtype", [torch.float8_e4m3fn, torch.float8_e5m2])
def test_float8_outputs_are_asked_for_properties(dtype: torch.dtype) -> None:
    def make(seed, dims, _):
        return (drawn(seed, 8, 16).to(dtype),)

    def rolled(x):
        return x.view(torch.uint8).roll(1).view(dtype)

    assert verdict_on(make, lambda x: x.clone(), lambda x: x.clone(), "exact") is Verdict.PASS
    assert verdict_on(make, rolled, lambda x: x.clone(), "exact") is Verdict.FAIL


def test_a_reference_of_truth_values_is_held_against_numbers() -> None:
    operator = Operator(
        "step",
        lambda x: (x >= 0.5).float(),
        {"x": tensor("N M")},
        {"torch": lambda x: x > 0.4},
        kind="elementwise",
        dims={"N": 16, "M": 16},
    )
    assert verdict(operator) is Verdict.FAIL


def test_windows_that_overlap_are_investigated() -> None:
    def make(seed, dims, _):
        return (drawn(seed, 40).as_strided((8, 4), (2, 1)),)

    assert verdict_on(make, lambda x: x.sum(1) + 0.1, lambda x: x.sum(1), "reduction") is Verdict.FAIL


def test_sparse_arguments_are_judged() -> None:
    def make(seed, dims, _):
        return (drawn(seed, 8, 16).relu().to_sparse(), drawn(seed + 1, 16, 4))

    def product(a, b):
        return a.to_dense() @ b

    assert verdict_on(make, product, product, "matmul") is Verdict.PASS
    assert verdict_on(make, lambda a, b: product(a, b) * 1.1, product, "matmul") is Verdict.FAIL


def test_what_a_rule_said_before_it_broke_stands(caplog: pytest.LogCaptureFixture) -> None:
    def breaks(first: int):
        yield first
        raise NotImplementedError("no such kernel")

    assert list(heard(breaks, 1)) == [1]
    [message] = caplog.messages
    assert message == "`breaks` broke off, and the case goes on without it: NotImplementedError: no such kernel"
    assert list(heard(lambda x: [x, x], 2)) == [2, 2]

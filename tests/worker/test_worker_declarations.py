"""What can be declared: lists of tensors, nested outputs, generators, sparse tensors inside, default arguments."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
import torch
from worker_notation import case_of, judged, run

from opsdebug_ci import Contract, Operator, operator, tensor
from opsdebug_ci.errors import DeclarationError
from opsdebug_ci.model import Family, Verdict
from opsdebug_ci.worker.arguments import private_arguments
from opsdebug_ci.worker.timed_case import subject_of


def descend(params, grads, state):
    """One step of descent with momentum, in place."""
    for p, g, m in zip(params, grads, state["momenta"], strict=True):
        m.mul_(0.9).add_(g)
        p.sub_(0.1 * m)


def descended(params, grads, state):
    descend(params, grads, state)
    return params, state


def descend_but_the_last(params, grads, state):
    momenta = state["momenta"]
    descend(params[:-1], grads[:-1], {"momenta": momenta[:-1]})
    momenta[-1].mul_(0.9).add_(grads[-1])


def descend_and_spoil(params, grads, state):
    descend(params, grads, state)
    grads[0].zero_()


def lists_of_tensors(seed: int, dims: dict[str, int], dtype: str) -> dict[str, object]:
    generator = torch.Generator().manual_seed(seed)

    def tensors() -> list[torch.Tensor]:
        return [torch.randn(size, generator=generator).to(getattr(torch, dtype)) for size in (dims["N"], 0, 0, 3)]

    return {"params": tensors(), "grads": tensors(), "state": {"momenta": tensors()}}


def optimizer(function) -> Operator:
    contract = Contract(mutates=("params", "state"))
    return Operator("step", function, lists_of_tensors, {"torch": descended}, dims={"N": 5}, contract=contract)


def test_lists_of_tensors_are_written_in_place_and_compared_by_place() -> None:
    operator = optimizer(descend)
    observation = run(operator)
    assert judged(operator, case_of(operator)).verdict is Verdict.PASS
    places = [f"params[{i}]" for i in range(4)] + [f"state['momenta'][{i}]" for i in range(4)]
    assert [output.name for output in observation.outputs] == places
    assert observation.memory == observation.aliases == ()


def test_the_last_tensor_of_every_list_is_emptied_where_that_is_asked_for() -> None:
    def first_alone(params, grads, state):
        if params[-1].numel():
            descend(params, grads, state)

    case = replace(case_of(optimizer(descend)), inputs=Family.OWN_EMPTY)
    assert judged(optimizer(descend), case).verdict is Verdict.PASS
    assert judged(optimizer(first_alone), case_of(optimizer(descend))).verdict is Verdict.PASS
    assert judged(optimizer(first_alone), case).verdict is Verdict.FAIL


def test_a_tensor_in_a_list_that_is_not_written_fails_for_its_values() -> None:
    operator = optimizer(descend_but_the_last)
    observation = run(operator)
    assert judged(operator, case_of(operator)).verdict is Verdict.FAIL
    assert [output.name for output in observation.outputs if output.rejected] == ["params[3]"]


def test_a_tensor_in_a_list_that_may_not_be_written_is_named() -> None:
    assert {reading.argument for reading in run(optimizer(descend_and_spoil)).memory} == {"grads[0]"}


def test_nested_outputs_are_compared_and_their_kinds_declared_by_name() -> None:
    def nested(x):
        return x.sum(-1), [x.argmax(-1), {"low": x.amin(-1)}]

    kind = {"out0": "reduction", "out1[0]": "index", "out1": "exact"}
    operator = Operator("nested", nested, {"x": tensor("N D")}, {"torch": nested}, kind=kind, dims={"N": 4, "D": 5})
    assert judged(operator, case_of(operator)).verdict is Verdict.PASS
    assert [operator.kind_of(output.name, 2) for output in run(operator).outputs] == ["reduction", "index", "exact"]


def drawing(function, generator) -> Operator:
    def inputs(seed, dims, dtype):
        return {"x": torch.ones(dims["N"]), "generator": generator(seed)}

    return Operator("drawing", function, inputs, {"torch": function}, dims={"N": 50})


@pytest.mark.parametrize(
    ("draw", "generator"),
    [
        (lambda x, generator: x * torch.rand(len(x), generator=generator), lambda s: torch.Generator().manual_seed(s)),
        (lambda x, generator: x * torch.bernoulli(x * 0.5, generator=generator), lambda s: torch.Generator()),
        (lambda x, generator: x * generator.integers(9), np.random.default_rng),
        (lambda x, generator: torch.dropout(x, 0.5, True), int),
        (lambda x, generator: x * torch.rand(1), int),
    ],
)
def test_random_numbers_are_the_same_in_every_launch(draw, generator) -> None:
    operator = drawing(draw, generator)
    judgement = judged(operator, case_of(operator))
    assert judgement.verdict is Verdict.PASS, judgement


@pytest.mark.filterwarnings("ignore:Sparse")
def test_sparse_tensors_inside_have_a_spread() -> None:
    def product(values, x):
        offsets, columns = torch.arange(0, 13, 2), torch.arange(12) % 8
        return torch.sparse_csr_tensor(offsets, columns, values, (6, 8)) @ x

    def halved(values, x):
        return product(values, x) * (1 + 1e-4)

    inputs = {"values": tensor("12"), "x": tensor("8 N")}
    for function, verdict in ((product, Verdict.PASS), (halved, Verdict.FAIL)):
        operator = Operator("csr", function, inputs, {"torch": product}, kind="matmul", dims={"N": 3})
        assert judged(operator, case_of(operator)).verdict is verdict


def scaled(x, eps=1.0, factor=2.0):
    return x * factor + eps


@pytest.mark.parametrize(
    ("reference", "declared", "passed"),
    [
        (lambda x: x * 2 + 1, {"x": tensor("N")}, ["x"]),
        (lambda x, eps: x * 2 + eps, {"x": tensor("N"), "eps": 3.0}, ["x", "eps"]),
        (lambda x, eps, factor: x * factor + eps, {"x": tensor("N")}, ["x", "eps", "factor"]),
        (lambda x, eps, factor: x * factor + eps, {"x": tensor("N"), "factor": 5.0}, ["x", "eps", "factor"]),
        (lambda x, eps, factor: x * factor + eps, {"input": tensor("N")}, ["input", "eps", "factor"]),
        (lambda x, eps, factor: x * factor + eps, None, ["x", "eps", "factor"]),
    ],
)
def test_defaults_reach_the_references_that_take_them(reference, declared, passed) -> None:
    declaring = operator("scaled", arguments=declared, dims={"N": 4})(scaled)
    declaring.reference("torch")(reference)
    assert list(declaring.inputs) == passed
    judgement = judged(declaring, case_of(declaring))
    assert judgement.verdict is Verdict.PASS, judgement


def test_a_tensor_declared_inside_a_list_is_refused_with_the_way_to_declare_it() -> None:
    with pytest.raises(DeclarationError) as mistake:
        Operator("stacked", torch.stack, {"xs": [tensor("N"), tensor("N")]}, {"torch": torch.stack})
    wanted = "is declared inside another value; wanted `arguments=` with the function that makes all inputs"
    assert str(mistake.value) == f"operator `stacked`: `xs[0]` {wanted}; `xs[1]` {wanted}"


def test_lists_that_are_written_are_restored_between_timed_calls() -> None:
    pristine = private_arguments(optimizer(descend), case_of(optimizer(descend), inputs="own", layout="own"))
    subject = subject_of(
        optimizer(lambda params, grads, state: seen.append(params[0].clone()) or params[0].zero_()), pristine
    )
    seen: list[torch.Tensor] = []
    for _ in range(2):
        subject.restore()
        subject.call()
    assert torch.equal(seen[0], pristine["params"][0]) and torch.equal(seen[1], seen[0])

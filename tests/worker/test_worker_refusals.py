"""Who refuses inputs without being at fault: an operator that takes no empty tensor or says which layout it needs, and
a reference that has no answer. Beside each stands one that looks alike and is wrong."""

from __future__ import annotations

import sys

import pytest
import torch
from worker_notation import case_of, judged, run

from opsdebug_ci import Contract, Operator, tensor
from opsdebug_ci.model import Refusal, Verdict

TWICE = {"torch": lambda x: 2 * x}


def rows(function, reference=None, **options) -> Operator:
    """An operator of one matrix, by default of its row sums."""
    reference = reference or (lambda x: x.sum(-1))
    return Operator("rows", function, {"x": tensor("N D")}, {"torch": reference}, dims={"N": 4, "D": 6}, **options)


def verdict(operator: Operator, **fields: object) -> str:
    return str(judged(operator, case_of(operator, **fields)).verdict)


# -- empty inputs -----------------------------------------------------------------------------------------------------


def says_so(x):
    if not x.numel():
        raise ValueError(f"wanted rows, got shape {tuple(x.shape)}")
    return x.sum(-1)


def trips(x):
    return x[:, 0] + x[:, 1:].sum(-1)


def divides(x):
    return x.sum(-1) * (x.numel() // x.shape[-1]) / x.shape[0]


def misspells(x):
    return x.sum(-1) if x.numel() else x.no_such_method()


def leaves(x):
    return x.sum(-1) if x.numel() else sys.exit(3)


def writes_and_raises(x):
    if not x.shape[1]:
        memory = torch.empty(0, dtype=x.dtype).set_(x.untyped_storage())
        raise ValueError(f"nothing in {memory.numel()}")
    return x.sum(-1)


def garbage(x):
    return x.sum(-1) if x.shape[1] else torch.full(x.shape[:1], 7.0)


def unwritten(x):
    return x.sum(-1) if x.shape[1] else torch.empty(x.shape[:1])


def other_shape(x):
    return x.sum(-1) if x.shape[1] else torch.zeros(0)


def nothing(x):
    return x.sum(-1) if x.shape[1] else None


@pytest.mark.parametrize("function", [says_so, trips, divides, writes_and_raises])
def test_an_exception_on_an_empty_input_is_skipped(function) -> None:
    judgement = judged(rows(function), case_of(rows(function), D=0))
    assert (judgement.verdict, judgement.observation.refusal) == (Verdict.SKIPPED, Refusal.EMPTY)
    assert "takes no empty input, it raised" in judgement.findings[0].statement
    assert '`empty = "fail"`' in judgement.findings[0].statement


@pytest.mark.parametrize("function", [misspells, leaves, garbage, unwritten, other_shape, nothing])
def test_a_mistake_or_a_wrong_answer_on_an_empty_input_fails(function) -> None:
    assert verdict(rows(function), D=0) == "fail"
    assert verdict(rows(function)) == "pass"


@pytest.mark.parametrize("function", [says_so, trips])
def test_a_contract_may_want_empty_inputs_taken(function) -> None:
    assert verdict(rows(function, contract=Contract(empty="fail")), D=0) == "fail"
    assert verdict(rows(function, contract=Contract(empty="skip")), D=0) == "skipped"


def test_an_exception_on_inputs_with_elements_fails_though_another_is_always_empty() -> None:
    operator = Operator("x", lambda x, room: trips(x[:, :0]), {"x": tensor("N D"), "room": tensor("M")},
                        {"torch": lambda x, room: x.sum(-1)}, dims={"N": 4, "D": 6, "M": 0})  # fmt: skip
    assert verdict(operator) == "fail"


def test_an_exception_after_an_undeclared_write_fails() -> None:
    def spoils(x, y):
        y.add_(1)
        return trips(x) + y

    operator = Operator("x", spoils, {"x": tensor("N D"), "y": tensor("N")},
                        {"torch": lambda x, y: x.sum(-1) + y + 1}, dims={"N": 4, "D": 6},)  # fmt: skip
    assert verdict(operator, D=0) == "fail"


# -- layouts ----------------------------------------------------------------------------------------------------------


def asserts(x):
    assert x.is_contiguous()
    return x + x


def raises(x):
    if x.stride(-1) != 1:
        raise RuntimeError("the last axis must be dense")
    return x + x


def checks_alignment(x):
    if x.data_ptr() % 16:
        raise ValueError("x must be aligned to 16 bytes")
    return x + x


@torch.library.custom_op("refusals::dense", mutates_args=())
def dense(x: torch.Tensor) -> torch.Tensor:
    torch._check(x.is_contiguous(), lambda: "wanted contiguous memory")
    return x + x


@torch.library.custom_op("refusals::viewing", mutates_args=())
def viewing(x: torch.Tensor) -> torch.Tensor:
    return (2 * x.view(-1)).view(x.shape)


def own_check_in_custom_operator(x):
    return torch.ops.refusals.own(x)


@torch.library.custom_op("refusals::own", mutates_args=())
def own(x: torch.Tensor) -> torch.Tensor:
    if not x.is_contiguous():
        raise ValueError("contiguous only")
    return x + x


def views(x):
    return (2 * x.view(-1)).view(x.shape)


def views_in_custom_operator(x):
    return torch.ops.refusals.viewing(x)


def wraps(x):
    try:
        return views(x)
    except RuntimeError as error:
        raise RuntimeError("failed") from error


def indexes(x):
    return x + x if x.is_contiguous() else list(x)[x.shape[0]]


def refuses_all(x):
    assert not x.numel(), "not yet"
    return x + x


def computes_first(x):
    x.mul_(1.5)
    assert x.is_contiguous()
    return x + x


def wrong_on_views(x):
    return x + x if x.is_contiguous() else x + x + 1


def matrix(function, **options) -> Operator:
    return Operator("m", function, {"x": tensor("N D")}, TWICE, dims={"N": 4, "D": 6}, **options)


@pytest.mark.parametrize(
    ("function", "layout"),
    [
        (asserts, "transposed"),
        (asserts, "strided"),
        (raises, "transposed"),
        (checks_alignment, "offset"),
        (own_check_in_custom_operator, "transposed"),
    ],
)
def test_a_check_of_its_own_that_a_layout_trips_is_skipped_with_its_declaration(function, layout) -> None:
    judgement = judged(matrix(function), case_of(matrix(function), layout=layout))
    assert (judgement.verdict, judgement.observation.refusal) == (Verdict.SKIPPED, Refusal.LAYOUT)
    assert judgement.findings[0].statement.endswith('to declare that: x=tensor("N D", layouts="contiguous")')
    assert verdict(matrix(function)) == "pass"


@pytest.mark.parametrize(
    "function",
    [views, views_in_custom_operator, wraps, indexes, refuses_all, computes_first, wrong_on_views],
)
def test_what_is_no_check_of_its_own_fails(function) -> None:
    assert verdict(matrix(function), layout="transposed") == "fail"


def test_only_the_arguments_it_checks_are_declared() -> None:
    def product(x, y):
        assert y.is_contiguous(), "y"
        return x @ y

    operator = Operator("p", product, {"x": tensor("N D"), "y": tensor("D M")},
                        {"torch": lambda x, y: x @ y}, dims={"N": 4, "D": 6, "M": 5})  # fmt: skip
    observation = run(operator, layout="transposed")
    assert observation.reason is not None
    assert observation.reason.endswith('to declare that: y=tensor("D M", layouts="contiguous")')


# -- references -------------------------------------------------------------------------------------------------------


def group_norm(x):
    return torch.nn.functional.group_norm(x, 2)


def own_group_norm(x):
    parts = x.reshape(x.shape[0], 2, -1)
    centred = parts - parts.mean(-1, keepdim=True)
    return (centred / (centred.square().mean(-1, keepdim=True) + 1e-5).sqrt()).reshape(x.shape)


def grouped(function, reference=group_norm) -> Operator:
    return Operator("g", function, {"x": tensor("N 2*K W")}, {"torch": reference}, dims={"N": 2, "K": 4, "W": 8})


def test_where_the_reference_refuses_the_operator_does_not_pay() -> None:
    judgement = judged(grouped(own_group_norm), case_of(grouped(own_group_norm), N=1, K=1, W=1))
    assert (judgement.verdict, judgement.observation.refusal) == (Verdict.SKIPPED, Refusal.REFERENCE)
    assert "the torch reference raises here, ValueError: Expected more than 1 value" in judgement.findings[0].statement


def test_what_it_writes_there_still_counts() -> None:
    def spoils(x):
        out = own_group_norm(x)
        x.fill_(3)
        return out

    assert verdict(grouped(spoils), N=1, K=1, W=1) == "fail"


@pytest.mark.parametrize(
    "reference", [lambda x: x.no_such_method(), lambda x: (_ for _ in ()).throw(ValueError("always"))]
)
def test_a_reference_that_never_answers_is_an_error(reference) -> None:
    assert verdict(grouped(own_group_norm, reference), N=1, K=1, W=1) == "error"


def test_no_output_on_either_side_is_skipped_and_on_one_side_not() -> None:
    def parts(x):
        return list(x.unbind(0))

    assert verdict(rows(parts, parts), N=0) == "skipped"
    assert verdict(rows(lambda x: [*x.unbind(0)] or [x.sum()], parts), N=0) == "error"


def attention(q, k, v):
    return torch.nn.functional.scaled_dot_product_attention(q, k, v)


def normalised_late(q, k, v):
    weights = (q @ k.mT / q.shape[-1] ** 0.5).exp()
    return weights @ v / weights.sum(-1, keepdim=True)


def attending(function) -> Operator:
    return Operator("a", function, {"q": tensor("1 N D"), "k": tensor("1 S D"), "v": tensor("1 S D")},
                    {"torch": attention}, dims={"N": 4, "S": 5, "D": 6}, kind="attention")  # fmt: skip


def test_attention_over_no_keys_is_a_convention() -> None:
    assert verdict(attending(normalised_late)) == "pass"
    assert verdict(attending(normalised_late), S=0) == "skipped"
    assert verdict(attending(attention), S=0) == "pass"
    assert verdict(attending(lambda q, k, v: attention(q, k, v) if k.numel() else q + 1), S=0) == "fail"


def convolution(x, w):
    return torch.nn.functional.conv1d(x, w)


def convolving(function) -> Operator:
    return Operator("c", function, {"x": tensor("N C L"), "w": tensor("O C 3")}, {"torch": convolution},
                    dims={"N": 2, "C": 3, "O": 4, "L": 9}, kind="matmul")  # fmt: skip


def test_a_convolution_without_channels_has_another_shape_in_the_reference() -> None:
    def unfolded(x, w):
        return torch.einsum("nclk,ock->nol", x.unfold(-1, 3, 1), w)

    assert verdict(convolving(unfolded)) == "pass"
    assert verdict(convolving(unfolded), C=0) == "skipped"
    assert verdict(convolving(convolution), C=0) == "pass"
    assert verdict(convolving(lambda x, w: unfolded(x, w)[:, :1] if not x.numel() else unfolded(x, w)), C=0) == "fail"


def test_sums_and_means_over_nothing_have_one_answer() -> None:
    assert verdict(rows(lambda x: x.sum(-1) / (x.shape[-1] > 0)), D=0) in ("fail", "skipped")
    assert verdict(rows(lambda x: x.sum(-1) * torch.tensor(1.0 if x.numel() else float("nan"))), D=0) == "fail"
    assert verdict(rows(lambda x: x.sum(-1) / max(x.shape[-1], 1), lambda x: x.mean(-1)), D=0) == "fail"


def test_torch_against_itself_passes_or_is_skipped_on_empty_inputs() -> None:
    functions = (torch.amax, torch.logsumexp, torch.mean, torch.prod, torch.var, torch.softmax, torch.cumsum)
    for function in functions:
        operator = rows(lambda x, f=function: f(x, -1), lambda x, f=function: f(x, -1))
        for dims in ({"N": 0}, {"D": 0}, {"N": 0, "D": 0}):
            assert verdict(operator, **dims) in ("pass", "skipped"), (function, dims)

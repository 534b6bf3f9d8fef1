"""What counts as an output, under which name, in which order."""

from __future__ import annotations

from collections import namedtuple
from typing import NamedTuple

import numpy as np
import pytest
import torch

from opsdebug_ci import Contract
from opsdebug_ci.errors import DeclarationError, ReferenceFaultError, Unsupported
from opsdebug_ci.operators import Arguments, named_outputs, positional_outputs, written_names
from opsdebug_ci.operators.outputs import as_tensor

X, P, OUT = torch.zeros(3), torch.ones(3), torch.full((3,), 2.0)
ARGUMENTS = Arguments(names=("x", "p", "out"), values=(X, P, OUT))
NONE = Contract()


class Attention(NamedTuple):
    output: torch.Tensor
    lse: torch.Tensor | None


def names(returned: object, contract: Contract = NONE) -> str:
    return " ".join(named_outputs(returned, contract, ARGUMENTS))


@pytest.mark.parametrize(
    ("returned", "contract", "expected"),
    [
        (torch.ones(2), NONE, "out0"),
        ((torch.ones(2), torch.ones(1)), NONE, "out0 out1"),
        ([torch.ones(2), None, torch.ones(1)], NONE, "out0 out1"),
        ({"y": torch.ones(2), "index": torch.ones(1)}, NONE, "y index"),
        (Attention(output=torch.ones(2), lse=torch.ones(1)), NONE, "output lse"),
        (Attention(output=torch.ones(2), lse=None), NONE, "output"),
        (torch.topk(torch.ones(4), 2), NONE, "values indices"),
        (None, Contract(out="out"), "out"),
        (None, Contract(out=2), "out"),
        (None, Contract(out=-1, mutates=("p",)), "out p"),
        (None, Contract(mutates=("p", "x")), "p x"),
        (OUT, Contract(out="out"), "out"),
        ((torch.ones(1), OUT), Contract(out="out", mutates=("p",)), "out0 out p"),
        ((OUT, P, torch.ones(1)), Contract(out="out", mutates=("p",)), "out p out2"),
        (torch.ones(1), Contract(mutates=("p",)), "out0 p"),
        (X, NONE, "out0"),
        (OUT[:2], Contract(out="out"), "out0 out"),
        (None, NONE, ""),
    ],
)
def test_names_come_from_what_is_returned_and_written(returned: object, contract: Contract, expected: str) -> None:
    assert names(returned, contract) == expected


def test_another_tensor_under_a_written_name_does_not_hide_the_written_one() -> None:
    outputs = named_outputs({"p": torch.full((3,), 9.0)}, Contract(mutates=("p",)), ARGUMENTS)
    assert {name: value[0].item() for name, value in outputs.items()} == {"out0": 9.0, "p": 1.0}


def test_what_a_reference_returns_is_taken_in_order() -> None:
    Pair = namedtuple("Pair", "first second")
    for returned in ([X, P], {"b": X, "a": P}, Pair(X, P)):
        assert [value[0].item() for value in positional_outputs(returned)] == [0.0, 1.0]


@pytest.mark.parametrize("returned", [None, (), {}, (None,)])
def test_a_reference_that_returns_nothing_is_at_fault(returned: object) -> None:
    with pytest.raises(ReferenceFaultError) as fault:
        positional_outputs(returned)
    assert str(fault.value) == f"returned {returned!r}; wanted every output of the operator, in order"


def test_written_names_start_with_out_whatever_the_spelling() -> None:
    assert written_names(Contract(out=2, mutates=("p",)), ARGUMENTS) == ("out", "p")


@pytest.mark.parametrize("which", ["y", 3, -4])
def test_a_contract_about_no_argument_is_named(which: str | int) -> None:
    with pytest.raises(DeclarationError) as mistake:
        written_names(Contract(out=which), ARGUMENTS)
    assert str(mistake.value) == f"the contract names argument {which!r}; the arguments are x, p, out"


@pytest.mark.parametrize(
    ("value", "dtype", "numbers"),
    [
        (2.5, torch.float64, 2.5),
        (3, torch.int64, 3),
        (True, torch.bool, True),
        (np.float32(0.5), torch.float32, 0.5),
        (np.int16(-3), torch.int16, -3),
        (np.array([1.0, 2.0], dtype=np.float16), torch.float16, [1.0, 2.0]),
        (np.arange(4)[::-1], torch.int64, [3, 2, 1, 0]),
        (np.array(7.0), torch.float64, 7.0),
        (torch.ones(2, requires_grad=True), torch.float32, [1.0, 1.0]),
        (torch.eye(2).to_sparse(), torch.float32, [[1.0, 0.0], [0.0, 1.0]]),
        (torch.tensor([1 + 2j]).conj().imag, torch.float32, [-2.0]),
    ],
)
def test_tensors_arrays_and_numbers_are_outputs(value: object, dtype: torch.dtype, numbers: object) -> None:
    tensor = as_tensor(value)
    assert (tensor.dtype, tensor.tolist(), tensor.requires_grad) == (dtype, numbers, False)


@pytest.mark.parametrize(
    ("value", "what"),
    [
        (1 + 2j, "outputs of dtype complex64"),
        (torch.zeros(2, dtype=torch.complex128), "outputs of dtype complex128"),
        (np.zeros(2, dtype=np.uint16), "outputs of dtype uint16"),
        (torch.empty(2, device="meta"), "tensors without memory"),
        (torch.nested.nested_tensor([torch.ones(2), torch.ones(1)], layout=torch.jagged), "nested tensors"),
    ],
)
def test_what_cannot_be_compared_yet_is_unsupported(value: object, what: str) -> None:
    with pytest.raises(Unsupported, match=f"^{what} are not compared yet"):
        as_tensor(value)


def test_a_read_only_array_is_copied_without_a_warning() -> None:
    array = np.zeros(3)
    array.flags.writeable = False
    assert as_tensor(array).tolist() == [0.0, 0.0, 0.0]


@pytest.mark.parametrize(
    ("value", "got"),
    [
        ("done", "of type `str`"),
        (object, "of type `type`"),
        (np.array([None]), "an array of `object`"),
        (np.array(["a"]), "an array of `<U1`"),
        (np.zeros(2, dtype=">f4"), "an array of `>f4`"),
    ],
)
def test_anything_else_is_no_output(value: object, got: str) -> None:
    with pytest.raises(ReferenceFaultError) as fault:
        as_tensor(value)
    assert str(fault.value) == (
        f"an output is {got}; wanted a tensor, an array or a number\n"
        "  next: return the outputs themselves, one value or a tuple"
    )


def test_arguments_are_called_by_position_or_by_keyword() -> None:
    def function(a, b=0, *, c=0):
        return (a, b, c)

    assert Arguments.of_sequence((1, 2), ("a",)).names == ("a", "arg1")
    assert Arguments.of_sequence((1, 2), ("a", "b", "c")).call(function) == (1, 2, 0)
    assert Arguments.of_mapping({"c": 3, "a": 1}).call(function) == (1, 0, 3)
    changed = Arguments.of_mapping({"c": 3, "a": 1}).map(lambda name, value: f"{name}{value}")
    assert changed.call(function) == ("a1", 0, "c3")
    assert (changed["a"], changed[0], changed[-1]) == ("a1", "c3", "a1")


NESTED = Arguments(names=("params", "state"), values=([X, torch.ones(0), torch.ones(0)], {"m": P}))
BOTH = Contract(mutates=("params", "state"))


@pytest.mark.parametrize(
    ("returned", "contract", "expected"),
    [
        ((X, [P, {"min": X, "none": None}]), NONE, "out0 out1[0] out1[1]['min']"),
        ({"pair": (X, P)}, NONE, "pair[0] pair[1]"),
        ([[X], [P]], NONE, "out0[0] out1[0]"),
        (None, BOTH, "params[0] params[1] params[2] state['m']"),
        (list(NESTED.values), BOTH, "params[0] params[1] params[2] state['m']"),
    ],
)
def test_nested_outputs_go_by_their_place(returned: object, contract: Contract, expected: str) -> None:
    outputs = named_outputs(returned, contract, NESTED)
    assert " ".join(outputs) == expected
    assert len(outputs) == len(expected.split())


def test_an_empty_output_is_the_written_argument_only_if_it_is_that_very_tensor() -> None:
    state = torch.ones(0, 4)
    arguments = Arguments(names=("state",), values=(state,))
    written = Contract(mutates=("state",))
    assert list(named_outputs(torch.ones(0, 4), written, arguments)) == ["out0", "state"]
    assert list(named_outputs(state, written, arguments)) == ["state"]
    assert list(named_outputs(state[:], written, arguments)) == ["state"]

"""The arguments of a declaration: order, dtype, domain, layout, functions of its own, and every mistake's message."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
import torch

from opsdebug_ci.errors import InputsError, Unsupported
from opsdebug_ci.inputs import declared_values
from opsdebug_ci.model.argument import scalar, tensor
from opsdebug_ci.model.case import Case
from opsdebug_ci.model.vocabulary import Family, Kind, Layout

CASE = Case(
    operator="op",
    dims={"B": 4, "S": 6, "H": 8},
    dtype="bfloat16",
    layout=Layout.CONTIGUOUS,
    inputs=Family.NORMAL,
    seed=3,
)


def values(declared: Mapping[str, object], case: Case = CASE, written: tuple[str, ...] = ()) -> dict[str, Any]:
    return declared_values(declared, case, kind=Kind.ELEMENTWISE, written=frozenset(written))


def test_tensors_scalars_and_plain_values_in_order() -> None:
    made = values(
        {
            "q": tensor("B H"),
            "lengths": tensor("B", dtype="int32", values=lambda seed, dims, args: [seed] * dims["B"]),
            "longest": scalar(lambda dims, args: args["lengths"].max()),
            "scale": scalar(lambda dims, args: dims["H"] ** -0.5),
            "causal": True,
            "eps": 1e-5,
            "mode": None,
        }
    )
    assert list(made) == ["q", "lengths", "longest", "scale", "causal", "eps", "mode"]
    assert (made["q"].shape, made["q"].dtype) == ((4, 8), torch.bfloat16)
    assert (made["lengths"].tolist(), made["lengths"].dtype) == ([3, 3, 3, 3], torch.int32)
    assert (made["longest"], type(made["longest"])) == (3, int)
    assert (made["scale"], made["causal"], made["eps"], made["mode"]) == (8**-0.5, True, 1e-5, None)


def test_adding_an_argument_changes_no_other() -> None:
    alone = values({"x": tensor("B H")})
    beside = values({"w": tensor("H"), "x": tensor("B H"), "n": 1})
    assert torch.equal(alone["x"], beside["x"])
    assert not torch.equal(values({"x": tensor("H")})["x"], beside["w"])


def test_another_process_makes_the_same_arguments() -> None:
    program = (
        "from opsdebug_ci.inputs import declared_values; from opsdebug_ci.model import *;"
        "case = Case(operator='op', dims={'B': 4, 'S': 6, 'H': 8}, dtype='float32', layout=Layout.STRIDED,"
        " inputs=Family.SPECIALS, seed=3);"
        "x = declared_values({'x': tensor('B H')}, case, kind=Kind.NORM, written=frozenset())['x'];"
        "print(x.tolist())"
    )
    answer = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    case = replace(CASE, dtype="float32", layout=Layout.STRIDED, inputs=Family.SPECIALS)
    expected = declared_values({"x": tensor("B H")}, case, kind=Kind.NORM, written=frozenset())["x"]
    assert answer.stdout.strip() == str(expected.tolist())


def test_fixed_dtypes_follow_the_family() -> None:
    made = values(
        {"p": tensor("B H"), "state": tensor("B H", dtype="float32"), "ids": tensor("S", dtype="int64")},
        replace(CASE, inputs=Family.INDEX_CODED),
    )
    assert made["state"].dtype == torch.float32
    assert made["state"].reshape(-1).tolist() == list(range(32))
    assert made["ids"].tolist() == [0, 1, 2, 3, 4, 5]


@pytest.mark.parametrize("family", [Family.SPECIALS, Family.SPECIAL_ROWS, Family.SIGNED_ZEROS], ids=str)
def test_a_domain_that_forbids_the_family_gets_normal_values(family: Family) -> None:
    declared = {"x": tensor("B S H"), "v": tensor("B S H", values="positive")}
    special = values(declared, replace(CASE, inputs=family))
    ordinary = values(declared)
    assert torch.equal(special["v"], ordinary["v"])
    assert (special["v"] > 0).all()
    assert not torch.equal(special["x"], ordinary["x"])
    assert (~special["x"].isfinite() | (special["x"] == 0)).any()


def test_a_finite_domain_keeps_signed_zeros() -> None:
    made = values({"x": tensor("B S H", values="finite")}, replace(CASE, inputs=Family.SIGNED_ZEROS))["x"]
    assert int((made == 0).sum()) >= 96


@pytest.mark.parametrize(
    ("layout", "strides"),
    [
        (Layout.CONTIGUOUS, (8, 1)),
        (Layout.TRANSPOSED, (1, 4)),
        (Layout.STRIDED, (16, 2)),
        (Layout.OFFSET, (8, 1)),
        (Layout.PADDED, (13, 1)),
        (Layout.EXPANDED, (0, 1)),
    ],
    ids=str,
)
def test_layout_of_the_case(layout: Layout, strides: tuple[int, ...]) -> None:
    declared = {"x": tensor("B H"), "dense": tensor("B H", layouts="contiguous")}
    made = values(declared, replace(CASE, layout=layout))
    assert made["x"].stride() == strides
    assert made["x"].storage_offset() == (3 if layout is Layout.OFFSET else 0)
    assert (made["dense"].stride(), made["dense"].storage_offset()) == ((8, 1), 0)


def test_mixed_transposes_all_but_the_first_tensor() -> None:
    declared = {"n": 2, "a": tensor("B H"), "b": tensor("B H"), "k": scalar(lambda dims, args: 1), "c": tensor("S H")}
    made = values(declared, replace(CASE, layout=Layout.MIXED))
    assert [made[name].stride() for name in "abc"] == [(8, 1), (1, 4), (1, 6)]


def test_written_arguments_and_own_values_are_never_expanded() -> None:
    declared = {
        "x": tensor("B H"),
        "out": tensor("B H"),
        "index": tensor("B", dtype="int64", values=lambda seed, dims, args: np.arange(dims["B"])),
    }
    made = values(declared, replace(CASE, layout=Layout.EXPANDED), written=("out",))
    assert [made[name].stride()[0] for name in ("x", "out", "index")] == [0, 8, 1]
    assert made["index"].tolist() == [0, 1, 2, 3]
    strided = values(declared, replace(CASE, layout=Layout.STRIDED), written=("out",))
    assert (strided["out"].stride(), strided["index"].tolist()) == ((16, 2), [0, 1, 2, 3])


def test_own_values_in_the_declared_dtype() -> None:
    def own(result: object, dtype: str) -> torch.Tensor:
        made: torch.Tensor = values({"x": tensor("3", dtype=dtype, values=lambda seed, dims, args: result)})["x"]
        return made

    assert own([0.1, 0.2, 0.3], "float64").tolist() == [0.1, 0.2, 0.3]
    assert own((1, 0, 1), "bool").tolist() == [True, False, True]
    assert own(np.arange(3)[::-1], "int32").tolist() == [2, 1, 0]
    assert own(torch.arange(6.0)[::2], "float16").is_contiguous()
    assert own(torch.ones(3, requires_grad=True), "float32").requires_grad is False


def test_values_handed_out_twice_are_not_shared() -> None:
    kept = torch.zeros(4)
    declared = {"x": tensor("B", dtype="float32", values=lambda seed, dims, args: kept), "plain": kept}
    made = values(declared)
    made["x"].fill_(1.0)
    made["plain"].fill_(2.0)
    assert kept.tolist() == [0.0] * 4


def test_edges_take_the_draw_of_all_functions_with_most_numbers_on_borders_of_pages() -> None:
    def lengths(seed: int, dims: Mapping[str, int], args: Mapping[str, Any]) -> Any:
        return np.random.default_rng(seed).integers(1, 65, dims["B"])

    declared = {
        "x": tensor("B H"),
        "lengths": tensor("B", dtype="int32", values=lengths),
        "again": tensor("B", dtype="int64", values=lengths),
        "longest": scalar(lambda dims, args: args["lengths"].max()),
    }
    plain = values(declared)
    assert plain["lengths"].tolist() == np.random.default_rng(3).integers(1, 65, 4).tolist()
    for seed in range(8):
        made = values(declared, replace(CASE, inputs=Family.EDGES, seed=seed))
        assert bool((made["lengths"] % 16 == 0).any())
        assert made["lengths"].tolist() == made["again"].tolist()
        assert made["longest"] == made["lengths"].max()
    alone = values({"x": declared["x"]}, replace(CASE, inputs=Family.EDGES))
    assert torch.equal(alone["x"], values(declared, replace(CASE, inputs=Family.EDGES))["x"])


def test_a_function_that_fails_for_another_seed_keeps_the_draws_it_makes() -> None:
    def picky(seed: int, dims: Mapping[str, int], args: Mapping[str, Any]) -> Any:
        return {3: [1, 2, 3, 5]}[seed]

    declared = {"starts": tensor("B", dtype="int64", values=picky)}
    assert values(declared, replace(CASE, inputs=Family.EDGES))["starts"].tolist() == [1, 2, 3, 5]


def own_values(function: Any, dtype: str | None = None) -> dict[str, object]:
    return {"q": tensor("B"), "cu_seqlens": tensor("B+1", dtype=dtype, values=function)}


MISTAKES: list[tuple[dict[str, object], str]] = [
    (
        own_values(lambda seed, dims, args: [0, 1]),
        "argument `cu_seqlens` of `op`: its values have shape (2,); wanted (5,)\n"
        "  next: return as many values as the declared shape says, or correct that shape",
    ),
    (
        own_values(lambda seed, dims, args: None),
        "argument `cu_seqlens` of `op`: its function returned nothing (None); wanted a tensor, an array or a list of "
        "numbers\n  next: return the values from the function given as `values`",
    ),
    (
        own_values(lambda seed, dims, args: ["a"]),
        "argument `cu_seqlens` of `op`: its function returned ['a'] of type list; wanted a tensor, an array or a list "
        "of numbers\n  next: return the values from the function given as `values`",
    ),
    (
        own_values(lambda seed, dims, args: [0, 1, 2, 3, 4.5], "int32"),
        "argument `cu_seqlens` of `op`: its values hold 4.5; wanted numbers that int32 holds\n"
        "  next: round or clip the values, or declare another dtype",
    ),
    (
        own_values(lambda seed, dims, args: [0, 1, 2, 3, 300], "int8"),
        "argument `cu_seqlens` of `op`: its values hold 300; wanted numbers that int8 holds\n"
        "  next: round or clip the values, or declare another dtype",
    ),
    (
        own_values(lambda seed, dims, args: args["k"]),
        "argument `cu_seqlens` of `op`: its function raised KeyError: 'k'\n"
        "  next: values functions are called as (seed, dims, args), scalar functions as (dims, args)",
    ),
    (
        {"n": scalar(lambda dims, args: "many")},
        "argument `n` of `op`: its function returned 'many' of type str; wanted a number\n"
        "  next: return an int, a float or a bool from the function given to `scalar`",
    ),
    (
        {"n": scalar(lambda dims, args: torch.zeros(2))},
        "argument `n` of `op`: its function returned tensor([0., 0.]) of type Tensor; wanted a number\n"
        "  next: return an int, a float or a bool from the function given to `scalar`",
    ),
    (
        {"x": tensor("B D+1")},
        "argument `x` of `op`: shape `B D+1` needs `D`; the case binds {'B': 4, 'S': 6, 'H': 8}\n"
        "  next: give the operator `dims={'D': 16}` or the command `--dims D=16`",
    ),
]


@pytest.mark.parametrize(("declared", "message"), MISTAKES, ids=[str(i) for i in range(len(MISTAKES))])
def test_mistakes_name_the_argument_what_was_got_and_what_was_wanted(declared: dict[str, object], message: str) -> None:
    with pytest.raises(InputsError) as caught:
        values(declared)
    assert str(caught.value) == message


def test_the_original_exception_is_the_cause() -> None:
    with pytest.raises(InputsError) as caught:
        values(own_values(lambda seed, dims, args: 1 // 0))
    assert isinstance(caught.value.__cause__, ZeroDivisionError)


def test_unsupported_passes_through() -> None:
    def refuse(seed: int, dims: Mapping[str, int], args: Mapping[str, object]) -> object:
        raise Unsupported("needs an even batch")

    with pytest.raises(Unsupported, match="even batch"):
        values(own_values(refuse))


def test_own_family_needs_a_callable_of_the_operator() -> None:
    with pytest.raises(InputsError, match="the case's inputs are `own`; a declared argument wants one of normal, "):
        values({"x": tensor("B")}, replace(CASE, inputs=Family.OWN))

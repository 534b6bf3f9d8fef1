"""What users declare with: shapes, tensors, scalars, contracts, costs; each mistake with its whole message."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from opsdebug_ci.errors import ConfigurationError, DeclarationError
from opsdebug_ci.model import Contract, Cost, Layout, ValueDomain, scalar, tensor
from opsdebug_ci.model.argument import DECLARABLE_LAYOUTS
from opsdebug_ci.model.dims import bind, parse_dim, parse_shape

DIMS = {"N": 5, "H": 4, "B": 1}


@pytest.mark.parametrize(
    ("text", "size", "names"),
    [
        ("N", 5, ("N",)),
        ("3", 3, ()),
        ("0", 0, ()),
        ("N+1", 6, ("N",)),
        ("N-1", 4, ("N",)),
        ("2*H", 8, ("H",)),
        ("2*H+N-3", 10, ("H", "N")),
        ("-N+7", 2, ("N",)),
        ("1-N", 0, ("N",)),
        ("n_heads_2", 9, ("n_heads_2",)),
    ],
)
def test_a_dim_is_a_sum_of_products(text: str, size: int, names: tuple[str, ...]) -> None:
    parsed = parse_dim(text)
    assert (parsed.size({**DIMS, "n_heads_2": 9}), parsed.names, parsed.text) == (size, names, text)


@given(st.lists(st.tuples(st.integers(0, 9), st.sampled_from(["N", "H", ""])), min_size=1, max_size=4))
def test_a_sum_of_terms_is_worth_their_sum(terms: list[tuple[int, str]]) -> None:
    text = "+".join(f"{factor}*{name}" if name else str(factor) for factor, name in terms)
    assert parse_dim(text).size(DIMS) == sum(factor * DIMS.get(name, 1) for factor, name in terms)


def test_a_shape_is_blank_separated_and_may_be_empty() -> None:
    assert [dim.size(DIMS) for dim in parse_shape(" N   2*H 3 ")] == [5, 8, 3]
    assert parse_shape("") == ()


def test_an_unbound_name_is_a_key_error() -> None:
    with pytest.raises(KeyError, match="M"):
        parse_dim("M+1").size(DIMS)


@pytest.mark.parametrize(
    ("text", "piece"),
    [("N*2", "N*2"), ("2*3", "2*3"), ("N+", "+"), ("N+-1", "+"), ("N/2", "N/2"), ("B,S", "B,S"), ("f(N)", "f(N)")],
)
def test_anything_else_is_no_dim(text: str, piece: str) -> None:
    with pytest.raises(DeclarationError) as mistake:
        parse_dim(text)
    assert str(mistake.value) == (
        f"dim `{text}`: `{piece}` is not a name, a whole number or `number*name`\n"
        '  next: write shapes like "B S H", "N+1" or "2*H 3"'
    )


def test_a_shape_that_is_no_text_is_refused() -> None:
    with pytest.raises(DeclarationError) as mistake:
        tensor(("B", "S"))  # type: ignore[arg-type]  # the mistake itself
    assert str(mistake.value) == (
        "`shape` is ('B', 'S'); wanted blank-separated dims in one string\n"
        '  next: write shapes like "B S H", "N+1" or "2*H 3"'
    )


def test_sizes_are_declared_or_default() -> None:
    assert bind([parse_shape("B S H"), parse_shape("K")], {"S": 7, "steps": 3}) == {
        "B": 1, "S": 7, "H": 128, "K": 16, "steps": 3,
    }  # fmt: skip


def test_default_sizes_leave_the_scores_of_an_attention_small() -> None:
    attention = [parse_shape("B H S D")] * 3
    assert bind(attention, {}) == {"B": 1, "H": 16, "S": 128, "D": 16}
    assert bind(attention, {"H": 128}) == {"B": 1, "H": 128, "S": 16, "D": 16}
    assert bind(attention, {"H": 128, "S": 128}) == {"B": 1, "H": 128, "S": 128, "D": 16}


def test_a_tensor_accepts_everything_unless_told() -> None:
    plain = tensor("B S 2*H")
    assert (plain.dtype, plain.layouts, plain.values) == (None, DECLARABLE_LAYOUTS, ValueDomain.ANY)
    assert (plain.dim_names, plain.shape_text) == (("B", "S", "H"), "B S 2*H")
    assert Layout.OWN not in DECLARABLE_LAYOUTS


def test_a_tensor_says_what_it_accepts() -> None:
    narrow = tensor("N+1", dtype="int32", layouts=("contiguous", "offset"), values="positive")
    assert (narrow.dtype, narrow.layouts) == ("int32", (Layout.CONTIGUOUS, Layout.OFFSET))
    assert narrow.values is ValueDomain.POSITIVE
    assert tensor("N", layouts="strided").layouts == (Layout.STRIDED,)
    assert tensor("N", values=len).values is len


FORMATS = "float64, float32, float16, bfloat16, float8_e4m3fn, float8_e5m2, int8, int16, int32, int64, uint8, bool"


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"dtype": "fp16"}, f"`dtype` is `fp16`; wanted one of {FORMATS}"),
        (
            {"layouts": ("contiguous", "diagonal")},
            "`layouts` has ['diagonal']; wanted `all` or some of contiguous, transposed, strided, offset, padded, "
            "expanded, mixed",
        ),
        (
            {"layouts": ()},
            "`layouts` has no names; wanted `all` or some of contiguous, transposed, strided, offset, padded, "
            "expanded, mixed",
        ),
        (
            {"values": "negative"},
            "`values` is `negative`; wanted one of any, finite, nonzero, nonnegative, positive or a function",
        ),
        ({"values": 3}, "`values` is 3; wanted a name or a function of (seed, dims, args)"),
    ],
)
def test_a_tensor_says_what_is_wrong_with_it(options: dict[str, object], message: str) -> None:
    with pytest.raises(DeclarationError) as mistake:
        tensor("N", **options)
    assert str(mistake.value) == message


def test_a_scalar_is_a_function() -> None:
    assert scalar(len).function is len
    with pytest.raises(DeclarationError) as mistake:
        scalar(3)  # type: ignore[arg-type]  # the mistake itself
    assert str(mistake.value) == (
        "`scalar` got 3; wanted a function of (dims, args)\n"
        "  next: pass a plain number without `scalar(...)` when it does not depend on the case"
    )


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (
            {"accumulate": "fp32"},
            "contract: `accumulate` is 'fp32'; wanted one of float64, float32, float16, bfloat16, float8_e4m3fn, "
            "float8_e5m2",
        ),
        ({"nan": "skip"}, "contract: `nan` is 'skip'; wanted one of propagate, ignore"),
        ({"mutates": "p"}, "contract: `mutates` is 'p'; wanted a tuple of argument names, e.g. ('x',)"),
        ({"mutates": (0,)}, "contract: `mutates` is (0,); wanted a tuple of argument names, e.g. ('x',)"),
        ({"out": True}, "contract: `out` is True; wanted an argument's name or position"),
        ({"out": ("y",)}, "contract: `out` is ('y',); wanted an argument's name or position"),
        ({"index": ("x",)}, "contract: `index` is ('x',); wanted (argument, axis), e.g. ('x', -1)"),
        ({"index": ("x", "y")}, "contract: `index` is ('x', 'y'); wanted (argument, axis), e.g. ('x', -1)"),
        (
            {"allow": ("ftz", "fma")},
            "contract: `allow` is ('ftz', 'fma'); wanted a tuple of some of ftz, tf32, low_precision_p",
        ),
        (
            {"allow": "ftz"},
            "contract: `allow` is 'ftz'; wanted a tuple of some of ftz, tf32, low_precision_p",
        ),
        ({"atol": -1.0}, "contract: `atol` is -1.0; wanted a number >= 0"),
        ({"rtol": float("nan")}, "contract: `rtol` is nan; wanted a number >= 0"),
        ({"rtol": "1e-3"}, "contract: `rtol` is '1e-3'; wanted a number >= 0"),
        (
            {"nan": "skip", "atol": -1, "out": False},
            "contract: `nan` is 'skip'; wanted one of propagate, ignore; `out` is False; wanted an argument's name or "
            "position; `atol` is -1; wanted a number >= 0",
        ),
    ],
)
def test_a_contract_lists_every_mistake(options: dict[str, object], message: str) -> None:
    with pytest.raises(DeclarationError) as mistake:
        Contract(**options)
    assert str(mistake.value) == message
    assert isinstance(mistake.value, ConfigurationError)
    assert mistake.value.exit_code == 2


def test_a_contract_promises_the_usual_unless_told() -> None:
    assert Contract() == Contract(accumulate="float32", nan="propagate", deterministic=True, mutates=(), out=None)
    assert not Contract().overrides_tolerance
    assert Contract(atol=0.0).overrides_tolerance
    assert Contract(index=(0, -1), out=-1, allow=("tf32",)).index == (0, -1)


def test_a_cost_is_two_amounts() -> None:
    assert Cost(12).bytes is None
    for flops, size in ((-1, None), (float("nan"), None), (1, -1), ("1", None)):
        with pytest.raises(DeclarationError) as mistake:
            Cost(flops, size)
        assert str(mistake.value) == f"cost has flops={flops!r}, bytes={size!r}; wanted numbers >= 0"

"""Declaring operators: the decorator, the functional form, the signature, every mistake at once."""

from __future__ import annotations

import pytest
import torch

from opsdebug_ci import Contract, Cost, Operator, operator, scalar, tensor
from opsdebug_ci.errors import DeclarationError
from opsdebug_ci.model import Kind, ReferenceKind


def double(x, scale=2.0):
    return x * scale


def message_of(declare) -> str:
    with pytest.raises(DeclarationError) as mistake:
        declare()
    return str(mistake.value)


def test_the_decorated_function_stays_callable_as_it_was() -> None:
    @operator(kind="elementwise", x=tensor("N"), scale=3.0)
    def triple(x, scale=2.0):
        return x * scale

    assert torch.equal(triple(torch.ones(2), scale=5.0), torch.full((2,), 5.0))
    assert (triple.name, triple.argument_names, triple.dims) == ("triple", ("x", "scale"), {"N": 16})
    assert triple.kind_of("out0") is Kind.ELEMENTWISE
    assert repr(triple) == "Operator('triple')"


def test_both_forms_declare_the_same() -> None:
    options = {
        "kind": "reduction",
        "dtypes": ("float32", "bfloat16"),
        "dims": {"S": 7},
        "contract": Contract(nan="ignore"),
        "devices": ("cpu", "cuda"),
        "backward": True,
    }
    declared = operator("twice", x=tensor("B S"), scale=scalar(len), **options)(double)
    built = Operator("twice", double, {"x": tensor("B S"), "scale": declared.inputs["scale"]}, {}, **options)
    assert {k: v for k, v in vars(declared).items() if k != "inputs"} == {
        k: v for k, v in vars(built).items() if k != "inputs"
    }
    assert declared.inputs == built.inputs
    assert declared.dims == {"B": 1, "S": 7}


def test_with_nothing_declared_the_signature_decides() -> None:
    declared = operator()(double)
    assert declared.inputs == {"x": tensor("B S H"), "scale": 2.0}
    assert declared.dims == {"B": 1, "S": 128, "H": 128}


def test_the_bare_decorator_takes_everything_from_the_function() -> None:
    @operator
    def twice(x, y):
        return x + y

    assert isinstance(twice, Operator)
    assert (twice.name, twice.argument_names, twice.dims) == ("twice", ("x", "y"), {"B": 1, "S": 128, "H": 128})


def test_arguments_whose_names_collide_go_into_a_mapping() -> None:
    @operator(arguments={"name": tensor("N"), "kind": tensor("N")}, kind="elementwise", dims={"N": 3})
    def add(name, kind):
        return name + kind

    assert add.argument_names == ("name", "kind")
    assert add.kinds is Kind.ELEMENTWISE

    @operator(arguments={"kind": tensor("N")}, x=tensor("N"))
    def both(kind, x):
        return kind + x

    assert both.argument_names == ("kind", "x")


def test_an_argument_is_declared_in_one_way() -> None:
    assert message_of(lambda: operator(arguments={"x": tensor("N")}, x=tensor("N"))(double)) == (
        "operator `double`: `x` declared twice, in `arguments` and as keyword\n  next: keep one of the two"
    )
    assert message_of(lambda: operator(arguments=lambda seed, dims, dtype: [], x=tensor("N"))(double)) == (
        "operator `double`: `arguments` is a callable, so it makes every argument; got `x` too\n"
        "  next: declare arguments in one of the two ways"
    )


def test_a_callable_makes_the_inputs_and_the_function_names_them() -> None:
    def inputs(seed, dims, dtype):
        return [torch.zeros(dims["N"])]

    declared = operator(arguments=inputs, dims={"N": 4})(double)
    assert (declared.inputs, declared.argument_names, declared.tensors) == (inputs, ("x", "scale"), {})
    assert declared.dims == {"N": 4}


def test_a_callable_under_a_name_that_is_no_parameter_is_meant_to_make_the_inputs() -> None:
    assert message_of(lambda: operator(inputs=lambda seed, dims, dtype: [])(double)) == (
        "operator `double`: `inputs` is a function, and the operator has no such parameter; wanted `tensor(...)`, "
        "`scalar(...)` or a plain value, or `arguments=` with the function that makes all inputs"
    )

    def apply(x, activation):
        return activation(x)

    assert operator(x=tensor("N"), activation=torch.relu)(apply).inputs["activation"] is torch.relu


def test_references_cost_and_requirements_are_added_by_decorators() -> None:
    declared = operator(x=tensor("N"))(double)

    @declared.reference("torch")
    def torch_reference(x, scale=2.0):
        return x * scale

    @declared.reference("naive")
    def naive_reference(x, scale=2.0):
        return x + x

    @declared.cost
    def cost(dims, dtype):
        return Cost(dims["N"])

    @declared.requires
    def requires(case):
        return "never"

    assert declared.references == {ReferenceKind.TORCH: torch_reference, ReferenceKind.NAIVE: naive_reference}
    assert (declared.cost_function, declared.requires_function) == (cost, requires)
    assert message_of(lambda: declared.reference("pytorch")) == (
        "operator `double`: reference `pytorch` is unknown; wanted one of torch, naive, precise"
    )


def test_kinds_may_differ_by_output() -> None:
    declared = Operator("two", double, {"x": tensor("N")}, {}, kind={"lse": "reduction", "out1": "index"})
    assert [declared.kind_of(name, at) for at, name in enumerate(["lse", "out1", "out2"])] == [
        Kind.REDUCTION,
        Kind.INDEX,
        Kind.AUTO,
    ]
    assert declared.kind_of("renamed", 1) is Kind.INDEX


def test_every_mistake_is_in_one_message() -> None:
    def declare() -> Operator:
        return Operator(
            " gelu",
            "not a function",
            {"x": tensor("N")},
            {"pytorch": double, "naive": None},
            kind="pointwise",
            dtypes=("float32", "fp16"),
            dims={"S": -1, "H": 2.0},
            devices="cpu",
        )

    formats = "float64, float32, float16, bfloat16, float8_e4m3fn, float8_e5m2, int8, int16, int32, int64, uint8, bool"
    kinds = (
        "exact, elementwise, transcendental, reduction, matmul, softmax, log_softmax, norm, attention, scan, quantize, "
        "index, auto"
    )
    assert message_of(declare).split("; ") == [
        "operator ` gelu`: `name` is ' gelu'",
        "wanted a word",
        "`function` is 'not a function'",
        "wanted something callable",
        "reference `pytorch` is unknown",
        "wanted one of torch, naive, precise",
        "reference `naive` is None",
        "wanted a function",
        "`kind` has `pointwise`",
        f"wanted one of {kinds}",
        "`devices` is 'cpu'",
        "wanted a tuple of names, e.g. ('cpu',)",
        "`dtypes` has `fp16`",
        f"wanted some of {formats}",
        "`dims` has S=-1",
        "wanted a whole number >= 0",
        "`dims` has H=2.0",
        "wanted a whole number >= 0",
    ]


def test_a_misspelt_keyword_is_an_argument_too_many_and_told_so() -> None:
    assert message_of(lambda: operator(knd="elementwise", x=tensor("N"), scale=1.0)(double)) == (
        "operator `double`: the arguments knd, x, scale do not fit the function: too many positional arguments; its "
        "signature is (x, scale=2.0)"
    )
    assert message_of(lambda: operator(scale=1.0)(lambda x, scale: x)) == (
        "operator `<lambda>`: the arguments scale do not fit the function: missing a required argument: 'scale'; its "
        "signature is (x, scale)"
    )


def test_inputs_that_are_neither_mapping_nor_callable_are_refused() -> None:
    assert message_of(lambda: Operator("x", double, [tensor("N")], {})).startswith(
        "operator `x`: `inputs` is [TensorArgument("
    )


def test_a_function_without_signature_is_taken_at_the_declarations_word() -> None:
    declared = Operator("max", max, {"x": tensor("N"), "y": tensor("N")}, {})
    assert declared.argument_names == ("x", "y")
    assert Operator("max", max, lambda seed, dims, dtype: [1, 2], {}).argument_names == ()

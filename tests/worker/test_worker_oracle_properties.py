"""Whatever operator and references return, the verdict is that of a slow, obvious oracle, and nothing escapes."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import pytest
import torch
from hypothesis import HealthCheck, event, given, settings
from hypothesis import strategies as st
from worker_notation import case_of
from worker_oracle import (
    FORMATS,
    Format,
    Number,
    decoded,
    floats_rejected,
    indices_rejected,
    integers_rejected,
    tensor_of,
)

from opsdebug_ci import Contract, Operator
from opsdebug_ci.judge import judge
from opsdebug_ci.model import Judgement, Status, Verdict
from opsdebug_ci.model.message import RunCase
from opsdebug_ci.worker.case_run import run_case

FLOAT_KINDS = ("exact", "elementwise", "auto", "quantize")
INTEGERS = {"int8": (8, True), "int16": (16, True), "int32": (32, True), "int64": (64, True), "uint8": (8, False)}
"""Width and whether it is signed."""

SHAPES = ((), (0,), (1,), (5,), (2, 3), (0, 4), (150,), (1, 1, 2))
EXACT64 = FORMATS["float64"]

judged_often = settings(max_examples=120, deadline=None, derandomize=True, suppress_health_check=[HealthCheck.too_slow])


def verdict_on(
    returned: Any,
    references: Mapping[str, Any],
    *,
    kind: str,
    dtype: str,
    argument: torch.Tensor | None = None,
    contract: Contract | None = None,
    explained: bool = False,
) -> Judgement:
    """Run an operator that returns one thing beside references that return others.

    Causes are sought where `explained`; it takes many times as long.
    """
    x = torch.ones(3) if argument is None else argument
    operator = Operator(
        "constant",
        lambda x: _copy(returned),
        lambda seed, dims, dtype: {"x": x},
        {which: (lambda x, value=value: _copy(value)) for which, value in references.items()},
        kind=kind,
        dtypes=(dtype,),
        contract=contract,
    )
    case = case_of(operator)
    witness = None if explained else lambda arguments, outputs: None
    observation = run_case(operator, RunCase(case=case), lambda breadcrumb: None, witness)
    return judge(case, observation, operator.contract)


def _copy(value: Any) -> Any:
    return value.clone() if isinstance(value, torch.Tensor) else value


def rejected(judgement: Judgement) -> int:
    """Rejected elements of the one output; the verdict must say the same."""
    (output,) = judgement.observation.outputs
    assert judgement.observation.status is Status.RAN
    assert output.accuracy is not None
    assert output.accuracy.compared == torch.Size(output.actual.shape).numel()
    assert output.disputed == 0
    assert judgement.verdict is (Verdict.FAIL if output.rejected else Verdict.PASS)
    assert bool(judgement.findings) or judgement.verdict is Verdict.PASS
    return output.rejected


def landmarks(fmt: Format) -> list[int]:
    """Patterns where rules change: zeros, subnormals, the smallest normal, one, the largest numbers, infinity, NaNs."""
    least_normal, one = 1 << fmt.fraction, fmt.bias << fmt.fraction
    positive = [0, 1, 2, least_normal - 1, least_normal, least_normal + 1, one - 1, one, one + 1]
    positive += [fmt.infinity - 2, fmt.infinity - 1, fmt.infinity, min(fmt.infinity + 1, fmt.sign - 1), fmt.sign - 1]
    return [pattern | sign for pattern in positive for sign in (0, fmt.sign)]


def patterns(fmt: Format) -> st.SearchStrategy[int]:
    return st.sampled_from(landmarks(fmt)) | st.integers(0, 2 * fmt.sign - 1)


def neighbour(pattern: int, fmt: Format, steps: int) -> int:
    """The pattern some steps away, of the same sign."""
    magnitude = pattern & (fmt.sign - 1)
    return (pattern & fmt.sign) | max(0, min(fmt.sign - 1, magnitude + steps))


@st.composite
def near_references(draw: st.DrawFn, fmt: Format, pattern: int) -> int:
    """A float64 pattern near the number of an output's pattern: on it, a share of its spacing off, beyond its range."""
    exact = tensor_of([pattern], fmt, ()).to(torch.float64)
    how = draw(st.sampled_from(["equal", "neighbour", "between", "far"]))
    if how == "equal":
        value = exact
    elif how == "far":
        return draw(patterns(EXACT64) | st.sampled_from(beyond(fmt)))
    else:
        steps = draw(st.integers(-2, 2))
        other = tensor_of([neighbour(pattern, fmt, steps)], fmt, ()).to(torch.float64)
        share = draw(st.sampled_from([0.0, 0.25, 0.499, 0.5, 0.501, 0.75, 1.0])) if how == "between" else 1.0
        value = exact + share * (other - exact)
    return int(value.view(torch.int64)) % 2**64


def beyond(fmt: Format) -> list[int]:
    """Float64 patterns around the overflow threshold of a format, and a little and far beyond it."""
    if fmt.threshold is None:
        return landmarks(fmt)
    largest = float(fmt.largest)
    factors = [1.0 + k * float(fmt.unit) / 2 for k in range(-2, 6)] + [1.5, 2.0, 1000.0]
    values = torch.tensor([sign * largest * factor for factor in factors for sign in (1.0, -1.0)], dtype=torch.float64)
    return [int(bits) % 2**64 for bits in values.view(torch.int64)]


@st.composite
def float_pairs(draw: st.DrawFn) -> tuple[Format, tuple[int, ...], list[int], list[int]]:
    """A format, a shape, patterns of an output, and float64 patterns of its reference."""
    fmt = FORMATS[draw(st.sampled_from(sorted(FORMATS)), label="dtype")]
    shape = draw(st.sampled_from(SHAPES), label="shape")
    elements = torch.Size(shape).numel()
    few = min(elements, 6)
    pairs = []
    for _ in range(few):
        pattern = draw(patterns(fmt))
        pairs.append((pattern, draw(near_references(fmt, pattern))))
    right = draw(patterns(fmt))
    pairs += [(right, int(tensor_of([right], fmt, ()).double().view(torch.int64)) % 2**64)] * (elements - few)
    return fmt, shape, [x for x, _ in pairs], [y for _, y in pairs]


@pytest.mark.parametrize("name", sorted(FORMATS))
def test_the_oracle_decodes_as_the_framework_does(name: str) -> None:
    fmt = FORMATS[name]
    found = landmarks(fmt) if fmt.bits > 16 else list(range(2**fmt.bits))
    wide = tensor_of(found, fmt, (len(found),)).double().tolist()
    for number, value in zip(numbers(found, fmt), wide, strict=True):
        assert number.nan == math.isnan(value)
        if number.finite:
            assert (float(number.value), number.negative) == (value, math.copysign(1.0, value) < 0)


@judged_often
@pytest.mark.parametrize("kind", FLOAT_KINDS)
@given(pair=float_pairs())
def test_floats_are_judged_as_fractions_are(
    kind: str, pair: tuple[Format, tuple[int, ...], list[int], list[int]]
) -> None:
    fmt, shape, output, reference = pair
    judgement = verdict_on(
        tensor_of(output, fmt, shape), {"precise": tensor_of(reference, EXACT64, shape)}, kind=kind, dtype=fmt.name
    )
    truth = floats_rejected(kind, fmt, numbers(output, fmt), numbers(reference, EXACT64))
    event(f"{kind} {'fail' if truth.least else 'pass'}")
    assert truth.least <= rejected(judgement) <= truth.most


def numbers(found: Sequence[int], fmt: Format) -> list[Number]:
    return [decoded(pattern, fmt) for pattern in found]


@st.composite
def integer_pairs(draw: st.DrawFn) -> tuple[str, tuple[int, ...], list[int], list[int]]:
    """A dtype, a shape, an output and its reference: equal, one off, the ends of the range, or anything."""
    name = draw(st.sampled_from(sorted(INTEGERS)), label="dtype")
    bits, signed = INTEGERS[name]
    low, high = (-(2 ** (bits - 1)), 2 ** (bits - 1) - 1) if signed else (0, 2**bits - 1)
    anything = st.sampled_from([low, low + 1, 0, 1, high - 1, high]) | st.integers(low, high)
    if bits == 64:
        anything = anything | st.sampled_from([2**53 - 1, 2**53, 2**53 + 1, -(2**53) - 1])
    shape = draw(st.sampled_from(SHAPES), label="shape")
    elements = torch.Size(shape).numel()
    few = min(elements, 5)
    output = draw(st.lists(anything, min_size=few, max_size=few))
    reference = [
        max(low, min(high, value + draw(st.sampled_from([0, 0, 0, 1, -1, 2]))))
        if draw(st.booleans())
        else draw(anything)
        for value in output
    ]
    same = draw(anything)
    return name, shape, output + [same] * (elements - few), reference + [same] * (elements - few)


@judged_often
@pytest.mark.parametrize("which", ["torch", "naive", "precise"])
@pytest.mark.parametrize("kind", FLOAT_KINDS)
@given(pair=integer_pairs())
def test_integers_are_judged_as_integers(
    kind: str, which: str, pair: tuple[str, tuple[int, ...], list[int], list[int]]
) -> None:
    name, shape, output, reference = pair
    dtype = getattr(torch, name)
    judgement = verdict_on(
        torch.tensor(output, dtype=dtype).reshape(shape),
        {which: torch.tensor(reference, dtype=dtype).reshape(shape)},
        kind=kind,
        dtype=name,
    )
    assert rejected(judgement) == integers_rejected(kind, output, reference)


@judged_often
@given(
    output=st.lists(st.sampled_from([0, 1, 2**53, 2**53 + 1, 2**62 + 1, 2**63 - 1, -(2**63)]), min_size=1, max_size=3),
    off=st.sampled_from([0, 1, -1, 3000]),
)
def test_integers_beside_a_floating_reference_are_rounded_as_it_is(output: list[int], off: int) -> None:
    """A float64 reference cannot hold 2**53 + 1, which is no fault of the operator."""
    reference = [float(value + off) for value in output]
    judgement = verdict_on(
        torch.tensor(output), {"precise": torch.tensor(reference, dtype=torch.float64)}, kind="exact", dtype="int64"
    )
    assert rejected(judgement) == sum(float(x) != y for x, y in zip(output, reference, strict=True))


@judged_often
@given(
    output=st.lists(st.booleans(), max_size=4),
    reference=st.lists(st.booleans(), max_size=4),
    kind=st.sampled_from(["exact", "auto"]),
)
def test_bools_are_judged_as_bools(output: list[bool], reference: list[bool], kind: str) -> None:
    judgement = verdict_on(
        torch.tensor(output, dtype=torch.bool),
        {"torch": torch.tensor(reference, dtype=torch.bool)},
        kind=kind,
        dtype="bool",
    )
    assert (judgement.verdict is Verdict.PASS) == (output == reference)
    assert judgement.verdict in (Verdict.PASS, Verdict.FAIL)


@judged_often
@given(data=st.data(), name=st.sampled_from(["float32", "float16", "bfloat16", "float8_e4m3fn", "float64"]))
def test_indices_are_judged_by_what_they_point_at(data: st.DataObject, name: str) -> None:
    fmt = FORMATS[name]
    line = data.draw(st.lists(patterns(fmt), min_size=1, max_size=5), label="values")
    index = st.integers(-1, len(line))
    wanted = data.draw(st.lists(index, max_size=4), label="reference")
    output = [data.draw(index) if data.draw(st.booleans()) else position for position in wanted]
    judgement = verdict_on(
        torch.tensor(output, dtype=torch.int64),
        {"torch": torch.tensor(wanted, dtype=torch.int64)},
        kind="index",
        dtype=name,
        argument=tensor_of(line, fmt, (len(line),)),
        contract=Contract(index=("x", 0)),
    )
    assert rejected(judgement) == indices_rejected(output, wanted, numbers(line, fmt))


DTYPES = (*FORMATS, *INTEGERS, "bool")


@judged_often
@given(
    dtypes=st.tuples(st.sampled_from(DTYPES), st.sampled_from(DTYPES)),
    shapes=st.tuples(st.sampled_from(SHAPES), st.sampled_from(SHAPES)),
    kind=st.sampled_from(FLOAT_KINDS),
)
def test_another_shape_or_dtype_fails_whatever_the_values(
    dtypes: tuple[str, str], shapes: tuple[tuple[int, ...], tuple[int, ...]], kind: str
) -> None:
    output, reference = (torch.ones(shape).to(getattr(torch, name)) for name, shape in zip(dtypes, shapes, strict=True))
    judgement = verdict_on(output, {"torch": reference}, kind=kind, dtype=dtypes[0])
    same = dtypes[0] == dtypes[1] and shapes[0] == shapes[1]
    assert judgement.verdict is (Verdict.PASS if same else Verdict.FAIL)


@judged_often
@given(pair=float_pairs(), others=st.lists(float_pairs(), min_size=1, max_size=2), kind=st.sampled_from(FLOAT_KINDS))
def test_several_references_never_pass_what_is_beyond_nor_fail_what_one_accepts(
    pair: tuple[Format, tuple[int, ...], list[int], list[int]],
    others: list[tuple[Format, tuple[int, ...], list[int], list[int]]],
    kind: str,
) -> None:
    fmt, shape, output, reference = pair
    all_references = {"precise": reference}
    for which, (_, _, _, other) in zip(("naive", "torch"), others, strict=False):
        all_references[which] = [other[i % len(other)] if other else y for i, y in enumerate(reference)]
    tensors: dict[str, torch.Tensor] = {
        which: tensor_of(values, EXACT64, shape) for which, values in all_references.items()
    }
    if "torch" in tensors:
        tensors["torch"] = tensors["torch"].to(fmt.dtype)
    judgement = verdict_on(tensor_of(output, fmt, shape), tensors, kind=kind, dtype=fmt.name)
    against = floats_rejected(kind, fmt, numbers(output, fmt), numbers(reference, EXACT64))
    assert judgement.observation.status is Status.RAN
    if judgement.verdict is Verdict.PASS and kind != "auto":  # there the framework's own error licenses more
        assert against.least == 0
    if judgement.verdict is Verdict.FAIL:
        assert against.most > 0


INCOMPARABLE: dict[str, Callable[[], torch.Tensor]] = {
    **{
        name: (lambda name=name: torch.ones(3).to(getattr(torch, name)))
        for name in ("complex64", "complex128", "float8_e4m3fnuz", "float8_e5m2fnuz", "uint16", "uint32", "uint64")
        if hasattr(torch, name)
    },
    "meta": lambda: torch.ones(3, device="meta"),
    "nested": lambda: torch.nested.nested_tensor([torch.ones(3), torch.ones(2)], layout=torch.jagged),
}


@pytest.mark.parametrize("what", sorted(INCOMPARABLE))
@pytest.mark.parametrize("kind", [*FLOAT_KINDS, "index"])
def test_what_cannot_be_compared_is_skipped_with_its_reason(kind: str, what: str) -> None:
    judgement = verdict_on(
        INCOMPARABLE[what](), {"torch": INCOMPARABLE[what]()}, kind=kind, dtype="float32", explained=True
    )
    assert judgement.verdict is Verdict.SKIPPED
    assert "not compared yet" in (judgement.observation.reason or "")


@pytest.mark.parametrize("what", sorted(INCOMPARABLE))
def test_a_reference_that_cannot_be_compared_settles_nothing(what: str) -> None:
    judgement = verdict_on(torch.ones(3), {"torch": INCOMPARABLE[what]()}, kind="auto", dtype="float32", explained=True)
    assert judgement.verdict is Verdict.INCONCLUSIVE
    assert "not compared yet" in judgement.findings[0].statement


def test_an_argument_without_memory_is_an_error_of_the_inputs() -> None:
    meta = torch.ones(3, device="meta")
    judgement = verdict_on(torch.ones(3), {"torch": torch.ones(3)}, kind="auto", dtype="float32", argument=meta)
    assert judgement.verdict is Verdict.ERROR
    assert judgement.observation.status is Status.INPUTS_BROKEN
    assert "without memory" in (judgement.observation.reason or "")


@pytest.mark.parametrize("kind", FLOAT_KINDS)
def test_a_sparse_output_is_compared_element_by_element(kind: str) -> None:
    eye = torch.eye(3)
    sparse = eye.to_sparse()
    assert verdict_on(sparse, {"torch": sparse}, kind=kind, dtype="float32").verdict is Verdict.PASS
    assert verdict_on(sparse, {"torch": eye}, kind=kind, dtype="float32").verdict is Verdict.PASS
    assert verdict_on(sparse, {"torch": 2 * eye}, kind=kind, dtype="float32").verdict is Verdict.FAIL


@settings(judged_often, max_examples=25)
@given(pair=float_pairs(), kind=st.sampled_from(FLOAT_KINDS))
def test_the_search_for_causes_survives_every_output(
    pair: tuple[Format, tuple[int, ...], list[int], list[int]], kind: str
) -> None:
    fmt, shape, output, reference = pair
    judgement = verdict_on(
        tensor_of(output, fmt, shape),
        {"precise": tensor_of(reference, EXACT64, shape)},
        kind=kind,
        dtype=fmt.name,
        explained=True,
    )
    truth = floats_rejected(kind, fmt, numbers(output, fmt), numbers(reference, EXACT64))
    assert truth.least <= rejected(judgement) <= truth.most

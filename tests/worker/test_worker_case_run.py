"""Everything that can go wrong in a case, and whose doing the observation says it was."""

from __future__ import annotations

import re

import pytest
import torch
from worker_notation import Counting, case_of, judged, run, trail_of, unary

from opsdebug_ci import Contract, Operator, Unsupported, scalar, tensor
from opsdebug_ci.model import Cause, Observation, ReferenceKind, Status, Verdict


def twice(x):
    return x + x


def raises(error):
    def function(*args):
        raise error

    return function


def status_and_reason(observation: Observation) -> tuple[str, str | None]:
    return (str(observation.status), observation.reason)


def own(inputs, function=lambda x, y: x + y, **options) -> Operator:
    return Operator("own", function, inputs, {"torch": lambda x, y: x + y}, dims={"N": 4}, **options)


def run_own(inputs, **options) -> tuple[str, str | None]:
    """Status and reason, with the place of the callable left out."""
    status, reason = status_and_reason(run(own(inputs, **options), inputs="own", layout="own"))
    return status, reason and re.sub(rf" \({re.escape(__file__)}:[0-9]+\)", "", reason)


# -- domain -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("answer", "expected"),
    [
        (lambda case: True, ("ran", None)),
        (lambda case: None, ("ran", None)),
        (lambda case: f"N={case.dims['N']} is odd", ("skipped", "N=6 is odd")),
        (lambda case: False, ("skipped", "outside the operator's declared domain")),
        (raises(Unsupported("no AVX here")), ("skipped", "no AVX here")),
        (raises(Unsupported()), ("skipped", "unsupported")),
        (
            lambda case: case.dims["M"],
            (
                "inputs_broken",
                "`requires` of `unary` raised KeyError: 'M': "
                "it is called with the case and returns True, or a reason to skip it",
            ),
        ),
    ],
)
def test_requires_decides_the_domain(answer, expected) -> None:
    function = Counting(twice)
    assert status_and_reason(run(unary(function, requires=answer), inputs="uniform")) == expected
    assert function.launches == (3 if expected[0] == "ran" else 0)


@pytest.mark.parametrize("message", ["needs CUDA", ""])
def test_an_operator_may_say_unsupported(message: str) -> None:
    observation = run(unary(raises(Unsupported(message))))
    assert status_and_reason(observation) == ("skipped", message or "unsupported")


def test_inputs_may_say_unsupported() -> None:
    assert run_own(raises(Unsupported("only even N"))) == ("skipped", "only even N")
    declared = unary(twice)
    declared.inputs = {"x": tensor("N", values=raises(Unsupported("no such lengths")))}
    assert status_and_reason(run(declared)) == ("skipped", "no such lengths")


# -- inputs -----------------------------------------------------------------------------------------------------------

KINDS = (
    "wanted a sequence or mapping of tensors and plain values: return the arguments of the operator, e.g. "
    "`return [x, weight]`"
)
FIT = ": return one value for every argument of the operator"


@pytest.mark.parametrize(
    ("inputs", "reason"),
    [
        (lambda seed, dims, dtype: None, f"inputs of `own` returned NoneType; {KINDS}"),
        (lambda seed, dims, dtype: torch.ones(3), f"inputs of `own` returned Tensor; {KINDS}"),
        (lambda seed, dims, dtype: "xy", f"inputs of `own` returned str; {KINDS}"),
        (
            raises(ZeroDivisionError("division by zero")),
            "inputs of `own` raised ZeroDivisionError: division by zero: call it by hand with (0, {'N': 4}, 'float32')",
        ),
        (
            lambda seed, dims, dtype: [torch.ones(2)],
            "inputs of `own` returned the arguments x, which do not fit the function: missing a required argument: "
            f"'y'; its signature is (x, y){FIT}",
        ),
        (
            lambda seed, dims, dtype: {"x": torch.ones(2), "z": 1},
            "inputs of `own` returned the arguments x, z, which do not fit the function: missing a required argument: "
            f"'y'; its signature is (x, y){FIT}",
        ),
        (
            lambda seed, dims, dtype: [],
            "inputs of `own` returned the arguments none, which do not fit the function: missing a required argument: "
            f"'x'; its signature is (x, y){FIT}",
        ),
    ],
)
def test_inputs_that_are_no_arguments_are_the_inputs_fault(inputs, reason: str) -> None:
    assert run_own(inputs) == ("inputs_broken", reason)


def test_a_contract_that_names_no_argument_is_no_fault_of_ours() -> None:
    assert run_own(lambda seed, dims, dtype: [torch.ones(2), torch.ones(2)], contract=Contract(out=5)) == (
        "inputs_broken",
        "operator `own`: the contract names argument 5; the arguments are x, y: correct its `Contract`",
    )
    declared = unary(twice, contract=Contract(index=("indices", 0)))
    assert status_and_reason(run(declared)) == (
        "inputs_broken",
        "operator `unary`: the contract names argument 'indices'; the arguments are x: correct its `Contract`",
    )


def test_a_declared_argument_that_cannot_be_made_is_the_inputs_fault() -> None:
    operator = Operator(
        "scaled",
        lambda x, n: x * n,
        {"x": tensor("N"), "n": scalar(lambda dims, args: dims["M"])},
        {"torch": lambda x, n: x * n},
    )
    observation = run(operator)
    assert observation.status is Status.INPUTS_BROKEN
    assert observation.exception is not None
    assert (observation.exception.type, observation.exception.message) == ("KeyError", "'M'")


def test_inputs_of_either_form_reach_the_operator() -> None:
    def sequence(seed, dims, dtype):
        return (torch.full((dims["N"],), float(seed)), 2.0)

    def mapping(seed, dims, dtype):
        return {"y": torch.ones(dims["N"], dtype=getattr(torch, dtype)), "x": 3.0}

    for inputs in (sequence, mapping):
        observation = run(own(inputs), inputs="own", layout="own", seed=3)
        assert (observation.status, observation.outputs[0].actual.shape) == (Status.RAN, (4,))
        assert observation.outputs[0].rejected == 0


def test_a_callable_that_forgets_the_seed_still_repeats() -> None:
    made = {}

    def inputs(seed, dims, dtype):
        made.setdefault(seed, []).append(torch.randn(dims["N"]))
        return [made[seed][-1], 1.0]

    for seed in (4, 4, 5):  # each is also asked for the next seed's values
        run(own(inputs), inputs="own", layout="own", seed=seed)
    assert torch.equal(made[4][0], made[4][1])
    assert torch.equal(made[5][0], made[5][1])
    assert not torch.equal(made[4][0], made[5][0])


# -- the operator -----------------------------------------------------------------------------------------------------


def test_what_the_operator_raises_is_a_fact_about_it() -> None:
    def fails(x):
        raise ValueError("x" * 5000)

    observation = run(unary(fails))
    assert observation.status is Status.RAISED
    assert observation.reason == f"ValueError: {'x' * 5000}"[:500]
    assert observation.exception is not None
    assert (observation.exception.type, len(observation.exception.message)) == ("ValueError", 2000)
    assert observation.exception.frames[-1].startswith(f"{__file__}:")
    assert observation.exception.frames[-1].endswith(" fails")
    assert judged(unary(fails), case_of(unary(fails))).verdict is Verdict.FAIL


@pytest.mark.parametrize("error", [MemoryError("too much"), torch.OutOfMemoryError("tried to allocate 3 TiB")])
def test_running_out_of_memory_is_told_apart(error: Exception) -> None:
    assert status_and_reason(run(unary(raises(error)))) == ("out_of_memory", "out of memory")


def test_so_is_what_the_allocator_on_the_cpu_refuses() -> None:
    assert status_and_reason(run(unary(lambda x: x + torch.empty(1 << 50)))) == ("out_of_memory", "out of memory")


def test_inputs_that_the_framework_rejects_too_lie_outside_the_domain() -> None:
    observation = run(unary(raises(TypeError("no empty rows")), reference=raises(RuntimeError("neither"))))
    assert status_and_reason(observation) == (
        "skipped",
        "operator and torch reference both reject these inputs: TypeError: no empty rows",
    )


def test_without_a_torch_reference_an_exception_is_the_operators() -> None:
    operator = Operator("x", raises(TypeError("no")), {"x": tensor("N")}, {"naive": raises(TypeError("no"))})
    assert run(operator).status is Status.RAISED


@pytest.mark.parametrize(
    ("returned", "structure"),
    [
        ("done", "an output is of type `str`; wanted a tensor, an array or a number"),
        (object(), "an output is of type `object`; wanted a tensor, an array or a number"),
        ([torch.ones(6), "note"], "an output is of type `str`; wanted a tensor, an array or a number"),
    ],
)
def test_what_is_no_output_is_a_failure_of_the_operator(returned: object, structure: str) -> None:
    operator = unary(lambda x: returned)
    assert run(operator).structure == structure
    assert judged(operator, case_of(operator)).verdict is Verdict.FAIL


def test_another_number_of_outputs_is_a_failure_of_the_operator() -> None:
    operator = unary(lambda x: (x + x, x), reference=lambda x: [x + x])
    observation = run(operator)
    assert observation.structure == "the operator has 2 outputs (out0, out1), reference `torch` 1"
    assert judged(operator, case_of(operator)).verdict is Verdict.FAIL


# -- references -------------------------------------------------------------------------------------------------------


def test_a_reference_that_raises_is_a_fault_and_never_the_operators() -> None:
    operator = unary(twice, reference=raises(RuntimeError("shapes")))
    observation = run(operator, checks=("torch",))
    assert status_and_reason(observation) == (
        "reference_broken",
        f"reference `torch`: RuntimeError: shapes (at {__file__}:21)",
    )
    assert [(r.reference, r.answered, r.fault) for r in observation.references] == [(ReferenceKind.TORCH, False, True)]
    assert judged(operator, case_of(operator)).verdict is Verdict.ERROR


def test_one_reference_that_raises_leaves_the_others_to_judge() -> None:
    operator = unary(twice, reference=raises(RuntimeError("shapes")))
    operator.reference("naive")(lambda x: 2 * x.double())
    observation = run(operator)
    assert observation.status is Status.RAN
    assert [(str(r.reference), r.answered, r.fault, r.derived) for r in observation.references] == [
        ("torch", False, True, False),
        ("naive", True, False, False),
        ("precise", False, False, True),
    ]
    assert observation.outputs[0].rejected == 0
    assert judged(operator, case_of(operator)).verdict is Verdict.PASS


def test_all_references_raising_is_an_error() -> None:
    operator = unary(twice, reference=raises(RuntimeError("one")))
    operator.reference("naive")(raises(RuntimeError("two")))
    operator.reference("precise")(raises(RuntimeError("three")))
    assert status_and_reason(run(operator)) == (
        "reference_broken",
        f"reference `torch`: RuntimeError: one (at {__file__}:21)",
    )


@pytest.mark.parametrize("leaving", [SystemExit(3), KeyboardInterrupt("stop")], ids=["exit", "interrupt"])
def test_a_reference_that_leaves_is_a_fault_and_the_others_judge(leaving: BaseException) -> None:
    operator = unary(twice, reference=raises(leaving))
    operator.reference("naive")(lambda x: 2 * x)
    observation = run(operator)
    assert (observation.status, observation.outputs[0].used) == (Status.RAN, ReferenceKind.NAIVE)
    first = observation.references[0]
    assert (first.reference, first.answered, first.fault) == (ReferenceKind.TORCH, False, True)
    assert (first.reason or "").startswith(f"{type(leaving).__name__}: {leaving}")


def test_a_reference_that_leaves_in_float64_only_is_not_lifted() -> None:
    def leaves_when_lifted(x):
        if x.dtype is torch.float64:
            raise SystemExit(3)
        return 2 * x

    observation = run(unary(twice, reference=leaves_when_lifted))
    assert (observation.status, observation.outputs[0].rejected) == (Status.RAN, 0)
    by_kind = {reading.reference: reading for reading in observation.references}
    assert by_kind[ReferenceKind.TORCH].answered
    assert not by_kind[ReferenceKind.PRECISE].answered and not by_kind[ReferenceKind.PRECISE].fault


@pytest.mark.parametrize("leaving", [SystemExit(3), KeyboardInterrupt("stop")], ids=["exit", "interrupt"])
def test_an_operator_that_leaves_has_raised(leaving: BaseException) -> None:
    observation = run(unary(raises(leaving)))
    assert status_and_reason(observation) == ("raised", f"{type(leaving).__name__}: {leaving}")
    assert observation.exception is not None and observation.exception.type == type(leaving).__name__


def test_a_reference_that_says_unsupported_is_absent() -> None:
    operator = unary(twice)
    operator.reference("naive")(raises(Unsupported("too slow for this size")))
    naive = next(r for r in run(operator).references if r.reference is ReferenceKind.NAIVE)
    assert (naive.answered, naive.fault, naive.reason) == (False, False, "too slow for this size")


def test_a_reference_that_returns_no_output_is_a_fault_of_its_own() -> None:
    observation = run(unary(twice, reference=lambda x: "2x"), checks=("torch",))
    assert observation.status is Status.REFERENCE_BROKEN
    assert "an output is of type `str`" in (observation.reason or "")


def test_a_reference_that_writes_its_arguments_disturbs_nobody() -> None:
    def writes(x):
        return x.mul_(2)

    operator = unary(twice, reference=writes)
    operator.reference("naive")(writes)
    assert judged(operator, case_of(operator)).verdict is Verdict.PASS


def test_an_operator_with_a_naive_reference_alone_is_judged_fairly() -> None:
    """Its tolerance comes from the reference at hand: a float32 sum of 4096 terms may be off by its rounding."""
    operator = Operator(
        "total",
        lambda x: x.sum(),
        {"x": tensor("N")},
        {"naive": lambda x: float(x.double().sum())},
        kind="reduction",
        dims={"N": 4096},
    )
    for seed in range(5):
        assert judged(operator, case_of(operator, seed=seed)).verdict is Verdict.PASS
    wrong = Operator(
        "total",
        lambda x: x[: x.numel() // 2].sum(),
        operator.inputs,
        {"naive": operator.references["naive"]},
        kind="reduction",
    )
    assert judged(wrong, case_of(wrong, N=4096)).verdict is Verdict.FAIL


# -- faults of ours ---------------------------------------------------------------------------------------------------


def test_breadcrumbs_tell_what_begins() -> None:
    operator = unary(twice)
    operator.reference("naive")(twice)
    assert trail_of(operator) == [
        "inputs",
        "function",
        "reference: torch",
        "reference: naive",
        "reference: precise, derived from torch",
        "compare",
        "reference: evaluations of torch",
        "function: properties",
    ]


def test_a_fault_of_ours_is_not_caught_as_the_operators() -> None:
    """A tensor that refuses to be copied is foreseen nowhere, so what it raises in our own code must escape."""

    class Uncopied(torch.Tensor):
        def clone(self, **_: object) -> torch.Tensor:
            raise RuntimeError("copy refused")

    with pytest.raises(RuntimeError, match="copy refused"):
        run(unary(lambda x: (2 * x).as_subclass(Uncopied)))


def test_an_exact_case_passes_and_a_wrong_one_fails() -> None:
    assert judged(unary(twice), case_of(unary(twice))).verdict is Verdict.PASS
    wrong = judged(unary(lambda x: -2 * x), case_of(unary(twice)))
    assert (wrong.verdict, wrong.findings[0].cause) == (Verdict.FAIL, Cause.SIGN_FLIP)


def test_durations_add_up() -> None:
    durations = run(unary(twice)).durations
    assert durations is not None
    assert 0 < durations.function_ns < durations.total_ns
    assert 0 < durations.reference_ns < durations.total_ns
    assert durations.overhead_ns > 0

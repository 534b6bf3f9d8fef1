"""A small notation for observations: `ran(output(rejected=3, worst="1.5 for 1 allowed 0.1"))`."""

from __future__ import annotations

import re
from dataclasses import replace

from opsdebug_ci.judge import judge
from opsdebug_ci.model import (
    Accuracy,
    Case,
    ClassMismatch,
    Confidence,
    Contract,
    ExceptionFacts,
    Family,
    Judgement,
    Kind,
    Layout,
    Observation,
    OutputReading,
    Phase,
    ProcessFacts,
    Quantiles,
    ReferenceKind,
    ReferenceReading,
    Status,
    TensorFacts,
    Vote,
    WorstElement,
    Zone,
)

NONE = Quantiles(p50=None, p95=None, p99=None, max=None)


def case(operator="softmax", dims="B=1,S=4,H=8", dtype="float32", inputs="normal", layout="contiguous", seed=0):
    return Case(
        operator=operator,
        dims={name: int(size) for name, size in (pair.split("=") for pair in dims.split(",") if pair)},
        dtype=dtype,
        layout=Layout(layout),
        inputs=Family(inputs),
        seed=seed,
    )


def quantiles(text):
    """`quantiles("0 1 2 3")`: P50, P95, P99, max."""
    p50, p95, p99, top = (float(word) for word in text.split())
    return Quantiles(p50=p50, p95=p95, p99=p99, max=top)


def worst(text):
    """`worst("1.5 for 1 allowed 0.1 at 3,17 [0.4]")`: got, wanted, green bound, index, amber bound."""
    found = re.fullmatch(r"(\S+) for (\S+) allowed (\S+)(?: at (\S+))?(?: \[(\S+)\])?", text)
    assert found, text
    got, wanted, tolerance, index, bound = found.groups()
    return WorstElement(
        index=tuple(int(i) for i in (index or "0").split(",")),
        actual=float(got),
        expected=float(wanted),
        tolerance=float(tolerance),
        rounding=float(tolerance) / 2,
        internal=float(tolerance) / 2,
        worst_case=float(bound) if bound else 2 * float(tolerance),
    )


def cells(text):
    """`cells("nan->normal:3 +0->-0:1")`: confusion cells with their counts."""
    found = re.findall(r"(\S+?)->(\S+?):(\d+)", text)
    return tuple(ClassMismatch(expected=e, actual=a, count=int(n), first_index=(0, 5)) for e, a, n in found)


def output(name="out0", *, compared=100, rejected=0, disputed=0, zone=None, classes="", bad=None, votes=(), **facts):
    """One output. Its zone follows from `rejected` and `disputed` unless given; `bad` is a `worst(...)`."""
    beyond = rejected + disputed
    found = Zone(zone) if zone else Zone.RED if beyond else Zone.GREEN
    shape, dtype = facts.get("shape", (4, 25)), facts.get("dtype", "float32")
    accuracy = Accuracy(
        output=name,
        compared=compared,
        cosine=facts.get("cosine", 1.0 if compared else None),
        max_abs_err=facts.get("max_abs_err", 0.0 if compared else None),
        max_abs_index=(0, 0) if compared else None,
        rel_err=facts.get("rel_err", NONE),
        ulp=facts.get("ulp", NONE),
        significant_digits=facts.get("significant_digits"),
        misrounding_rate=facts.get("misrounding_rate"),
        zone=found,
        over_tolerance=facts.get("over_tolerance", beyond),
        over_worst_case=beyond,
        class_mismatches=cells(classes),
        worst=worst(bad) if bad else None,
        bound=facts.get("bound", "rounding + internal"),
    )
    return OutputReading(
        name=name,
        kind=Kind(facts.get("kind", "softmax")),
        actual=TensorFacts(shape=shape, dtype=dtype),
        expected=TensorFacts(shape=facts.get("wanted_shape", shape), dtype=facts.get("wanted_dtype", dtype)),
        used=ReferenceKind(facts.get("used", "precise")),
        accuracy=None if facts.get("wanted_shape", shape) != shape or facts.get("blind") else accuracy,
        rejected=rejected,
        disputed=disputed,
        votes=tuple(votes),
        confidence=Confidence(facts.get("confidence", "high")),
    )


def vote(reference="torch", elements=5, disagreement=8.0, sides=0):
    return Vote(
        reference=ReferenceKind(reference),
        disagreement=disagreement,
        elements=elements,
        sides_with_operator=sides,
    )


def references(text):
    """`references("precise torch! naive?")`: answered, broke (!), absent (?)."""
    return tuple(
        ReferenceReading(
            reference=ReferenceKind(word.rstrip("!?")),
            derived=False,
            answered=word[-1] not in "!?",
            reason={"!": "it raised", "?": "not declared"}.get(word[-1]),
            fault=word.endswith("!"),
        )
        for word in text.split()
    )


def ran(*outputs, answered="precise torch", **facts):
    return Observation(case_id="", status=Status.RAN, outputs=outputs, references=references(answered), **facts)


def process(phase="function", signal="SIGSEGV", exit_code=None, place=None):
    words = "last words"
    return ProcessFacts(
        signal=signal, exit_code=exit_code, phase=Phase(phase), detail=None, log_tail=words, place=place
    )


def ended(status="crashed", **facts):
    return Observation(case_id="", status=Status(status), **facts)


def raised(type_="ValueError", message="bad shape", frames=("ops.py:7 softmax",)):
    facts = ExceptionFacts(type=type_, message=message, frames=frames)
    return Observation(case_id="", status=Status.RAISED, exception=facts)


def judged(observation, contract=None, **axes) -> Judgement:
    which = case(**axes)
    return judge(which, replace(observation, case_id=which.id), contract or Contract())


def causes(judgement):
    return [str(finding.cause) for finding in judgement.findings]

"""One output against all its references: accuracy, votes, confidence.

Decides which reference is used (precise, else naive, else torch), which elements are rejected (beyond the worst case
against every reference) and which are disputed (another reference accepts them). The verdict is the judge's.
"""

from __future__ import annotations

from dataclasses import replace

import torch

from opsdebug_ci.model.accuracy import Accuracy, ClassMismatch, WorstElement
from opsdebug_ci.model.dtype import compute_format
from opsdebug_ci.model.observation import OutputReading, TensorFacts, Vote
from opsdebug_ci.model.vocabulary import Confidence, Kind, ReferenceKind, Zone
from opsdebug_ci.numerics.bounds import Bound, BoundTerms, bound_of, licensed
from opsdebug_ci.numerics.classes import confusion, unravel
from opsdebug_ci.numerics.compared import ComparedOutput
from opsdebug_ci.numerics.disagreement import disagreement
from opsdebug_ci.numerics.failure import Failure
from opsdebug_ci.numerics.formats import dtype_name, float_format, rounded
from opsdebug_ci.numerics.readings import read
from opsdebug_ci.numerics.violations import (
    Violations,
    float_violations,
    index_violations,
    infer_index_axis,
    integer_violations,
    strict_codes,
)

PREFERENCE = (ReferenceKind.PRECISE, ReferenceKind.NAIVE, ReferenceKind.TORCH)
"""Which reference the accuracy is against, best first."""

QUARTER = 0.25
"""Two float64 references agree when they differ by at most this share of the operator's tolerance."""


def compare(output: ComparedOutput) -> OutputReading:
    """Read one output, as `examine` does."""
    return examine(output)[0]


def examine(output: ComparedOutput, *, passing: bool = False) -> tuple[OutputReading, Failure | None]:
    """Read one output, and hand out what explains it when an element of it is rejected.

    With `passing` its elements are handed out even when none is; `bad` may then be False everywhere. Shapes that
    differ leave `accuracy` None; nothing else can be said then.
    """
    used = _used(output)
    wanted = output.references[used]
    native = output.references.get(ReferenceKind.TORCH)
    facts = TensorFacts(shape=tuple(wanted.shape), dtype=dtype_name((native if native is not None else wanted).dtype))
    if used is not ReferenceKind.TORCH and native is None:
        facts = TensorFacts(shape=facts.shape, dtype=dtype_name(output.actual.dtype))
    reading = OutputReading(
        name=output.name,
        kind=output.kind,
        actual=TensorFacts(shape=tuple(output.actual.shape), dtype=dtype_name(output.actual.dtype)),
        expected=facts,
        used=used,
        accuracy=None,
        rejected=0,
        disputed=0,
        votes=(),
        confidence=Confidence.MEDIUM,
    )
    if output.actual.shape != wanted.shape:
        return reading, None
    if wanted.is_floating_point() and not output.actual.is_floating_point():
        output = replace(output, actual=output.actual.double())
    comparison = _Comparison(output, used)
    reading = comparison.reading(reading)
    return reading, comparison.failure() if reading.rejected or passing else None


def _used(output: ComparedOutput) -> ReferenceKind:
    """The best reference; where they differ in shape, the best of those that share the output's, if there is one."""
    known = [which for which in PREFERENCE if which in output.references]
    fitting = [which for which in known if output.references[which].shape == output.actual.shape]
    return (fitting or known)[0]


class _Comparison:
    """The steps of one comparison, which share the bound and the violations."""

    def __init__(self, output: ComparedOutput, used: ReferenceKind) -> None:
        self._output = output
        self._used = used
        self._expected = _comparable(output.references[used], output.actual)
        self._others = {
            which: _comparable(values, output.actual)
            for which, values in output.references.items()
            if which is not used and values.shape == output.actual.shape
        }
        self._bound = self._make_bound()
        self._violations = self._violated(self._expected)

    def reading(self, blank: OutputReading) -> OutputReading:
        """(1) red against the used reference; (2) who accepts those; (3) votes; (4) confidence."""
        red = self._violations.red
        accepted = torch.zeros_like(red)
        votes = []
        for which, values in self._others.items():
            pardon = red & ~self._violated(values).red if bool(red.any()) else torch.zeros_like(red)
            accepted = accepted | pardon
            votes.append(self._vote(which, values, int(pardon.sum())))
        votes += self._misshapen_votes()
        return OutputReading(
            name=blank.name,
            kind=blank.kind,
            actual=blank.actual,
            expected=blank.expected,
            used=blank.used,
            accuracy=self._accuracy(),
            rejected=int((red & ~accepted).sum()),
            disputed=int((red & accepted).sum()),
            votes=tuple(votes),
            confidence=self._confidence(votes),
        )

    def failure(self) -> Failure:
        """What rules see of this output; it has an element that is rejected."""
        output, bound = self._output, self._bound
        spread = output.spread
        fits = spread is not None and spread.deviation.shape == self._expected.shape
        return Failure(
            output=output.name,
            kind=output.kind,
            actual=output.actual,
            expected=self._expected,
            bad=self._violations.over,
            tolerance=None if bound is None else bound.tolerance,
            deviation=spread.deviation if spread is not None and fits and bound is not None else None,
            compute=output.arithmetic.compute,
            accumulate=output.arithmetic.accumulate,
            arguments=output.arguments,
            dims=output.dims,
        )

    def _make_bound(self) -> Bound | None:
        if not self._output.actual.is_floating_point() or not self._expected.is_floating_point():
            return None
        arithmetic = self._output.arithmetic
        terms = BoundTerms(
            kind=self._output.kind,
            output=float_format(self._output.actual.dtype),
            compute=arithmetic.compute,
            accumulate=arithmetic.accumulate,
            flushes="ftz" in self._output.contract.allow or self._framework_flushes(),
            self_reference=self._output.kind is not Kind.QUANTIZE
            and (self._used is ReferenceKind.TORCH or arithmetic.compute.name == "float64"),
        )
        spread = self._output.spread
        if spread is not None and spread.deviation.shape != self._expected.shape:
            spread = None  # measured on a reference of another shape
        bound = bound_of(self._expected, spread, terms, self._output.contract)
        native = self._others.get(ReferenceKind.TORCH)
        open_kind = self._output.kind is Kind.AUTO and not self._output.contract.overrides_tolerance
        return bound if native is None or not open_kind else licensed(bound, self._expected, native)

    def _framework_flushes(self) -> bool:
        """The framework's own result is zero where the truth is a subnormal of the compute format."""
        native = self._others.get(ReferenceKind.TORCH)
        if native is None or self._output.kind is Kind.EXACT:
            return False
        size = self._expected.abs()
        tiny = (size > 0) & (size < compute_format(dtype_name(self._output.actual.dtype)).min_normal)
        return bool((tiny & (native == 0) & (size > float_format(self._output.actual.dtype).min_subnormal)).any())

    def _violated(self, expected: torch.Tensor) -> Violations:
        output = self._output
        if self._bound is not None:
            found = float_violations(output.actual, expected, self._bound, float_format(output.actual.dtype))
            return strict_codes(found) if output.kind is Kind.QUANTIZE else found
        axis = self._index_axis()
        if axis is not None and output.index_source is not None:
            return index_violations(output.actual, expected, output.index_source, axis)
        return integer_violations(output.actual, expected, output.kind)

    def _index_axis(self) -> int | None:
        output = self._output
        if output.kind is not Kind.INDEX or output.index_source is None:
            return None
        indices, source = output.actual, output.index_source
        if output.index_axis is None or indices.ndim == 0:
            return infer_index_axis(indices, source)
        fits = source.ndim > 0 and indices.ndim in (source.ndim, source.ndim - 1)
        return output.index_axis % source.ndim if fits else None

    def _vote(self, which: ReferenceKind, values: torch.Tensor, pardoned: int) -> Vote:
        if self._bound is None:
            return self._integer_vote(which, values, pardoned)
        allowed = self._allowance(which, self._bound)
        ratio, differing = disagreement(values, self._expected, allowed, self._output.actual.dtype)
        return Vote(reference=which, disagreement=ratio, elements=differing, sides_with_operator=pardoned)

    def _integer_vote(self, which: ReferenceKind, values: torch.Tensor, pardoned: int) -> Vote:
        """Integers have no distance worth telling; indices that break ties otherwise do not disagree."""
        free = self._output.kind is Kind.INDEX and self._index_axis() is not None
        differing = 0 if free else int((values != self._expected).sum())
        return Vote(reference=which, disagreement=None, elements=differing, sides_with_operator=pardoned)

    def _misshapen_votes(self) -> list[Vote]:
        """References of another shape disagree on every element."""
        actual = self._output.actual
        return [
            Vote(reference=which, disagreement=None, elements=max(1, actual.numel()), sides_with_operator=0)
            for which, values in self._output.references.items()
            if values.shape != actual.shape
        ]

    def _allowance(self, which: ReferenceKind, bound: Bound) -> torch.Tensor:
        """How far another reference may be off: torch the worst case of any operator; one in float64 a quarter of the
        tolerance, or all of it where the operator works in float64 too."""
        if which is ReferenceKind.TORCH or self._used is ReferenceKind.TORCH:
            return bound.worst_case
        return bound.tolerance if self._output.arithmetic.compute.name == "float64" else QUARTER * bound.tolerance

    def _confidence(self, votes: list[Vote]) -> Confidence:
        dissent = [vote for vote in votes if vote.elements]
        agreeing = [vote for vote in votes if not vote.elements]
        if dissent:
            return Confidence.MEDIUM if agreeing else Confidence.LOW
        independent = [
            vote
            for vote in agreeing
            if not (self._output.derived_precise and {vote.reference, self._used} <= _SAME_FORMULA)
        ]
        return Confidence.HIGH if independent else Confidence.MEDIUM

    def _accuracy(self) -> Accuracy:
        violations, actual = self._violations, self._output.actual
        readings = read(actual if self._bound else actual.to(torch.int64), self._expected)
        over, red = int(violations.over.sum()), int(violations.red.sum())
        return Accuracy(
            output=self._output.name,
            compared=readings.compared,
            cosine=readings.cosine,
            max_abs_err=readings.max_abs_err,
            max_abs_index=readings.max_abs_index,
            rel_err=readings.rel_err,
            ulp=readings.ulp,
            significant_digits=readings.significant_digits,
            misrounding_rate=readings.misrounding_rate,
            zone=Zone.RED if red else Zone.AMBER if over else Zone.GREEN,
            over_tolerance=over,
            over_worst_case=red,
            class_mismatches=self._class_cells(),
            worst=self._worst(),
            bound="integers must be equal" if self._bound is None else self._bound.text,
        )

    def _class_cells(self) -> tuple[ClassMismatch, ...]:
        if self._bound is None or not bool(self._violations.red.any()):
            return ()
        actual = self._output.actual
        wanted = torch.where(self._violations.red, rounded(self._expected, actual.dtype), actual)
        return confusion(actual.contiguous(), wanted.contiguous())

    def _worst(self) -> WorstElement | None:
        flat = self._violations.worst
        if flat is None:
            return None
        bound = self._bound

        def at(values: torch.Tensor | None) -> float | None:
            return None if values is None else float(values.flatten()[flat])

        return WorstElement(
            index=unravel(flat, tuple(self._expected.shape)),
            actual=at(self._output.actual.double()),
            expected=at(self._expected.double()),
            tolerance=at(bound.tolerance if bound else None),
            rounding=at(bound.rounding if bound else None),
            internal=at(bound.tolerance - bound.rounding if bound else None),
            worst_case=at(bound.worst_case if bound else None),
        )


_SAME_FORMULA = {ReferenceKind.TORCH, ReferenceKind.PRECISE}


def _comparable(reference: torch.Tensor, actual: torch.Tensor) -> torch.Tensor:
    """float64 for a floating comparison; integers stay integers where both are."""
    if reference.is_floating_point() or actual.is_floating_point():
        return reference.to(actual.device).double()
    return reference.to(actual.device, torch.int64)

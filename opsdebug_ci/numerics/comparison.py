"""One output against all its references: accuracy, votes, confidence.

Decides which reference is used (precise, else naive, else torch), which elements are rejected (beyond the worst case
against every reference) and which are disputed (another reference accepts them). The verdict is the judge's.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import torch

from opsdebug_ci.model.accuracy import Accuracy, ClassMismatch, WorstElement
from opsdebug_ci.model.observation import OutputReading, TensorFacts, Vote
from opsdebug_ci.model.vocabulary import Confidence, Kind, ReferenceKind, Zone
from opsdebug_ci.numerics.bounds import Bound, BoundTerms, bound_of, deviation_multiple, licensed
from opsdebug_ci.numerics.classes import confusion, unravel
from opsdebug_ci.numerics.compared import ComparedOutput
from opsdebug_ci.numerics.excuses import Judged, comparable, excused
from opsdebug_ci.numerics.failure import Failure
from opsdebug_ci.numerics.formats import dtype_name, float_format, rounded
from opsdebug_ci.numerics.readings import read
from opsdebug_ci.numerics.reproach import Examined, Reproach, accepts, reproach
from opsdebug_ci.numerics.spread import Spread
from opsdebug_ci.numerics.violations import (
    Violations,
    float_violations,
    index_violations,
    infer_index_axis,
    integer_violations,
    strict_codes,
)
from opsdebug_ci.numerics.voting import Panel, integer_confidence, misshapen_votes

HOPELESS_SAMPLES = 2
"""Noisy runs of each kind after which an output may be given up."""

HOPELESS = 64.0
"""Times the worst case of these runs that an element is off which no further run accepts: both of two normal errors are
below 2.5 / 64 standard deviations in 0.1 % of cases, and 2.5 are the largest of eight."""

HOPELESS_ELEMENTS = 4
"""Such elements that are enough, or half of all."""

UNSPREAD = (Kind.EXACT, Kind.INDEX, Kind.QUANTIZE)
"""Kinds whose steps have no error to measure."""

PREFERENCE = (ReferenceKind.PRECISE, ReferenceKind.NAIVE, ReferenceKind.TORCH)
"""Which reference the accuracy is against, best first."""


def compare(output: ComparedOutput) -> OutputReading:
    """Read one output, as `examine` does."""
    return examine(output)[0]


def examine(
    output: ComparedOutput, *, passing: bool = False, excusing: bool = True
) -> tuple[OutputReading, Failure | None]:
    """Read one output, and hand out what explains it when an element of it is rejected.

    With `passing` its elements are handed out even when none is; `bad` may then be False everywhere. Without `excusing`
    no other evaluation is asked about what is red, for an output that is known to be wrong. Shapes that
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
    comparison = _settled(output, used)
    reading = comparison.reading(reading, excusing=excusing)
    return reading, comparison.failure() if reading.rejected or passing else None


def _settled(output: ComparedOutput, used: ReferenceKind) -> _Comparison:
    """The comparison with as little noise as settles it: an output within the tolerance of few noisy runs is right."""
    source = output.evaluate() if output.actual.is_floating_point() and output.kind not in UNSPREAD else None
    if source is None:
        return _Comparison(output, used)
    for samples in source.levels:
        spread = output.adjust(source.spread(output.position, samples), False)
        comparison = _Comparison(replace(output, spread=spread), used)
        if comparison.is_settled:
            return comparison
        if samples == HOPELESS_SAMPLES:
            spread = output.adjust(source.spread(output.position, samples, full=True), True)
            comparison = _Comparison(replace(output, spread=spread), used)
            if comparison.is_hopeless:
                return comparison
    return _Comparison(replace(output, spread=output.adjust(source.spread(output.position), True)), used)


def offer_choices(outputs: Sequence[ComparedOutput]) -> None:
    """Let the outputs that follow from an order be judged by the order the operator chose, where that is as right."""
    for output in outputs:
        used = output.references[_used(output)]
        if output.actual.is_floating_point() or used.is_floating_point() or output.actual.shape != used.shape:
            continue
        if torch.equal(output.actual.to(torch.int64), used.to(output.actual.device, torch.int64)):
            continue
        source = output.evaluate()
        if source is not None and not _Comparison(output, _used(output)).is_red:
            source.given(output.position, output.actual)


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
        self._expected = comparable(output.references[used], output.actual)
        self._others = {
            which: comparable(values, output.actual)
            for which, values in output.references.items()
            if which is not used and values.shape == output.actual.shape
        }
        floats = output.actual.is_floating_point() and self._expected.is_floating_point()
        self._bound = self._granted(self._expected, output.spread) if floats else None
        self._beyond = self._violated(self._expected)
        self._reproach = self._make_reproach()
        self._violations = self._with_reproach()

    @property
    def is_red(self) -> bool:
        """An element is beyond the worst case against the used reference."""
        return bool(self._violations.red.any())

    @property
    def is_settled(self) -> bool:
        """More noise can change nothing: no element is beyond the tolerance but those of a wrong class, no more are
        misrounded than the tolerance alone explains, and the references agree."""
        held, found = self._reproach, self._violations
        doubtful = bool((found.over & ~found.classes).any()) or (held is not None and held.flagged)
        return not doubtful and not any(self._vote(which, self._others[which], 0).elements for which in self._peers())

    @property
    def is_hopeless(self) -> bool:
        """Red whatever further runs say: only another answer that is as right can excuse it."""
        bound = self._bound
        if bound is None or not self.is_red:
            return False
        error = (self._output.actual.double() - self._expected).abs()
        far = self._violations.red & (error > HOPELESS * bound.worst_case)
        return int(far.sum()) >= min(HOPELESS_ELEMENTS, (far.numel() + 1) // 2)

    def _peers(self) -> list[ReferenceKind]:
        """References as precise as the used one, which more noise may reconcile with it."""
        wide = self._output.arithmetic.compute.name == "float64"
        return [which for which in self._others if wide or which is not ReferenceKind.TORCH]

    def reading(self, blank: OutputReading, *, excusing: bool) -> OutputReading:
        """(1) red against the used reference; (2) what another right evaluation shows as well is no violation; (3) who
        accepts the rest; (4) votes; (5) confidence."""
        forgiven = self._excused() if excusing and bool(self._violations.red.any()) else None
        if forgiven is not None and bool(forgiven.any()):
            found = self._violations
            self._violations = replace(found, over=found.over & ~forgiven, red=found.red & ~forgiven)
        red = self._violations.red
        accepted = torch.zeros_like(red)
        votes = []
        for which, values in self._others.items():
            pardon = self._pardoned(which, values) if bool(red.any()) else torch.zeros_like(red)
            accepted = accepted | pardon
            votes.append(self._vote(which, values, int(pardon.sum())))
        votes += misshapen_votes(self._output.references, self._output.actual)
        reproach = self._reproach
        return replace(
            blank,
            accuracy=self._accuracy(),
            rejected=int((red & ~accepted).sum()),
            disputed=int((red & accepted).sum()),
            votes=tuple(votes),
            confidence=self._confidence(votes),
            misrounding=None if reproach is None else reproach.misrounding,
            bias=None if reproach is None else reproach.bias,
            worse_than_framework=0 if reproach is None else reproach.worse_slices,
            unspecified=0 if forgiven is None else int(forgiven.sum()),
        )

    def _granted(self, expected: torch.Tensor, spread: Spread | None) -> Bound:
        """Bounds around `expected`."""
        output, native = self._output, self._others.get(ReferenceKind.TORCH)
        terms = BoundTerms(
            kind=output.kind,
            output=float_format(output.actual.dtype),
            compute=output.arithmetic.compute,
            accumulate=output.arithmetic.accumulate,
            flushes="ftz" in output.contract.allow,
            self_reference=output.kind is not Kind.QUANTIZE
            and (self._used is ReferenceKind.TORCH or output.arithmetic.compute.name == "float64"),
        )
        if spread is not None and spread.deviation.shape != expected.shape:
            spread = None  # measured on a reference of another shape
        bound = bound_of(expected, spread, terms, output.contract)
        if native is None or output.kind is not Kind.AUTO or output.contract.overrides_tolerance:
            return bound
        return licensed(bound, expected, native, output.actual.double(), None if spread is None else spread.low)

    def _bound_around(self, expected: torch.Tensor) -> Bound:
        """The bound; where the used reference is not finite but another answer is, that of finite arguments."""
        bound, source = self._bound, self._output.evaluate()
        unmeasured = ~torch.isfinite(self._expected) & torch.isfinite(expected)
        if bound is None or bound.exact or source is None or not bool(unmeasured.any()):
            return bound  # type: ignore[return-value]  # not asked of integers
        found = self._granted(expected, source.without_special.spread(self._output.position))
        return replace(
            bound,
            tolerance=torch.where(unmeasured, found.tolerance, bound.tolerance),
            worst_case=torch.where(unmeasured, found.worst_case, bound.worst_case),
        )

    def _excused(self) -> torch.Tensor:
        output = self._output
        native = self._others.get(ReferenceKind.TORCH)
        derived = output.derived_precise and self._used is ReferenceKind.PRECISE
        return excused(
            Judged(
                output=output,
                expected=self._expected,
                native=native,
                formula=native if derived else None,
                bound=self._bound,
                beyond=self._beyond.red,
                found=self._violations,
                violated=self._violated,
            )
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
            compared=output,
        )

    def _violated(self, expected: torch.Tensor) -> Violations:
        output = self._output
        if self._bound is not None:
            bound = self._bound if expected is self._expected else self._bound_around(expected)
            found = float_violations(output.actual, expected, bound, float_format(output.actual.dtype))
            return strict_codes(found) if output.kind is Kind.QUANTIZE else found
        return self._integer_violated(expected)

    def _integer_violated(self, expected: torch.Tensor) -> Violations:
        output, found = self._output, integer_violations(self._output.actual, expected, self._output.kind)
        source = output.evaluate() if bool(found.over.any()) and output.kind is not Kind.EXACT else None
        ordered = None if source is None else source.order_behind(output.position)
        if ordered is not None:
            values, along, deviation = ordered
            allowed = deviation_multiple(values.numel()) * deviation
            return index_violations(output.actual, expected, values, along, allowed)
        axis = self._index_axis()
        if axis is not None and output.index_source is not None:
            return index_violations(output.actual, expected, output.index_source, axis)
        return found

    def _index_axis(self) -> int | None:
        output = self._output
        if output.kind is not Kind.INDEX or output.index_source is None:
            return None
        indices, source = output.actual, output.index_source
        if output.index_axis is None or indices.ndim == 0:
            return infer_index_axis(indices, source)
        fits = source.ndim > 0 and indices.ndim in (source.ndim, source.ndim - 1)
        return output.index_axis % source.ndim if fits else None

    def _make_reproach(self) -> Reproach | None:
        examined = self._examined()
        return None if examined is None else reproach(examined, self._beyond.over)

    def _examined(self) -> Examined | None:
        """None where nothing but the bounds can be held against the output."""
        output, reference = self._output, self._output.references[self._used]
        if self._bound is None or output.contract.overrides_tolerance or reference.dtype is not torch.float64:
            return None
        native = output.references.get(ReferenceKind.TORCH)
        fits = native is not None and native.shape == output.actual.shape and native.dtype is output.actual.dtype
        return Examined(
            kind=output.kind,
            actual=output.actual,
            expected=self._expected,
            native=native.to(output.actual.device) if fits and native is not None else None,
            bound=self._bound,
            output=float_format(output.actual.dtype),
            compute=output.arithmetic.compute,
        )

    def _with_reproach(self) -> Violations:
        """The violations, reproached elements included: red where they are judged, amber elsewhere."""
        found, held = self._beyond, self._reproach
        if held is None or not bool(held.elements.any()):
            return found
        red = found.red | held.elements if held.judged else found.red
        return replace(found, over=found.over | held.elements, red=red)

    def _pardoned(self, which: ReferenceKind, values: torch.Tensor) -> torch.Tensor:
        """Red elements that another reference accepts; reproached ones only where it shows the same, or is as good."""
        accepted = self._violations.red & ~self._violated(values).red
        held, examined = self._reproach, self._examined()
        if held is None or not held.judged or examined is None:
            return accepted
        only_reproached = held.elements & ~self._beyond.red
        if which is ReferenceKind.TORCH:
            return accepted & (~only_reproached | (values == self._output.actual.double()))
        return accepted & (~only_reproached | accepts(values, examined))

    def _vote(self, which: ReferenceKind, values: torch.Tensor, pardoned: int) -> Vote:
        panel = self._panel()
        return self._integer_vote(which, values, pardoned) if panel is None else panel.vote(which, pardoned)

    def _panel(self) -> Panel | None:
        if self._bound is None:
            return None
        return Panel(
            used=self._used,
            values={self._used: self._expected, **self._others},
            bound=self._bound,
            dtype=self._output.actual.dtype,
            wide=self._output.arithmetic.compute.name == "float64",
            derived_precise=self._output.derived_precise,
            narrow=frozenset(w for w, v in self._output.references.items() if v.dtype is not torch.float64),
        )

    def _integer_vote(self, which: ReferenceKind, values: torch.Tensor, pardoned: int) -> Vote:
        """Integers have no distance worth telling; indices that break ties otherwise do not disagree."""
        free = self._output.kind is Kind.INDEX and self._index_axis() is not None
        differing = 0 if free else int((values != self._expected).sum())
        return Vote(reference=which, disagreement=None, elements=differing, sides_with_operator=pardoned)

    def _confidence(self, votes: list[Vote]) -> Confidence:
        panel = self._panel()
        if panel is None or any(vote.reference not in panel.values for vote in votes):
            return integer_confidence(votes, self._used, derived_precise=self._output.derived_precise)
        return panel.confidence(votes)

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

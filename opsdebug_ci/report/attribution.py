"""`opsdebug attribute` in words: what separates bad elements from good ones, and the region against the rest.

Decides which split is worth a sentence. Claims nothing about elements that are not there: a region without bad elements
is said to have none.
"""

from __future__ import annotations

import shlex
from collections.abc import Iterator, Sequence

from opsdebug_ci.model.accuracy import Accuracy
from opsdebug_ci.model.attribution import Alignment, RegionReading, Relation, Split, TensorSummary, ValueSummary
from opsdebug_ci.model.document import ObservationDocument
from opsdebug_ci.model.inquiry import AttributionDocument
from opsdebug_ci.model.region import Span, region_text
from opsdebug_ci.report import figures
from opsdebug_ci.report.escape import plain
from opsdebug_ci.report.subject import ending_lines, heading_lines
from opsdebug_ci.report.table import aligned

TELLING = 0.9
"""Balanced accuracy from which a split is a conclusion; below it is the best there is, and said to be no more."""

RUN = "opsdebug run "
"""How the command that reruns a case begins; `attribute` takes the same options, repeats aside."""

NEARBY = 5
"""Elements on either side of the worst one that are worth a look."""

FEWEST = 3
"""Bad and good elements below which any feature separates them by chance."""

HEADER = (
    "tensor",
    "where",
    "count",
    "min",
    "max",
    "mean",
    "std",
    "|x| P50",
    "|x| P99",
    "NaN",
    "inf",
    "zero",
    "subnormal",
)


def conclusion(reading: RegionReading) -> tuple[str, ...]:
    """Sentences, the most telling first."""
    return tuple(_sentences(reading))


def _sentences(reading: RegionReading) -> Iterator[str]:
    inside, outside = reading.inside, reading.outside
    if not inside.bad + outside.bad:
        yield f"no element of `{reading.output}` is bad, in the region or outside it"
        return
    best = reading.splits[0] if reading.splits else None
    if best is None:
        total = inside.elements + outside.elements
        yield f"all {total:,} elements of `{reading.output}` are bad: nothing separates them"
    elif min(best.bad, best.good) < FEWEST:
        few = f"{best.bad:,} bad" if best.bad < best.good else f"{best.good:,} good"
        yield f"{few} elements are too few to say what separates them; best guess: bad where {split_text(best)}"
    elif best.balanced_accuracy < TELLING:
        yield f"no single feature separates bad from good well; best: bad where {split_text(best)}"
    else:
        yield f"bad where {split_text(best)}"
        yield _in_region(reading, best)
    if inside.bad or best is None or best.balanced_accuracy < TELLING:
        yield (
            f"{inside.bad:,} of {inside.elements:,} elements of the region are bad "
            f"({figures.percent(inside.bad / inside.elements)}), {_elsewhere(reading)}"
        )
    own = reading.region_splits[0] if reading.region_splits else None
    if own is not None and _is_news(own, best):
        yield f"within the region: bad where {split_text(own)}"


def _is_news(own: Split, best: Split | None) -> bool:
    if min(own.bad, own.good) < FEWEST or own.balanced_accuracy < TELLING:
        return False
    return best is None or (best.feature, best.relation) != (own.feature, own.relation)


def _in_region(reading: RegionReading, split: Split) -> str:
    """What the split of the whole output says of the region's own elements."""
    inside = reading.inside
    good = inside.elements - inside.bad
    does = _DOES[split.relation].format(split.threshold)
    if not inside.bad:
        where = f"at {split.region_good:,} of its {good:,} elements" if split.region_good else "nowhere in it"
        return f"no element of the region is bad: {split.feature} {does} {where}; {_elsewhere(reading)}"
    return (
        f"in the region {split.feature} {does} at {split.region_bad:,} of {inside.bad:,} bad elements and at "
        f"{split.region_good:,} of {good:,} good ones"
    )


_DOES = {
    Relation.ABOVE: "exceeds the threshold {:.9g}",
    Relation.BELOW: "lies below the threshold {:.9g}",
    Relation.EQUAL: "is {:.9g}",
}


def _elsewhere(reading: RegionReading) -> str:
    outside = reading.outside
    if not outside.elements:
        return "which is all of the output"
    share = figures.percent(outside.bad / outside.elements)
    return f"{outside.bad:,} of {outside.elements:,} elements outside are ({share})"


def split_text(split: Split) -> str:
    """`|x| > 3 (balanced accuracy 0.998; good up to 2.99986)`."""
    reach = ""
    if split.reach is not None and split.reach != split.threshold:
        reach = f"; good {'up to' if split.relation is Relation.ABOVE else 'from'} {split.reach:.6g}"
        reach += "" if split.relation is Relation.ABOVE else " on"
    return f"{plain(split.statement)} (balanced accuracy {split.balanced_accuracy:.3f}{reach})"


def around_worst(accuracy: Accuracy, shape: Sequence[int]) -> str | None:
    """A region to look into: NEARBY elements of its row on either side of the worst element; None: there is none."""
    if accuracy.worst is None or not shape:
        return None
    *rows, column = accuracy.worst.index
    last = Span(first=max(0, column - NEARBY), last=min(shape[-1] - 1, column + NEARBY))
    return region_text((*(Span(first=row, last=row) for row in rows), last))


def look_command(observation: ObservationDocument) -> str | None:
    """`opsdebug attribute` around the worst element of a failed case; None where no element was measured."""
    accuracy = observation.accuracy
    output = next((o for o in observation.outputs if accuracy is not None and o.name == accuracy.output), None)
    if accuracy is None or output is None or output.bad_region is None or not observation.findings:
        return None
    again, region = observation.findings[0].next, around_worst(accuracy, output.shape)
    if region is None or not again.startswith(RUN) or "--repeat" in again:
        return None
    return f"opsdebug attribute {again.removeprefix(RUN)} --range {shlex.quote(region)}"


def attribution_text(document: AttributionDocument) -> str:
    """The answer as text, ending in a newline."""
    reading = document.reading
    sections = [heading_lines("ATTRIBUTE", document.subject, document.conclusion)]
    if reading is not None:
        sections += [_region(reading), _table(reading), _splits(reading.splits), _elements(reading)]
    sections.append(ending_lines(document.next))
    return "\n\n".join("\n".join(section) for section in sections if section) + "\n"


def _region(reading: RegionReading) -> list[str]:
    return [
        f"region {region_text(reading.region)} of `{plain(reading.output)}`, shape {list(reading.shape)}",
        *(
            f"  {where:<8} {tally.bad:,} of {tally.elements:,} bad; {tally.bad_rows:,} of {tally.rows:,} rows with bad "
            f"elements, {tally.all_bad_rows:,} entirely bad"
            for where, tally in (("inside", reading.inside), ("outside", reading.outside))
            if tally.elements
        ),
    ]


def _table(reading: RegionReading) -> list[str]:
    rows = [row for tensor in reading.tensors for row in _rows(tensor)]
    return aligned(HEADER, rows, left=2)


def _rows(tensor: TensorSummary) -> Iterator[tuple[str, ...]]:
    aside = {Alignment.LEADING: " (leading axes)", Alignment.TRAILING: " (trailing axes)", Alignment.WHOLE: ""}
    name = plain(tensor.name, 40) + aside.get(tensor.alignment, "")
    whole = tensor.alignment is Alignment.WHOLE
    yield (name, "whole" if whole else "inside", *_cells(tensor.inside))
    if tensor.outside is not None:
        yield ("", "outside", *_cells(tensor.outside))


def _cells(values: ValueSummary) -> tuple[str, ...]:
    numbers = (values.minimum, values.maximum, values.mean, values.deviation, values.size.p50, values.size.p99)
    counts = (values.nan, values.infinite, values.zero, values.subnormal)
    return (figures.count(values.count), *map(figures.measure, numbers), *map(figures.count, counts))


def _splits(splits: Sequence[Split]) -> list[str]:
    if not splits:
        return []
    lines = [f"  {split_text(split)}, accuracy {split.accuracy:.3f}" for split in splits]
    return ["what separates bad from good in the whole output, best first:", *lines]


def _elements(reading: RegionReading) -> list[str]:
    lines = []
    for element in reading.elements:
        inputs = "".join(f", {plain(name, 40)} {_value(value)}" for name, value in element.inputs.items())
        lines.append(
            f"  {figures.index(element.index)} {'bad ' if element.bad else 'good'} got {_value(element.actual)}, "
            f"wanted {_value(element.expected)}{inputs}"
        )
    return ["furthest off in the region:", *lines] if lines else []


def _value(value: float | None) -> str:
    return "not finite" if value is None else f"{value:.9g}"

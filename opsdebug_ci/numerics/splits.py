"""Which one feature, cut at which threshold, separates bad elements from good ones best.

Decides by balanced accuracy: the mean of the share of bad elements that are called bad and the share of good ones that
are called good, so that a few bad elements among many count as much as the many (Brodersen et al., "The balanced
accuracy and its posterior distribution", ICPR 2010, eq. 1). A decision stump: Iba and Langley, "Induction of one-level
decision trees", ICML 1992. Deliberately names no cause; a good split is where to look.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

import torch

from opsdebug_ci.model.attribution import Relation, Split

SAMPLED = 1 << 19
"""Bad and good elements each that a cut is searched among; how well it separates is counted over all of them."""

LARGEST_MODULUS = 128
"""Lanes of up to so many elements are tried: no vector or warp is wider."""

FLAT_ELEMENTS = 1 << 22
"""Elements up to which lanes across the ends of rows are tried; along the axes they always are."""

LANE_SAMPLE = 1 << 15
"""Bad elements from which the best lane across rows is told; how well it separates is counted over all."""

_GOLDEN = (math.sqrt(5) - 1) / 2

NUDGE = 1e-3
"""What a less direct feature must be better by, so that equal ones do not compete."""

VALUE, INDEX, LANE = range(3)
"""How direct a feature is; the others are less so."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Feature:
    """A number for every element."""

    name: str
    """What it is, e.g. `x` or `|x|`."""

    values: torch.Tensor
    """Any real dtype, of a shape that broadcasts to that of the elements. Where it is not finite nothing is bad."""

    order: float = VALUE
    """How direct it is: in a draw the lower one is named."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Cut:
    """A feature with a threshold, as found."""

    name: str
    """Feature."""

    relation: Relation
    """On which side elements are bad."""

    threshold: float
    """With what."""

    reach: float | None
    """Last value of the feature on the good side; None for `=`."""

    score: float
    """Balanced accuracy on what it was searched among, less NUDGE times the feature's order."""

    matches: Callable[[], torch.Tensor]
    """bool, broadcastable to the elements: those on the bad side."""


def value_features(name: str, values: torch.Tensor, order: float = VALUE) -> list[Feature]:
    """`name` and `|name|`, for a tensor that broadcasts to the elements."""
    wide = values.detach().double()
    return [
        Feature(name=name, values=wide, order=order),
        Feature(name=f"|{name}|", values=wide.abs(), order=order + 0.5),
    ]


def find_splits(
    bad: torch.Tensor, features: Sequence[Feature], *, region: torch.Tensor | None = None, most: int = 3
) -> tuple[Split, ...]:
    """The splits of the features that separate best, best first, at most one per feature.

    Args:
        bad: bool, any shape.
        features: numbers for its elements; indices and lanes are added here.
        region: bool, same shape: elements to count the bad side of besides; None: all.
        most: splits returned.

    Returns:
        Empty when all elements are good or all are bad.
    """
    count = int(bad.sum())
    if count == 0 or count == bad.numel():
        return ()
    found = [*_value_cuts(bad, features), *_index_cuts(bad)]
    found.sort(key=lambda cut: -cut.score)
    return tuple(_counted(cut, bad, region) for cut in _one_per_feature(found)[:most])


def _one_per_feature(cuts: Sequence[Cut]) -> list[Cut]:
    """The first cut of every tensor and of every axis: `x` and `|x|` are one, and so are an index and its lanes."""
    first: dict[str, Cut] = {}
    for cut in cuts:
        first.setdefault(cut.name.split(" mod ")[0].strip("|"), cut)
    return list(first.values())


def _counted(cut: Cut, bad: torch.Tensor, region: torch.Tensor | None) -> Split:
    matching = cut.matches().expand(bad.shape)
    total_bad, total = int(bad.sum()), bad.numel()
    hits, good = int((matching & bad).sum()), total - total_bad
    missed_good = int(matching.sum()) - hits
    there = matching if region is None else matching & region
    return Split(
        feature=cut.name,
        relation=cut.relation,
        threshold=cut.threshold,
        reach=cut.reach,
        accuracy=(hits + good - missed_good) / total,
        balanced_accuracy=(hits / total_bad + (good - missed_good) / good) / 2,
        bad=total_bad,
        good=good,
        region_bad=int((there & bad).sum()),
        region_good=int((there & ~bad).sum()),
    )


def _value_cuts(bad: torch.Tensor, features: Sequence[Feature]) -> Iterator[Cut]:
    flat = bad.reshape(-1)
    chosen = torch.cat([_spread(flat.nonzero().flatten()), _spread((~flat).nonzero().flatten())])
    wrong = flat[chosen]
    for feature in features:
        values = feature.values.expand(bad.shape).reshape(-1)[chosen].double()
        cut = _best_cut(values, wrong)
        if cut is not None:
            relation, low, high, balanced = cut
            yield _value_cut(feature, relation, low, high, balanced)


def _spread(positions: torch.Tensor, most: int = SAMPLED) -> torch.Tensor:
    """At most so many of them, evenly, yet in no step that lanes could keep (Kronecker's sequence)."""
    if positions.numel() <= most:
        return positions
    steps = torch.arange(most, dtype=torch.float64, device=positions.device) * _GOLDEN
    return positions[(steps.frac_() * positions.numel()).to(torch.int64)]


def _best_cut(values: torch.Tensor, bad: torch.Tensor) -> tuple[Relation, float, float, float] | None:
    """Relation, the two neighbouring values it cuts between, and its balanced accuracy; None: there is nothing to cut.

    Every cut between two different values is tried. Values that are not finite are on the good side of each.
    """
    finite = torch.isfinite(values)
    total_bad, total_good = int(bad.sum()), int((~bad).sum())
    ascending, order = values[finite].sort()
    below_bad = bad[finite][order].to(torch.float64).cumsum(0)
    if ascending.numel() < 2:
        return None
    places = torch.arange(1, ascending.numel(), dtype=torch.float64, device=values.device)
    cuttable = ascending[1:] > ascending[:-1]
    if not bool(cuttable.any()):
        return None
    share_bad, share_good = below_bad[:-1] / total_bad, (places - below_bad[:-1]) / total_good
    all_bad = float(below_bad[-1]) / total_bad
    all_good = (ascending.numel() - float(below_bad[-1])) / total_good
    above = ((all_bad - share_bad) + 1 - (all_good - share_good)) / 2
    below = (share_bad + 1 - share_good) / 2
    best = []
    for relation, balanced in ((Relation.ABOVE, above), (Relation.BELOW, below)):
        at = int(balanced.masked_fill(~cuttable, -1.0).argmax())
        best.append((relation, float(ascending[at]), float(ascending[at + 1]), float(balanced[at])))
    return max(best, key=lambda found: found[3])


def _value_cut(feature: Feature, relation: Relation, low: float, high: float, balanced: float) -> Cut:
    threshold = shortest_between(low, high)
    if threshold is None:
        threshold = low if relation is Relation.ABOVE else high
    return Cut(
        name=feature.name,
        relation=relation,
        threshold=threshold,
        reach=low if relation is Relation.ABOVE else high,
        score=balanced - NUDGE * feature.order,
        matches=lambda: _side(feature.values, relation, threshold),
    )


def _side(values: torch.Tensor, relation: Relation, threshold: float) -> torch.Tensor:
    side = values > threshold if relation is Relation.ABOVE else values < threshold
    return side & torch.isfinite(values) if values.is_floating_point() else side


def shortest_between(low: float, high: float) -> float | None:
    """The number with the fewest significant digits strictly between two finite ones, near their middle; None if none.

    `3` for 2.9996 and 3.0003: what a person would have written into the code.
    """
    middle = low + (high - low) / 2
    for digits in range(1, 18):
        rounded = float(f"{middle:.{digits - 1}e}")
        if low < rounded < high:
            return rounded
    return None


def _index_cuts(bad: torch.Tensor) -> Iterator[Cut]:
    shape = tuple(bad.shape)
    for axis, size in enumerate(shape):
        others = [other for other in range(len(shape)) if other != axis]
        wrong = bad.sum(dim=others).double() if others else bad.double()
        yield from _positional(f"index on axis {axis}", axis, shape, wrong, bad.numel() / size)
    if len(shape) > 1 and bad.numel() <= FLAT_ELEMENTS:
        positions = _spread(bad.reshape(-1).nonzero().flatten(), LANE_SAMPLE)
        share = int(bad.sum()) / bad.numel()
        yield from _lanes("flat index", None, shape, lambda modulus: positions % modulus, None, share)


def _positional(name: str, axis: int, shape: tuple[int, ...], wrong: torch.Tensor, each: float) -> Iterator[Cut]:
    """Cuts of an index with `each` elements of which so many are wrong: beyond a threshold, equal to one, its lanes."""
    positions = torch.arange(wrong.numel(), device=wrong.device)
    right = each - wrong
    share_bad, share_good = wrong / wrong.sum(), right / right.sum()
    if wrong.numel() > 1:
        below = ((share_bad.cumsum(0) + 1 - share_good.cumsum(0)) / 2)[:-1]
        at, relation = int((below - 0.5).abs().argmax()), Relation.BELOW
        balanced = float(below[at])
        if balanced < 0.5:
            balanced, relation = 1 - balanced, Relation.ABOVE
        threshold = float(at) if relation is Relation.ABOVE else float(at + 1)
        yield _index_cut(name, relation, threshold, balanced, INDEX, lambda: _laid(positions, axis, shape))
    yield _equal(name, INDEX, share_bad, share_good, lambda: _laid(positions, axis, shape))
    share = float(wrong.sum() / (each * wrong.numel()))
    yield from _lanes(name, axis, shape, lambda modulus: positions % modulus, wrong, share)


def _lanes(
    name: str,
    axis: int | None,
    shape: tuple[int, ...],
    residues_of: Callable[[int], torch.Tensor],
    weights: torch.Tensor | None,
    share: float,
) -> Iterator[Cut]:
    """The best residue of every modulus: of bad elements lie `weights` (None: one) at each residue of `residues_of`.

    `axis` None is the flat index; `share` of all elements are bad.
    """
    device = residues_of(2).device
    size = math.prod(shape) if axis is None else shape[axis]
    for modulus in range(2, min(LARGEST_MODULUS, size - 1) + 1):
        wrong = torch.bincount(residues_of(modulus), weights, minlength=modulus).double()
        share_bad = wrong / wrong.sum()
        lanes = torch.arange(modulus, device=device)
        share_all = ((size - 1 - lanes) // modulus + 1).double() / size
        share_good = (share_all - share * share_bad) / (1 - share)

        def laid(modulus: int = modulus) -> torch.Tensor:
            residues = torch.arange(size, device=device) % modulus
            return residues.reshape(shape) if axis is None else _laid(residues, axis, shape)

        yield _equal(f"{name} mod {modulus}", LANE + modulus / 1024, share_bad, share_good, laid)


def _equal(
    name: str, order: float, share_bad: torch.Tensor, share_good: torch.Tensor, laid: Callable[[], torch.Tensor]
) -> Cut:
    balanced = (share_bad + 1 - share_good) / 2
    at = int(balanced.argmax())
    return _index_cut(name, Relation.EQUAL, float(at), float(balanced[at]), order, laid)


def _index_cut(
    name: str, relation: Relation, threshold: float, balanced: float, order: float, laid: Callable[[], torch.Tensor]
) -> Cut:
    def matches() -> torch.Tensor:
        if relation is Relation.EQUAL:
            return laid() == threshold
        return _side(laid(), relation, threshold)

    return Cut(
        name=name,
        relation=relation,
        threshold=threshold,
        reach=None if relation is Relation.EQUAL else threshold,
        score=balanced - NUDGE * order if math.isfinite(balanced) else -1.0,
        matches=matches,
    )


def _laid(positions: torch.Tensor, axis: int, shape: tuple[int, ...]) -> torch.Tensor:
    return positions.reshape([-1 if other == axis else 1 for other in range(len(shape))])

"""Eight defects by the sizes at which they show: found near the smallest, in few runs, with their exact border."""

import math
from dataclasses import dataclass

import pytest
from shrinking_notation import case, fails_when

from opsdebug_ci.failures.shrinking import Space


@dataclass(frozen=True)
class Defect:
    """Where it shows, from where it is shrunk, and the fewest elements at which it shows."""

    shows: object
    start: dict
    optimum: int
    border: str
    growing: bool = False


def _tail_of_convolution(d):
    return d["w"] % 16 != 0 and d["w"] > 16


DEFECTS = {
    "tail beyond one block": Defect(
        lambda d: d["n"] > 128 and d["n"] % 128 != 0,
        {"n": 5000, "m": 4097},
        129,
        "fails at n=129, passes at n=128",
    ),
    "long rows": Defect(
        lambda d: d["cols"] > 1024, {"rows": 5000, "cols": 4097}, 1025, "fails at cols=1025, passes at cols=1024"
    ),
    "square and odd": Defect(
        lambda d: d["n"] == d["m"] and d["n"] % 2 == 1 and d["n"] > 1,
        {"n": 777, "m": 777},
        9,
        "fails at n=3, passes at n=2; fails at m=3, passes at m=2",
    ),
    "residue beyond a width": Defect(
        lambda d: d["n"] % 8 == 5 and d["m"] >= 33,
        {"n": 1021, "m": 2048},
        5 * 33,
        "fails at m=33, passes at m=32; fails at n=5, passes at n=4",
    ),
    "tail of a convolution": Defect(
        _tail_of_convolution, {"b": 8, "c": 64, "h": 112, "w": 113}, 17, "fails at w=17, passes at w=16"
    ),
    "offsets in 16 bits": Defect(
        lambda d: d["rows"] * d["cols"] > 65536,
        {"rows": 5000, "cols": 4097},
        65537,
        "fails at cols=65537, passes at cols=65536",
        growing=True,
    ),
    "third dim between two widths": Defect(
        lambda d: d["k"] > 96 and d["k"] % 4 == 3,
        {"b": 16, "m": 300, "k": 1023},
        99,
        "fails at k=99, passes at k=98",
    ),
    "head dim without a border at a power of two": Defect(
        lambda d: d["h"] >= 1000 and d["s"] >= 3, {"s": 77, "h": 3000}, 3000, "fails at h=1000, passes at h=999"
    ),
}


@pytest.mark.parametrize("name", DEFECTS)
def test_the_smallest_is_found_with_its_border(name):
    defect = DEFECTS[name]
    runner = fails_when(defect.shows)
    shrunk = runner.shrink(case(**defect.start), Space(growing=defect.growing))
    dims = shrunk.smallest.case.dims
    assert defect.shows(dims)
    assert math.prod(dims.values()) <= 2 * defect.optimum
    assert len(runner.seen) == shrunk.trials <= 200
    assert shrunk.verified and not shrunk.ended
    assert defect.border in shrunk.boundary
    assert not defect.shows(shrunk.nearest_passing.dims)


def test_without_known_shapes_no_dim_grows():
    defect = DEFECTS["offsets in 16 bits"]
    runner = fails_when(defect.shows)
    shrunk = runner.shrink(case(**defect.start))
    assert math.prod(shrunk.smallest.case.dims.values()) <= 2 * defect.optimum
    assert all(tried.dims[name] <= size for tried in runner.seen for name, size in defect.start.items())


def test_a_border_that_lies_above():
    shrunk = fails_when(lambda d: d["n"] < 48).shrink(case(n=47))
    assert shrunk.smallest.case.dims == {"n": 1}
    assert shrunk.boundary is None
    shrunk = fails_when(lambda d: d["n"] < 48 or d["n"] == 200).shrink(case(n=200))
    assert shrunk.boundary == "fails up to n=47, passes at n=48"
    assert shrunk.nearest_passing.dims == {"n": 48}

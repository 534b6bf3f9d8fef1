"""Growth over a sweep by given times: planted algorithms that do too much, and right ones that look like them."""

from __future__ import annotations

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st
from profile_notation import AGAIN, at

from opsdebug_ci.model.vocabulary import Blame, Cause
from opsdebug_ci.regress.growth import exponent, superlinear, sweep_of

SIZES = (256, 512, 1024, 2048, 4096)
CALL_NS = 3000.0


def sweep(operator, reference=lambda n: CALL_NS + n, **counts):
    """A sweep over N; `counts` are functions of N too."""
    return [
        at({"N": n}, operator(n), None if reference is None else reference(n), **{k: f(n) for k, f in counts.items()})
        for n in SIZES
    ]


def found(points, bandwidth=1e10):
    return superlinear(points, "N", bandwidth, AGAIN)


def test_a_quadratic_operator_is_named():
    finding = found(sweep(lambda n: CALL_NS + n**2))
    assert (finding.cause, finding.blame, finding.next) == (Cause.PERF_CLIFF, Blame.OPERATOR, AGAIN)
    assert finding.statement == (
        "time grows 240x from N=256 to 4096 (to 17 ms), its data 16x and the torch reference 2.2x (to 7.1 us)"
    )
    assert finding.evidence["excess"] == pytest.approx(16, rel=0.1)


def test_one_size_off_does_not_hide_it():
    points = sweep(lambda n: CALL_NS + n**2 * (4 if n == 2048 else 1))
    assert found(points) is not None


RIGHT = {
    "linear, and a hundred times slower": sweep(lambda n: 100 * n * 10),
    "n log n": sweep(lambda n: 500 * n * math.log2(n)),
    "n log^2 n, as in sorting networks": sweep(lambda n: 500 * n * math.log2(n) ** 2),
    "quadratic as its reference is": sweep(lambda n: n**2, lambda n: CALL_NS + n**2 / 8),
    "leaves a cache within one doubling": sweep(lambda n: n * 100 * (6 if n > 1024 else 1)),
    "leaves a cache within two doublings": sweep(lambda n: n * 100 * {2048: 2.5, 4096: 6}.get(n, 1)),
    "fresh pages at one size": sweep(lambda n: n * 100 * (3 if n == 2048 else 1)),
    "quadratic, and hardly slower than its reference": sweep(lambda n: n**2, lambda n: CALL_NS + n**2 / 4 * 0.999),
    "quadratic, in a fraction of a millisecond": sweep(lambda n: n**2 / 400),
    "no reference and no flops": sweep(lambda n: n**2, None),
    "quadratic in flops, as its cost says": sweep(lambda n: n**2, None, flops=lambda n: 2.0 * n**2),
    "few sizes": sweep(lambda n: n**2)[:3],
}


@pytest.mark.parametrize("name", RIGHT)
def test_a_right_operator_is_left_alone(name):
    assert found(RIGHT[name]) is None


def test_without_a_reference_stated_flops_are_enough():
    assert found(sweep(lambda n: n**2, None, flops=lambda n: 2.0 * n)) is not None


def test_a_dim_that_hardly_shows_in_its_data_says_nothing():
    points = [at({"N": n}, n**2, CALL_NS, moved=10_000_000 + n) for n in SIZES]
    assert found(points) is None


def prefix_sums(**other):
    """One call per element, each over everything before it; the calls cost more than what they do."""
    counts = {
        "torch_calls": lambda n: 2 * n,
        "handled_bytes": lambda n: 4 * n * (n + 1) // 2,
        "reference_handled_bytes": lambda n: 8 * n,
    }
    return sweep(lambda n: CALL_NS * n + n**2 / 20, **{**counts, **other})


def test_quadratic_work_hidden_behind_the_cost_of_calls_is_named_by_what_the_calls_handle():
    finding = found(prefix_sums())
    assert finding.statement == (
        "its framework calls handle 64x the bytes from N=512 to 4096 (33,562,624 in 8,192 calls, 13 ms), its data are "
        "8x and the torch reference 2x (to 7.1 us)"
    )


def test_a_loop_whose_calls_handle_one_element_each_is_left_alone():
    assert found(prefix_sums(handled_bytes=lambda n: 12 * n)) is None


def test_tiles_of_a_quadratic_operator_are_left_alone_where_the_reference_is_quadratic_too():
    points = sweep(
        lambda n: 3000 * n,
        lambda n: n**2 / 100,
        handled_bytes=lambda n: n**2,
        reference_handled_bytes=lambda n: 8 * n,
        torch_calls=lambda n: n // 64,
    )
    assert found(points) is None


def test_a_sweep_is_in_order_and_its_powers_are_those_of_the_large_end():
    shown = sweep_of(sweep(lambda n: CALL_NS + n**2)[::-1])
    assert [point.dims["N"] for point in shown.points] == list(SIZES)
    assert shown.exponent == pytest.approx(2, abs=0.1)
    assert shown.reference_exponent is None, "only its last sizes are above twice the fixed cost"


@given(power=st.floats(0.5, 3), scale=st.floats(1, 1e6), fixed=st.floats(0, 1))
def test_a_power_is_found_above_a_fixed_cost(power, scale, fixed):
    amounts = [2.0**k for k in range(4, 20)]
    times = [scale * (fixed + amount**power) for amount in amounts]
    assert exponent(amounts, times) == pytest.approx(power, abs=0.05)


def test_too_few_sizes_have_no_power():
    assert exponent([1, 2], [1, 2]) is None
    assert exponent([1, 2, 4, 8], [10.0, 10.0, 10.0, 11.0]) is None

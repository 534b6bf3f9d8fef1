"""The generator gives the same bits everywhere, for ever; truth is Philox in plain Python and exact fractions."""

from __future__ import annotations

import subprocess
import sys
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from opsdebug_ci.inputs import Stream, stream_for
from opsdebug_ci.inputs.generator import SQRT_THREE

GOLDEN = stream_for(7, operator="softmax", argument="x", family="normal")

MASK = 2**64 - 1


def philox(key: int, count: int) -> list[int]:
    """Philox 4x64-10 as in the paper, figure 2 and section 3.3; numpy's first block has counter 1."""
    words: list[int] = []
    for block in range(1, count // 4 + 2):
        x0, x1, x2, x3 = block, 0, 0, 0
        k0, k1 = key & MASK, key >> 64
        for _ in range(10):
            p0, p1 = 0xD2E7470EE14C6C93 * x0, 0xCA5A826395121157 * x2
            x0, x1, x2, x3 = (p1 >> 64) ^ x1 ^ k0, p1 & MASK, (p0 >> 64) ^ x3 ^ k1, p0 & MASK
            k0, k1 = (k0 + 0x9E3779B97F4A7C15) & MASK, (k1 + 0xBB67AE8584CAA73B) & MASK
        words += [x0, x1, x2, x3]
    return words[:count]


def test_golden_words() -> None:
    assert GOLDEN.key == 0x2CF4720E9E24BFE62637513B6097F12A
    assert GOLDEN.part("signs").key == 0xC373B8E7BA0C07D01B986901E55323DE
    assert GOLDEN.words(4).tolist() == [0x13FAF76524E7C8C6, 0x1846BB6459CC336A, 0xDE560716F63B47FE, 0xE92E97333E0D9296]


def test_golden_transforms() -> None:
    assert GOLDEN.integers(8, -5, 5).tolist() == [4, -5, -2, 3, 3, -4, 1, 2]
    assert GOLDEN.integers(3, -(2**63), 2**63 - 1).tolist() == [
        -7783636992173553466,
        -7474080491897080982,
        6797628482764097534,
    ]
    assert GOLDEN.uniform(3).tolist() == [0.07804816961288452, 0.094829261302948, 0.8685001730918884]
    assert GOLDEN.uniform(2, 53).tolist() == [0.07804819316234479, 0.09482928466768281]
    assert [value.hex() for value in GOLDEN.normal(4).tolist()] == [
        "-0x1.4f5056273529dp+0",
        "-0x1.db98c78b2a5cbp-5",
        "-0x1.11896f15837f5p-1",
        "-0x1.52c82e8537813p-1",
    ]
    assert GOLDEN.permutation(8).tolist() == [0, 1, 7, 6, 4, 5, 2, 3]


@pytest.mark.parametrize("key", [0, 1, 2**64, 2**128 - 1, GOLDEN.key])
def test_words_are_philox(key: int) -> None:
    assert Stream(key).words(11).tolist() == philox(key, 11)


def test_another_process_makes_the_same_numbers() -> None:
    program = (
        "from opsdebug_ci.inputs import stream_for;"
        "s = stream_for(7, operator='softmax', argument='x', family='normal');"
        "print(s.words(4).tolist(), s.normal(3).tolist())"
    )
    answer = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert answer.stdout.strip() == f"{GOLDEN.words(4).tolist()} {GOLDEN.normal(3).tolist()}"


@pytest.mark.parametrize(
    "change",
    [{"operator": "softmin"}, {"argument": "y"}, {"family": "uniform"}, {"seed": 8}],
    ids=lambda c: next(iter(c)),
)
def test_every_part_of_the_name_matters(change: dict[str, object]) -> None:
    names = {"seed": 7, "operator": "softmax", "argument": "x", "family": "normal", **change}
    other = stream_for(
        int(str(names["seed"])),
        operator=str(names["operator"]),
        argument=str(names["argument"]),
        family=str(names["family"]),
    )
    assert not np.intersect1d(GOLDEN.words(1000), other.words(1000)).size


def test_names_do_not_run_into_each_other() -> None:
    left = stream_for(1, operator="ab", argument="c", family="f")
    right = stream_for(1, operator="a", argument="bc", family="f")
    assert left.key != right.key


@settings(max_examples=60, deadline=None)
@given(low=st.integers(-(2**63), 2**63 - 1), size=st.integers(1, 2**64), key=st.integers(0, 2**128 - 1))
def test_integers_are_words_modulo_the_range(low: int, size: int, key: int) -> None:
    high = min(low + size - 1, 2**63 - 1)
    expected = [low + word % (high - low + 1) for word in philox(key, 9)]
    assert Stream(key).integers(9, low, high).tolist() == expected


@settings(max_examples=30, deadline=None)
@given(key=st.integers(0, 2**128 - 1))
def test_normal_is_the_scaled_sum_of_four_fields(key: int) -> None:
    words = philox(key, 10)
    for index, value in enumerate(Stream(key).normal(5).tolist()):
        fields = [(word >> shift) % 2**24 for word in (words[index], words[index + 5]) for shift in (40, 16)]
        centred = Fraction(sum(fields) - 2 * (2**24 - 1), 2**24)
        assert value == float(centred * Fraction(SQRT_THREE))


def test_normal_has_the_documented_moments() -> None:
    values = GOLDEN.normal(200_000)
    # Standard errors: mean 1/sqrt(n) = 0.0022, variance sqrt((kurtosis - 1)/n) = 0.0029; five of each.
    assert abs(values.mean()) < 0.0112
    assert abs(values.var() - 1.0) < 0.0146
    assert np.abs(values).max() <= (2.0 - 2.0**-23) * SQRT_THREE


def test_the_root_is_correctly_rounded() -> None:
    below, above = Fraction(np.nextafter(SQRT_THREE, 0.0)), Fraction(np.nextafter(SQRT_THREE, 2.0))
    middle = Fraction(SQRT_THREE)
    assert ((below + middle) / 2) ** 2 < 3 < ((above + middle) / 2) ** 2


@pytest.mark.parametrize("count", [0, 1, 2, 33, 1000])
def test_permutation_holds_every_index_once(count: int) -> None:
    assert sorted(GOLDEN.permutation(count).tolist()) == list(range(count))


def test_uniform_uses_its_whole_range() -> None:
    values = GOLDEN.uniform(100_000)
    assert 0.0 <= values.min() < 1e-4
    assert 1.0 - 1e-4 < values.max() < 1.0
    assert np.array_equal(values.astype(np.float32).astype(np.float64), values)


def test_a_longer_draw_starts_with_the_shorter_one() -> None:
    assert np.array_equal(GOLDEN.uniform(100)[:7], GOLDEN.uniform(7))

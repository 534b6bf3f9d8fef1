from __future__ import annotations

import pytest

from opsdebug_ci.plan.quantity import memory_bytes, seconds


@pytest.mark.parametrize(
    ("written", "expected"),
    [
        (60, 60.0),
        (0.5, 0.5),
        ("60", 60.0),
        ("60 s", 60.0),
        ("60s", 60.0),
        ("2 min", 120.0),
        ("1.5 h", 5400.0),
        (" 250 ms ", 0.25),
        (".5 s", 0.5),
    ],
)
def test_a_duration_is_read_in_seconds(written: object, expected: float) -> None:
    assert seconds(written) == expected


@pytest.mark.parametrize(
    ("written", "expected"),
    [
        (4096, 4096),
        ("4096", 4096),
        ("4 GiB", 4 * 2**30),
        ("4gib", 4 * 2**30),
        ("1 KiB", 1024),
        ("1.5 MB", 1_500_000),
        ("2 TB", 2 * 10**12),
    ],
)
def test_memory_is_read_in_bytes(written: object, expected: int) -> None:
    assert memory_bytes(written) == expected


@pytest.mark.parametrize(
    "written",
    [
        0,
        -1,
        0.0,
        True,
        None,
        float("nan"),
        float("inf"),
        "",
        "s",
        "5 parsecs",
        "-5 s",
        "1 h 30 min",
        "1e3 s",
        [60],
        "0 s",
    ],
)
def test_what_is_no_duration_is_refused(written: object) -> None:
    assert seconds(written) is None


@pytest.mark.parametrize(
    "written", [0, -1, 0.5, True, None, float("nan"), "", "GiB", "4 Gib/s", "-4 GiB", "0.1 B", [1]]
)
def test_what_is_no_memory_is_refused(written: object) -> None:
    assert memory_bytes(written) is None

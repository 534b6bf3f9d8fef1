"""The functions of `kernels` as pytest-benchmark times them: everything by its defaults."""

from __future__ import annotations

from typing import Any

import pytest
from kernels import KERNELS, arguments_of


@pytest.mark.parametrize("name", KERNELS)
def test_speed(benchmark: Any, name: str) -> None:
    benchmark(KERNELS[name], *arguments_of(name))

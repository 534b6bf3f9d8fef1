"""One worker per run: the cases are few, and importing torch takes longer than running them."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator

import pytest


@pytest.fixture(scope="module", autouse=True)
def one_core() -> Iterator[None]:
    """Let this process use one core, for as long as a module's tests run."""
    if sys.platform != "linux":
        yield
        return
    before = os.sched_getaffinity(0)
    os.sched_setaffinity(0, {max(before)})
    yield
    os.sched_setaffinity(0, before)

"""One Hypothesis profile and one torch thread for every test.

No wall-clock deadline, not even for making examples, since a busy machine is not a defect. In CI the examples are the
same every time, so that a change is judged by what it changes; by hand they are new each time, and one that fails
becomes an `@example`.

One thread, since tensors are small here and the threads of one test wait for each other while the cores are busy with
the other tests: then each operation takes as long as the scheduler's turns. Whether several threads change a result is
for the tests that set their number.
"""

from __future__ import annotations

import os
import sys

from hypothesis import HealthCheck, settings

settings.register_profile(
    "opsdebug",
    deadline=None,
    derandomize=bool(os.environ.get("CI")),
    suppress_health_check=[HealthCheck.too_slow],
)
settings.load_profile("opsdebug")


def pytest_collection_finish() -> None:
    """Only where a collected test has imported torch: the control side is tested without it."""
    torch = sys.modules.get("torch")
    if torch is not None:
        torch.set_num_threads(1)

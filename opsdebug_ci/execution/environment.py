"""Which environment variables a worker gets: none that is secret, and its share of the cores.

Decides how many threads the numeric libraries of one worker use. What is secret is `model.credentials`' to say.
"""

from __future__ import annotations

from collections.abc import Mapping

from opsdebug_ci.model.credentials import without_secrets

THREAD_VARIABLES = ("OMP_NUM_THREADS", "MKL_NUM_THREADS", "OPENBLAS_NUM_THREADS")
"""Where the numeric libraries read how many threads one process may use."""


def worker_environment(environment: Mapping[str, str], *, threads: int) -> dict[str, str]:
    """What a worker gets of `environment`, with `threads` per process where the user has not said otherwise."""
    return {**dict.fromkeys(THREAD_VARIABLES, str(threads)), **without_secrets(environment)}

"""Work of DuckDB that Ctrl-C, any other signal or a limit of time ends at once.

Decides who waits for whom: the work runs in a thread of its own, and the caller waits where Python hears of signals.
DuckDB itself looks for them only now and then, so that of two Ctrl-C one went unheard for as long as a query took.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor, wait
from concurrent.futures import TimeoutError as OutOfTimeError
from typing import TypeVar, final

import duckdb

from opsdebug_ci.errors import QueryError

Made = TypeVar("Made")

AGAIN_S = 0.05
"""Time between two interruptions: one that comes before the work has begun ends nothing."""


@final
class Attendant:
    """Has work done with a connection, one thing after another.

    Args:
        connection: the connection.
        timeout_s: longest time for all of it; None: as long as it takes.
    """

    def __init__(self, connection: duckdb.DuckDBPyConnection, timeout_s: float | None = None) -> None:
        self._connection = connection
        self._timeout_s = timeout_s
        self._end = None if timeout_s is None else time.monotonic() + timeout_s

    def have(self, work: Callable[[], Made]) -> Made:
        """What `work` returns. Raises QueryError when the time is over, and whatever `work` or a signal raises."""
        with ThreadPoolExecutor(1, thread_name_prefix="opsdebug-sql") as pool:
            future: Future[Made] | None = None
            try:
                future = pool.submit(work)
                return future.result(None if self._end is None else max(0.0, self._end - time.monotonic()))
            except OutOfTimeError as error:
                raise QueryError(
                    f"the query was not answered within {self._timeout_s:g} s; wanted an answer by then",
                    next_step="raise `--timeout`, or ask for less: one operator, or a `limit`",
                ) from error
            finally:
                self._interrupt(future)

    def _interrupt(self, future: Future[Made] | None) -> None:
        while future is not None and not future.done():
            self._connection.interrupt()
            wait([future], AGAIN_S)

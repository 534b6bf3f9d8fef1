"""How far something is that takes a while: a bar on a terminal, a line now and then in a log, on standard error."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from opsdebug_ci.cli.output import log

Told = Callable[[str, int, int], None]
"""What is being done, how much of it is done, of how much."""

EVERY_S = 5.0
"""Seconds between two lines of a log; what takes less says nothing."""


@contextmanager
def counting() -> Iterator[Told]:
    """Somebody to tell; the bar goes when it ends."""
    if sys.stderr.isatty():
        yield from _bar()
    else:
        yield _lines()


def _lines() -> Told:
    last = [time.monotonic()]

    def told(doing: str, done: int, of: int) -> None:
        if time.monotonic() - last[0] >= EVERY_S:
            last[0] = time.monotonic()
            log(f"{doing}: {done:,} of {of:,}")

    return told


def _bar() -> Iterator[Told]:
    from rich.console import Console  # noqa: PLC0415 - a tenth of a second, spent only on terminals
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn  # noqa: PLC0415 - as above

    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn())
    with Progress(*columns, console=Console(stderr=True), transient=True) as bar:
        tasks = {}

        def told(doing: str, done: int, of: int) -> None:
            if doing not in tasks:
                tasks[doing] = bar.add_task(doing, total=of)
            bar.update(tasks[doing], completed=done, total=of)

        yield told

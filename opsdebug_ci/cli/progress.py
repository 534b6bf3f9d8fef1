"""How far a run has come: a bar on a terminal, a line now and then in a log, on standard error."""

from __future__ import annotations

import sys
import time
from typing import final

from opsdebug_ci.cli.output import log
from opsdebug_ci.model.judgement import Judgement
from opsdebug_ci.model.vocabulary import FAILING_VERDICTS, Verdict
from opsdebug_ci.pipeline.world import Progress

LINES = 10
"""Lines a log gets per run."""

SHORT_S = 10.0
"""Seconds that nobody needs to be told are left."""

_TROUBLE = (*FAILING_VERDICTS, Verdict.ERROR)


def progress(*, quiet: bool) -> Progress:
    """A bar when standard error is a terminal, lines otherwise; nothing when `quiet`."""
    if quiet:
        return Silent()
    return Bar() if sys.stderr.isatty() else Lines()


@final
class Silent:
    """Says nothing."""

    def start(self, total: int) -> None:
        del total

    def step(self, judgement: Judgement) -> None:
        del judgement

    def drop(self, count: int) -> None:
        del count

    def stop(self) -> None:
        return

    def tell(self, doing: str) -> None:
        del doing


@final
class Lines:
    """A line each time another tenth of the cases is done."""

    def __init__(self) -> None:
        self._total = self._done = self._trouble = 0
        self._began_s = time.monotonic()

    def start(self, total: int) -> None:
        self._total, self._began_s = total, time.monotonic()
        log("1 case" if total == 1 else f"{total} cases")

    def step(self, judgement: Judgement) -> None:
        before = self._done * LINES // max(self._total, 1)
        self._done += 1
        self._trouble += judgement.verdict in _TROUBLE
        if self._done * LINES // max(self._total, 1) > before:
            left_s = (time.monotonic() - self._began_s) / self._done * (self._total - self._done)
            left = f", about {left_s:.0f} s left" if left_s > SHORT_S else ""
            log(f"{self._done}/{self._total} cases, {self._trouble} in trouble{left}")

    def drop(self, count: int) -> None:
        self._total -= count

    def stop(self) -> None:
        return

    def tell(self, doing: str) -> None:
        log(doing)


@final
class Bar:
    """A bar with the operator at hand, the time left and the number of cases in trouble."""

    def __init__(self) -> None:
        from rich.console import Console  # noqa: PLC0415 - a tenth of a second, spent only on terminals
        from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn  # noqa: PLC0415 - as above

        self._bar = Progress(
            TextColumn("{task.description:32.32}"),
            BarColumn(),
            MofNCompleteColumn(),
            TextColumn("[red]{task.fields[trouble]}"),
            TimeRemainingColumn(),
            console=Console(stderr=True),
            transient=True,
        )
        self._task = self._bar.add_task("starting workers", total=None, trouble="")
        self._trouble = self._total = 0

    def start(self, total: int) -> None:
        self._total = total
        self._bar.start()
        self._bar.update(self._task, total=total)

    def step(self, judgement: Judgement) -> None:
        self._trouble += judgement.verdict in _TROUBLE
        trouble = f"{self._trouble} in trouble" if self._trouble else ""
        self._bar.update(self._task, advance=1, description=judgement.case.operator, trouble=trouble)

    def drop(self, count: int) -> None:
        self._total -= count
        self._bar.update(self._task, total=self._total)

    def stop(self) -> None:
        self._bar.stop()

    def tell(self, doing: str) -> None:
        log(doing)

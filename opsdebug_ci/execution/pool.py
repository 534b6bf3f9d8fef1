"""The pool: cases in, observations out, whatever the operators do to the processes they run in.

Decides how many workers live, which case goes next and what a death while describing means. Deliberately shows no
progress (the caller iterates) and judges nothing. An operator that keeps hanging or crashing does not use up the run:
after a few such cases (`Endurance`) its remaining ones are answered `skipped`, with the reason, while all cases of the
other operators run.

The driver is any `concurrent.futures.Executor`; the default is threads on this machine. One `submit` per case, in which
a lane is borrowed for as long as the case runs.
"""

from __future__ import annotations

import os
import queue
import shlex
from collections.abc import Callable, Generator, Iterable, Mapping
from concurrent.futures import Executor, ThreadPoolExecutor, as_completed
from dataclasses import replace
from functools import partial
from pathlib import Path
from types import TracebackType
from typing import TypeVar, final

from opsdebug_ci.errors import EnvironmentLimitError, InternalError, WorkerError
from opsdebug_ci.execution.death import Death
from opsdebug_ci.execution.endurance import Endurance
from opsdebug_ci.execution.environment import worker_environment
from opsdebug_ci.execution.lane import AboutCase, FailedStarts, Lane, Limits, describe_death
from opsdebug_ci.execution.launch import PACKAGE, Launcher
from opsdebug_ci.execution.memory import can_watch
from opsdebug_ci.execution.series import Series, batches, make_tries
from opsdebug_ci.execution.turns import take_turns
from opsdebug_ci.model import Calibration, Case, Catalogue, DiscoveryFault, Machine, Observation
from opsdebug_ci.model.message import (
    AttributeCase,
    Calibrate,
    CasesExplained,
    CauseFound,
    Describe,
    ExplainCases,
    Identify,
    KeepInputs,
    PageCase,
    ProfileCase,
    Request,
    RunCase,
    TimeCase,
    TraceCase,
)
from opsdebug_ci.model.vocabulary import Profile

Answer = TypeVar("Answer")
Item = TypeVar("Item")
Result = TypeVar("Result")

DEFAULT_LIMITS = Limits()


@final
class WorkerPool:
    """Persistent workers in one interpreter; a context manager, which ends them all.

    Workers start when there is work for them, at most one per case, each on a driver thread of its own and so in
    parallel. The one that described the operators runs cases too.

    Args:
        python: absolute path of the workers' interpreter, as `check_interpreter` gives it.
        workers: how many at once; None: one per core this process may use.
        limits: what they may use.
        directory: their working directory.
        environment: variables to pass on after scrubbing; None: this process's.
        package: the `opsdebug_ci` directory they are given.
        engine: makes the executor for so many concurrent cases.
        threads: threads the numeric libraries of one worker may use, where the environment does not say; None: its
            share of the cores.

    Raises:
        EnvironmentLimitError: a memory limit is asked for where the memory of a process cannot be read.
    """

    def __init__(
        self,
        python: str,
        *,
        workers: int | None = None,
        limits: Limits = DEFAULT_LIMITS,
        directory: Path | None = None,
        environment: Mapping[str, str] | None = None,
        package: Path = PACKAGE,
        engine: Callable[[int], Executor] = ThreadPoolExecutor,
        threads: int | None = None,
    ) -> None:
        if limits.memory_bytes is not None and not can_watch():
            raise EnvironmentLimitError(
                "`memory` is set, but this system has no /proc to read the memory of a process from; wanted Linux",
                next_step="remove `memory` from the configuration here",
            )
        cores = usable_cores()
        self._workers = max(1, workers or cores)
        self._limits = limits
        scrubbed = worker_environment(
            os.environ if environment is None else environment, threads=threads or max(1, cores // self._workers)
        )
        self._launcher = Launcher(python, scrubbed, directory=directory or Path.cwd(), package=package)
        self._executor = engine(self._workers)
        self._failed_starts = FailedStarts()
        self._lanes: queue.LifoQueue[Lane] = queue.LifoQueue()  # last in, first out: lanes with a worker come first
        for _ in range(self._workers):
            self._lanes.put(self._lane())
        self._operators: Describe | None = None

    def __enter__(self) -> WorkerPool:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self.close()

    def close(self) -> None:
        """Kill every worker with all it spawned, wait for the driver, remove temporary files."""
        self._launcher.stop()
        self._executor.shutdown(wait=True, cancel_futures=True)
        self._launcher.close()

    def describe(self, modules: Iterable[str], root: Path) -> Catalogue:
        """Find the operators of `modules`; a module that kills its worker is a fault, the others still count.

        Raises:
            WorkerError: no worker can be started.
        """
        request = Describe(modules=tuple(modules), root=str(root))
        answer = self._borrowing(lambda lane: lane.describe(request))
        if isinstance(answer, Catalogue):
            self._operators = request
            return answer
        return self._describe_survivors(request, answer)

    def identify(self) -> Machine:
        """Facts of the machine, as the workers' torch sees it.

        Raises:
            WorkerError: no worker can be started, or it died of the question.
        """
        return self._ask(Identify(), Machine)

    def calibrate(self, device: str) -> Calibration:
        """Run the probes of `device`.

        Raises:
            WorkerError: no worker can be started, or the probes killed it.
        """
        return self._ask(Calibrate(device=device), Calibration)

    def run(
        self,
        cases: Iterable[Case],
        repeats: int = 1,
        profile: Profile = Profile.QUICK,
        *,
        earlier: Iterable[tuple[Case, Observation]] = (),
        causes: bool = True,
    ) -> Generator[tuple[Case, Observation], None, None]:
        """Run cases, yielding each once with what happened, in order of completion.

        What an operator is borne is counted anew in every call, from how cases ended `earlier`. `profile` says how much
        the guards do. Without `causes` nobody asks why a case fails.

        Raises:
            InternalError: no operators were described before.
        """
        operators = self._operators
        if operators is None:
            raise InternalError("`run` was called before `describe`; wanted the operators described first")
        # (1) hand out every case, fairly; (2) yield as they end; (3) when the caller leaves early, take back the rest
        endurance = Endurance(earlier)
        futures = {
            self._executor.submit(
                self._borrowing,
                lambda lane, case=case: endurance.answer(
                    case, lambda: lane.run(case, repeats, operators, profile, causes)
                ),
            ): case
            for case in take_turns(cases)
        }
        try:
            for future in as_completed(futures):
                yield futures[future], future.result()
        finally:
            for future in futures:
                future.cancel()

    def explain(self, wanted: Iterable[ExplainCases]) -> Generator[tuple[CauseFound, ...], None, None]:
        """Look for causes, yielding what was found for each request as it ends; nothing where a worker died of it.

        Raises:
            InternalError: no operators were described before.
        """
        futures = [self._executor.submit(partial(self.about, request, CasesExplained)) for request in wanted]
        try:
            for future in as_completed(futures):
                answer = future.result()
                yield answer.found if isinstance(answer, CasesExplained) else ()
        finally:
            for future in futures:
                future.cancel()

    def series(self, wanted: Iterable[Series]) -> Generator[str, None, None]:
        """Make series of tries, each batch of them in a fresh worker; yields a series' key as a batch of it ends.

        Batches are handed out in the given order, and run in parallel.

        Raises:
            InternalError: no operators were described before.
        """
        operators = self._operators
        if operators is None:
            raise InternalError("`series` was called before `describe`; wanted the operators described first")
        futures = {
            self._executor.submit(self._borrowing, lambda lane, batch=batch: make_tries(lane, batch, operators)): batch
            for series in wanted
            for batch in batches(series)
        }
        try:
            for future in as_completed(futures):
                future.result()
                yield futures[future].key
        finally:
            for future in futures:
                future.cancel()

    def about(
        self,
        request: RunCase | ExplainCases | AttributeCase | TraceCase | KeepInputs | PageCase | TimeCase | ProfileCase,
        expected: type[AboutCase],
        timeout_s: float | None = None,
    ) -> AboutCase | Observation:
        """The answer to a request about a case, or what happened to its worker instead.

        Args:
            request: what to ask.
            expected: type of the answer.
            timeout_s: how long it may take, where that is less than any case may; None: as long as any.

        Raises:
            InternalError: no operators were described before.
        """
        operators = self._operators
        if operators is None:
            raise InternalError("`about` was called before `describe`; wanted the operators described first")
        return self._borrowing(lambda lane: lane.about(request.case, request, expected, operators, timeout_s))

    def _lane(self) -> Lane:
        return Lane(self._launcher, self._limits, self._failed_starts)

    def _borrowing(self, work: Callable[[Lane], Result]) -> Result:
        lane = self._lanes.get()
        try:
            return work(lane)
        finally:
            self._lanes.put(lane)

    def _ask(self, request: Request, expected: type[Answer]) -> Answer:
        answer = self._borrowing(lambda lane: lane.ask(request, expected, self._limits.start_timeout_s))
        if isinstance(answer, Death):
            raise WorkerError(
                f"asked for `{expected.__name__}`, {describe_death(answer)}; wanted an answer",
                next_step="run `opsdebug doctor`",
            )
        return answer

    def _describe_survivors(self, request: Describe, death: Death) -> Catalogue:
        """Describe each module in a process of its own, then together those that did not kill theirs."""
        # (1) one fresh worker per module, in parallel
        singles = [Describe(modules=(module,), root=request.root) for module in request.modules]
        deaths = [death] if len(singles) == 1 else list(self._executor.map(self._death_of, singles))
        guilty = {single.modules[0]: found for single, found in zip(singles, deaths, strict=True) if found is not None}
        faults = tuple(_fault(module, found, self._launcher.python) for module, found in guilty.items())
        # (2) the survivors together, as cases will need them
        survivors = Describe(
            modules=tuple(module for module in request.modules if module not in guilty), root=request.root
        )
        self._operators = survivors
        if not survivors.modules:
            return Catalogue(operators=(), faults=faults)
        answer = self._borrowing(lambda lane: lane.describe(survivors))
        if isinstance(answer, Death):
            together = _fault(", ".join(survivors.modules), answer, self._launcher.python)
            return Catalogue(operators=(), faults=(*faults, together))
        return replace(answer, faults=(*faults, *answer.faults))

    def _death_of(self, request: Describe) -> Death | None:
        lane = self._lane()
        try:
            answer = lane.describe(request)
        finally:
            lane.retire()
        return answer if isinstance(answer, Death) else None


def usable_cores() -> int:
    """Cores this process may use."""
    try:
        return len(os.sched_getaffinity(0))
    except AttributeError:  # macOS
        return os.cpu_count() or 1


def _fault(module: str, death: Death, python: str) -> DiscoveryFault:
    target = shlex.quote(module) if module.endswith(".py") else f"-c {shlex.quote(f'import {module}')}"
    return DiscoveryFault(
        where=module,
        found=describe_death(death),
        expected="a module that can be imported and leaves its process alive",
        next_step=f"run it alone: `{shlex.quote(python)} -X faulthandler {target}`",
    )

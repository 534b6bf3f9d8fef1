"""The worker's loop: one request per line in, one reply out, and breadcrumbs on a trail.

Decides nothing about operators. A broken invariant of ours becomes an observation `worker_broken`, so that one case
cannot end the run; everything that kills the process is the control side's to notice.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import TypeVar

from opsdebug_ci.errors import EnvironmentLimitError
from opsdebug_ci.model.attribution import Attribution
from opsdebug_ci.model.case import Case
from opsdebug_ci.model.machine import Calibration, Machine
from opsdebug_ci.model.message import (
    AttributeCase,
    Breadcrumb,
    Calibrate,
    CasesExplained,
    Describe,
    ExplainCases,
    Identify,
    KeepInputs,
    KeptInputs,
    PageCase,
    PagesKept,
    ProfileCase,
    Reply,
    RunCase,
    TimeCase,
    TraceCase,
)
from opsdebug_ci.model.observation import Observation
from opsdebug_ci.model.profile import CaseProfile
from opsdebug_ci.model.timing import CaseTimed
from opsdebug_ci.model.trace import CaseTrace
from opsdebug_ci.model.vocabulary import Phase, Status
from opsdebug_ci.model.wire import decode, encode
from opsdebug_ci.operators import Operator, describe, discover
from opsdebug_ci.timing import calibrate
from opsdebug_ci.worker.attribution import attribute
from opsdebug_ci.worker.case_run import run_case
from opsdebug_ci.worker.exceptions import facts_of
from opsdebug_ci.worker.explaining import explain_cases
from opsdebug_ci.worker.machine import identify
from opsdebug_ci.worker.pages import keep_pages
from opsdebug_ci.worker.preservation import keep_inputs
from opsdebug_ci.worker.profiling import profile
from opsdebug_ci.worker.timed_case import TimedCases
from opsdebug_ci.worker.tracing import trace

Answer = TypeVar("Answer")

REQUESTS = (
    Describe,
    RunCase,
    ExplainCases,
    AttributeCase,
    TraceCase,
    KeepInputs,
    PageCase,
    TimeCase,
    ProfileCase,
    Calibrate,
    Identify,
)
"""Everything that can be asked."""


def serve(request_fd: int, reply_fd: int, trail_fd: int) -> None:
    """Answer requests until the control side closes its end; `trail_fd` is a file that breadcrumbs are appended to."""
    session = _Session(reply_fd, trail_fd)
    with open(request_fd, encoding="utf-8") as requests:
        for line in requests:
            session.answer(decode(line, *REQUESTS))


class _Session:
    """What one worker process remembers: the operators it has found."""

    def __init__(self, reply_fd: int, trail_fd: int) -> None:
        self._reply_fd = reply_fd
        self._trail_fd = trail_fd
        self._operators: dict[str, Operator] = {}
        self._timed = TimedCases()

    def answer(self, request: object) -> None:
        if isinstance(request, Describe):
            self._send(self._describe(request))
        elif isinstance(request, Calibrate):
            self._send(self._calibrate(request))
        elif isinstance(request, Identify):
            self._send(identify())
        elif isinstance(request, (TimeCase, ProfileCase)):
            self._leave(Breadcrumb(phase=Phase.FUNCTION))
            self._send(self._timing(request))
        else:
            self._look_into(request)

    def _look_into(self, request: object) -> None:
        """Answer what is asked about the values of a case."""
        if isinstance(request, RunCase):
            self._send(self._of_case(request.case, lambda operator: run_case(operator, request, self._leave)))
        elif isinstance(request, ExplainCases):
            causes = self._of_case(request.case, lambda operator: explain_cases(operator, request, self._leave))
            unsaid = CasesExplained(case_id=request.case.id, found=())
            self._send(causes if isinstance(causes, CasesExplained) else unsaid)
        elif isinstance(request, AttributeCase):
            found = self._of_case(request.case, lambda operator: attribute(operator, request, self._leave))
            self._send(found if isinstance(found, Attribution) else _unread(request.case, found))
        elif isinstance(request, TraceCase):
            told = self._of_case(request.case, lambda operator: trace(operator, request, self._leave))
            self._send(told if isinstance(told, CaseTrace) else _untraced(request.case, told))
        elif isinstance(request, KeepInputs):
            self._leave(Breadcrumb(phase=Phase.INPUTS))
            kept = self._of_case(request.case, lambda operator: keep_inputs(operator, request))
            self._send(kept if isinstance(kept, KeptInputs) else _unkept(request.case, kept))
        elif isinstance(request, PageCase):
            spared = self._of_case(request.case, lambda operator: keep_pages(operator, request, self._leave))
            self._send(spared if isinstance(spared, PagesKept) else _unwatched(request.case, spared))

    def _timing(self, request: TimeCase | ProfileCase) -> CaseTimed | CaseProfile:
        """Answer what is asked about the speed of a case."""
        case = request.case
        if isinstance(request, TimeCase):
            timed = self._of_case(case, lambda operator: self._timed.visit(operator, request))
            return (
                timed if isinstance(timed, CaseTimed) else CaseTimed(case_id=case.id, visit=None, reason=timed.reason)
            )
        told = self._of_case(case, lambda operator: profile(operator, request))
        if isinstance(told, CaseProfile):
            return told
        return CaseProfile(case_id=case.id, operator=None, reason=told.reason)

    def _describe(self, request: Describe) -> Reply:
        self._leave(Breadcrumb(phase=Phase.DISCOVER))
        root = Path(request.root).resolve()
        discovery = discover(request.modules, root)
        self._operators |= {item.operator.name: item.operator for item in discovery.found}
        return describe(discovery, root)

    def _of_case(self, case: Case, work: Callable[[Operator], Answer]) -> Answer | Observation:
        operator = self._operators.get(case.operator)
        if operator is None:
            return _broken(case, f"operator `{case.operator}` was not described in this process")
        try:
            return work(operator)
        except Exception as error:  # noqa: BLE001 - the worker's loop: our own fault, told as such
            broken = _broken(case, f"internal error: {type(error).__name__}: {error}")
            return replace(broken, exception=facts_of(error))

    def _calibrate(self, request: Calibrate) -> Calibration:
        try:
            return calibrate(request.device)
        except EnvironmentLimitError:
            return Calibration(device=request.device, probes=())

    def _send(self, reply: Reply | Machine) -> None:
        _write(self._reply_fd, reply)

    def _leave(self, crumb: Breadcrumb) -> None:
        _write(self._trail_fd, crumb)


def _write(fd: int, message: Reply) -> None:
    data = (encode(message) + "\n").encode()
    while data:
        data = data[os.write(fd, data) :]


def _broken(case: Case, reason: str) -> Observation:
    return Observation(case_id=case.id, status=Status.WORKER_BROKEN, reason=reason)


def _unread(case: Case, observation: Observation) -> Attribution:
    return Attribution(case_id=case.id, observation=observation)


def _untraced(case: Case, observation: Observation) -> CaseTrace:
    return CaseTrace(case_id=case.id, observation=observation)


def _unkept(case: Case, observation: Observation) -> KeptInputs:
    return KeptInputs(case_id=case.id, table=None, reason=observation.reason)


def _unwatched(case: Case, observation: Observation) -> PagesKept:
    return PagesKept(case_id=case.id, watched=False, reason=observation.reason)

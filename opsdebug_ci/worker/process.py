"""The worker's loop: one request per line in, breadcrumbs and one reply out.

Decides nothing about operators. A broken invariant of ours becomes an observation `worker_broken`, so that one case
cannot end the run; everything that kills the process is the control side's to notice.
"""

from __future__ import annotations

import os
from pathlib import Path

from opsdebug_ci.errors import EnvironmentLimitError
from opsdebug_ci.model.machine import Calibration, Machine
from opsdebug_ci.model.message import Breadcrumb, Calibrate, Describe, Identify, Reply, RunCase
from opsdebug_ci.model.observation import Observation
from opsdebug_ci.model.vocabulary import Phase, Status
from opsdebug_ci.model.wire import decode, encode
from opsdebug_ci.operators import Operator, describe, discover
from opsdebug_ci.timing import calibrate
from opsdebug_ci.worker.case_run import run_case
from opsdebug_ci.worker.exceptions import facts_of
from opsdebug_ci.worker.machine import identify


def serve(request_fd: int, reply_fd: int) -> None:
    """Answer requests until the control side closes its end."""
    session = _Session(reply_fd)
    with open(request_fd, encoding="utf-8") as requests:
        for line in requests:
            session.answer(decode(line, Describe, RunCase, Calibrate, Identify))


class _Session:
    """What one worker process remembers: the operators it has found."""

    def __init__(self, reply_fd: int) -> None:
        self._reply_fd = reply_fd
        self._operators: dict[str, Operator] = {}

    def answer(self, request: object) -> None:
        if isinstance(request, Describe):
            self._send(self._describe(request))
        elif isinstance(request, RunCase):
            self._send(self._run(request))
        elif isinstance(request, Calibrate):
            self._send(self._calibrate(request))
        elif isinstance(request, Identify):
            self._send(identify())

    def _describe(self, request: Describe) -> Reply:
        self._send(Breadcrumb(phase=Phase.DISCOVER))
        root = Path(request.root).resolve()
        discovery = discover(request.modules, root)
        self._operators |= {item.operator.name: item.operator for item in discovery.found}
        return describe(discovery, root)

    def _run(self, request: RunCase) -> Observation:
        operator = self._operators.get(request.case.operator)
        if operator is None:
            return _broken(request, f"operator `{request.case.operator}` was not described in this process")
        try:
            return run_case(operator, request, self._send)
        except Exception as error:  # noqa: BLE001 - the worker's loop: our own fault, told as such
            broken = _broken(request, f"internal error: {type(error).__name__}: {error}")
            return Observation(
                case_id=broken.case_id, status=broken.status, reason=broken.reason, exception=facts_of(error)
            )

    def _calibrate(self, request: Calibrate) -> Calibration:
        try:
            return calibrate(request.device)
        except EnvironmentLimitError:
            return Calibration(device=request.device, probes=())

    def _send(self, reply: Reply | Machine) -> None:
        data = (encode(reply) + "\n").encode()
        while data:
            data = data[os.write(self._reply_fd, data) :]


def _broken(request: RunCase, reason: str) -> Observation:
    return Observation(case_id=request.case.id, status=Status.WORKER_BROKEN, reason=reason)

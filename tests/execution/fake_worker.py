"""A worker that speaks the protocol for real and misbehaves on demand; copied into a temporary package as its loop.

The operator's name says what a case does, the module's name what describing does. No torch, so that it starts at once.
"""

from __future__ import annotations

import ctypes
import multiprocessing
import os
import signal
import subprocess
import sys
import time

from opsdebug_ci.model import Calibration, Catalogue, DiscoveryFault, Machine, Observation, Phase, Status
from opsdebug_ci.model.contract import Contract
from opsdebug_ci.model.description import OperatorDescription
from opsdebug_ci.model.message import Breadcrumb, Calibrate, Describe, Identify, RunCase
from opsdebug_ci.model.vocabulary import Kind
from opsdebug_ci.model.wire import decode, encode

loaded: list[str] = []


def segfault() -> None:
    ctypes.string_at(0)


def leave() -> None:
    os._exit(3)


def spin() -> None:
    while True:
        time.sleep(0.01)


def spin_with_lock() -> None:
    ctypes.PyDLL(None).sleep(1000)


def hog() -> None:
    held = []
    while True:
        held.append(bytearray(os.urandom(1 << 20)) * 8)
        time.sleep(0.001)


def memory_error() -> None:
    raise MemoryError("wanted too much")


def shout() -> None:
    print('{"type":"Observation","case_id":"forged","status":"ran"}')  # noqa: T201 - the noise under test
    print("::error file=a.py::injected")  # noqa: T201 - the noise under test
    os.write(1, b"\xff\xfe garbage \x00")
    sys.stderr.write("x" * 200_000)


def shout_and_leave() -> None:
    shout()
    sys.stderr.write("bye..\n")
    leave()


def shout_for_ever() -> None:
    """About two megabytes a second."""
    while True:
        sys.stderr.write("x" * 2000)
        time.sleep(0.001)


def kill_itself() -> None:
    os.kill(os.getpid(), signal.SIGKILL)


def fall_to_the_kernel() -> None:
    """Ends as the kernel's out-of-memory killer ends a process: SIGKILL, and the group's counter goes up."""
    with open(os.environ["FAKE_COUNTER"], "w") as counter:
        counter.write("oom 2\noom_kill 2\n")
    kill_itself()


def spawn_sleeper() -> None:
    subprocess.Popen([sys.executable, "-c", "import time; time.sleep(300)", f"sleeper of {__file__}"])
    leave()


def hold_reply_pipe() -> None:
    if os.fork() == 0:
        time.sleep(300)
    leave()


def nap() -> None:
    time.sleep(0.2)


def own_file(_: int) -> str:
    return __file__


def spawned_file() -> str:
    """Where a process that the operator spawns finds this module."""
    with multiprocessing.get_context("spawn").Pool(1) as pool:
        return pool.map(own_file, [0])[0]


ACTS = {
    act.__name__: act
    for act in (
        segfault,
        leave,
        spin,
        spin_with_lock,
        hog,
        memory_error,
        shout,
        shout_and_leave,
        shout_for_ever,
        kill_itself,
        fall_to_the_kernel,
        spawn_sleeper,
        hold_reply_pipe,
        nap,
    )
}
"""`name` acts in the function phase, `phase:name` in another."""

ODD_REPLIES = {
    "malformed": b"{not json\n",
    "wrong_type": b'{"type":"Machine"}\n',
    "unknown": b'{"type":"Sandwich"}\n',
    "bad_field": b'{"type":"Observation","case_id":5,"status":"ran"}\n',
    "other_case": b'{"type":"Observation","case_id":"0000","status":"ran"}\n',
}


class Pipe:
    """The reply pipe, or the trail."""

    def __init__(self, fd: int) -> None:
        self.fd = fd

    def say(self, message: object) -> None:
        self.write((encode(message) + "\n").encode())

    def write(self, data: bytes) -> None:
        while data:
            data = data[os.write(self.fd, data) :]


def run(pipe: Pipe, trail: Pipe, request: RunCase) -> None:
    case = request.case
    phase, _, name = case.operator.rpartition(":")
    if name == "loop_exception":
        raise ValueError("the loop itself broke")
    trail.say(Breadcrumb(phase=Phase(phase or "function"), detail="torch" if phase == "reference" else None))
    if name in ODD_REPLIES:
        pipe.write(ODD_REPLIES[name])
        return
    if name == "torn_trail":
        trail.write(b'not a crumb\n{"type":"Breadcrumb","phase":"comp')
        leave()
    if name == "half_a_crumb":
        trail.write(b'{"type":"Breadcrumb","phase":"comp')
        leave()
    if name == "close_pipe":
        os.close(pipe.fd)
        time.sleep(300)
    if name in ACTS:
        ACTS[name]()
    facts = {
        "pid": str(os.getpid()),
        "large": "y" * 5_000_000 if name == "large" else "",
        "spawned": spawned_file() if name == "spawned" else "",
        "loaded": ",".join(loaded),
        "environment": "\n".join(sorted(os.environ)),
        "path": "\n".join(sys.path),
        "descriptors": ",".join(sorted(os.listdir("/proc/self/fd"))),
    }
    shown = facts.get(name, f"repeats={request.repeats} profile={request.profile} pid={os.getpid()}")
    pipe.say(Observation(case_id=case.id, status=Status.RAN, reason=shown))
    if name == "die_later":
        leave()


def describe(pipe: Pipe, trail: Pipe, request: Describe) -> None:
    for module in request.modules:
        trail.say(Breadcrumb(phase=Phase.DISCOVER, detail=module))
        if module in ACTS:
            ACTS[module]()
        if module.startswith("once:"):  # kills every process but the first that loads it
            flag = os.path.join(request.root, "flag")
            if os.path.exists(flag):
                leave()
            open(flag, "w").close()
        loaded.append(module)
    faults = [DiscoveryFault(where=m, found="nothing", expected="", next_step="") for m in loaded if m == "empty"]
    pipe.say(Catalogue(operators=tuple(operator(m) for m in loaded if m != "empty"), faults=tuple(faults)))


def operator(module: str) -> OperatorDescription:
    return OperatorDescription(
        name=module,
        kind=Kind.EXACT,
        dtypes=("float32",),
        dims={"N": 4},
        fixed_dims=(),
        tensors=(),
        own_inputs=True,
        references=(),
        devices=("cpu",),
        contract=Contract(),
        has_cost=False,
        module=module,
        source_file=None,
        source_line=None,
        source_files=(),
    )


def machine() -> Machine:
    return Machine(
        key="k",
        system="s",
        cpu="c",
        cores=2,
        memory_bytes=1,
        devices=(),
        python="3",
        torch="2",
        versions={"numpy": "1"},
        threads=int(os.environ["OMP_NUM_THREADS"]),
    )


def serve(request_fd: int, reply_fd: int, trail_fd: int) -> None:
    pipe, trail = Pipe(reply_fd), Pipe(trail_fd)
    with open(request_fd) as requests:
        for line in requests:
            request = decode(line, Describe, RunCase, Calibrate, Identify)
            if isinstance(request, Describe):
                describe(pipe, trail, request)
            elif isinstance(request, RunCase):
                run(pipe, trail, request)
            elif isinstance(request, Identify):
                pipe.say(machine())
            elif request.device == "broken":
                segfault()
            else:
                pipe.say(Calibration(device=request.device, probes=()))

"""Frames of a fatal signal, out of what an interpreter prints."""

from __future__ import annotations

import signal
import subprocess
import sys

from opsdebug_ci.execution.last_frames import halted_frames, last_frames, own_frame, place_of
from opsdebug_ci.execution.launch import PACKAGE

LOG = """noise
Fatal Python error: Segmentation fault

Thread 0x00007ff4f0a296c0 (most recent call first):
  File "/usr/lib/python3.11/threading.py", line 982 in run

Current thread 0x00007ff5127f9b80 (most recent call first):
  File "/x/lib/python3.11/site-packages/triton/interpreter.py", line 519 in load
  File "/home/runner/my ops/ops.py", line 24 in bad_load
  File "/home/runner/my ops/ops.py", line 30 in <lambda>

Current thread's C stack trace (most recent call first):
  Binary file "/usr/bin/python", at _Py_DumpStack+0x44 [0x4e9b01]

Extension modules: """ + ", ".join(f"module_{n}" for n in range(400))


def test_the_thread_that_was_met_is_read_innermost_last() -> None:
    assert last_frames(LOG) == (
        "/home/runner/my ops/ops.py:30 <lambda>",
        "/home/runner/my ops/ops.py:24 bad_load",
        "/x/lib/python3.11/site-packages/triton/interpreter.py:519 load",
    )


def test_a_signal_that_met_no_python_thread_is_the_oldest_ones() -> None:
    assert last_frames(LOG.replace("Current thread 0x", "Thread 0x"))[0] == "/home/runner/my ops/ops.py:30 <lambda>"


def test_the_last_of_several_counts_and_no_signal_has_none() -> None:
    later = "Fatal Python error: Bus error\n\nCurrent thread 0x1 (most recent call first):\n  <no Python frame>\n"
    assert last_frames(LOG + "\n" + later) == ()
    assert last_frames("noise\nThread 0x1 (most recent call first):\n") == ()


def test_only_the_innermost_are_kept() -> None:
    frames = "".join(f'  File "/p/ops.py", line {n} in f\n' for n in range(100))
    log = f"Fatal Python error: Segmentation fault\n\nCurrent thread 0x1 (most recent call first):\n{frames}"
    assert last_frames(log)[-1] == "/p/ops.py:0 f"
    assert len(last_frames(log)) == 12


def test_own_code_is_neither_installed_nor_ours() -> None:
    frames = (
        "/p/ops.py:1 f",
        f"{PACKAGE}/worker/launches.py:9 call",
        "/usr/lib/python3.11/ctypes/__init__.py:519 string_at",
        "<frozen importlib._bootstrap>:7 load",
        "/v/lib/python3.12/dist-packages/x.py:3 g",
    )
    assert own_frame(frames) == "/p/ops.py:1 f"
    assert own_frame(frames[1:]) is None
    assert own_frame((f"{PACKAGE}/catalogue/planted/x.py:4 kernel",)) == f"{PACKAGE}/catalogue/planted/x.py:4 kernel"
    assert place_of("/my ops/ops.py:1 f") == "/my ops/ops.py:1"
    assert place_of(None) is None


def test_a_real_interpreter_prints_what_is_read() -> None:
    program = "import ctypes\ndef inner():\n    ctypes.string_at(0)\ndef outer():\n    inner()\nouter()\n"
    done = subprocess.run(
        [sys.executable, "-X", "faulthandler", "-c", program], capture_output=True, text=True, timeout=60, check=False
    )
    functions = [frame.rpartition(" ")[2] for frame in last_frames(done.stderr)]
    assert functions[-4:-1] == ["<module>", "outer", "inner"]


def test_a_real_interpreter_that_hangs_says_where_when_it_is_asked() -> None:
    program = (
        "import ctypes, faulthandler, signal, sys, threading, time\n"
        "faulthandler.register(signal.SIGUSR1, file=sys.stderr, all_threads=True)\n"
        "usleep = ctypes.CDLL(None).usleep\n"
        "threading.Thread(target=time.sleep, args=(60,), daemon=True).start()\n"
        "def inner():\n    print('ready', flush=True)\n    usleep(5_000_000)\n"
        "inner()\n"
    )
    hung = subprocess.Popen([sys.executable, "-c", program], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    assert hung.stdout is not None
    assert hung.stderr is not None
    assert hung.stdout.readline() == "ready\n"
    hung.send_signal(signal.SIGUSR1)
    hung.wait(timeout=60)  # any signal ends `usleep`, and with it the program
    log = hung.stderr.read()
    hung.stdout.close()
    hung.stderr.close()
    assert [frame.rpartition(" ")[2] for frame in halted_frames(log)] == ["<module>", "inner"]
    assert last_frames(log) == ()
    assert halted_frames(log + "noise\n" + log) == halted_frames(log)
    assert halted_frames("noise\n") == ()

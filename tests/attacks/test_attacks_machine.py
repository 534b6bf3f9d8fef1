"""The machine fails, or is another than expected: A33 to A35, as far as no report is written."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
from pathlib import Path

import pytest
from attack_documents import run_document
from attack_list import attack, twin
from hostile_job import ROOT, obeyed, read_outputs

sys.path.insert(0, str(Path(__file__).parents[1] / "report"))
sys.path.insert(0, str(Path(__file__).parents[1] / "github"))
sys.path.insert(0, str(Path(__file__).parents[1] / "judge"))
sys.path.insert(0, str(Path(__file__).parents[1] / "publication"))
sys.path.insert(0, str(Path(__file__).parents[1] / "action"))

from test_action_bootstrap import SetUp

from opsdebug_ci.report import encode

STEP = """
import os, resource, signal, sys
from opsdebug_ci.pipeline.action import run_action
if "FILE_LIMIT" in os.environ:
    signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    resource.setrlimit(resource.RLIMIT_FSIZE, (int(os.environ["FILE_LIMIT"]),) * 2)
sys.exit(run_action(os.environ, opsdebug=(sys.executable, "-I", os.environ["PROGRAM"]), stdout=sys.stdout))
"""
"""The run step, with a command line of the test's own."""

WRITES = "import sys\nsys.stdout.write(open({document!r}, encoding='utf-8').read())\nraise SystemExit({code})\n"


class Step:
    """One run step in a process of its own."""

    def __init__(self, root: Path) -> None:
        self.root = root
        for name in ("work", "temp"):
            (root / name).mkdir()
        self.environ = {
            "PATH": os.environ["PATH"],
            "GITHUB_WORKSPACE": str(root / "work"),
            "GITHUB_OUTPUT": str(root / "output"),
            "GITHUB_STEP_SUMMARY": str(root / "step_summary"),
            "RUNNER_TEMP": str(root / "temp"),
            "PROGRAM": str(root / "opsdebug.py"),
            "PYTHONPATH": str(ROOT),
        }

    def program(self, failing: tuple[str, ...], code: int) -> None:
        """A command line that ends with a run in which these operators fail."""
        (self.root / "given.json").write_bytes(encode(run_document(failing, passing=["clean"] * 100)))
        text = WRITES.format(document=str(self.root / "given.json"), code=code)
        (self.root / "opsdebug.py").write_text(text, encoding="utf-8")

    def start(self, **environ: str) -> subprocess.Popen[str]:
        return subprocess.Popen(
            [sys.executable, "-c", STEP],
            env=self.environ | environ,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )

    def run(self, **environ: str) -> tuple[int, str, str]:
        process = self.start(**environ)
        out, err = process.communicate(timeout=60)
        return process.returncode, out, err

    @property
    def outputs(self) -> dict[str, str]:
        return read_outputs((self.root / "output").read_text(encoding="utf-8"))


@pytest.fixture
def step(tmp_path: Path) -> Step:
    return Step(tmp_path)


@attack("A34")
@pytest.mark.parametrize("failing", [(), pytest.param(("gelu",), marks=pytest.mark.slow)], ids=["passing", "failing"])
@pytest.mark.skipif(not Path("/dev/full").exists(), reason="no device that is always full")
def test_a_full_disk_under_the_outputs_is_never_a_pass(failing: tuple[str, ...], step: Step) -> None:
    step.program(failing, len(failing))
    code, out, err = step.run(GITHUB_OUTPUT="/dev/full")
    assert (code, err) == (1 if failing else 3, "")
    first = obeyed(out)[0]
    assert "`GITHUB_OUTPUT` is '/dev/full': got No space left on device" in first
    assert "next: free space on the runner" in first
    assert ("title=gelu" in out) == bool(failing)


@attack("A34")
@pytest.mark.slow
@pytest.mark.skipif(not Path("/dev/full").exists(), reason="no device that is always full")
def test_a_full_disk_under_the_summary_costs_the_summary_alone(step: Step) -> None:
    step.program(("gelu",), 1)
    code, out, err = step.run(GITHUB_STEP_SUMMARY="/dev/full")
    assert (code, err) == (1, "")
    assert [line.split(" ")[0] for line in obeyed(out)] == ["::error", "::warning"]
    assert step.outputs["verdict"] == "fail"


@attack("A34")
@pytest.mark.slow
def test_a_full_disk_under_the_report_is_never_a_pass(step: Step) -> None:
    """The file-size limit of the process stands for the disk; the document needs more."""
    step.program((), 0)
    code, out, err = step.run(FILE_LIMIT="8192")
    assert code not in (0, 1)
    assert err == ""
    assert len(obeyed(out)) >= 1
    assert step.outputs["verdict"] == "error"


@attack("A34")
@pytest.mark.slow
@pytest.mark.parametrize("place", ["/proc", "/dev/null", "none"])
def test_a_temporary_directory_that_cannot_be_written_is_said(place: str, step: Step) -> None:
    step.program((), 0)
    code, out, err = step.run(RUNNER_TEMP=place)
    assert (code, err) == (3, "")
    assert f"`RUNNER_TEMP` is '{place}'" in obeyed(out)[0]
    assert step.outputs["verdict"] == "error"


@twin("A34")
def test_with_room_everything_is_told(step: Step) -> None:
    step.program((), 0)
    code, out, err = step.run()
    assert (code, obeyed(out), err) == (0, [], "")
    assert step.outputs["verdict"] == "pass"
    assert "clean" in (step.root / "step_summary").read_text(encoding="utf-8")


WAITS = """
import os, pathlib, sys, time
pathlib.Path(os.environ["PLACE"]).write_text(str(os.getpid()))
print("waiting", file=sys.stderr, flush=True)
time.sleep(60)
"""


DEAF = "import signal\nsignal.signal(signal.SIGTERM, signal.SIG_IGN)\n"


def is_there(pid: int) -> bool:
    """Whether a process runs; one that only waits to be reaped does not."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except (FileNotFoundError, ProcessLookupError):
        return False


@attack("A34")
@pytest.mark.skipif(sys.platform != "linux", reason="looks at processes through /proc")
@pytest.mark.parametrize(
    ("order", "deaf", "ending"),
    [
        pytest.param(signal.SIGINT, "", signal.SIGTERM, marks=pytest.mark.slow),
        (signal.SIGTERM, "", signal.SIGTERM),
        pytest.param(signal.SIGINT, DEAF, signal.SIGKILL, marks=pytest.mark.slow),
    ],
    ids=["SIGINT", "SIGTERM", "deaf"],
)
def test_a_cancelled_step_ends_with_its_run_and_passes_nothing(
    order: signal.Signals, deaf: str, ending: signal.Signals, step: Step
) -> None:
    place = step.root / "pid"
    (step.root / "opsdebug.py").write_text(deaf + WAITS, encoding="utf-8")
    process = step.start(PLACE=str(place))
    assert process.stdout is not None
    while "waiting" not in process.stdout.readline():
        assert process.poll() is None
    child = int(place.read_text())
    process.send_signal(order)
    out, err = process.communicate(timeout=50)
    there = is_there(child)
    if there:
        os.kill(child, signal.SIGKILL)
    assert not there, "the run goes on without its step"
    assert (process.returncode, err) == (70, "")
    assert out.splitlines()[-1] == f"::error title=opsdebug ended with -{ending:d}::waiting"
    assert (step.outputs["verdict"], step.outputs["exit-code"]) == ("error", "70")


STANDS_IN = """
case " $* " in
*" venv "*) for last; do :; done; mkdir -p "$last/bin"; cp "$0" "$last/bin/python";;
esac
exit 0
"""
"""A Python that can do everything, in no time."""


@pytest.fixture
def set_up(tmp_path: Path) -> SetUp:
    made = SetUp(tmp_path)  # whose temporary directory has blanks and umlauts
    assert {" ", "ü"} <= set(str(made.temp))
    return made


@attack("A35")
@pytest.mark.parametrize(
    ("said", "code"),
    [
        (None, 0),
        ("it is Python 3.8", 1),
        ("Python was not found; run without arguments to install from the Microsoft Store", 49),
        ("No module named venv", 1),
        ("x\n::error::y", 1),
    ],
    ids=["none", "3.8", "shop window", "no venv", "hostile"],
)
def test_without_a_python_one_line_says_what_to_do(said: str | None, code: int, set_up: SetUp) -> None:
    if said is not None:
        set_up.plant("python3", f"printf '%s\\n' '{said}' >&2; exit {code}")
    assert set_up.run() == 3
    assert len(set_up.lines) == 1
    assert (said or "python3").replace("\n", " ") in set_up.error
    assert "wanted a Python >= 3.11" in set_up.error
    assert "next: add a step that sets up Python" in set_up.error
    assert set_up.output.read_text() == "verdict=error\nexit-code=3\n"


@attack("A35")
def test_without_a_network_one_line_says_what_to_do(set_up: SetUp) -> None:
    no_route = 'case " $* " in *" pip "*) echo "ERROR: Could not find a version that satisfies duckdb"; exit 1;; esac'
    set_up.plant("python3", f"{no_route}\n{STANDS_IN}")
    assert set_up.run() == 3
    assert set_up.error.startswith("got ERROR: Could not find a version that satisfies duckdb; wanted the dependencies")
    assert set_up.error.endswith("fill a directory of wheels and name it in the `wheelhouse` input")
    assert set_up.output.read_text() == "verdict=error\nexit-code=3\n"


@attack("A35")
def test_a_wheelhouse_that_is_none_is_a_mistake_of_the_caller(set_up: SetUp) -> None:
    assert set_up.run(OPSDEBUG_INPUT_WHEELHOUSE="no where") == 2
    assert "wanted a directory of wheels" in set_up.error


@twin("A35")
def test_with_a_python_it_works_below_blanks_and_umlauts(set_up: SetUp) -> None:
    set_up.plant("python3", STANDS_IN)
    assert set_up.run() == 0
    assert set_up.lines == []
    (control,) = re.findall("control=(.*)\n", set_up.output.read_text())
    assert Path(control).is_file()
    assert str(set_up.temp) in control

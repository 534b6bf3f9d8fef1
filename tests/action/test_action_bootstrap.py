"""The action's set-up step on machines that cannot do it; that it works elsewhere is shown by the whole action."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from importlib.metadata import packages_distributions
from pathlib import Path

import pytest
from publication_scene import scene

ROOT = Path(__file__).parents[2]
SCRIPT = ROOT / ".github/action/bootstrap.sh"
TOOLS = ("bash", "env", "mktemp", "tr", "head", "tail", "grep", "mkdir", "cp", "rm", "cat")


class SetUp:
    """One run of the script with a PATH that holds the tools it needs and the Pythons that are planted."""

    def __init__(self, root: Path) -> None:
        self.bin = root / "bin"
        self.bin.mkdir()
        for tool in TOOLS:
            found = shutil.which(tool)
            assert found, tool
            (self.bin / tool).symlink_to(found)
        self.temp = root / "temp ü dir"
        self.temp.mkdir()
        self.output = root / "output"
        self.workspace = root / "workspace"
        self.workspace.mkdir()
        self.environ = {
            "PATH": str(self.bin),
            "GITHUB_ACTION_PATH": str(ROOT),
            "GITHUB_OUTPUT": str(self.output),
            "RUNNER_TEMP": str(self.temp),
            "HOME": str(root),
        }
        self.lines: list[str] = []

    def plant(self, name: str, script: str) -> None:
        """A program called `name` in front of everything."""
        path = self.bin / name
        path.write_text(f"#!{self.bin / 'bash'}\n{script}\n", encoding="utf-8")
        path.chmod(0o755)

    def run(self, **environ: str) -> int:
        done = subprocess.run(
            [str(self.bin / "bash"), str(SCRIPT)],
            env=self.environ | environ,
            cwd=self.workspace,
            capture_output=True,
            text=True,
            timeout=120,
            check=False,
        )
        assert done.stderr == ""
        self.lines = done.stdout.splitlines()
        return done.returncode

    @property
    def error(self) -> str:
        """The only command, which is an error and the last line."""
        assert [line for line in self.lines if line.startswith("::error")] == self.lines[-1:]
        return self.lines[-1].removeprefix("::error title=opsdebug%3A set-up::")


@pytest.fixture
def set_up(tmp_path: Path) -> SetUp:
    return SetUp(tmp_path)


def test_no_python_at_all(set_up: SetUp) -> None:
    assert set_up.run() == 3
    assert set_up.error.startswith("got python3: ")
    assert "; wanted a Python >= 3.11 with venv and ensurepip on PATH; next: add a step that sets up" in set_up.error
    assert set_up.output.read_text() == "verdict=error\nexit-code=3\n"


def test_a_python_too_old(set_up: SetUp) -> None:
    set_up.plant("python3", "echo 'it is Python 3.8' >&2; exit 1")
    assert set_up.run() == 3
    assert "got python3: it is Python 3.8 python: " in set_up.error


def test_the_probe_refuses_old_pythons_by_itself(set_up: SetUp) -> None:
    """The very words of the probe, run with a version that lies."""
    probe = SCRIPT.read_text(encoding="utf-8").split("probe='")[1].split("'\n")[0]
    lie = "import sys; sys.version_info = (3, 9, 18); "
    done = subprocess.run([sys.executable, "-I", "-c", lie + "\n" + probe], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (1, "it is Python 3.9\n")
    done = subprocess.run([sys.executable, "-I", "-c", probe], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (0, "")


def test_a_shop_window_instead_of_python(set_up: SetUp) -> None:
    set_up.plant("python3", "echo 'Python was not found; run without arguments to install' >&2; exit 49")
    assert set_up.run() == 3
    assert "got python3: Python was not found; run without arguments to install" in set_up.error


PROBE_OF_PIP = '*"import os, pip._vendor"*)'
"""The question whether the Python has a pip that ours can run, as a pattern of the shell's."""

WITHOUT_A_WHOLE_PIP = f"""
case "$*" in
{PROBE_OF_PIP} exit 0;;
esac
exec {sys.executable} "$@"
"""
"""A Python whose pip finds its libraries elsewhere."""

STANDS_IN = """
printf '%s\\n' "$*" | head -n 1 >> LOG
case "$*" in
PROBE printf '%s\\n' 'RUNNER';;
"-I -m venv "*) for last; do :; done; mkdir -p "$last/bin"; cp "$0" "$last/bin/python";;
esac
"""
"""A Python that can do everything, in no time, and says what it was asked."""


@pytest.mark.parametrize("there", [True, False])
def test_a_pip_that_is_there_is_not_made_anew(set_up: SetUp, tmp_path: Path, *, there: bool) -> None:
    runner, log = tmp_path / "pip of the ünit.py", tmp_path / "log"
    if there:
        runner.touch()
    script = STANDS_IN.replace("LOG", str(log)).replace("PROBE", PROBE_OF_PIP).replace("RUNNER", str(runner))
    set_up.plant("python3", script)
    assert (set_up.run(OPSDEBUG_INPUT_PUBLISH="true"), set_up.lines) == (0, [])
    (made,) = [line for line in log.read_text("utf-8").splitlines() if line.startswith("-I -m venv")]
    (installed,) = [line for line in log.read_text("utf-8").splitlines() if " install " in line]
    assert ("--without-pip" in made) is there
    assert installed.startswith(f"-I -B {runner} install " if there else "-I -m pip install ")
    assert installed.endswith(f" --require-hashes --requirement {ROOT}/.github/action/publish.lock")


@pytest.mark.slow
@pytest.mark.parametrize("lent", [True, False])
def test_no_index_and_no_wheels(set_up: SetUp, tmp_path: Path, *, lent: bool) -> None:
    if lent:
        (set_up.bin / "python3").symlink_to(sys.executable)
    else:
        set_up.plant("python3", WITHOUT_A_WHOLE_PIP)
    planted = tmp_path / "planted"
    planted.mkdir()
    for module in ("sitecustomize.py", "json.py", "pip.py", "setuptools.py"):
        text = f"open({str(tmp_path / 'executed')!r}, 'a').write({module!r})\n"
        (planted / module).write_text(text, encoding="utf-8")
        (set_up.workspace / module).write_text(text, encoding="utf-8")
    code = set_up.run(PIP_NO_INDEX="1", PIP_CONFIG_FILE=os.devnull, PYTHONPATH=str(planted), PIP_USER="1")
    assert code == 3
    assert "No matching distribution found" in "\n".join(set_up.lines)
    assert set_up.error.startswith("got ERROR: ")
    assert set_up.error.endswith("fill a directory of wheels and name it in the `wheelhouse` input")
    assert set_up.lines[0].startswith("::stop-commands::opsdebug_")
    assert set_up.lines[-2] == f"::{set_up.lines[0].removeprefix('::stop-commands::')}::"
    assert not (tmp_path / "executed").exists(), "the workspace reached the control side"
    assert bool([*set_up.temp.glob("*/venv/lib/*/site-packages/pip")]) is not lent


@pytest.mark.parametrize("value", ["nowhere", "-", 'a";id;"', "$(id)", "x\n::error::y"])
def test_a_wheelhouse_that_is_none(set_up: SetUp, value: str) -> None:
    assert set_up.run(OPSDEBUG_INPUT_WHEELHOUSE=value) == 2
    shown = value.replace("\n", "%0A")
    assert set_up.error.startswith(f'got `wheelhouse` "{shown}"; wanted a directory of wheels; next: fill it with')
    assert len(set_up.lines) == 1


def test_a_temporary_directory_that_is_none(set_up: SetUp, tmp_path: Path) -> None:
    assert set_up.run(RUNNER_TEMP=str(tmp_path / "none")) == 3
    assert "where nothing can be written; wanted a writable directory" in set_up.error


PROJECT, PUBLISH = ROOT / "pyproject.toml", ROOT / ".github/action/publish.txt"


def dependencies() -> list[str]:
    """Of the project."""
    listed = re.search(r"^dependencies = \[$(.*?)^\]$", PROJECT.read_text(encoding="utf-8"), re.DOTALL | re.MULTILINE)
    assert listed
    return re.findall(r'^    "([^"]*)",', listed[1], re.MULTILINE)


def published() -> list[str]:
    """Of a job that only publishes."""
    return [line for line in PUBLISH.read_text(encoding="utf-8").splitlines() if not line.startswith("#")]


def test_a_job_that_publishes_gets_a_part_of_the_dependencies() -> None:
    assert published()
    assert set(published()) < set(dependencies())


@pytest.mark.parametrize("lock", ["control", "publish"])
def test_what_is_installed_is_locked_by_hash(lock: str) -> None:
    lines = (ROOT / f".github/action/{lock}.lock").read_text(encoding="utf-8").splitlines()
    packages = [line for line in lines if not line.startswith("    ")]
    assert packages
    assert [line for line in packages if not re.match(r"[a-z0-9-]+==[\w.]+ ", line)] == []
    assert len([line for line in lines if "--hash=sha256:" in line]) >= len(packages)


def test_every_dependency_is_in_the_lock() -> None:
    names = {line.split("==")[0] for line in (ROOT / ".github/action/control.lock").read_text("utf-8").splitlines()}
    wanted = {re.split(r"[>=; ]", line)[0].lower() for line in dependencies()} - {"tomli"}
    assert wanted < names, "run `make locks`"


def locked(lock: str) -> set[str]:
    """Packages of one lock."""
    lines = (ROOT / f".github/action/{lock}.lock").read_text("utf-8").splitlines()
    return {line.split("==")[0] for line in lines if not line.startswith("    ")}


def test_publishing_needs_nothing_beyond_that_part() -> None:
    """In a process of its own, where everything else that a job may have is not to be had."""
    beyond = locked("control") - locked("publish")
    absent = sorted(
        module
        for module, packages in packages_distributions().items()
        if beyond & {re.sub(r"[._]", "-", package.lower()) for package in packages}
    )
    assert {"cryptography", "duckdb", "markdown_it", "pyarrow", "pycparser", "rich"} <= set(absent)
    with scene() as here:
        run = here.run("scale:fail")
        words = (
            "import sys\n"
            f"sys.modules.update(dict.fromkeys({absent!r}))\n"
            "from opsdebug_ci.cli import outcome\n"
            f"print(outcome(['publish', '--run-id={run.id}']))\n"
        )
        environ = {**os.environ, **here.environ(), "OPSDEBUG_TOKEN": here.token}
        done = subprocess.run(
            [sys.executable, "-c", words], env=environ, capture_output=True, text=True, check=False, timeout=120
        )
        assert done.stdout.splitlines()[-1:] == ["1"], done.stderr
        assert "scale" in here.body

"""Arms of real repositories, described by real workers: which file an operator runs is read from the worker itself."""

from __future__ import annotations

import itertools
import os
import subprocess
import sys
import sysconfig
from dataclasses import replace
from datetime import datetime, timezone
from pathlib import Path

import pytest
from pipeline_notation import Tally

from opsdebug_ci.errors import ConfigurationError, EnvironmentLimitError, UsageError
from opsdebug_ci.execution import WorkerPool
from opsdebug_ci.model.description import Catalogue
from opsdebug_ci.pipeline.arms import ArmSpec, check_separate, prepare_arm
from opsdebug_ci.pipeline.world import World
from opsdebug_ci.plan import Configuration, load_configuration

OPERATORS = """
import fast
from opsdebug_ci import operator, tensor


@operator(kind="elementwise", x=tensor("M N"))
def add(x):
    return x + fast.VERSION


add.reference("torch")(lambda x: x + 1)
"""

PROJECT = """
[build-system]
requires = ["setuptools"]
build-backend = "setuptools.build_meta"

[project]
name = "fast"
version = "1"

[tool.opsdebug]
operators = ["ops.py"]
"""


class Project:
    """A repository of two commits whose package `fast` lies in `package`."""

    def __init__(self, root: Path, package: str) -> None:
        self.root = root.resolve()
        self.package = package
        self.environ = {"PATH": os.environ["PATH"], "HOME": str(root), "MY_TOKEN": "secret"}
        (root / package / "fast").mkdir(parents=True)
        (root / "ops.py").write_text(OPERATORS)
        (root / "pyproject.toml").write_text(PROJECT)
        (root / ".gitignore").write_text("*.egg-info\nbuild\n__pycache__\n")
        self.git("init", "--quiet", "--initial-branch=main")
        self.version(1)
        self.version(2)

    def git(self, *words: str) -> str:
        identity = ("-c", "user.name=A", "-c", "user.email=a@example.org", "-c", "commit.gpgsign=false")
        done = subprocess.run(["git", *identity, *words], cwd=self.root, capture_output=True, text=True, check=True)
        return done.stdout.strip()

    def version(self, number: int) -> None:
        (self.root / self.package / "fast" / "__init__.py").write_text(f"VERSION = {number}\n")
        self.commit()

    def commit(self) -> None:
        self.git("add", "--all")
        self.git("commit", "--quiet", "--message=change")

    def configuration(self, **overrides: object) -> Configuration:
        return load_configuration(self.root, overrides=overrides)

    def world(self) -> World:
        clock = itertools.count()
        return World(
            directory=self.root,
            environ=self.environ,
            now=lambda: datetime.now(timezone.utc),
            entropy=os.urandom,
            monotonic_ns=clock.__next__,
            progress=Tally(),
        )

    def arm(self, name: str, revision: str | None, python: str | None = None, **overrides: object) -> ArmSpec:
        return prepare_arm(name, revision, python, self.configuration(**overrides), self.world())

    def linked(self, directory: Path) -> Project:
        """The package installed editable in an interpreter of its own, which is then the configured one."""
        environment = new_environment(directory)
        subprocess.run(
            [environment, "-m", "pip", "install", "--quiet", "--no-build-isolation", "--no-deps", "--editable", "."],
            cwd=self.root,
            env={**os.environ, "PIP_DISABLE_PIP_VERSION_CHECK": "1", "PIP_ROOT_USER_ACTION": "ignore"},
            capture_output=True,
            check=True,
        )
        with (self.root / "pyproject.toml").open("a") as file:
            file.write(f'python = "{environment}"\n')
        return self


def new_environment(directory: Path) -> str:
    """An interpreter that has what this one has, and room for more."""
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", str(directory)], check=True)
    packages = next(directory.glob("lib/python*/site-packages"))
    (packages / "ours.pth").write_text(sysconfig.get_path("purelib"))
    return str(directory / "bin" / "python")


def described(arm: ArmSpec) -> Catalogue:
    with WorkerPool(arm.python, workers=1, directory=arm.root, environment=arm.environment) as pool:
        return pool.describe(arm.operators, arm.root)


def imported(arm: ArmSpec) -> Path:
    """The file that the arm's operators would import as `fast`, without the cost of a worker."""
    command = "import sys; sys.path.insert(0, ''); import fast; print(fast.__file__)"
    done = subprocess.run(
        [arm.python, "-c", command], cwd=arm.root, env=dict(arm.environment), capture_output=True, text=True, check=True
    )
    return Path(done.stdout.strip())


def files(catalogue: Catalogue) -> tuple[tuple[str, ...], ...]:
    return tuple(operator.source_files for operator in catalogue.operators)


@pytest.fixture(scope="module")
def linked(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Project]:
    """Projects in the two usual layouts, each installed editable."""
    roots = {package: tmp_path_factory.mktemp("linked") for package in ("src", ".")}
    return {package: Project(at / "kernels", package).linked(at / "environment") for package, at in roots.items()}


@pytest.mark.parametrize(("package", "places"), [("src", ["src", "."]), (".", ["."])])
def test_an_editable_install_leaves_each_arm_its_own_code(
    linked: dict[str, Project], package: str, places: list[str]
) -> None:
    base, head = linked[package].arm("base", "HEAD~1"), linked[package].arm("head", None)
    found = described(base)
    wanted = (tuple(sorted(("ops.py", (Path(package) / "fast" / "__init__.py").as_posix()))),)
    assert (files(found), found.outside, found.faults) == (wanted, (), ())
    assert [imported(arm).read_text() for arm in (base, head)] == ["VERSION = 1\n", "VERSION = 2\n"]
    assert check_separate(base, found, head) == ()
    paths = base.environment["PYTHONPATH"].split(os.pathsep)[1:]
    assert paths == [str((base.top / place).resolve()) for place in places]


def test_a_base_that_imports_the_head_is_told(linked: dict[str, Project]) -> None:
    """The planted defect: without its paths, the base follows the editable install into the work tree."""
    project = linked["src"]
    base, head = project.arm("base", "HEAD~1"), project.arm("head", None)
    mixed = replace(base, environment={**base.environment, "PYTHONPATH": ""})
    found = described(mixed)
    with pytest.raises(EnvironmentLimitError) as caught:
        check_separate(mixed, found, head)
    assert caught.value.message == (
        f"the operators of `base` import {project.root}/src/fast/__init__.py, a file of `head`; wanted files in "
        f"{base.top} or installed ones: as it is, one version would be compared with itself"
    )
    assert "uninstall it in that interpreter" in caught.value.next_step
    other = project.arm("head", "HEAD")
    with pytest.raises(EnvironmentLimitError, match="a file of the work tree;"):
        check_separate(mixed, found, other)


def test_paths_of_the_work_tree_lead_to_their_counterparts(tmp_path: Path) -> None:
    project = Project(tmp_path / "kernels", "python")
    elsewhere = tmp_path / "elsewhere"
    project.environ["PYTHONPATH"] = os.pathsep.join((str(project.root / "python"), str(elsewhere), "python"))
    base, head = project.arm("base", "HEAD~1"), project.arm("head", None)
    paths = base.environment["PYTHONPATH"].split(os.pathsep)[1:]
    assert paths == [str(base.top / "python"), str(base.top), str(elsewhere), "python"]
    assert head.environment["PYTHONPATH"].split(os.pathsep)[1:] == project.environ["PYTHONPATH"].split(os.pathsep)
    assert imported(base) == base.top / "python" / "fast" / "__init__.py"
    assert imported(head) == project.root / "python" / "fast" / "__init__.py"


def test_facts_tell_what_an_arm_is(tmp_path: Path) -> None:
    project = Project(tmp_path / "kernels", ".")
    base, head = project.arm("base", "HEAD~1"), project.arm("head", None)
    commit, tree = project.git("rev-parse", "HEAD~1"), project.git("rev-parse", "HEAD~1:")
    assert (base.facts.revision, base.facts.commit, base.facts.tree) == ("HEAD~1", commit, tree)
    assert (head.facts.revision, head.facts.commit, head.facts.dirty) == ("", project.git("rev-parse", "HEAD"), False)
    assert base.facts.torch == head.facts.torch != ""
    assert (base.facts.build_s, base.python) == (None, sys.executable)
    (project.root / "ops.py").write_text(f"{OPERATORS}\n")
    dirty = project.arm("head", None).facts
    assert (dirty.dirty, dirty.tree) == (True, "")


def test_arms_keep_compiled_code_apart_and_secrets_out(tmp_path: Path) -> None:
    project = Project(tmp_path / "kernels", ".")
    project.environ["TORCH_EXTENSIONS_DIR"] = str(tmp_path / "shared")
    arms = [project.arm("base", "HEAD~1"), project.arm("older", "HEAD"), project.arm("head", None)]
    for variable in ("TORCH_EXTENSIONS_DIR", "TRITON_CACHE_DIR"):
        assert len({arm.environment[variable] for arm in arms}) == 3
    assert all("MY_TOKEN" not in arm.environment for arm in arms)
    assert project.arm("base", "HEAD~1").environment == arms[0].environment, "kept from run to run"
    assert project.git("status", "--porcelain") == ""


def test_each_arm_is_built_and_finds_what_its_build_installed(tmp_path: Path) -> None:
    project = Project(tmp_path / "kernels", "hidden")
    build = 'cp -r hidden/fast "$OPSDEBUG_SITE"'
    base, head = project.arm("base", "HEAD~1", build=build), project.arm("head", None, build=build)
    assert base.facts.build_s is not None
    assert head.facts.build_s is not None
    assert project.arm("base", "HEAD~1", build=build).facts.build_s is None
    found = {arm.name: imported(arm) for arm in (base, head)}
    assert {name: path.read_text() for name, path in found.items()} == {
        "base": "VERSION = 1\n",
        "head": "VERSION = 2\n",
    }
    for arm, other in ((base, head), (head, base)):
        catalogue = Catalogue(operators=(), faults=(), outside=(str(found[arm.name]),))
        assert check_separate(arm, catalogue, other) == ()
        with pytest.raises(
            EnvironmentLimitError, match=f"the operators of `{other.name}` import .*, a file of `{arm.name}`;"
        ):
            check_separate(other, catalogue, arm)


def test_operators_are_those_the_commit_lists(tmp_path: Path) -> None:
    project = Project(tmp_path / "kernels", ".")
    (project.root / "pyproject.toml").write_text(PROJECT.replace('"ops.py"', '"moved.py", "more.py"'))
    project.commit()
    assert project.arm("base", "HEAD~1").operators == ("ops.py",)
    assert project.arm("head", None).operators == ("moved.py", "more.py")
    assert project.arm("base", "HEAD~1", operators="given.py").operators == ("given.py",), "the command line holds"


def test_a_commit_before_the_configuration_is_searched_as_the_head_is(tmp_path: Path) -> None:
    project = Project(tmp_path / "kernels", ".")
    (project.root / "pyproject.toml").unlink()
    project.commit()
    absolute = str(project.root / "ops.py")
    (project.root / "opsdebug.toml").write_text(f'operators = ["ops.py", "{absolute}"]\n')
    arm = project.arm("base", "HEAD")
    assert arm.operators == ("ops.py", str(arm.top / "ops.py"))
    assert arm.notes == ("that commit has no configuration: its operators are looked for where they are now",)
    moved = project.arm("base", "HEAD~1")
    assert (moved.operators, moved.notes) == (("ops.py",), ()), "its own configuration, under its other name"


def test_two_installed_versions_are_two_interpreters_of_one_tree(tmp_path: Path) -> None:
    project = Project(tmp_path / "kernels", "hidden")
    pythons = {}
    for number in (1, 2):
        pythons[number] = new_environment(tmp_path / f"environment{number}")
        packages = next((tmp_path / f"environment{number}").glob("lib/python*/site-packages"))
        (packages / "fast.py").write_text(f"VERSION = {number}\n")
    base, head = project.arm("base", None, pythons[1]), project.arm("head", None, pythons[2])
    assert base.root == head.root == project.root
    assert (base.python, head.python) == (pythons[1], pythons[2])
    assert [imported(arm).read_text() for arm in (base, head)] == ["VERSION = 1\n", "VERSION = 2\n"]
    catalogue = Catalogue(operators=(), faults=(), outside=(str(imported(head)),))
    assert check_separate(base, catalogue, head) == (), "files of one tree are no other's"


def test_what_cannot_be_prepared_is_told(tmp_path: Path) -> None:
    project = Project(tmp_path / "kernels", ".")
    with pytest.raises(UsageError, match="knows no such commit"):
        project.arm("base", "nowhere")
    with pytest.raises(EnvironmentLimitError, match="found no such program"):
        project.arm("base", "HEAD", "no-such-python")
    with pytest.raises(EnvironmentLimitError, match="`build` of `base`, an earlier commit"):
        project.arm("base", "HEAD", build="false")
    with pytest.raises(EnvironmentLimitError, match="`build` of the code under test"):
        project.arm("head", None, build="false")
    (project.root / "pyproject.toml").write_text("broken")
    with pytest.raises(ConfigurationError):
        project.arm("base", "HEAD")

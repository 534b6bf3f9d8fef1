"""Copies of a project in a real interpreter's packages: one put there by pip, the others written as installers do."""

from __future__ import annotations

import itertools
import json
import os
import re
import subprocess
import sys
import sysconfig
from collections.abc import Mapping
from dataclasses import replace
from datetime import datetime, timezone
from pathlib import Path

import pytest
from pipeline_notation import Tally

from opsdebug_ci.errors import EnvironmentLimitError
from opsdebug_ci.execution import WorkerPool
from opsdebug_ci.model.description import Catalogue
from opsdebug_ci.pipeline.arms import ArmSpec, check_separate, prepare_arm
from opsdebug_ci.pipeline.installed_copy import check_installed
from opsdebug_ci.pipeline.world import World
from opsdebug_ci.plan import load_configuration

FILES = {
    "pyproject.toml": """
[build-system]
requires = ["setuptools"]
build-backend = "setuptools.build_meta"

[project]
name = "fast-kernels"
version = "1.5"

[tool.setuptools]
package-dir = {"" = "python"}
packages = ["fast", "fast.parts"]

[tool.opsdebug]
operators = ["ops.py"]
""",
    ".gitignore": "build\n*.egg-info\n__pycache__\ndeps\n",
    "ops.py": """
import fast
from opsdebug_ci import operator, tensor


@operator(kind="elementwise", x=tensor("M N"))
def add(x):
    return x + fast.VERSION


add.reference("torch")(lambda x: x + 1)
""",
    "python/fast/__init__.py": "VERSION = 1\n",
    "python/fast/parts/__init__.py": "",
    "python/slow/__init__.py": "",
    "python/slow/parts/__init__.py": "",
    "python/quick/__init__.py": "",
    "backends/wide/__init__.py": "",
    "python/fast/wide/__init__.py": "",
    "tests/near/__init__.py": "",
    "carried/lib/__init__.py": "",
}


class Installation:
    """A repository of two commits whose package lies where only an installer finds it, and an interpreter."""

    def __init__(self, directory: Path) -> None:
        self.root = directory / "kernels"
        for name, text in FILES.items():
            path = self.root / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text)
        self.git("init", "--quiet", "--initial-branch=main")
        for number in (1, 2):
            (self.root / "python/fast/__init__.py").write_text(f"VERSION = {number}\n")
            self.git("add", "--all")
            self.git("commit", "--quiet", "--message=change")
        environment = directory / "environment"
        subprocess.run([sys.executable, "-m", "venv", "--without-pip", str(environment)], check=True)
        self.python = str(environment / "bin" / "python")
        self.packages = next(environment.glob("lib/python*/site-packages")).resolve()
        (self.packages / "ours.pth").write_text(sysconfig.get_path("purelib"))

    def git(self, *words: str) -> None:
        identity = ("-c", "user.name=A", "-c", "user.email=a@example.org", "-c", "commit.gpgsign=false")
        subprocess.run(["git", *identity, *words], cwd=self.root, capture_output=True, check=True)

    def pip_install(self) -> None:
        command = [self.python, "-m", "pip", "install", "--quiet", "--no-build-isolation", "--no-deps", "."]
        environ = {**os.environ, "PIP_DISABLE_PIP_VERSION_CHECK": "1", "PIP_ROOT_USER_ACTION": "ignore"}
        subprocess.run(command, cwd=self.root, env=environ, capture_output=True, check=True)

    def arms(self, **overrides: object) -> tuple[ArmSpec, ArmSpec]:
        """Base and head."""
        clock = itertools.count()
        world = World(
            directory=self.root,
            environ={"PATH": os.environ["PATH"], "HOME": str(self.root)},
            now=lambda: datetime.now(timezone.utc),
            entropy=os.urandom,
            monotonic_ns=clock.__next__,
            progress=Tally(),
        )
        configuration = load_configuration(self.root, overrides={"python": self.python, **overrides})
        return (
            prepare_arm("base", "HEAD~1", None, configuration, world),
            prepare_arm("head", None, None, configuration, world),
        )

    def write(self, name: str, files: tuple[str, ...], origin: Mapping[str, object] | None = None) -> Catalogue:
        """What the operators are described as once an installer put `files` there and they import the first."""
        information = self.packages / f"{name}-1.dist-info"
        information.mkdir()
        (information / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {name}\nVersion: 1\n")
        (information / "RECORD").write_text("".join(f"{file},,\n" for file in files))
        if origin is not None:
            text = json.dumps(origin).replace("{root}", self.root.as_uri())
            (information / "direct_url.json").write_text(text)
        return Catalogue(operators=(), faults=(), installed=(str(self.packages / files[0]),))


@pytest.fixture(scope="module")
def installed(tmp_path_factory: pytest.TempPathFactory) -> Installation:
    return Installation(tmp_path_factory.mktemp("installed"))


@pytest.fixture(scope="module")
def arms(installed: Installation) -> tuple[ArmSpec, ArmSpec]:
    return installed.arms()


def described(arm: ArmSpec) -> Catalogue:
    with WorkerPool(arm.python, workers=1, directory=arm.root, environment=arm.environment) as pool:
        return pool.describe(arm.operators, arm.root)


def imported(arm: ArmSpec) -> Path:
    """The file that the arm's operators would import as `fast`, without the cost of a worker."""
    command = [arm.python, "-c", "import fast; print(fast.__file__)"]
    done = subprocess.run(command, cwd=arm.root, env=dict(arm.environment), capture_output=True, text=True, check=True)
    return Path(done.stdout.strip()).resolve()


def test_one_installed_copy_in_both_arms_is_refused(installed: Installation, arms: tuple[ArmSpec, ArmSpec]) -> None:
    """The planted defect, and its clean twin: a build that installs the package into each arm."""
    installed.pip_install()
    base, head = arms
    found = described(base)
    copy = installed.packages / "fast" / "__init__.py"
    assert str(copy) in found.installed
    assert imported(head) == copy
    assert check_separate(base, found, head) == (), "installed files are no other tree's"
    with pytest.raises(EnvironmentLimitError) as caught:
        check_installed(base, found, head, found)
    assert caught.value.message == (
        f"the operators of `base` and of `head` import {copy}, of `fast-kernels` 1.5 as installed in "
        f"{installed.python}; wanted a copy of the project for each: as it is, one version would be compared with "
        "itself"
    )
    assert '--target "$OPSDEBUG_SITE"' in caught.value.next_step
    assert "`--base-python`" in caught.value.next_step

    built, built_head = installed.arms(build='cp -r python/fast "$OPSDEBUG_SITE"')
    own = imported(built)
    assert own.is_relative_to(built.place)
    others = replace(found, installed=tuple(path for path in found.installed if path != str(copy)))
    assert check_installed(built, others, built_head, others) == ()
    assert check_installed(built, others, head, found) == (), "one arm has a copy of its own"


def test_two_interpreters_with_versions_of_their_own_are_compared(
    installed: Installation, arms: tuple[ArmSpec, ArmSpec], tmp_path: Path
) -> None:
    base, head = arms
    found = installed.write("separate", ("separate.so",), {"url": installed.root.as_uri(), "dir_info": {}})
    other = Catalogue(operators=(), faults=(), installed=(str(tmp_path / "site-packages/separate.so"),))
    assert check_installed(base, other, head, found) == ()
    assert check_installed(replace(base, top=head.top), found, head, found) == (), "one tree is no second version"
    elsewhere = replace(base, python=str(tmp_path / "bin/python"))
    assert check_installed(elsewhere, found, head, found) == (
        f"`base` and `head` both import {installed.packages}/separate.so, of `separate` 1 as installed: its code is "
        "the same",
    ), "one copy, although the interpreters are two"


@pytest.mark.parametrize(
    ("name", "files", "origin"),
    [
        ("whole", ("whole.so",), {"dir_info": {}, "url": "{root}"}),
        ("linked-compiled", ("compiled.so",), {"dir_info": {"editable": True}, "url": "{root}"}),
        ("carried", ("lib.so",), {"dir_info": {}, "url": "{root}/carried/lib"}),
        ("kept-tree", ("kept.so",), {"dir_info": {}, "url": "{root}/.opsdebug/trees/0/main"}),
        ("released", ("slow/__init__.py", "slow/parts/__init__.py", "slow/_version.py"), None),
        ("wheel", ("quick/__init__.py",), {"archive_info": {}, "url": "file:///wheels/quick-1.whl"}),
    ],
)
def test_the_project_is_known(
    installed: Installation,
    arms: tuple[ArmSpec, ArmSpec],
    name: str,
    files: tuple[str, ...],
    origin: Mapping[str, object] | None,
) -> None:
    base, head = arms
    found = installed.write(name, files, origin)
    with pytest.raises(EnvironmentLimitError, match=re.escape(f"{files[0]}, of `{name}` 1 as installed in")):
        check_installed(base, found, head, found)


LIBRARIES = {
    "of-a-test": (("near/__init__.py",), None),
    "larger": (("wide/__init__.py", "wide/a.py", "wide/b.py"), None),
    "inner": (("parts/__init__.py",), None),
    "not-tracked": (("deps_a.py",), {"dir_info": {}, "url": "{root}/deps/a"}),
    "elsewhere": (("elsewhere.py",), {"dir_info": {}, "url": "{root}-of-another"}),
    "kept-wheel": (("kept_wheel.py",), {"archive_info": {}, "url": "{root}/carried/kept-1.whl"}),
    "remote": (("remote.py",), {"vcs_info": {}, "url": "https://example.org/kernels"}),
    "linked": (("__editable___linked_finder.py",), {"dir_info": {"editable": True}, "url": "{root}"}),
}
"""What operators may import in both arms: the files of each, and where it came from."""


def test_a_library_is_not_taken_for_the_project(installed: Installation, arms: tuple[ArmSpec, ArmSpec]) -> None:
    base, head = arms
    written = [installed.write(name, files, origin) for name, (files, origin) in LIBRARIES.items()]
    found = replace(written[0], installed=tuple(path for one in written for path in one.installed))
    assert len(found.installed) == len(LIBRARIES)
    assert check_installed(base, found, head, found) == ()

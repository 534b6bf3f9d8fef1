"""Which interpreters can serve, found out by running them."""

from __future__ import annotations

import os
import sys
from pathlib import Path

import pytest

from opsdebug_ci.errors import EnvironmentLimitError
from opsdebug_ci.execution import check_interpreter


def script(path: Path, text: str) -> str:
    path.write_text(f"#!/bin/sh\n{text}\n")
    path.chmod(0o755)
    return str(path)


def environment_with(tmp_path: Path, **packages: str) -> dict[str, str]:
    """An environment in which `-S` interpreters find these packages at these versions, and nothing else."""
    site = tmp_path / "site"
    for name, version in packages.items():
        (site / name).mkdir(parents=True)
        (site / name / "__init__.py").write_text("raise SystemExit('imported')")
        if version:
            (site / f"{name}-{version}.dist-info").mkdir()
            (site / f"{name}-{version}.dist-info/METADATA").write_text(f"Name: {name}\nVersion: {version}\n")
    return {"PATH": os.environ["PATH"], "PYTHONPATH": str(site)}


@pytest.fixture
def bare_python(tmp_path: Path) -> str:
    """This interpreter without its site packages."""
    return script(tmp_path / "python-bare", f'exec "{sys.executable}" -S "$@"')


def test_the_facts_of_a_good_interpreter(tmp_path: Path, bare_python: str) -> None:
    found = check_interpreter(bare_python, environment_with(tmp_path, torch="2.6.0+cpu", numpy="1.26.4"))
    assert (found.path, found.torch, found.numpy, found.mpmath) == (bare_python, "2.6.0+cpu", "1.26.4", None)
    assert found.version == ".".join(str(part) for part in sys.version_info[:3])


def test_a_torch_without_metadata_is_trusted(tmp_path: Path, bare_python: str) -> None:
    assert check_interpreter(bare_python, environment_with(tmp_path, torch="")).torch == ""


def test_no_torch_says_what_is_there(tmp_path: Path, bare_python: str) -> None:
    with pytest.raises(EnvironmentLimitError) as caught:
        check_interpreter(bare_python, environment_with(tmp_path, numpy="2.0.0"))
    version = ".".join(str(part) for part in sys.version_info[:3])
    assert str(caught.value) == (
        f"no torch in {bare_python}: found Python {version}, numpy 2.0.0, wanted torch >= 2.6\n"
        f"  next: `{bare_python} -m pip install 'torch>=2.6'`, or set `python` to the interpreter that has it"
    )


def test_a_directory_named_torch_is_not_torch(
    tmp_path: Path, bare_python: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "torch").mkdir()
    (tmp_path / "json.py").write_text("raise SystemExit('hostile json')")
    monkeypatch.chdir(tmp_path)
    with pytest.raises(EnvironmentLimitError, match="no torch in"):
        check_interpreter(bare_python, {"PATH": os.environ["PATH"]})


@pytest.mark.parametrize(("version", "good"), [("2.5.1", False), ("1.13.0", False), ("2.10.0a0+git1", True)])
def test_torch_must_be_new_enough(tmp_path: Path, bare_python: str, version: str, good: bool) -> None:
    environment = environment_with(tmp_path, torch=version)
    if good:
        assert check_interpreter(bare_python, environment).torch == version
    else:
        with pytest.raises(EnvironmentLimitError, match=f"found {version}, wanted torch >= 2.6"):
            check_interpreter(bare_python, environment)


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ('echo \'{"version": [3, 9, 1], "packages": {}}\'', "found Python 3.9.1, wanted Python >= 3.10"),
        ("echo no >&2; exit 4", "found exit status 4, output `no`"),
        ("echo hello", "found exit status 0, output `hello`"),
    ],
)
def test_a_program_that_is_no_usable_python(tmp_path: Path, text: str, found: str) -> None:
    with pytest.raises(EnvironmentLimitError) as caught:
        check_interpreter(script(tmp_path / "program", text))
    assert found in str(caught.value) and "next: " in str(caught.value)
    assert caught.value.exit_code == 3


def test_an_interpreter_that_is_not_there() -> None:
    with pytest.raises(EnvironmentLimitError, match="`python` is `no-such-python`: found no such program"):
        check_interpreter("no-such-python")


def test_a_program_that_prints_before_it_answers_is_read(tmp_path: Path, bare_python: str) -> None:
    noisy = script(tmp_path / "noisy", f'echo "motd"; exec "{bare_python}" "$@"')
    assert check_interpreter(noisy, environment_with(tmp_path, torch="2.9.0")).torch == "2.9.0"

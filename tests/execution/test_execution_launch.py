"""What a worker inherits and where it finds its modules, asked of the worker itself."""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from pathlib import Path

import pytest
from execution_notation import MakePool, observe

from opsdebug_ci.execution import boot
from opsdebug_ci.execution.environment import worker_environment
from opsdebug_ci.execution.launch import PACKAGE
from opsdebug_ci.model import Status

PLANTED = {
    "GITHUB_TOKEN": "canary",
    "INPUT_TOKEN": "canary",
    "INPUT_PYTHON": "canary",
    "ACTIONS_RUNTIME_TOKEN": "canary",
    "ACTIONS_RUNTIME_URL": "canary",
    "ACTIONS_ID_TOKEN_REQUEST_URL": "canary",
    "ACTIONS_ID_TOKEN_REQUEST_TOKEN": "canary",
    "GITHUB_OUTPUT": "canary",
    "GITHUB_ENV": "canary",
    "GITHUB_PATH": "canary",
    "GITHUB_STATE": "canary",
    "GITHUB_STEP_SUMMARY": "canary",
    "AWS_ACCESS_KEY_ID": "canary",
    "AWS_SECRET_ACCESS_KEY": "canary",
    "AWS_SESSION_TOKEN": "canary",
    "HF_TOKEN": "canary",
    "WANDB_API_KEY": "canary",
    "db_password": "canary",
    "SSH_AUTH_SOCK": "canary",
    "GH_PAT": "canary",
    "SLACK_WEBHOOK": "canary",
    "PIP_INDEX_URL": "https://user:canary@packages.example/simple",
}
HARMLESS = {
    "PATH": "/usr/bin:/bin",
    "LD_LIBRARY_PATH": "/opt/cuda/lib64",
    "CUDA_VISIBLE_DEVICES": "0",
    "CUDA_HOME": "/opt/cuda",
    "TOKENIZERS_PARALLELISM": "false",
    "GITHUB_SHA": "0" * 40,
    "TRITON_INTERPRET": "1",
    "KEYBOARD": "x",
}


def test_credentials_and_command_files_are_withheld_and_loader_variables_kept(
    make_pool: MakePool, tmp_path: Path
) -> None:
    pool = make_pool(environment={**PLANTED, **HARMLESS})
    pool.describe(["ops"], tmp_path)
    seen = observe(pool, "environment")["environment"].reason
    assert seen is not None
    got = set(seen.split("\n")) - {"LC_CTYPE"}  # which the interpreter sets for itself
    assert got == {*HARMLESS, "OMP_NUM_THREADS", "MKL_NUM_THREADS", "OPENBLAS_NUM_THREADS"}


def test_threads_are_shared_out_unless_the_user_decided() -> None:
    assert worker_environment({"OMP_NUM_THREADS": "7"}, threads=2) == {
        "OMP_NUM_THREADS": "7",
        "MKL_NUM_THREADS": "2",
        "OPENBLAS_NUM_THREADS": "2",
    }


def test_only_the_pipes_are_inherited(make_pool: MakePool, tmp_path: Path) -> None:
    with (tmp_path / "ours").open("w"):
        pool = make_pool()
        pool.describe(["ops"], tmp_path)
        seen = observe(pool, "descriptors")["descriptors"].reason
    assert seen is not None
    assert len(seen.split(",")) == 3 + 3 + 1 + 1  # standard streams, three pipe ends, the trail, and the listing itself


def test_the_workers_path_holds_our_package_alone_then_the_users_directory(make_pool: MakePool, tmp_path: Path) -> None:
    home = tmp_path / "home"
    home.mkdir()
    pool = make_pool(directory=home)
    pool.describe(["ops"], tmp_path)
    seen = observe(pool, "path")["path"].reason
    assert seen is not None
    entry, second, *rest = seen.split("\n")
    assert [child.name for child in Path(entry).iterdir()] == ["opsdebug_ci"]
    assert second == str(home)
    assert str(PACKAGE.parent / "opsdebug_ci/execution") not in rest
    pool.close()
    assert not Path(entry).exists()


def test_the_users_directory_cannot_replace_our_package_or_the_standard_library(
    make_pool: MakePool, tmp_path: Path
) -> None:
    hostile = tmp_path / "hostile"
    (hostile / "opsdebug_ci").mkdir(parents=True)
    (hostile / "opsdebug_ci/__init__.py").write_text("raise SystemExit('hostile package')")
    (hostile / "json.py").write_text("raise SystemExit('hostile json')")
    pool = make_pool(directory=hostile)
    pool.describe(["ops"], tmp_path)
    assert observe(pool, "add")["add"].status is Status.RAN


def test_a_package_of_our_name_on_pythonpath_or_preloaded_cannot_take_its_place(
    make_pool: MakePool, tmp_path: Path
) -> None:
    hostile = tmp_path / "hostile"
    (hostile / "opsdebug_ci/worker").mkdir(parents=True)
    for path in ("opsdebug_ci/__init__.py", "opsdebug_ci/worker/__init__.py", "opsdebug_ci/worker/process.py"):
        (hostile / path).write_text("HOSTILE = True")
    (hostile / "sitecustomize.py").write_text("import opsdebug_ci.worker.process")
    pool = make_pool(environment={"PYTHONPATH": str(hostile)})
    pool.describe(["ops"], tmp_path)
    seen = observe(pool, "path")["path"]
    assert seen.reason is not None and str(hostile) in seen.reason  # the user's own path does work
    assert seen.status is Status.RAN


def test_a_process_an_operator_spawns_finds_our_package(make_pool: MakePool, tmp_path: Path) -> None:
    hostile = tmp_path / "hostile"
    (hostile / "opsdebug_ci").mkdir(parents=True)
    (hostile / "opsdebug_ci/__init__.py").write_text("raise SystemExit('hostile package')")
    pool = make_pool(directory=hostile, environment={"PATH": os.environ["PATH"], "PYTHONPATH": str(hostile)})
    pool.describe(["ops"], tmp_path)
    seen = observe(pool, "spawned", "path")
    assert seen["path"].reason is not None
    entry = seen["path"].reason.split("\n")[0]
    assert seen["spawned"].reason == f"{entry}/opsdebug_ci/worker/process.py"


def test_the_boot_script_needs_nothing_of_the_control_side() -> None:
    done = subprocess.run(
        [
            sys.executable,
            "-S",
            "-c",
            f"import runpy, sys; runpy.run_path({boot.__file__!r}); print(sorted(sys.modules))",
        ],
        capture_output=True,
        text=True,
        check=True,
    )
    assert "opsdebug_ci" not in done.stdout and "msgspec" not in done.stdout and "faulthandler" in done.stdout


def test_a_log_that_grows_for_ever_is_cut(make_pool: MakePool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("opsdebug_ci.execution.worker_client.LOG_LIMIT", 100_000)
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    pool = make_pool(timeout_s=2.0)
    pool.describe(["ops"], tmp_path)
    process = observe(pool, "shout_for_ever")["shout_for_ever"].process
    [log] = tmp_path.glob("opsdebug-*/worker-1.log")
    assert 0 < log.stat().st_size < 1_000_000  # of about four million bytes
    assert process is not None and len(process.log_tail) == 2000

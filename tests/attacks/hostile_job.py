"""One real job of a hostile pull request: the action's run step, `opsdebug ci` and a worker, with everything planted.

Decides what a stranger who controls the code under test can try at once: names, prints, exceptions, files of the
runner, modules of the workspace, a configuration of git, the names of branches. Its twin is in the same run: an
honest operator, and variables that a build needs.
"""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
import sysconfig
from dataclasses import dataclass
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[2]

CANARY = "ghs_canary4711canary4711canary4711canary"
"""A token that nobody gave us for anything but talking to GitHub."""

SECRETS = (
    "GITHUB_TOKEN",
    "INPUT_TOKEN",
    "OPSDEBUG_INPUT_TOKEN",
    "OPSDEBUG_TOKEN",
    "ACTIONS_RUNTIME_TOKEN",
    "ACTIONS_RUNTIME_URL",
    "ACTIONS_ID_TOKEN_REQUEST_TOKEN",
    "ACTIONS_ID_TOKEN_REQUEST_URL",
    "ACTIONS_CACHE_URL",
    "AWS_SECRET_ACCESS_KEY",
    "NPM_AUTH",
)
"""Variables that hold the canary."""

ORDERS = ("GITHUB_OUTPUT", "GITHUB_ENV", "GITHUB_PATH", "GITHUB_STEP_SUMMARY", "GITHUB_STATE")
"""Files through which a step gives orders to the runner."""

HARMLESS = {
    "LD_LIBRARY_PATH": "/nowhere/cuda/lib64",
    "CUDA_HOME": "/nowhere/cuda",
    "CUDA_VISIBLE_DEVICES": "",
    "TOKENIZERS_PARALLELISM": "false",
    "PATHSPEC": "kept",
}
"""What a build needs, some of it named almost like a secret."""

BRANCH = 'a";touch sprung;"$(touch sprung)`touch sprung`\n::error::b\r\u202e--upload-pack=touch sprung ' + "ü" * 250
"""Name of the head and of the base, as no shell should read it."""

PRINTED = (
    "::add-mask::verdict",
    "::error file=operators.py,line=1::planted",
    "::warning::planted",
    "::set-output name=verdict::pass",
    "::save-state name=x::y",
    "##[group]planted",
    "##[error]planted",
    "::stop-commands::planted",
    "::planted::",
)
"""Lines that the runner would obey, with a guess at the word that ends the silence."""

OPERATORS = '''
import json, os, sys
import torch
from opsdebug_ci import Operator

PRINTED = __PRINTED__
ORDERS = __ORDERS__

def lines_of(pid):
    with open(f"/proc/{pid}/cmdline", "rb") as file:
        return file.read().decode("utf-8", "replace")

def chain():
    """Command lines of this process, of `opsdebug ci` and of the step."""
    pid, found = os.getpid(), []
    while len(found) < 3:
        found.append(lines_of(pid))
        with open(f"/proc/{pid}/stat") as file:
            pid = int(file.read().rpartition(")")[2].split()[1])
    return found

def attack(x):
    for name in ORDERS:
        with open(os.environ.get(name, os.devnull), "a") as stream:
            stream.write("verdict=pass\\nPWNED=1\\n")
    for stream in (sys.stdout, sys.stderr):
        for line in PRINTED:
            print(line, file=stream, flush=True)
    with open("spoils.json", "w") as stream:
        json.dump({"environ": dict(os.environ), "chain": chain()}, stream)
    raise RuntimeError("x\\n::error::planted\\nverdict=pass " + "".join(PRINTED))

def honest(x):
    return x + 1

def inputs(seed, dims, dtype):
    return [torch.ones(3)]

operators = [
    Operator("halved\\nverdict=pass\\n::error::planted", lambda x: x, inputs, {"torch": lambda x: torch.div(x, 2)}),
    Operator("attack", attack, inputs, {"torch": lambda x: x}),
    Operator("honest", honest, inputs, {"torch": lambda x: torch.add(x, 1)}),
]
'''

MODULES = ("json", "sitecustomize", "usercustomize", "click", "msgspec", "opsdebug_ci")
"""Modules that the control side imports, or that every Python does."""

PLANTED_MODULE = """
import importlib.util, sys, sysconfig
with open(__IMPORTED__, "a") as stream:
    stream.write(__name__ + chr(9) + chr(31).join(sys.orig_argv) + chr(0))
for path in (sysconfig.get_path("stdlib") + "/" + __name__ + end for end in (".py", "/__init__.py")):
    try:
        spec = importlib.util.spec_from_file_location(__name__, path)
        module = importlib.util.module_from_spec(spec)
        sys.modules[__name__] = module
        spec.loader.exec_module(module)
    except FileNotFoundError:
        continue
"""
"""Writes down who imported it, then is the module it hides: the user's own interpreter may well import it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class HostileJob:
    """What the job left."""

    root: Path
    """Everything it could write."""

    exit_code: int
    """Of the step."""

    log: str
    """Standard output, as the runner reads it."""

    errors: str
    """Standard error."""

    spoils: dict[str, Any]
    """What the operator under attack saw: `environ` and the command lines of its `chain` of processes."""

    @property
    def workspace(self) -> Path:
        return self.root / "work space ü"

    @property
    def outputs(self) -> dict[str, str]:
        """Step outputs, as the runner reads the file."""
        return read_outputs((self.root / "output").read_text(encoding="utf-8"))

    @property
    def commands(self) -> list[str]:
        """Lines that the runner obeys."""
        return obeyed(self.log)


def read_outputs(text: str) -> dict[str, str]:
    """The file of outputs by the runner's rules: `name=value`, or `name<<delimiter`, lines, `delimiter`."""
    found: dict[str, str] = {}
    lines = iter(re.split(r"\r?\n", text.removesuffix("\n")))
    for line in lines:
        block = re.fullmatch(r"([^=<]+)<<(.+)", line)
        if block:
            value = []
            for inner in lines:
                if inner == block[2]:
                    break
                value.append(inner)
            found[block[1]] = "\n".join(value)
        else:
            name, _, value_text = line.partition("=")
            found[name] = value_text
    return found


def obeyed(log: str) -> list[str]:
    """The lines of a log that are commands to the runner, by its rules."""
    found: list[str] = []
    stopped_by = ""
    for line in re.split(r"\r\n|\r|\n", log):
        text = line.lstrip()
        if stopped_by:
            stopped_by = "" if text == f"::{stopped_by}::" else stopped_by
        elif text.startswith("::stop-commands::"):
            stopped_by = text.removeprefix("::stop-commands::")
        elif re.match(r"::[a-z-]+[ :]", text) or (not text.startswith("::") and re.search(r"##\[[a-z-]+", text)):
            found.append(text)
    assert not stopped_by, "commands stay stopped"
    return found


def run_hostile_job(root: Path) -> HostileJob:
    """Plant everything and run the step once."""
    workspace = root / "work space ü"
    workspace.mkdir(parents=True)
    _plant(root, workspace)
    for name in ("temp", "home"):
        (root / name).mkdir()
    event = {
        "repository": {"default_branch": "main"},
        "pull_request": {
            "number": 7,
            "head": {"sha": "a" * 40, "ref": BRANCH, "repo": {"full_name": "stranger/kernels"}},
            "base": {"sha": "b" * 40, "ref": BRANCH},
        },
    }
    (root / "event.json").write_text(json.dumps(event), encoding="utf-8")
    done = subprocess.run(
        [sys.executable, "-I", "-X", "utf8", str(ROOT / ".github/action/run.py")],
        cwd=workspace,
        env=_environment(root, workspace),
        capture_output=True,
        timeout=120,
        check=False,
    )
    return HostileJob(
        root=root,
        exit_code=done.returncode,
        log=done.stdout.decode(),
        errors=done.stderr.decode(),
        spoils=json.loads((workspace / "spoils.json").read_text(encoding="utf-8")),
    )


def _plant(root: Path, workspace: Path) -> None:
    text = OPERATORS.replace("__PRINTED__", repr(PRINTED)).replace("__ORDERS__", repr(ORDERS))
    (workspace / "operators.py").write_text(text, encoding="utf-8")
    (workspace / "opsdebug.toml").write_text('operators = ["operators.py"]\nstore = "store/"\n', encoding="utf-8")
    planted = PLANTED_MODULE.replace("__IMPORTED__", repr(str(root / "imported")))
    for directory in (workspace, root / "python path"):
        directory.mkdir(exist_ok=True)
        for module in MODULES:
            (directory / f"{module}.py").write_text(planted, encoding="utf-8")
    (workspace / ".opsdebug-venv/bin").mkdir(parents=True)
    trap = root / "trap"
    trap.write_text(f"#!/bin/sh\necho \"$0 $*\" >> '{root}/sprung'\nexit 1\n", encoding="utf-8")
    trap.chmod(0o755)
    (workspace / ".opsdebug-venv/bin/python").symlink_to(trap)
    (workspace / "pip.conf").write_text("[global]\nindex-url = http://127.0.0.1:9/planted\n", encoding="utf-8")
    _plant_repository(workspace, trap)


def _plant_repository(workspace: Path, trap: Path) -> None:
    """A repository whose configuration runs the trap wherever git lets a configuration run something."""
    environ = {**os.environ, "GIT_CONFIG_GLOBAL": os.devnull, "GIT_CONFIG_NOSYSTEM": "1"}
    author = ("-c", "user.name=t", "-c", "user.email=t@example.org")
    for words in (
        ("init", "--quiet", "--template=", "--initial-branch=main"),
        ("add", "operators.py"),
        ("commit", "--quiet", "--message=planted"),
    ):
        subprocess.run(["git", *author, *words], cwd=workspace, env=environ, check=True, capture_output=True)
    hooks = workspace / ".git/hooks"
    hooks.mkdir(exist_ok=True)
    for name in ("post-checkout", "pre-commit", "post-index-change", "reference-transaction", "pre-auto-gc"):
        (hooks / name).symlink_to(trap)
    settings = {
        "core.fsmonitor": str(trap),
        "core.sshCommand": str(trap),
        "core.pager": str(trap),
        "core.alternateRefsCommand": str(trap),
        "diff.external": str(trap),
        "credential.helper": f"!{trap}",
        "filter.planted.clean": str(trap),
        "filter.planted.smudge": str(trap),
        f"url.ext::{trap}.insteadOf": "https://",
        "protocol.ext.allow": "always",
    }
    for key, value in settings.items():
        subprocess.run(["git", "config", key, value], cwd=workspace, env=environ, check=True)
    (workspace / ".gitattributes").write_text("* filter=planted\n", encoding="utf-8")


def _environment(root: Path, workspace: Path) -> dict[str, str]:
    return {
        "PATH": os.pathsep.join((sysconfig.get_path("scripts"), os.environ["PATH"])),
        "HOME": str(root / "home"),
        "PYTHONPATH": str(root / "python path"),
        "PYTHONSTARTUP": str(root / "python path/json.py"),
        "PIP_CONFIG_FILE": str(workspace / "pip.conf"),
        **HARMLESS,
        **dict.fromkeys(SECRETS, CANARY),
        "PIP_INDEX_URL": f"https://user:{CANARY}@index.example.org/simple",
        "CI": "true",
        "GITHUB_ACTIONS": "true",
        "GITHUB_WORKSPACE": str(workspace),
        "GITHUB_OUTPUT": str(root / "output"),
        "GITHUB_STEP_SUMMARY": str(root / "step_summary"),
        "GITHUB_ENV": str(root / "github_env"),
        "GITHUB_PATH": str(root / "github_path"),
        "GITHUB_STATE": str(root / "github_state"),
        "GITHUB_EVENT_NAME": "pull_request",
        "GITHUB_EVENT_PATH": str(root / "event.json"),
        "GITHUB_REPOSITORY": "acme/kernels",
        "GITHUB_RUN_ID": "4711",
        "GITHUB_RUN_ATTEMPT": "1",
        "GITHUB_JOB": "operators",
        "GITHUB_SHA": "c" * 40,
        "GITHUB_REF": f"refs/heads/{BRANCH}",
        "GITHUB_HEAD_REF": BRANCH,
        "GITHUB_BASE_REF": BRANCH,
        "RUNNER_TEMP": str(root / "temp"),
        "OPSDEBUG_INPUT_STAGE": "smoke",
        "OPSDEBUG_INPUT_CONFIG": "opsdebug.toml",
        "OPSDEBUG_INPUT_PYTHON": sys.executable,
        "OPSDEBUG_INPUT_BUDGET": "60",
    }

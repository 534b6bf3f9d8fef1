"""The action's run step, with a small command line of the test's own in place of `opsdebug`."""

from __future__ import annotations

import io
import json
import os
import re
import sys
import time
from dataclasses import replace
from pathlib import Path

import pytest

from opsdebug_ci.github.artifacts.shard_json import read_shard
from opsdebug_ci.model import (
    Blame,
    CaseDocument,
    Cause,
    CiContext,
    Confidence,
    Finding,
    Machine,
    ObservationDocument,
    OperatorSource,
    ReferenceUse,
    Revision,
    RunDocument,
    RunRecord,
    Stage,
    Summary,
    Verdict,
)
from opsdebug_ci.model.published import PUBLISHED_SCHEMA, PublishedDocument, Remark
from opsdebug_ci.model.shard import SHARD_FILE, ShardDocument
from opsdebug_ci.pipeline.action import run_action
from opsdebug_ci.report import encode

HOSTILE_NAME = "gelu\nverdict=pass"


FINDING = Finding(
    cause=Cause.TAIL_MASK,
    confidence=0.9,
    blame=Blame.OPERATOR,
    statement="1 of 129 elements wrong",
    evidence={},
    next="opsdebug attribute gelu",
)

MACHINE = Machine(
    key="k", system="s", cpu="c", cores=2, memory_bytes=1, devices=(), python="3.11", torch="2", versions={}, threads=1
)

RECORD = RunRecord(
    id="1",
    commit="",
    stage=Stage.SMOKE,
    started_at="2026-11-29T00:00:00Z",
    duration_ns=1,
    machine=MACHINE,
    revision=Revision(),
    ci=CiContext(),
    tool_version="0",
    config_hash="",
)


def case(name: str) -> CaseDocument:
    return CaseDocument(
        id="0" * 16,
        name=f"{name}[S=129 float32]",
        operator=name,
        dtype="float32",
        dims={"S": 129},
        layout="contiguous",
        inputs="normal",
        seed=0,
        device="cpu",
        direction="forward",
    )


def document(verdict: Verdict, workspace: Path, name: str = "gelu") -> bytes:
    """A run of one case with this verdict."""
    observation = ObservationDocument(
        case=case(name),
        verdict=verdict,
        reason=None,
        reference=ReferenceUse(used=None, confidence=Confidence.LOW, dissent=None),
        accuracy=None,
        outputs=(),
        findings=(FINDING,) if verdict is Verdict.FAIL else (),
        timing=None,
    )
    code = {Verdict.PASS: 0, Verdict.FAIL: 1}[verdict]
    return encode(
        RunDocument(
            schema="opsdebug.run/1",
            run=RECORD,
            observations=(observation,),
            summary=Summary(verdict=verdict, exit_code=code, counts={str(verdict): 1}, groups=()),
            next=(),
            stage="smoke",
            sources=(OperatorSource(operator=name, file=str(workspace / "kernels/gelu.py"), line=3),),
        )
    )


class Job:
    """A job with one run step; `opsdebug` is a script that writes what it was given."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self.workspace = root / "work space ü"
        (self.workspace / "kernels").mkdir(parents=True)
        (root / "temp").mkdir()
        self.log = ""
        self.environ = {
            "PATH": os.environ["PATH"],
            "GITHUB_WORKSPACE": str(self.workspace),
            "GITHUB_OUTPUT": str(root / "output"),
            "GITHUB_STEP_SUMMARY": str(root / "step_summary"),
            "RUNNER_TEMP": str(root / "temp"),
            "GITHUB_TOKEN": "canary-4711",
        }

    def step(self, script: str, **inputs: str) -> int:
        """Run the step with `script` as the command line."""
        program = self.root / "opsdebug.py"
        program.write_text(script, encoding="utf-8")
        stdout = io.StringIO()
        environ = self.environ | {f"OPSDEBUG_INPUT_{name.upper()}": value for name, value in inputs.items()}
        code = run_action(environ, opsdebug=(sys.executable, "-I", str(program)), stdout=stdout)
        self.log = stdout.getvalue()
        return code

    def ends_with(self, data: bytes, code: int) -> str:
        """A script that writes `data` as its document and ends with `code`."""
        (self.root / "given.json").write_bytes(data)
        return (
            f"import sys\nsys.stdout.write(open({str(self.root / 'given.json')!r}, encoding='utf-8').read())\n"
            f"raise SystemExit({code})\n"
        )

    @property
    def outputs(self) -> dict[str, str]:
        text = (self.root / "output").read_text(encoding="utf-8")
        blocks = re.findall(r"^([a-z-]+)<<(opsdebug_\w+)\n(.*?)\n\2$", text, re.M | re.S)
        assert len(text.splitlines()) >= 3 * len(blocks) > 0
        return {name: value for name, _, value in blocks}

    @property
    def commands(self) -> list[str]:
        """The lines that the runner obeys."""
        obeyed: list[str] = []
        stopped_by = ""
        for line in self.log.splitlines():
            if stopped_by:
                stopped_by = "" if line == f"::{stopped_by}::" else stopped_by
            elif line.startswith("::stop-commands::"):
                stopped_by = line.removeprefix("::stop-commands::")
            elif line.startswith("::"):
                obeyed.append(line)
        assert not stopped_by, "commands stay stopped"
        return obeyed


@pytest.fixture
def job(tmp_path: Path) -> Job:
    return Job(tmp_path)


def test_a_passing_run(job: Job) -> None:
    assert job.step(job.ends_with(document(Verdict.PASS, job.workspace), 0)) == 0
    outputs = job.outputs
    assert outputs["verdict"] == "pass"
    assert (outputs["failures"], outputs["regressions"], outputs["exit-code"]) == ("0", "0", "0")
    assert json.loads(Path(outputs["report-json"]).read_bytes())["schema"] == "opsdebug.run/1"
    summary = Path(outputs["summary-md"]).read_text(encoding="utf-8")
    assert summary
    assert (job.root / "step_summary").read_text(encoding="utf-8") == summary
    assert job.commands == []


def left(job: Job) -> ShardDocument:
    """What the job leaves for the one that tells, as that one reads it."""
    [path] = Path(job.outputs["artifact-path"]).iterdir()
    assert path.name == SHARD_FILE
    return read_shard(path.read_bytes())


def test_a_run_is_left_for_the_job_that_tells(job: Job) -> None:
    assert job.step(job.ends_with(document(Verdict.FAIL, job.workspace), 1), shard="2/3") == 1
    assert job.outputs["artifact-name"] == "opsdebug-v1-a1-s2of3"
    assert Path(job.outputs["artifact-path"]).is_relative_to(job.root / "temp")
    shard = left(job)
    assert (shard.shard, shard.shards, shard.exit_code, shard.error) == (2, 3, 1, "")
    assert shard.run is not None and [source.file for source in shard.run.sources] == ["kernels/gelu.py"]


@pytest.mark.parametrize(
    ("script", "inputs", "code", "error"),
    [
        ("raise SystemExit('no torch')", {}, 70, "opsdebug: internal: internal error: `opsdebug ci` ended with 1"),
        ("import sys\nsys.stderr.write('no torch')\nraise SystemExit(3)", {}, 3, "opsdebug ended with 3: no torch"),
        ("raise SystemExit(70)", {}, 70, "opsdebug ended with 70: the run ended without a word"),
        ("", {"gate": "sometimes"}, 2, "opsdebug: configuration: `gate` is 'sometimes'; wanted one of"),
        ("", {"working_directory": "gone"}, 2, "opsdebug: usage: `working-directory` is 'gone'"),
    ],
)
def test_a_stage_without_a_run_leaves_why(job: Job, script: str, inputs: dict[str, str], code: int, error: str) -> None:
    assert job.step(script, **inputs) == code
    shard = left(job)
    assert (shard.run, shard.exit_code) == (None, code)
    assert shard.error.startswith(error)
    assert job.outputs["artifact-name"] == "opsdebug-v1-a1-s1of1"


def test_where_bundles_are_is_an_output(job: Job) -> None:
    script = job.ends_with(document(Verdict.PASS, job.workspace), 0)
    assert job.step(script) == 0
    assert job.outputs["bundle-dir"] == ""
    place = job.workspace / ".opsdebug" / "bundles"
    (place / "ab").mkdir(parents=True)
    (place / "ab" / f"{'ab' * 32}.opsbundle").write_bytes(b"x")
    (job.root / "output").unlink()
    assert job.step(script) == 0
    assert job.outputs["bundle-dir"] == str(place)


def test_a_failing_run_is_told_everywhere_before_the_step_fails(job: Job) -> None:
    assert job.step(job.ends_with(document(Verdict.FAIL, job.workspace), 1)) == 1
    assert (job.outputs["verdict"], job.outputs["failures"], job.outputs["exit-code"]) == ("fail", "1", "1")
    assert job.commands == [
        "::error file=kernels/gelu.py,line=3,title=gelu%3A tail_mask::1 of 129 elements wrong%0A"
        "1 case, first: gelu[S=129 float32]%0Anext: opsdebug attribute gelu"
    ]


def test_a_hostile_operator_name_changes_no_output_and_gives_no_command(job: Job) -> None:
    data = document(Verdict.FAIL, job.workspace, name=f"{HOSTILE_NAME}\n::error::x")
    assert job.step(job.ends_with(data, 1)) == 1
    assert job.outputs["verdict"] == "fail"
    assert set(job.outputs) == {
        "verdict",
        "failures",
        "regressions",
        "exit-code",
        "report-json",
        "summary-md",
        "artifact-name",
        "artifact-path",
        "bundle-dir",
        "conclusion",
        "comment-url",
        "check-url",
    }
    assert len(job.commands) == 1


def test_a_run_that_says_zero_about_a_failing_document_is_no_pass(job: Job) -> None:
    assert job.step(job.ends_with(document(Verdict.FAIL, job.workspace), 0)) == 1


@pytest.mark.parametrize("code", [0, 1, 4])
@pytest.mark.parametrize("data", [b"", b"{}", b'{"schema": "opsdebug.run/2"}', b"[" * 100_000])
def test_a_run_without_a_readable_document_is_never_a_pass(job: Job, code: int, data: bytes) -> None:
    assert job.step(job.ends_with(data, code)) == 70
    assert job.outputs["verdict"] == "error"
    assert job.outputs["report-json"] == ""
    (command,) = job.commands
    assert command.startswith(
        f"::error title=opsdebug%3A internal::internal error: `opsdebug ci` ended with {code}, but the document"
    )


@pytest.mark.parametrize(("raised", "code"), [("2", 2), ("3", 3), ("70", 70)])
def test_an_error_of_the_command_line_is_quoted_in_one_line(job: Job, raised: str, code: int) -> None:
    script = f"import sys\nprint('error: no torch\\n  next: install it', file=sys.stderr)\nraise SystemExit({raised})\n"
    assert job.step(script) == code
    assert job.outputs["exit-code"] == str(code)
    assert job.commands == [f"::error title=opsdebug ended with {code}::error: no torch; next: install it"]


def test_a_run_killed_by_a_signal_is_an_internal_error(job: Job) -> None:
    assert job.step("import os\nos.kill(os.getpid(), 9)\n") == 70
    assert job.outputs["verdict"] == "error"
    assert job.commands[0].startswith("::error title=opsdebug ended with -9::the run ended without a word")


TELLS = """
import json, os, pathlib, sys
told = {"words": sys.argv[1:], "token": os.environ.get("OPSDEBUG_TOKEN"), "github": os.environ.get("GITHUB_TOKEN")}
pathlib.Path(PLACE).write_text(json.dumps(told))
"""


def test_recorded_runs_are_sent_with_the_token_that_was_given_for_it(job: Job) -> None:
    for name in ("a", "b", "c"):
        (job.workspace / "recorded" / name).mkdir(parents=True)
        if name != "b":
            (job.workspace / "recorded" / name / "opsdebug-store.json").write_text("{}", encoding="utf-8")
    told = job.root / "told.json"
    script = TELLS.replace("PLACE", repr(str(told)))
    assert job.step(script, push="recorded", store="branch:x", token="canary-0815") == 0
    sent = job.workspace / "recorded"
    assert json.loads(told.read_text(encoding="utf-8")) == {
        "words": ["baselines", "push", f"--from={sent / 'a'}", f"--from={sent / 'c'}", "--store=branch:x"],
        "token": "canary-0815",
        "github": None,
    }
    assert (job.outputs["verdict"], job.outputs["report-json"]) == ("pass", "")
    assert "canary" not in job.log


def test_a_run_of_operators_never_sees_that_token(job: Job) -> None:
    told = job.root / "told.json"
    job.step(TELLS.replace("PLACE", repr(str(told))), record="recorded", token="canary-0815")
    seen = json.loads(told.read_text(encoding="utf-8"))
    assert "--record=recorded" in seen["words"]
    assert (seen["token"], seen["github"]) == (None, None)
    assert job.commands[0].startswith("::warning title=opsdebug%3A the token is withheld::`token` is given where")
    assert "canary" not in job.log
    job.step(TELLS.replace("PLACE", repr(str(told))), record="recorded")
    assert not any("token" in command for command in job.commands)


def test_a_push_of_nothing_is_a_mistake_and_one_that_fails_is_told(job: Job) -> None:
    (job.workspace / "recorded").mkdir()
    assert job.step("", push="recorded") == 2
    assert "in which no run was recorded" in job.commands[0]
    (job.workspace / "recorded" / "opsdebug-store.json").write_text("{}", encoding="utf-8")
    script = "import sys\nprint('no route', file=sys.stderr)\nraise SystemExit(3)\n"
    assert job.step(script, push="recorded") == 3
    assert job.commands == ["::error title=opsdebug baselines push ended with 3::no route"]


def test_what_the_run_prints_gives_no_command(job: Job) -> None:
    passing = job.ends_with(document(Verdict.PASS, job.workspace), 0)
    hostile = (
        "import sys\n"
        "commands = ['::add-mask::a', '::error file=x::y', '::stop-commands::t', '::t::', '##[group]g', '::error::z']\n"
        "for line in commands:\n"
        "    print(line, file=sys.stderr)\n"
        "print('::error::no line break at the end', end='', file=sys.stderr)\n"
    )
    assert job.step(hostile + passing) == 0
    assert job.commands == []
    assert "::error::no line break at the end" in job.log


def test_a_child_that_keeps_the_log_open_does_not_keep_the_step(job: Job) -> None:
    passing = job.ends_with(document(Verdict.PASS, job.workspace), 0)
    lingering = (
        "import subprocess, sys\n"
        "subprocess.Popen([sys.executable, '-c', 'import time; time.sleep(20)'], stdout=subprocess.DEVNULL)\n"
    )
    begun = time.monotonic()
    assert job.step(lingering + passing) == 0
    assert time.monotonic() - begun < 15


def test_the_run_gets_its_arguments_one_by_one_and_no_token(job: Job) -> None:
    script = (
        "import os, sys, json\n"
        "forbidden = ('OPSDEBUG_INPUT', 'GITHUB_OUTPUT', 'GITHUB_STEP_SUMMARY')\n"
        "secrets = [n for n, v in os.environ.items() if 'canary' in v or n.startswith(forbidden)]\n"
        "told = {'arguments': sys.argv[1:], 'directory': os.getcwd(), 'secrets': secrets}\n"
        "print(json.dumps(told), file=sys.stderr)\n"
        "raise SystemExit(2)\n"
    )
    (job.workspace / "kernels/a b.toml").write_text('operators = ["a.py"]\n', encoding="utf-8")
    code = job.step(
        script, operators="gelu soft*", config="a b.toml", changed="main", shard="1/2", working_directory="kernels"
    )
    assert code == 2
    told = json.loads(re.search(r"^\{.*\}$", job.log, re.M)[0])  # type: ignore[index]
    assert told == {
        "arguments": [
            "ci",
            "--json",
            "--stage=smoke",
            "--config=a b.toml",
            "--operators=gelu,soft*",
            "--changed=main",
            "--shard=1/2",
            "--python=python3",
        ],
        "directory": str(job.workspace / "kernels"),
        "secrets": [],
    }


@pytest.mark.parametrize(
    ("event", "payload", "expected"),
    [
        (
            "pull_request",
            {"pull_request": {"number": 7, "base": {"sha": "b" * 40}, "head": {}}},
            ["--changed=" + "b" * 40],
        ),
        ("merge_group", {"merge_group": {"base_sha": "c" * 40}}, ["--changed=" + "c" * 40]),
        ("push", {}, []),
    ],
)
def test_changed_auto_takes_the_base_of_the_event(job: Job, event: str, payload: object, expected: list[str]) -> None:
    (job.root / "event.json").write_text(json.dumps(payload), encoding="utf-8")
    job.environ |= {"GITHUB_EVENT_NAME": event, "GITHUB_EVENT_PATH": str(job.root / "event.json")}
    job.step("import sys\nprint(*sys.argv, file=sys.stderr, sep='\\n')\nraise SystemExit(2)\n", changed="auto")
    assert [line for line in job.log.splitlines() if line.startswith("--changed")] == expected


def test_a_replay_takes_every_bundle_whatever_has_changed(job: Job) -> None:
    payload = {"pull_request": {"number": 7, "base": {"sha": "b" * 40}, "head": {}}}
    (job.root / "event.json").write_text(json.dumps(payload), encoding="utf-8")
    job.environ |= {"GITHUB_EVENT_NAME": "pull_request", "GITHUB_EVENT_PATH": str(job.root / "event.json")}
    script = "import sys\nprint(*sys.argv, file=sys.stderr, sep='\\n')\nraise SystemExit(2)\n"
    job.step(script, changed="auto", stage="replay")
    words = job.log.splitlines()
    assert "--stage=replay" in words
    assert not [word for word in words if word.startswith("--changed")]


def test_pull_request_target_is_refused(job: Job) -> None:
    (job.root / "event.json").write_text('{"pull_request": {"number": 7}}', encoding="utf-8")
    job.environ |= {
        "GITHUB_EVENT_NAME": "pull_request_target",
        "GITHUB_EVENT_PATH": str(job.root / "event.json"),
    }
    assert job.step("raise SystemExit(0)\n") == 2
    assert job.commands[0].startswith(
        "::error title=opsdebug%3A usage::this job was triggered by `pull_request_target`"
    )


@pytest.mark.parametrize(("event", "code"), [("pull_request", 2), ("pull_request_target", 2), ("push", 70)])
def test_no_operator_runs_after_the_run_of_a_pull_request_has_ended(job: Job, event: str, code: int) -> None:
    payload = {"workflow_run": {"id": 1, "event": event}}
    (job.root / "event.json").write_text(json.dumps(payload), encoding="utf-8")
    job.environ |= {"GITHUB_EVENT_NAME": "workflow_run", "GITHUB_EVENT_PATH": str(job.root / "event.json")}
    assert job.step("raise SystemExit(70)\n") == code
    assert ("triggered by the end of a run" in job.commands[0]) == (code == 2)


def test_a_fork_on_a_self_hosted_runner_is_warned_about(job: Job) -> None:
    payload = {"pull_request": {"number": 7, "head": {"repo": {"full_name": "stranger/kernels"}}}}
    (job.root / "event.json").write_text(json.dumps(payload), encoding="utf-8")
    job.environ |= {
        "GITHUB_EVENT_NAME": "pull_request",
        "GITHUB_EVENT_PATH": str(job.root / "event.json"),
        "GITHUB_REPOSITORY": "acme/kernels",
        "RUNNER_ENVIRONMENT": "self-hosted",
    }
    assert job.step(job.ends_with(document(Verdict.PASS, job.workspace), 0)) == 0
    assert [command.split("::")[1] for command in job.commands] == [
        "warning title=opsdebug%3A a fork's code on your own machine"
    ]


def test_a_job_that_only_tells_runs_no_code_of_a_fork(job: Job) -> None:
    payload = {"action": "labeled", "pull_request": {"number": 7, "head": {"repo": {"full_name": "stranger/kernels"}}}}
    (job.root / "event.json").write_text(json.dumps(payload), encoding="utf-8")
    job.environ |= {
        "GITHUB_EVENT_NAME": "pull_request_target",
        "GITHUB_EVENT_PATH": str(job.root / "event.json"),
        "GITHUB_REPOSITORY": "acme/kernels",
        "RUNNER_ENVIRONMENT": "self-hosted",
    }
    job.step("raise SystemExit(3)\n", publish="true")
    assert not any("your own machine" in command for command in job.commands)


def test_a_job_that_tells_says_in_its_log_what_and_where(job: Job) -> None:
    told = PublishedDocument(
        schema=PUBLISHED_SCHEMA,
        conclusion="fail",
        exit_code=1,
        head_commit="c0ffee1" + 33 * "0",
        pull_request=7,
        comment="updated",
        comment_url="https://github.example/acme/kernels/pull/7#issuecomment-3",
        check_url="https://github.example/acme/kernels/runs/5\n::error::obey",
        failures=2,
        regressions=0,
        summary="",
    )
    assert job.step(job.ends_with(encode(told), 1), publish="true") == 1
    assert job.log.splitlines()[-1] == (
        "opsdebug publish: fail at c0ffee1; comment updated, "
        "https://github.example/acme/kernels/pull/7#issuecomment-3; "
        "check https://github.example/acme/kernels/runs/5 ::error::obey"
    )
    remark = Remark(level="error", title="gelu", message="wrong", file="kernels/gelu.py", line=3)
    beside = encode(replace(told, remarks=(remark,), notes=("no `checks: write`",)))
    job.step(job.ends_with(beside, 1), publish="true")
    assert [command.partition("::")[2][:7] for command in job.commands] == ["error f", "warning"]
    job.step(job.ends_with(beside, 1), publish="true", annotations="false")
    assert [command.partition("::")[2][:7] for command in job.commands] == ["warning"]
    silent = replace(told, conclusion="", exit_code=0, head_commit="", comment="none", comment_url="", check_url="")
    assert job.step(job.ends_with(encode(silent), 0), publish="true") == 0
    assert job.log.splitlines()[-1] == "opsdebug publish: nothing to say; comment none; check none"


@pytest.mark.parametrize(
    ("configured", "given", "expected"),
    [
        ("", "", ["--python=python3"]),
        ('python = "/opt/python"', "", []),
        ('python = "/opt/python"', "python3.12", ["--python=python3.12"]),
    ],
)
def test_the_configured_interpreter_counts(job: Job, configured: str, given: str, expected: list[str]) -> None:
    (job.workspace / "opsdebug.toml").write_text(f'operators = ["a.py"]\n{configured}\n', encoding="utf-8")
    job.step("import sys\nprint(*sys.argv, file=sys.stderr, sep='\\n')\nraise SystemExit(2)\n", python=given)
    assert [line for line in job.log.splitlines() if line.startswith("--python")] == expected


def test_a_wrong_configuration_is_told_in_one_line(job: Job) -> None:
    (job.workspace / "opsdebug.toml").write_text('operatosr = ["a.py"]\n', encoding="utf-8")
    assert job.step("raise SystemExit(0)\n") == 2
    assert "`operatosr` is not a key; did you mean `operators`?" in job.commands[0]


def test_the_real_command_line_says_what_is_wrong_with_the_interpreter(job: Job) -> None:
    (job.workspace / "opsdebug.toml").write_text('operators = ["a.py"]\n', encoding="utf-8")
    root = str(Path(__file__).parents[2])
    script = f"import sys\nsys.path.insert(0, {root!r})\nfrom opsdebug_ci.cli import main\nmain()\n"
    assert job.step(script, python="no-such-python") == 3
    assert job.outputs["exit-code"] == "3"
    (command,) = job.commands
    assert command.startswith(
        "::error title=opsdebug ended with 3::opsdebug [environment]: `python` is `no-such-python`"
    )
    assert ", wanted " in command
    assert "; next: " in command


def test_wrong_inputs_are_told_in_one_line_and_nothing_runs(job: Job) -> None:
    assert job.step("raise SystemExit(0)\n", stage="${{ x }}", gate="-x\nverdict=pass") == 2
    assert job.outputs["verdict"] == "error"
    assert job.commands == [
        "::error title=opsdebug%3A configuration::`stage` is '${{ x }}'; wanted one of smoke, full, replay; "
        "`gate` is '-x\\nverdict=pass'; wanted one of new, all, never; "
        "next: correct the `with:` block of this step; docs/action.md lists every input"
    ]


def test_what_to_do_next_is_set_off_from_what_is_wrong(job: Job) -> None:
    lines = ["ops.toml:3: did you mean `threshold`?", "  next: correct it"]
    job.step(f"import sys\nprint({chr(10).join(lines)!r}, file=sys.stderr)\nraise SystemExit(2)\n")
    assert job.commands[0].endswith("::ops.toml:3: did you mean `threshold`? next: correct it")


def test_a_step_sends_or_tells_but_not_both(job: Job) -> None:
    assert job.step("raise SystemExit(0)\n", push="kept", publish="true") == 2
    (command,) = job.commands
    assert "`push` is 'kept'; wanted nothing with `publish`; next: " in command


def test_a_missing_working_directory_is_said(job: Job) -> None:
    assert job.step("raise SystemExit(0)\n", working_directory="nowhere") == 2
    assert "`working-directory` is 'nowhere'; wanted a directory of the repository" in job.commands[0]


def test_a_temporary_directory_that_cannot_be_written_is_said(job: Job) -> None:
    job.environ["RUNNER_TEMP"] = str(job.root / "none")
    assert job.step("raise SystemExit(0)\n") == 3
    assert "got No such file or directory; wanted a directory that can be written" in job.commands[0]


def test_annotations_and_summary_can_be_switched_off(job: Job) -> None:
    script = job.ends_with(document(Verdict.FAIL, job.workspace), 1)
    assert job.step(script, annotations="false", summary="false") == 1
    assert job.commands == []
    assert not (job.root / "step_summary").exists()
    assert job.outputs["verdict"] == "fail"

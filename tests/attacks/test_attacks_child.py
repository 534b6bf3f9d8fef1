"""What code under test can do to the job it runs in: A1 to A7, and what of A28 and A31 one real job shows."""

from __future__ import annotations

import io
import os
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest
from attack_list import attack, twin
from hostile_job import BRANCH, CANARY, HARMLESS, ORDERS, PRINTED, SECRETS, HostileJob, obeyed, read_outputs

from opsdebug_ci.errors import ConfigurationError, UsageError
from opsdebug_ci.github.environment import child_environment, with_token
from opsdebug_ci.github.inputs import read_inputs
from opsdebug_ci.github.outputs import write_outputs
from opsdebug_ci.github.workflow_commands import Annotation, Level, render_annotations
from opsdebug_ci.pipeline.child import run_child
from opsdebug_ci.plan.revision import changed_files
from opsdebug_ci.report import decode

OUTPUTS = {"verdict", "failures", "regressions", "exit-code", "report-json", "summary-md"}


@attack("A1")
def test_a_name_adds_no_output_to_a_real_job(hostile_job: HostileJob) -> None:
    outputs = hostile_job.outputs
    assert set(outputs) >= OUTPUTS
    assert [name for name in outputs if not name.replace("-", "").islower()] == []
    assert (outputs["verdict"], outputs["failures"], outputs["exit-code"]) == ("fail", "6", "1")
    assert hostile_job.exit_code == 1


HOSTILE_VALUES = [
    "x\nverdict=pass",
    "x\r\nverdict=pass",
    "verdict<<EOF\npass\nEOF",
    "x\nopsdebug_00000000000000000000000000000000\nverdict=pass",
    "x\u2028verdict=pass",
    "\n\n",
    "\ud800\nverdict=pass",
]


@attack("A1")
@pytest.mark.parametrize("value", HOSTILE_VALUES, ids=ascii)
def test_no_value_becomes_a_second_output(value: str, tmp_path: Path) -> None:
    write_outputs(tmp_path / "output", {"verdict": "fail", "report-json": value})
    read = read_outputs((tmp_path / "output").read_text(encoding="utf-8"))
    assert set(read) == {"verdict", "report-json"}
    assert read["verdict"] == "fail"


@twin("A1")
def test_harmless_values_come_back_as_they_are(tmp_path: Path) -> None:
    values = {"verdict": "pass", "report-json": "/tmp/ü b/r.json", "failures": "0"}
    write_outputs(tmp_path / "output", values)
    assert read_outputs((tmp_path / "output").read_text(encoding="utf-8")) == values


@attack("A1")
def test_outputs_without_delimiters_would_be_taken_over() -> None:
    """What the reader here makes of the naive form: the attack is one."""
    assert read_outputs("failures=x\nverdict=pass\n")["verdict"] == "pass"


@attack("A2")
def test_the_runner_obeys_nothing_that_operators_print_or_raise(hostile_job: HostileJob) -> None:
    first, second = hostile_job.commands
    assert first.startswith("::error file=operators.py,line=")
    assert second.startswith("::error file=operators.py,line=")
    assert ("title=halved" in first, "title=attack" in second) == (True, True)
    assert hostile_job.errors == ""


@attack("A2")
@pytest.mark.parametrize("line", PRINTED)
@pytest.mark.parametrize("around", ["%s\n", "\\n%s", "\\r%s\\r", "  \\t%s\n"])
def test_no_printed_line_is_obeyed(line: str, around: str, tmp_path: Path) -> None:
    stdout = io.StringIO()
    script = f"printf '{around % line}' >&2; printf '{around % line}'"
    run_child(["/bin/sh", "-c", script], directory=tmp_path, environ={}, document=tmp_path / "document", stdout=stdout)
    assert line in stdout.getvalue()
    assert obeyed(stdout.getvalue()) == []


@twin("A2")
def test_commands_of_our_own_are_obeyed_and_words_are_shown(tmp_path: Path) -> None:
    stdout = io.StringIO()
    words = ["/bin/sh", "-c", "echo 'a harmless line' >&2"]
    run_child(words, directory=tmp_path, environ={}, document=tmp_path / "document", stdout=stdout)
    stdout.writelines(render_annotations((Annotation(level=Level.ERROR, title="t", message="m"),)))
    assert "a harmless line\n" in stdout.getvalue()
    assert obeyed(stdout.getvalue()) == ["::error title=t::m"]


@attack("A3")
@pytest.mark.parametrize("name", [*SECRETS, "PIP_INDEX_URL"])
def test_a_secret_is_not_there_for_an_operator(name: str, hostile_job: HostileJob) -> None:
    assert name not in hostile_job.spoils["environ"]


@attack("A3")
def test_no_value_that_an_operator_sees_is_the_token(hostile_job: HostileJob) -> None:
    assert [name for name, value in hostile_job.spoils["environ"].items() if CANARY in value] == []


@twin("A3")
@pytest.mark.parametrize("name", HARMLESS)
def test_what_a_build_needs_is_there(name: str, hostile_job: HostileJob) -> None:
    assert hostile_job.spoils["environ"][name] == HARMLESS[name]


@twin("A3")
def test_the_child_that_runs_no_operator_gets_the_token_it_was_given() -> None:
    environ = {"OPSDEBUG_INPUT_TOKEN": CANARY, "GITHUB_TOKEN": "other", "PATH": "/bin"}
    assert with_token(child_environment(environ), environ) == {"PATH": "/bin", "OPSDEBUG_TOKEN": CANARY}


@attack("A4")
@pytest.mark.parametrize("name", ORDERS)
def test_an_operator_gives_the_runner_no_orders(name: str, hostile_job: HostileJob) -> None:
    assert name not in hostile_job.spoils["environ"]
    files = {"GITHUB_OUTPUT": "output", "GITHUB_STEP_SUMMARY": "step_summary"}
    path = hostile_job.root / files.get(name, name.lower())
    assert "PWNED" not in (path.read_text(encoding="utf-8") if path.exists() else "")
    assert path.exists() == (name in files)


@twin("A4")
def test_the_step_itself_writes_its_summary(hostile_job: HostileJob) -> None:
    summary = (hostile_job.root / "step_summary").read_text(encoding="utf-8")
    assert summary == Path(hostile_job.outputs["summary-md"]).read_text(encoding="utf-8")
    assert "6 of 9 cases of 3 operators failed; 3 pass" in summary


def imports(job: HostileJob) -> list[tuple[str, list[str]]]:
    """Module and command line of every process that imported a planted one."""
    lines = (job.root / "imported").read_bytes().split(b"\0")
    pairs = (line.decode().partition("\t") for line in lines if line)
    return [(module, words.split("\x1f")) for module, _, words in pairs]


@attack("A5")
def test_the_control_side_imports_nothing_from_the_workspace(hostile_job: HostileJob) -> None:
    assert [(module, words) for module, words in imports(hostile_job) if "-I" in words] == []
    assert [module for module, _ in imports(hostile_job) if module in ("click", "msgspec", "opsdebug_ci")] == []


@twin("A5")
def test_the_interpreter_of_the_user_does(hostile_job: HostileJob) -> None:
    """Their PYTHONPATH is theirs: the planted modules are real ones, and the worker is on their side."""
    assert {"json", "sitecustomize"} <= {module for module, _ in imports(hostile_job)}
    assert all("-I" in words.split("\0") for words in hostile_job.spoils["chain"][1:])


@attack("A5")
@attack("A28")
def test_no_planted_program_was_started(hostile_job: HostileJob) -> None:
    """Neither the interpreter in the workspace nor anything that the configuration of git names."""
    assert not (hostile_job.root / "sprung").exists()


@twin("A28")
def test_the_planted_configuration_of_git_is_a_trap(hostile_job: HostileJob, tmp_path: Path) -> None:
    (hostile_job.workspace / "operators.py").touch()
    words = ["git", "-C", str(hostile_job.workspace), "status"]
    environ = {**os.environ, "GIT_CONFIG_GLOBAL": os.devnull, "GIT_CONFIG_NOSYSTEM": "1", "HOME": str(tmp_path)}
    subprocess.run(words, env=environ, capture_output=True, check=False)
    sprung = hostile_job.root / "sprung"
    assert sprung.exists()
    sprung.unlink()


@attack("A6")
def test_the_name_of_a_branch_is_only_text(hostile_job: HostileJob) -> None:
    """The base of a real job's pull request."""
    assert [path for path in hostile_job.root.rglob("*") if path.name == "sprung"] == []
    how = decode(Path(hostile_job.outputs["report-json"]).read_bytes()).baseline_how
    assert 'a";touch sprung;"$(touch sprung)`touch sprung`' in how
    summary = (hostile_job.root / "step_summary").read_text(encoding="utf-8")
    assert 'a";touch sprung;"&#36;(touch sprung)&#96;touch sprung&#96;' in summary
    assert not [line for line in summary.splitlines() if line.startswith("::")]


BRANCHES = [
    'a";touch sprung;"',
    "$(touch sprung)",
    "`touch sprung`",
    "--output=sprung",
    "--upload-pack=touch sprung",
    "-Osprung",
    "@{sprung}",
    "main..sprung",
    "a\nb",
    "ü" * 250,
    "a" * 5_000,
    "::error::x",
    BRANCH,
]


@pytest.fixture(scope="module")
def repository(tmp_path_factory: pytest.TempPathFactory) -> Path:
    root = tmp_path_factory.mktemp("repository")
    author = ("-c", "user.name=t", "-c", "user.email=t@example.org", "-c", "commit.gpgsign=false")
    (root / "a.py").write_text("a = 1\n", encoding="utf-8")
    for words in (
        ("init", "--quiet", "--initial-branch=main"),
        ("add", "a.py"),
        ("commit", "--quiet", "--message=a"),
        ("branch", "feature/ünicode-1"),
    ):
        subprocess.run(["git", *author, *words], cwd=root, check=True)
    return root


@attack("A6")
@pytest.mark.parametrize("name", BRANCHES, ids=lambda name: ascii(name[:20]))
def test_git_takes_no_name_for_an_option(name: str, repository: Path) -> None:
    with pytest.raises(UsageError, match="no common ancestor"):
        changed_files(repository, name)
    assert sorted(path.name for path in repository.iterdir()) == [".git", "a.py"]


@twin("A6")
@pytest.mark.parametrize("name", ["main", "feature/ünicode-1"])
def test_a_branch_that_is_there_is_one(name: str, repository: Path) -> None:
    assert changed_files(repository, name) == ()
    assert read_inputs({"OPSDEBUG_INPUT_CHANGED": name}).changed == name


HOSTILE_INPUTS = [
    ("stage", "smoke; id"),
    ("stage", "${{ github.token }}"),
    ("stage", "--help"),
    ("config", "-c"),
    ("config", "a\nverdict=pass"),
    ("operators", "--config=x"),
    ("operators", 'a";id;"'),
    ("operators", "$(id)"),
    ("changed", "--output=x"),
    ("changed", "a..b"),
    ("changed", "`id`"),
    ("shard", "3/2"),
    ("shard", "1/2;id"),
    ("shard", "-1/2"),
    ("python", "-c"),
    ("python", "a\x1b[0m"),
    ("store", "-x"),
    ("record", "--store=x"),
    ("push", "-"),
    ("gate", "never\nverdict=pass"),
    ("timeout", "1e9"),
    ("timeout", "-1"),
    ("budget", "NaN"),
    ("annotations", "${{ x }}"),
    ("summary", "yes; id"),
    ("working-directory", "-"),
    ("working-directory", "a" * 5_000),
]


@attack("A7")
@pytest.mark.parametrize(("name", "value"), HOSTILE_INPUTS, ids=lambda text: ascii(text[:20]))
def test_an_input_that_is_none_is_refused_by_name(name: str, value: str) -> None:
    with pytest.raises(ConfigurationError) as told:
        read_inputs({f"OPSDEBUG_INPUT_{name.upper().replace('-', '_')}": value})
    assert told.value.message.startswith(f"`{name}` is ")
    assert told.value.exit_code == 2
    assert len(told.value.message.splitlines()) == 1
    assert len(told.value.message) < 300


@twin("A7")
@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("config", 'it\'s a "path" $(id) ${{ x }}.toml'),
        ("changed", "feature/ünicode-1"),
        ("operators", "gelu*, soft[mn]ax"),
        ("store", "branch:opsdebug-baselines@https://github.com/o/r"),
        ("python", "/opt/my python/bin/python3"),
    ],
)
def test_an_odd_but_honest_input_is_one_literal_word(name: str, value: str) -> None:
    read = getattr(read_inputs({f"OPSDEBUG_INPUT_{name.upper()}": value}), name)
    assert (", ".join(read) if isinstance(read, tuple) else read) == value


@attack("A31")
def test_the_token_is_in_nothing_that_a_real_job_leaves(
    hostile_job: HostileJob, no_canary: Callable[..., None]
) -> None:
    assert list(hostile_job.root.rglob("*.opsbundle")), "bundles are among what is left"
    no_canary(hostile_job.log, hostile_job.errors, hostile_job.root)


@attack("A31")
def test_the_token_is_in_no_command_line(hostile_job: HostileJob) -> None:
    chain = hostile_job.spoils["chain"]
    assert len(chain) == 3
    assert [words for words in chain if CANARY in words] == []


@twin("A31")
def test_the_canary_is_found_where_it_is(tmp_path: Path, no_canary: Callable[..., None]) -> None:
    (tmp_path / "below").mkdir()
    (tmp_path / "below/log").write_bytes(b"\0token: " + CANARY.encode())
    with pytest.raises(AssertionError):
        no_canary(tmp_path)
    with pytest.raises(AssertionError):
        no_canary(f"x{CANARY}")

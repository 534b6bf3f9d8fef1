"""What code under test can do to the job it runs in: A1 to A3, A6, A7, each by itself."""

from __future__ import annotations

import io
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest
from attack_list import attack, twin
from hostile_job import BRANCH, CANARY, HARMLESS, ORDERS, PRINTED, SECRETS, obeyed, read_outputs

from opsdebug_ci.errors import ConfigurationError, UsageError
from opsdebug_ci.github.environment import child_environment, with_token
from opsdebug_ci.github.inputs import read_inputs
from opsdebug_ci.github.outputs import write_outputs
from opsdebug_ci.github.workflow_commands import Annotation, Level, render_annotations
from opsdebug_ci.pipeline.child import run_child
from opsdebug_ci.plan.revision import changed_files

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
def test_no_secret_is_passed_on() -> None:
    environ = {**dict.fromkeys((*SECRETS, *ORDERS), CANARY), "PIP_INDEX_URL": f"https://u:{CANARY}@host/", **HARMLESS}
    assert child_environment(environ) == HARMLESS


@twin("A3")
def test_the_child_that_runs_no_operator_gets_the_token_it_was_given() -> None:
    environ = {"OPSDEBUG_INPUT_TOKEN": CANARY, "GITHUB_TOKEN": "other", "PATH": "/bin"}
    assert with_token(child_environment(environ), environ) == {"PATH": "/bin", "OPSDEBUG_TOKEN": CANARY}


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


@twin("A31")
def test_the_canary_is_found_where_it_is(tmp_path: Path, no_canary: Callable[..., None]) -> None:
    (tmp_path / "below").mkdir()
    (tmp_path / "below/log").write_bytes(b"\0token: " + CANARY.encode())
    with pytest.raises(AssertionError):
        no_canary(tmp_path)
    with pytest.raises(AssertionError):
        no_canary(f"x{CANARY}")

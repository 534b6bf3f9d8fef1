from __future__ import annotations

import sys
from pathlib import Path
from textwrap import dedent

import pytest

from opsdebug_ci.errors import ConfigurationError
from opsdebug_ci.model import Gate
from opsdebug_ci.plan.configuration import Configuration, load_configuration
from opsdebug_ci.plan.setting import Peaks, Performance, Scoped

EVERY_KEY = """
    operators = ["kernels.py", "package.kernels"]
    python = ".venv/bin/python"
    devices = ["cpu", "cuda:1"]
    build = "make kernels"
    performance = "pr"
    gate = "all"
    store = "s3://bucket/baselines"
    timeout = "2 min"
    memory = "4 GiB"
    peaks = { bandwidth = 3.3e12, float32 = 6.7e13 }
    bundle.values = false

    [threshold]
    default = 0.2
    softmax = 0.05

    [health_limit]
    float16 = 6e4

    [budget]
    smoke = 90
    full = "2 h"
"""


def own_file(directory: Path, text: str) -> Path:
    path = directory / "opsdebug.toml"
    path.write_text(dedent(text))
    return path


def shared_file(directory: Path, text: str) -> Path:
    path = directory / "pyproject.toml"
    path.write_text(dedent(text))
    return path


def message_of(start: Path, **arguments: object) -> str:
    with pytest.raises(ConfigurationError) as caught:
        load_configuration(start, **arguments)  # type: ignore[arg-type]
    assert caught.value.exit_code == 2
    return str(caught.value)


def test_every_key_of_the_documentation_is_read(tmp_path: Path) -> None:
    file = own_file(tmp_path, EVERY_KEY)

    assert load_configuration(tmp_path) == Configuration(
        root=tmp_path,
        file=file,
        operators=("kernels.py", "package.kernels"),
        python=".venv/bin/python",
        devices=("cpu", "cuda:1"),
        build="make kernels",
        threshold=Scoped(default=0.2, by_name={"softmax": 0.05}),
        performance=Performance.PR,
        gate=Gate.ALL,
        peaks=Peaks(bandwidth_bytes_per_s=3.3e12, flops_per_s={"float32": 6.7e13}),
        store="s3://bucket/baselines",
        health_limit=Scoped(default=1e30, by_name={"float16": 6e4}),
        timeout_s=120.0,
        memory_bytes=4 * 2**30,
        budget_s=Scoped(default=None, by_name={"smoke": 90.0, "full": 7200.0}),
        bundle_values=False,
    )


def test_defaults_are_those_of_the_documentation(tmp_path: Path) -> None:
    shared_file(tmp_path, '[tool.opsdebug]\noperators = "kernels.py"\n')
    found = load_configuration(tmp_path)

    assert (found.operators, found.python, found.devices, found.build) == (("kernels.py",), None, (), None)
    assert (found.threshold.of("anything"), found.performance, found.gate) == (0.10, Performance.NIGHTLY, Gate.NEW)
    assert (found.store, found.health_limit.of("float32"), found.timeout_s) == ("baselines/", 1e30, 60.0)
    assert (found.memory_bytes, found.budget_s.of("smoke"), found.bundle_values) == (None, None, True)
    assert found.peaks == Peaks()
    assert found.store_directory == tmp_path / "baselines"
    assert found.interpreter == sys.executable


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        ("", {"default": "skip"}),
        ('empty = "fail"', {"default": "fail"}),
        ('empty = {default = "skip", "a/b.py" = "fail"}', {"default": "skip", "a/b.py": "fail"}),
    ],
)
def test_empty_inputs_are_decided_by_file(tmp_path: Path, line: str, expected: dict[str, str]) -> None:
    own_file(tmp_path, f'operators = "kernels.py"\n{line}\n')
    assert load_configuration(tmp_path).empty == expected


def test_a_number_with_exceptions_answers_by_name(tmp_path: Path) -> None:
    own_file(tmp_path, EVERY_KEY)
    found = load_configuration(tmp_path)
    assert [found.threshold.of(name) for name in ("softmax", "gelu")] == [0.05, 0.2]


@pytest.mark.parametrize(
    ("store", "directory"),
    [
        ("baselines/", "baselines"),
        ("/var/store", "/var/store"),
        ("branch:opsdebug-baselines", None),
        ("gs://b/p", None),
    ],
)
def test_only_a_directory_store_has_a_directory(tmp_path: Path, store: str, directory: str | None) -> None:
    found = Configuration(root=tmp_path, store=store).store_directory
    assert found == (None if directory is None else tmp_path / directory)


@pytest.mark.parametrize(
    ("python", "expected"),
    [
        (".venv/bin/python", "{root}/.venv/bin/python"),
        ("/usr/bin/python3", "/usr/bin/python3"),
        ("python3.12", "python3.12"),
    ],
)
def test_an_interpreter_path_starts_at_the_root(tmp_path: Path, python: str, expected: str) -> None:
    assert Configuration(root=tmp_path, python=python).interpreter == expected.format(root=tmp_path)


def test_every_mistake_is_told_at_once_with_file_and_line(tmp_path: Path) -> None:
    shared_file(
        tmp_path,
        """
        [project]
        name = "kernels"

        [tool.opsdebug]
        operators = ["a.py", 3]
        threshhold = 0.2
        devices = ["CPU"]
        python = ""
        gate = "sometimes"
        performance = true
        store = "ftp://host/store"
        timeout = "5 parsecs"
        memory = 0
        peaks = { bandwith = 1.0, float32 = "fast" }
        bundle.values = "no"
        bundle.value = 1

        [tool.opsdebug.threshold]
        gelu = -1

        [tool.opsdebug.health_limit]
        float_16 = 1.0

        [tool.opsdebug.budget]
        smok = 3
        """,
    )
    assert message_of(tmp_path) == dedent(
        """\
        16 problems in the configuration:
          pyproject.toml:7: `threshhold` is not a key; did you mean `threshold`?
          pyproject.toml:17: `bundle.value` is not a key; did you mean `bundle.values`?
          pyproject.toml:6: `operators` has 3; wanted texts only
          pyproject.toml:8: `devices` has "CPU"; wanted device names: cpu, cuda, xpu, npu, mps, or e.g. cuda:1
          pyproject.toml:9: `python` is ""; wanted a text
          pyproject.toml:10: `gate` is "sometimes"; wanted one of new, all, never
          pyproject.toml:11: `performance` is true; wanted one of off, nightly, pr
          pyproject.toml:12: `store` is "ftp://host/store"; wanted a directory, branch:NAME, s3://BUCKET/PREFIX or gs://BUCKET/PREFIX
          pyproject.toml:13: `timeout` is "5 parsecs"; wanted a duration above 0 (ms, s, min, h), e.g. 60 or "2 min"
          pyproject.toml:14: `memory` is 0; wanted memory above 0 (B, kB, MB, GB, TB, KiB, MiB, GiB, TiB), e.g. "4 GiB"
          pyproject.toml:15: `peaks.float32` is "fast"; wanted a number above 0
          pyproject.toml:15: `peaks.bandwith` is not a key; did you mean `bandwidth`?
          pyproject.toml:20: `threshold.gelu` is -1; wanted a number above 0
          pyproject.toml:23: `health_limit.float_16` is not a key; did you mean `float16`?
          pyproject.toml:26: `budget.smok` is not a key; did you mean `smoke`?
          pyproject.toml:16: `bundle.values` is "no"; wanted true or false
          next: correct every line above, then run the same command again"""
    )


TABLE_OF_MISTAKES = [
    ("operators = []", "opsdebug.toml:1: `operators` is []; wanted a list of texts, at least one"),
    ("operators = 3", "opsdebug.toml:1: `operators` is 3; wanted a list of texts, at least one"),
    ("build = ['make']", 'opsdebug.toml:1: `build` is ["make"]; wanted a text'),
    ("devices = ['']", 'opsdebug.toml:1: `devices` has ""; wanted texts only'),
    ("threshold = nan", "opsdebug.toml:1: `threshold` is nan; wanted a number above 0"),
    ("threshold = '10 %'", 'opsdebug.toml:1: `threshold` is "10 %"; wanted a number above 0'),
    ("threshold = true", "opsdebug.toml:1: `threshold` is true; wanted a number above 0"),
    ("peaks = 3", "opsdebug.toml:1: `peaks` is 3; wanted a table, e.g. {bandwidth = 3.3e12, float32 = 6.7e13}"),
    (
        "store = 'branch:'",
        'opsdebug.toml:1: `store` is "branch:"; wanted a directory, branch:NAME, s3://BUCKET/PREFIX or gs://BUCKET/PREFIX',
    ),
    ("gate = 1979-05-27", 'opsdebug.toml:1: `gate` is "1979-05-27"; wanted one of new, all, never'),
    ('empty = "never"', 'opsdebug.toml:1: `empty` is "never"; wanted one of skip, fail'),
    ("empty = {gelu = 1}", "opsdebug.toml:1: `empty.gelu` is 1; wanted one of skip, fail"),
    ("bundle = false", "opsdebug.toml:1: `bundle` is not a key; did you mean `bundle.values`?"),
    (
        "zzz = 1",
        "opsdebug.toml:1: `zzz` is not a key; wanted one of operators, python, devices, build, threshold, "
        "performance, gate, empty, peaks, store, health_limit, timeout, memory, budget, bundle.values",
    ),
]


@pytest.mark.parametrize(("text", "line"), TABLE_OF_MISTAKES)
def test_one_mistake_gives_one_line(tmp_path: Path, text: str, line: str) -> None:
    own_file(tmp_path, text)
    assert message_of(tmp_path, operators_required=False) == (
        f"1 problem in the configuration:\n  {line}\n  next: correct every line above, then run the same command again"
    )


def test_no_configuration_says_how_to_begin(tmp_path: Path) -> None:
    assert message_of(tmp_path) == (
        f"no configuration: neither opsdebug.toml nor a pyproject.toml with [tool.opsdebug] in {tmp_path} or above\n"
        '  next: write `[tool.opsdebug]` with `operators = ["kernels.py"]` into pyproject.toml, or run `opsdebug init`'
    )


def test_no_operators_says_how_to_begin(tmp_path: Path) -> None:
    shared_file(tmp_path, "[tool.opsdebug]\ngate = 'all'\n")
    assert message_of(tmp_path) == (
        "pyproject.toml: `operators` is missing; wanted files or modules\n"
        '  next: write `[tool.opsdebug]` with `operators = ["kernels.py"]` into pyproject.toml, or run `opsdebug init`'
    )


def test_commands_that_need_no_operators_run_without_configuration(tmp_path: Path) -> None:
    assert load_configuration(tmp_path, operators_required=False) == Configuration(root=tmp_path)


def test_the_nearest_file_upwards_wins(tmp_path: Path) -> None:
    far = own_file(tmp_path, 'operators = ["far.py"]')
    middle = tmp_path / "middle"
    inner = middle / "inner"
    inner.mkdir(parents=True)
    shared_file(middle, "[project]\nname = 'without our table'\n")
    assert load_configuration(inner).file == far
    near = shared_file(middle, '[tool.opsdebug]\noperators = ["near.py"]\n')
    assert load_configuration(inner).file == near
    assert load_configuration(inner).root == middle


def test_the_own_file_wins_beside_a_project_without_our_table(tmp_path: Path) -> None:
    shared_file(tmp_path, "[tool.ruff]\nline-length = 100\n")
    own = own_file(tmp_path, 'operators = ["a.py"]')
    assert load_configuration(tmp_path).file == own


def test_two_configurations_in_one_directory_are_an_error(tmp_path: Path) -> None:
    shared_file(tmp_path, "[tool.opsdebug]\noperators = ['a.py']\n")
    own_file(tmp_path, "operators = ['b.py']")
    assert message_of(tmp_path) == (
        "two configurations in one directory: opsdebug.toml, and [tool.opsdebug] in pyproject.toml\n"
        "  next: keep one: delete the [tool.opsdebug] table, or opsdebug.toml"
    )


def test_a_file_above_is_named_from_where_the_person_stands(tmp_path: Path) -> None:
    own_file(tmp_path, "gate = 3")
    inner = tmp_path / "inner"
    inner.mkdir()
    assert "\n  ../opsdebug.toml:1: `gate` is 3;" in message_of(inner)


def test_an_explicit_file_is_the_only_one_looked_at(tmp_path: Path) -> None:
    own_file(tmp_path, "gate = 3")
    other = tmp_path / "sub" / "nightly.toml"
    other.parent.mkdir()
    other.write_text('operators = ["a.py"]')
    found = load_configuration(tmp_path, explicit=Path("sub/nightly.toml"))
    assert (found.file, found.root) == (other, other.parent)


@pytest.mark.parametrize(
    ("path", "expected"),
    [
        ("missing.toml", "`--config missing.toml`: no such file; wanted a TOML file"),
        (".", "`--config .`: a directory; wanted a TOML file"),
        ("pyproject.toml", "`--config pyproject.toml`: it has no [tool.opsdebug] table"),
        ("bad.toml", "bad.toml is not valid TOML: "),
        ("latin.toml", "latin.toml cannot be read: "),
    ],
)
def test_an_unusable_explicit_file_is_told(tmp_path: Path, path: str, expected: str) -> None:
    shared_file(tmp_path, "[tool.ruff]\n")
    (tmp_path / "bad.toml").write_text("operators = [\n")
    (tmp_path / "latin.toml").write_bytes(b"# caf\xe9\n")
    message = message_of(tmp_path, explicit=Path(path))
    assert message.startswith(expected)
    assert "\n  next: " in message


def test_our_table_must_be_a_table(tmp_path: Path) -> None:
    shared_file(tmp_path, "[tool]\nopsdebug = 3\n")
    assert message_of(tmp_path).startswith("pyproject.toml: `tool.opsdebug` is 3; wanted a table\n  next: ")


def test_the_command_line_replaces_whole_keys(tmp_path: Path) -> None:
    own_file(tmp_path, EVERY_KEY)
    overrides = {
        "operators": "x.py, y.py",
        "devices": ("xpu",),
        "threshold": "0.3",
        "timeout": "5",
        "memory": None,
        "bundle.values": "true",
        "budget": "10 min",
        "gate": "never",
    }
    found = load_configuration(tmp_path, overrides=overrides)
    assert (found.operators, found.devices, found.gate) == (("x.py", "y.py"), ("xpu",), Gate.NEVER)
    assert (found.threshold, found.timeout_s) == (Scoped(default=0.3), 5.0)
    assert (found.memory_bytes, found.bundle_values) == (4 * 2**30, True)
    assert found.budget_s.of("smoke") == 600.0
    assert found.build == "make kernels"


def test_mistakes_on_the_command_line_are_told_with_those_of_the_file(tmp_path: Path) -> None:
    own_file(tmp_path, "operators = ['a.py']\ngate = 1\n")
    overrides = {"timeout": "soon", "thresold": "0.1", "peaks": "{float32"}
    assert message_of(tmp_path, overrides=overrides) == dedent(
        """\
        4 problems in the configuration:
          opsdebug.toml:2: `gate` is 1; wanted one of new, all, never
          command line: `thresold` is not a key; did you mean `threshold`?
          command line: `timeout` is "soon"; wanted a duration above 0 (ms, s, min, h), e.g. 60 or "2 min"
          command line: `peaks` is "{float32"; wanted a table, e.g. {bandwidth = 3.3e12, float32 = 6.7e13}
          next: correct every line above, then run the same command again"""
    )


def test_the_command_line_alone_can_name_the_operators(tmp_path: Path) -> None:
    assert load_configuration(tmp_path, overrides={"operators": "a.py"}) == Configuration(
        root=tmp_path, operators=("a.py",)
    )


def test_the_hash_is_of_what_is_effective_not_of_how_it_is_written(tmp_path: Path) -> None:
    one, other = tmp_path / "one", tmp_path / "other"
    one.mkdir()
    other.mkdir()
    own_file(one, 'operators = ["a.py"]\ntimeout = 120\n[threshold]\na = 1\nb = 2\n')
    shared_file(
        other, '[tool.opsdebug]\ntimeout = "2 min"\noperators = "a.py"\ngate = "new"\nthreshold = {b = 2.0, a = 1.0}\n'
    )
    first, second = load_configuration(one), load_configuration(other)
    assert first.config_hash == second.config_hash
    assert len(first.config_hash) == 64


@pytest.mark.parametrize("text", [line.strip() for line in EVERY_KEY.partition("\n\n")[0].strip().splitlines()])
def test_every_key_changes_the_hash(tmp_path: Path, text: str) -> None:
    own_file(tmp_path, text)
    changed = load_configuration(tmp_path, operators_required=False)
    assert changed.config_hash != Configuration(root=tmp_path).config_hash

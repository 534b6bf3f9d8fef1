"""The workflows that `opsdebug init` writes, in every form, as the tools that check such files see them."""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
from workflow_files import ROOT, actions_used, checkouts, load, loaded, scripts, steps, tool

from opsdebug_ci.errors import InternalError, UsageError
from opsdebug_ci.github.inputs import read_inputs
from opsdebug_ci.github.recipe import Recipe, Workflow
from opsdebug_ci.github.scaffold import WORKFLOWS, fill, scaffold

IMAGE = "ghcr.io/acme/torch:2.13"
OWN = ("self-hosted", "Linux", "gpu-h100")
ACTION = "opsdebug-ci/opsdebug-ci@v1"

RECIPES: Mapping[str, Recipe] = {
    "plain": Recipe(),
    "sharded": Recipe(shards=3, branch="release/2.x", python="3.13"),
    "own": Recipe(runs_on=OWN, python="/opt/venv/bin/python"),
    "container": Recipe(runs_on=OWN, container=IMAGE, gpus=True, shards=2),
    "digest": Recipe(container=f"{IMAGE}@sha256:{'0' * 64}"),
    "inside": Recipe(runs_on=OWN, bot_runs_on=("self-hosted", "bot"), python="3.11"),
    "old": Recipe(python="3.10"),
    "odd": Recipe(runs_on=("on", "2026"), branch="1.0"),
}
"""One of each kind of machine, and values that YAML could read as something else."""


def texts(recipe: Recipe) -> dict[str, str]:
    """Workflow files by name."""
    files = {Path(file.path).name: file.text for file in scaffold(recipe)}
    return {name: text for name, text in files.items() if name.endswith(".yml")}


@pytest.fixture(scope="module")
def written(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Every recipe in a directory of its own."""
    root = tmp_path_factory.mktemp("recipes")
    for name, recipe in RECIPES.items():
        directory = root / name / ".github/workflows"
        directory.mkdir(parents=True)
        for file, text in texts(recipe).items():
            (directory / file).write_text(text, encoding="utf-8")
    labels = '[Linux, gpu-h100, bot, "on", "2026"]'
    (root / "actionlint.yaml").write_text(f"self-hosted-runner:\n  labels: {labels}\n", encoding="utf-8")
    return root


def files(root: Path) -> list[Path]:
    found = sorted(root.rglob("*.yml"))
    assert len(found) == len(RECIPES) * len(Workflow)
    return found


def test_zizmor_finds_nothing(written: Path) -> None:
    result = tool("zizmor", "--offline", "--no-config", "--persona=auditor", *files(written))
    assert result.returncode == 0, result.stdout + result.stderr


def test_zizmor_is_asked_to_overlook_only_what_was_thought_about() -> None:
    """Each with its reason on the line; triggers that are dangerous only where nothing of the pull request is run."""
    ignored = [
        (name, rule, reason)
        for recipe in RECIPES.values()
        for name, text in texts(recipe).items()
        for rule, reason in re.findall(r"# zizmor: ignore\[([a-z-]+)\](.*)", text)
    ]
    assert {rule for _, rule, _ in ignored} == {
        "dangerous-triggers",
        "unpinned-uses",
        "self-hosted-runner",
        "unpinned-images",
    }
    assert all(len(reason.split()) >= 3 for _, _, reason in ignored)
    triggers = {name for name, rule, _ in ignored if rule == "dangerous-triggers"}
    assert triggers == {"opsdebug-report.yml", "opsdebug-accept.yml"}


def test_zizmor_would_find_something(written: Path, tmp_path: Path) -> None:
    text = texts(Recipe())["opsdebug-report.yml"]
    planted = tmp_path / "planted.yml"
    planted.write_text(re.sub(r" # zizmor: ignore\[dangerous-triggers\].*", "", text), encoding="utf-8")
    result = tool("zizmor", "--offline", "--no-config", "--persona=auditor", planted)
    assert result.returncode != 0
    assert "dangerous-triggers" in result.stdout


def test_they_fit_their_schema(written: Path) -> None:
    result = tool("check-jsonschema", "--builtin-schema", "vendor.github-workflows", *files(written))
    assert result.returncode == 0, result.stdout + result.stderr


def test_actionlint_finds_nothing(written: Path) -> None:
    result = tool("actionlint", "-config-file", written / "actionlint.yaml", *files(written))
    assert result.returncode == 0, result.stdout + result.stderr


def test_act_takes_them(written: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOME", str(written))
    for name in RECIPES:
        result = tool("act", "--validate", "--strict", "-W", written / name / ".github/workflows", at=written)
        assert result.returncode == 0, result.stdout + result.stderr
        assert "Error" not in result.stdout + result.stderr


def test_act_would_refuse_something(written: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOME", str(written))
    planted = tmp_path / "planted.yml"
    planted.write_text(texts(Recipe())["opsdebug.yml"].replace("timeout-minutes", "timeout"), encoding="utf-8")
    result = tool("act", "--validate", "--strict", "-W", planted, at=tmp_path)
    assert "Unknown Property timeout" in result.stdout + result.stderr


@pytest.mark.parametrize("recipe", RECIPES.values(), ids=RECIPES)
def test_they_grant_nothing_by_default_pin_what_they_use_and_keep_no_credentials(recipe: Recipe) -> None:
    for name, text in texts(recipe).items():
        workflow = loaded(text)
        assert workflow["name"] == Path(name).stem
        assert workflow["permissions"] == {}
        assert workflow["concurrency"]["group"].startswith("opsdebug-")
        assert all(re.search(r"@[0-9a-f]{40}$", use) or use == ACTION for use in actions_used(workflow)), name
        assert ACTION in actions_used(workflow)
        assert all(step["with"]["persist-credentials"] is False for step in checkouts(workflow))
        for job in workflow["jobs"].values():
            assert job["permissions"]
            assert 0 < job["timeout-minutes"] <= 300
        assert not re.search(r"uses: \S+@[0-9a-f]{40}$", text, re.M), "the version belongs beside the hash"
        assert "<<" not in text
        assert "\n\n\n" not in text
        assert text.count("write #") == text.count(": write"), "every permission says what for"


@pytest.mark.parametrize("recipe", RECIPES.values(), ids=RECIPES)
def test_no_job_that_runs_operators_may_write_and_no_other_runs_anything(recipe: Recipe) -> None:
    seen = []
    for text in texts(recipe).values():
        for job in loaded(text)["jobs"].values():
            given = [step["with"] for step in job["steps"] if step.get("uses") == ACTION]
            assert len(given) == 1
            if {"publish", "push"} & set(given[0]):
                seen.append("bot")
                assert given[0]["token"] == "${{ github.token }}"
                assert checkouts({"jobs": {"only": job}}) == []
                assert scripts(job) == []
                assert "container" not in job
                assert job["runs-on"] in (recipe.bot_runs_on[0], list(recipe.bot_runs_on))
            else:
                seen.append("operators")
                assert job["permissions"] == {"contents": "read"}
                assert "token" not in given[0]
                assert job["runs-on"] in (recipe.runs_on[0], list(recipe.runs_on))
    assert (seen.count("operators"), seen.count("bot")) == (3, 4)


@pytest.mark.parametrize("recipe", RECIPES.values(), ids=RECIPES)
def test_only_runs_of_a_pull_request_are_cut_short(recipe: Recipe) -> None:
    cancels = {name: loaded(text)["concurrency"]["cancel-in-progress"] for name, text in texts(recipe).items()}
    assert cancels.pop("opsdebug.yml") == "${{ github.event_name == 'pull_request' }}"
    assert set(cancels.values()) == {False}


@pytest.mark.parametrize("recipe", RECIPES.values(), ids=RECIPES)
def test_no_expression_stands_in_a_script(recipe: Recipe) -> None:
    found = [script for text in texts(recipe).values() for script in scripts(loaded(text))]
    assert all("${{" not in script for script in found)


def test_the_action_takes_every_input_that_they_give() -> None:
    known = set(load(ROOT / "action.yml")["inputs"])
    outputs = set(load(ROOT / "action.yml")["outputs"])
    for recipe in RECIPES.values():
        for text in texts(recipe).values():
            given = [step["with"] for step in steps(loaded(text)) if step.get("uses") == ACTION]
            assert all(set(values) <= known for values in given)
            assert all(isinstance(value, str) for values in given for value in values.values())
            assert set(re.findall(r"steps\.opsdebug\.outputs\.([a-z-]+)", text)) <= outputs


def test_the_action_accepts_every_value_that_they_give() -> None:
    for recipe in RECIPES.values():
        for text in texts(recipe).values():
            for step in steps(loaded(text)):
                if step.get("uses") == ACTION:
                    read_inputs({f"OPSDEBUG_INPUT_{k.upper().replace('-', '_')}": v for k, v in plain(step["with"])})


def plain(given: Mapping[str, str]) -> list[tuple[str, str]]:
    """Inputs whose values are known without a run."""
    return [(name, value) for name, value in given.items() if "${{" not in value]


def only_job(recipe: Recipe, file: str = "opsdebug.yml") -> Any:
    (job,) = loaded(texts(recipe)[file])["jobs"].values()
    return job


def uses(job: Any) -> list[str]:
    return [step["uses"].partition("@")[0] for step in job["steps"] if "uses" in step]


def test_shards_are_a_matrix_whose_size_the_report_knows() -> None:
    job = only_job(RECIPES["sharded"])
    assert job["strategy"] == {"fail-fast": False, "matrix": {"shard": ["1/3", "2/3", "3/3"]}}
    assert job["name"] == "Operators, smoke stage, shard ${{ matrix.shard }}"
    (step,) = [step for step in job["steps"] if step.get("uses") == ACTION]
    assert step["with"]["shard"] == "${{ matrix.shard }}"
    for file in ("opsdebug-report.yml", "opsdebug-accept.yml"):
        (told,) = only_job(RECIPES["sharded"], file)["steps"]
        assert told["with"]["expected-shards"] == "3"
    nightly = loaded(texts(RECIPES["sharded"])["opsdebug-nightly.yml"])
    assert nightly["on"]["push"]["branches"] == ["release/2.x"]
    assert nightly["jobs"]["report"]["steps"][0]["with"]["expected-shards"] == "3"
    assert "strategy" not in only_job(RECIPES["plain"])


def test_the_interpreter_is_set_up_only_where_none_is_brought() -> None:
    given = {name: only_job(recipe) for name, recipe in RECIPES.items()}
    set_up = {name for name, job in given.items() if "actions/setup-python" in uses(job)}
    assert set_up == {"plain", "sharded", "inside", "old", "odd"}
    versions = {name: given[name]["steps"][1]["with"]["python-version"] for name in sorted(set_up)}
    assert versions == {"inside": "3.11", "odd": "3.12", "old": "3.12\n3.10\n", "plain": "3.12", "sharded": "3.13"}
    pythons = {
        name: step["with"]["python"]
        for name, job in given.items()
        for step in job["steps"]
        if step.get("uses") == ACTION
    }
    assert pythons.pop("own") == "/opt/venv/bin/python"
    assert set(pythons.values()) == {"python3"}


def test_a_container_is_used_only_when_it_was_asked_for() -> None:
    assert only_job(RECIPES["container"])["container"] == {"image": IMAGE, "options": "--gpus all"}
    assert only_job(RECIPES["digest"])["container"] == {"image": f"{IMAGE}@sha256:{'0' * 64}"}
    assert "docker" not in "".join(texts(RECIPES["own"]).values())
    assert all(
        "container" not in only_job(recipe)
        for name, recipe in RECIPES.items()
        if "container" not in name and name != "digest"
    )


def test_no_path_of_the_machine_around_a_container_is_used() -> None:
    """`runner.temp`, `github.workspace` and `github.action_path` name places outside of it."""
    for text in texts(RECIPES["container"]).values():
        assert re.findall(r"(runner\.(temp|tool_cache)|github\.(workspace|action_path))", text) == []


def test_own_machines_come_with_advice() -> None:
    assert "require approval" in texts(RECIPES["own"])["opsdebug.yml"]
    assert "require approval" not in texts(RECIPES["plain"])["opsdebug.yml"]


def test_the_report_listens_to_the_workflow_that_runs_operators() -> None:
    report = loaded(texts(Recipe())["opsdebug-report.yml"])
    assert report["on"] == {"workflow_run": {"workflows": ["opsdebug"], "types": ["completed"]}}
    assert loaded(texts(Recipe())["opsdebug.yml"])["name"] == "opsdebug"


@pytest.mark.parametrize(
    ("values", "message"),
    [
        ({"runs_on": ("a b",)}, r"`--runs-on` is 'a b'; wanted labels"),
        ({"runs_on": ()}, r"`--runs-on` is ''; wanted labels"),
        ({"runs_on": ("a",) * 21}, r"`--runs-on` is '(a, ){20}a'; wanted labels"),
        ({"bot_runs_on": ("a]",)}, r"`--bot-runs-on` is 'a\]'"),
        (
            {"runs_on": OWN, "bot_runs_on": ("self-hosted",)},
            r"`--bot-runs-on` is 'self-hosted'; wanted a label that no machine of `--runs-on` has",
        ),
        ({"runs_on": OWN, "bot_runs_on": ("linux", "Self-Hosted")}, r"wanted a label that no machine"),
        ({"container": "a\nrun: x"}, r"`--container` is 'a\\nrun: x'; wanted an image"),
        ({"container": "a # b"}, r"`--container` is 'a # b'"),
        ({"container": "${{ github.token }}"}, r"`--container` is"),
        ({"container": "a@sha256:12"}, r"`--container` is"),
        ({"gpus": True}, r"`--gpus` is 'no container'; wanted `--container IMAGE` beside it"),
        ({"shards": 0}, r"`--shards` is '0'; wanted 1 to 256"),
        ({"shards": 257}, r"`--shards` is '257'"),
        ({"python": "-c"}, r"`--python` is '-c'"),
        ({"python": 'a"b'}, r"`--python` is 'a\"b'"),
        ({"python": "a\n"}, r"`--python` is 'a\\n'"),
        ({"branch": "a..b"}, r"`--branch` is 'a..b'; wanted the name of a branch"),
        ({"branch": "*"}, r"`--branch` is '\*'"),
        ({"branch": "b" * 300}, r"`--branch` is 'b{79}"),
        ({"workflows": ()}, r"`--workflow` is ''; wanted one of pull-request, report"),
    ],
)
def test_what_cannot_stand_in_a_workflow_is_refused(values: dict[str, Any], message: str) -> None:
    with pytest.raises(UsageError, match=message):
        scaffold(Recipe(**values))


def test_every_word_of_yaml_stays_a_text() -> None:
    for word in (
        "true",
        "False",
        "null",
        "yes",
        "No",
        "on",
        "OFF",
        "y",
        "n",
        "1e3",
        "0x10",
        "1_000",
        "2026-11-30",
        "12:30",
    ):
        if ":" not in word:
            assert only_job(Recipe(runs_on=(word,)))["runs-on"] == word
        assert only_job(Recipe(container=f"r/{word.lower()}"))["container"]["image"] == f"r/{word.lower()}"


def test_the_scaffold_is_complete_and_valid() -> None:
    written = {file.path: file.text for file in scaffold()}
    assert list(written) == [
        ".github/workflows/opsdebug.yml",
        ".github/workflows/opsdebug-report.yml",
        ".github/workflows/opsdebug-nightly.yml",
        ".github/workflows/opsdebug-release.yml",
        ".github/workflows/opsdebug-accept.yml",
        "opsdebug.toml",
        "opsdebug_operators.py",
    ]
    compile(written["opsdebug_operators.py"], "opsdebug_operators.py", "exec")
    assert "opsdebug_operators.py" in written["opsdebug.toml"]
    templates = {path.name for path in (ROOT / "opsdebug_ci/github/templates").iterdir() if path.is_file()}
    assert templates == {*WORKFLOWS.values(), "opsdebug.toml", "opsdebug_operators.py.txt"}


def test_only_the_workflows_that_were_asked_for_are_written() -> None:
    assert list(texts(Recipe(workflows=(Workflow.REPORT, Workflow.PULL_REQUEST)))) == [
        "opsdebug.yml",
        "opsdebug-report.yml",
    ]


def test_lines_stand_where_their_name_stood_and_go_with_it() -> None:
    text = "a:\n  # <<block>>\n\n  b: <<word>>\n"
    assert fill(text, {"block": "c: 1\n\nd:\n  - 2", "word": "w"}) == "a:\n  c: 1\n\n  d:\n    - 2\n\n  b: w\n"
    assert fill(text, {"block": "", "word": "w"}) == "a:\n  b: w\n"
    with pytest.raises(InternalError, match=r"holds \['block'\]; wanted names of \['word'\]"):
        fill(text, {"word": "w"})

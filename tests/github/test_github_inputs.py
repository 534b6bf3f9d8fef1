from __future__ import annotations

import pytest

from opsdebug_ci.errors import ConfigurationError
from opsdebug_ci.github.environment import child_environment
from opsdebug_ci.github.inputs import ActionInputs, Part, read_inputs, read_part
from opsdebug_ci.model.publication import CommentPolicy


def given(**inputs: str) -> ActionInputs:
    """The inputs as `env:` hands them over."""
    return read_inputs({f"OPSDEBUG_INPUT_{name.upper()}": value for name, value in inputs.items()})


def test_nothing_given() -> None:
    assert given() == ActionInputs(
        stage="smoke",
        config="",
        operators=(),
        changed="",
        shard="",
        python="",
        store="",
        record="",
        push="",
        gate="",
        timeout="",
        budget="",
        annotations=True,
        summary=True,
        working_directory=".",
        publish=False,
        comment=CommentPolicy.AUTO,
        comment_id="default",
        expected_shards=None,
        run_id=None,
    )


def test_everything_given() -> None:
    assert given(
        stage="full",
        config="conf/ops debug.toml",
        operators="gelu, soft*\nnorm.[lr]ms",
        changed="origin/release-1.2",
        shard="2/8",
        python="/opt/py thon/bin/python3",
        store="s3://bucket/prefix",
        record="kept/a run",
        push="kept",
        gate="all",
        timeout="12.5",
        budget="600",
        annotations="false",
        summary="false",
        working_directory="kernels/ü",
        publish="true",
        comment="changes",
        comment_id="GPU_2.x-a",
        expected_shards="12",
        run_id="9876543210",
    ) == ActionInputs(
        stage="full",
        config="conf/ops debug.toml",
        operators=("gelu", "soft*", "norm.[lr]ms"),
        changed="origin/release-1.2",
        shard="2/8",
        python="/opt/py thon/bin/python3",
        store="s3://bucket/prefix",
        record="kept/a run",
        push="kept",
        gate="all",
        timeout="12.5",
        budget="600",
        annotations=False,
        summary=False,
        working_directory="kernels/ü",
        publish=True,
        comment=CommentPolicy.CHANGES,
        comment_id="GPU_2.x-a",
        expected_shards=12,
        run_id=9_876_543_210,
    )


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("stage", "smoke; id"),
        ("stage", "run"),
        ("stage", "--help"),
        ("stage", "smoke\nverdict=pass"),
        ("config", "--config"),
        ("config", "a\x00b"),
        ("config", "x" * 5_000),
        ("operators", "--gate=never"),
        ("operators", "gelu --gate=never"),
        ("operators", "$(id)"),
        ("operators", '"gelu"'),
        ("operators", "${{ github.token }}"),
        ("changed", "-x"),
        ("changed", "--output=/etc/passwd"),
        ("changed", 'a";curl x|sh;"'),
        ("changed", "`id`"),
        ("changed", "main..evil"),
        ("changed", "@{upstream}"),
        ("changed", "${{ github.head_ref }}"),
        ("shard", "3/2"),
        ("shard", "0/2"),
        ("shard", "1/0"),
        ("shard", "1"),
        ("shard", "\u0661/\u0662"),
        ("python", "-c"),
        ("store", "-"),
        ("record", "--json"),
        ("push", "-x"),
        ("gate", "New"),
        ("timeout", "0"),
        ("timeout", "-1"),
        ("timeout", "1e9"),
        ("budget", "nan"),
        ("annotations", "yes"),
        ("summary", "1"),
        ("working_directory", "-"),
        ("publish", "True"),
        ("publish", "1"),
        ("comment", "always"),
        ("comment", "on"),
        ("comment_id", "a b"),
        ("comment_id", "x -->"),
        ("comment_id", "ü"),
        ("comment_id", "../x"),
        ("comment_id", "x" * 65),
        ("expected_shards", "0"),
        ("expected_shards", "10000"),
        ("expected_shards", "-1"),
        ("expected_shards", "1.0"),
        ("expected_shards", "\u0661"),
        ("run_id", "0"),
        ("run_id", "1/artifacts"),
        ("run_id", "9" * 20),
    ],
)
def test_a_value_that_cannot_be_meant_is_refused(name: str, value: str) -> None:
    with pytest.raises(ConfigurationError) as refusal:
        given(**{name: value})
    message = str(refusal.value)
    assert f"`{name.replace('_', '-')}` is " in message
    assert "; wanted " in message
    assert "docs/action.md" in message
    assert len(message) < 300
    assert message.isascii()


@pytest.mark.parametrize(
    ("inputs", "part"),
    [
        ({}, Part(suite="default", shard=1, shards=1, stage="smoke")),
        (
            {"comment_id": "gpu", "shard": "2/8", "stage": "full"},
            Part(suite="gpu", shard=2, shards=8, stage="full"),
        ),
        (
            {"comment_id": "x -->", "shard": "3/2", "stage": "--help", "gate": "sometimes"},
            Part(suite="default", shard=1, shards=1, stage="smoke"),
        ),
        ({"push": "kept"}, None),
        ({"publish": "true"}, None),
        ({"publish": "false", "push": " "}, Part(suite="default", shard=1, shards=1, stage="smoke")),
    ],
)
def test_which_part_a_job_runs_can_be_told_whatever_else_is_wrong(inputs: dict[str, str], part: Part | None) -> None:
    assert read_part({f"OPSDEBUG_INPUT_{name.upper()}": value for name, value in inputs.items()}) == part


def test_every_problem_is_told_at_once() -> None:
    with pytest.raises(ConfigurationError) as refusal:
        given(stage="x", shard="9/3", gate="sometimes")
    assert refusal.value.message == (
        "`stage` is 'x'; wanted one of smoke, full, replay; "
        "`shard` is '9/3'; wanted `i/n` with 1 <= i <= n, e.g. `2/8`; "
        "`gate` is 'sometimes'; wanted one of new, all, never"
    )


def test_a_child_sees_the_loader_but_no_token_and_no_file_of_the_runner() -> None:
    kept = {"PATH": "/bin", "LD_LIBRARY_PATH": "/cuda", "CUDA_VISIBLE_DEVICES": "0", "GITHUB_RUN_ID": "1"}
    dropped = (
        "GITHUB_TOKEN",
        "GH_TOKEN",
        "INPUT_TOKEN",
        "ACTIONS_RUNTIME_TOKEN",
        "ACTIONS_ID_TOKEN_REQUEST_URL",
        "ACTIONS_CACHE_URL",
        "ACTIONS_RESULTS_URL",
        "GITHUB_OUTPUT",
        "GITHUB_ENV",
        "GITHUB_PATH",
        "GITHUB_STATE",
        "GITHUB_STEP_SUMMARY",
        "github_token",
        "OPSDEBUG_INPUT_STAGE",
        "HF_TOKEN",
        "AWS_SECRET_ACCESS_KEY",
        "GH_PAT",
    )
    assert child_environment(kept | dict.fromkeys(dropped, "x")) == kept

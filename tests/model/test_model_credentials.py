"""Which variables are withheld from code under test, and which a build cannot do without."""

from __future__ import annotations

import pytest

from opsdebug_ci.model.credentials import is_secret, without_secrets


@pytest.mark.parametrize(
    "name",
    [
        "ACTIONS_CACHE_URL",
        "ACTIONS_ID_TOKEN_REQUEST_TOKEN",
        "ACTIONS_ID_TOKEN_REQUEST_URL",
        "ACTIONS_RESULTS_URL",
        "ACTIONS_RUNTIME_TOKEN",
        "ACTIONS_RUNTIME_URL",
        "AWS_ACCESS_KEY_ID",
        "AWS_SECRET_ACCESS_KEY",
        "AWS_SESSION_TOKEN",
        "AZURE_CLIENT_SECRET",
        "AZURE_STORAGE_CONNECTION_STRING",
        "DOCKER_AUTH_CONFIG",
        "GH_PAT",
        "GH_TOKEN",
        "GITHUB_ENV",
        "GITHUB_OUTPUT",
        "GITHUB_PATH",
        "GITHUB_STATE",
        "GITHUB_STEP_SUMMARY",
        "GITHUB_TOKEN",
        "GIT_ASKPASS",
        "GOOGLE_APPLICATION_CREDENTIALS",
        "HF_TOKEN",
        "INPUT_PYTHON",
        "NPM_AUTH",
        "OPSDEBUG_INPUT_STAGE",
        "PAT",
        "SIGNING_KEY",
        "SLACK_WEBHOOK",
        "SLACK_WEBHOOK_URL",
        "SSH_AUTH_SOCK",
        "WANDB_API_KEY",
        "db_password",
        "github_token",
    ],
)
def test_a_secret_name_is_withheld_whatever_the_value(name: str) -> None:
    assert is_secret(name, "x")
    assert is_secret(name, "")


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("PIP_INDEX_URL", "https://user:password@packages.example/simple"),
        ("PIP_EXTRA_INDEX_URL", "https://packages.example/simple https://user:p%40ss@other.example/simple"),
        ("DATABASE_URL", "postgres://user:password@db.example:5432/name"),
        ("REDIS_URL", "redis://:password@cache.example:6379/0"),
        ("HTTPS_PROXY", "http://user:password@proxy.example:3128"),
    ],
)
def test_a_password_in_an_address_is_withheld_whatever_the_name(name: str, value: str) -> None:
    assert is_secret(name, value)


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("PATH", "/usr/bin:/bin"),
        ("LD_LIBRARY_PATH", "/opt/cuda/lib64:/opt/user@2/lib"),
        ("LD_PRELOAD", "/usr/lib/libjemalloc.so"),
        ("PYTHONPATH", "/opt/lib:/srv/a@b"),
        ("CUDA_HOME", "/opt/cuda"),
        ("CUDA_PATH", "/opt/cuda"),
        ("CUDA_VISIBLE_DEVICES", "0,1"),
        ("TRITON_CACHE_DIR", "/var/cache/triton"),
        ("TOKENIZERS_PARALLELISM", "false"),
        ("KEYBOARD", "us"),
        ("GIT_AUTHOR_NAME", "somebody"),
        ("XAUTHORITY", "/run/user/1000/Xauthority"),
        ("COMPAT_PATCH", "1"),
        ("GITHUB_SHA", "0" * 40),
        ("GITHUB_RUN_ID", "1"),
        ("GITHUB_SERVER_URL", "https://github.com"),
        ("PIP_INDEX_URL", "https://packages.example:8443/simple"),
        ("MIRROR_URL", "https://packages.example:8443/scope/@user"),
        ("REPOSITORY_URL", "ssh://git@github.com/owner/name"),
        ("HTTPS_PROXY", "http://proxy.example:3128"),
    ],
)
def test_what_a_build_needs_stays(name: str, value: str) -> None:
    assert not is_secret(name, value)


def test_the_rest_is_passed_on_unchanged() -> None:
    assert without_secrets({"PATH": "/bin", "GH_PAT": "x", "INDEX_URL": "https://u:p@h/", "Mixed": ""}) == {
        "PATH": "/bin",
        "Mixed": "",
    }

"""How the reader of a comment comes to the failure bundles it names."""

from __future__ import annotations

from dataclasses import replace

import pytest
from publication_scene import Scene, scene
from shard_notation import cases, divided

from opsdebug_ci.pipeline.publication.subject import links, subject_on_disk, with_bundles

HASH = "6bca7f8796ca" + "0" * 52


def failing(here: Scene, *artifacts: str) -> None:
    """A run in which an operator fails, which has these artifacts beside its shard, is published."""
    run = here.run("softmax:fail", but=(1,))
    (shard,) = divided(cases("softmax:fail gelu:pass"), 1)
    assert shard.run is not None
    groups = tuple(replace(one, bundle=HASH, replay=f"opsdebug replay {HASH[:12]}") for one in shard.run.summary.groups)
    told = replace(shard.run, summary=replace(shard.run.summary, groups=groups))
    here.upload(run, here.claimed(replace(shard, run=told), run))
    for name in artifacts:
        here.server.artifact(run, name, b"never read")
    assert here.publish(run).conclusion == "fail"


def test_the_comment_names_one_command_that_fetches_them() -> None:
    with scene() as here:
        failing(here, "opsdebug-bundles-of-opsdebug-v1-a1-s1of2", "opsdebug-bundles-of-opsdebug-v1-a1-s2of2")
        run = max(here.server.state.runs)
        assert (
            f"Bundles to replay: `gh run download {run} --repo github.example/acme/kernels "
            f"--pattern 'opsdebug-bundles*' --dir .opsdebug/bundles/{run}`, beside the configuration."
        ) in here.body
        assert f"Reproduce: `opsdebug replay {HASH[:12]}`" in here.body
        assert "s1of2" not in here.body
        assert len(here.server.asked("GET", "/repos/*/*/actions/artifacts/*/zip")) == 1  # the shard's


@pytest.mark.parametrize("name", ["other", "opsdebug-bundles-`$(id)`", "x-opsdebug-bundles"])
def test_without_them_the_comment_names_none(name: str) -> None:
    with scene() as here:
        failing(here, name)
        assert "Bundles to replay" not in here.body
        assert "opsdebug replay" not in here.body


@pytest.mark.parametrize(
    ("server", "named"), [("https://github.com", "o/r"), ("https://git.example/x", "git.example/o/r")]
)
def test_another_server_is_named(server: str, named: str) -> None:
    subject = replace(subject_on_disk(()), repository="o/r", ci_run=7, links=links(server, "o/r", 7, 1))
    assert f"--repo {named} " in with_bundles(subject, ("opsdebug-bundles",)).links.bundles

"""What a person asks for by hand is checked as the action's inputs are, before anything is looked at."""

from __future__ import annotations

from datetime import datetime, timezone

import pytest
from publication_scene import Quiet

from opsdebug_ci.errors import UsageError
from opsdebug_ci.pipeline.publication.command import publish_here
from opsdebug_ci.pipeline.publication.request import PublishRequest
from opsdebug_ci.pipeline.world import World


@pytest.fixture
def world(tmp_path) -> World:
    return World(
        directory=tmp_path,
        environ={},
        now=lambda: datetime(2026, 11, 30, 12, tzinfo=timezone.utc),
        entropy=lambda size: b"\0" * size,
        monotonic_ns=lambda: 0,
        progress=Quiet(),
    )


@pytest.mark.parametrize(
    ("asked", "told"),
    [
        ({"suite": "a b"}, "`--id` is 'a b'; wanted 1 to 64 letters, digits, `.`, `_` or `-`"),
        ({"suite": ""}, "`--id` is ''; wanted 1 to 64 letters, digits, `.`, `_` or `-`"),
        ({"suite": "a/b"}, "`--id` is 'a/b'; wanted 1 to 64 letters, digits, `.`, `_` or `-`"),
        ({"suite": "a\n"}, r"`--id` is 'a\n'; wanted 1 to 64 letters, digits, `.`, `_` or `-`"),
        ({"author": "me and you"}, "`--author` is 'me and you'; wanted a login, e.g. `my-app[bot]`"),
        (
            {"workflow": "opsdebug.yml"},
            "`--workflow` is 'opsdebug.yml'; wanted a file, e.g. `.github/workflows/opsdebug.yml`",
        ),
        (
            {"suite": "ü", "author": "@me"},
            r"`--id` is '\xfc'; wanted 1 to 64 letters, digits, `.`, `_` or `-`; "
            "`--author` is '@me'; wanted a login, e.g. `my-app[bot]`",
        ),
    ],
)
def test_what_cannot_be_is_told_at_once(asked, told, world) -> None:
    with pytest.raises(UsageError) as error:
        publish_here(PublishRequest(**asked), world)
    assert error.value.message == told


def test_what_can_be_goes_on_to_the_token(world) -> None:
    request = PublishRequest(suite="gpu.a_1-x", author="my-app[bot]", workflow=".github/workflows/o.yml", dry_run=True)
    with pytest.raises(UsageError, match="no token is there"):
        publish_here(request, world)

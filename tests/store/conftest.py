"""One server of object storage of each kind for all tests, started when the first one asks."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from object_servers import Storage, running


@pytest.fixture(scope="session")
def s3() -> Iterator[Storage]:
    with running("s3") as (storage, _):
        storage.make_bucket("bucket")
        yield storage


@pytest.fixture(scope="session")
def gs() -> Iterator[Storage]:
    with running("gs") as (storage, _):
        storage.make_bucket("bucket")
        yield storage

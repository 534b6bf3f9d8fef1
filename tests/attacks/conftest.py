"""The markers of the attack list, the canary token, and the job that several tests look at."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from github_server import GithubServer
from hostile_job import CANARY, HostileJob, run_hostile_job
from report_scene import Scene


def pytest_configure(config: pytest.Config) -> None:
    """Register what attack_list marks tests with."""
    config.addinivalue_line("markers", "attack(row): tries an attack of attack_list")
    config.addinivalue_line("markers", "attack_twin(row): does the harmless thing beside it")


@pytest.fixture(scope="session")
def hostile_job(tmp_path_factory: pytest.TempPathFactory) -> HostileJob:
    """One real job in which everything is planted."""
    return run_hostile_job(tmp_path_factory.mktemp("hostile"))


@pytest.fixture
def no_canary() -> Callable[..., None]:
    """Asserts that the canary token is nowhere in these texts, nor in any file below these directories."""

    def look(*places: str | Path) -> None:
        for place in places:
            if isinstance(place, str):
                assert CANARY not in place
                continue
            files = [place] if place.is_file() else [path for path in place.rglob("*") if path.is_file()]
            assert files, f"nothing to look at in {place}"
            assert [path for path in files if CANARY.encode() in path.read_bytes()] == []

    return look


@pytest.fixture
def scene(tmp_path: Path) -> Iterator[Scene]:
    """A pull request of a fork and its finished run; leaving it asks the referee."""
    with GithubServer() as server:
        yield Scene(server, tmp_path)

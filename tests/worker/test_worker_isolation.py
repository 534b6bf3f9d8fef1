"""What an operator leaves behind does not reach the reference, nor the next case."""

from __future__ import annotations

import gc
import os
import random
import sys
import warnings
from pathlib import Path

import numpy as np
import pytest
import torch
from worker_notation import run, unary

from opsdebug_ci.model import Status
from opsdebug_ci.worker.isolation import isolated


def state() -> dict[str, object]:
    tiny, scale = 2.0**-1060, 2.0**60
    return {
        "default_dtype": torch.get_default_dtype(),
        "default_device": torch.get_default_device(),
        "grad": torch.is_grad_enabled(),
        "autocast": torch.is_autocast_enabled("cpu"),
        "deterministic": torch.are_deterministic_algorithms_enabled(),
        "warn_only": torch.is_deterministic_algorithms_warn_only_enabled(),
        "matmul": torch.get_float32_matmul_precision(),
        "threads": torch.get_num_threads(),
        "flush": tiny * scale == 0.0,
        "numpy": np.geterr(),
        "gc": gc.isenabled(),
        "recursion": sys.getrecursionlimit(),
        "directory": os.getcwd(),
        "warnings": list(warnings.filters),
    }


LEFTOVERS = {
    "default_dtype": lambda: torch.set_default_dtype(torch.float64),
    "default_device": lambda: torch.set_default_device("meta"),
    "grad": lambda: torch.set_grad_enabled(False),
    "autocast": lambda: torch.set_autocast_enabled("cpu", True),
    "deterministic": lambda: torch.use_deterministic_algorithms(True),
    "warn_only": lambda: torch.use_deterministic_algorithms(True, warn_only=True),
    "matmul": lambda: torch.set_float32_matmul_precision("medium"),
    "threads": lambda: torch.set_num_threads(torch.get_num_threads() + 1),
    "flush": lambda: torch.set_flush_denormal(True),
    "numpy": lambda: np.seterr(all="raise"),
    "gc": gc.disable,
    "recursion": lambda: sys.setrecursionlimit(sys.getrecursionlimit() + 5),
    "directory": lambda: os.chdir("/"),
    "warnings": lambda: warnings.simplefilter("ignore"),
}


def test_every_piece_of_state_has_a_leftover() -> None:
    assert set(LEFTOVERS) == set(state())


@pytest.mark.parametrize("what", LEFTOVERS)
def test_a_leftover_is_gone_after_the_block(what: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    before = state()
    with isolated(0):
        LEFTOVERS[what]()
        assert state()[what] != before[what]
    assert state() == before


@pytest.mark.parametrize("what", LEFTOVERS)
def test_an_operators_leftover_changes_no_verdict(what: str) -> None:
    def leaves(x):
        result = x + x
        LEFTOVERS[what]()
        return result

    def makes_a_tensor(x):
        return x + x * torch.ones(6)

    before = state()
    observation = run(unary(leaves, reference=makes_a_tensor), inputs="subnormal")
    assert (observation.status, [r.answered for r in observation.references]) == (Status.RAN, [True, True])
    assert [output.rejected for output in observation.outputs] == [0]
    assert state() == before


def test_state_is_put_back_when_the_operator_raises() -> None:
    def leaves_and_raises(x):
        torch.set_default_dtype(torch.float64)
        raise ValueError("late")

    assert run(unary(leaves_and_raises)).status is Status.RAISED
    assert torch.get_default_dtype() is torch.float32


def test_a_state_set_before_is_kept() -> None:
    torch.use_deterministic_algorithms(True, warn_only=True)
    try:
        with isolated(0):
            torch.use_deterministic_algorithms(False)
        assert torch.are_deterministic_algorithms_enabled()
        assert torch.is_deterministic_algorithms_warn_only_enabled()
    finally:
        torch.use_deterministic_algorithms(False)


def test_a_directory_that_was_removed_meanwhile_is_no_fault(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    gone = tmp_path / "gone"
    gone.mkdir()
    monkeypatch.chdir(gone)
    gone.rmdir()
    with isolated(0):
        os.chdir(tmp_path)
    assert Path.cwd() == tmp_path


@pytest.mark.parametrize("seed", [0, 7, 2**62])
def test_every_generator_is_seeded(seed: int) -> None:
    drawn = []
    for _ in range(2):
        with isolated(seed):
            drawn.append((random.random(), np.random.rand(), torch.rand(1).item()))
    assert drawn[0] == drawn[1]
    with isolated(seed + 1):
        assert (random.random(), np.random.rand(), torch.rand(1).item()) != drawn[0]


def test_the_seed_is_the_frameworks_own() -> None:
    with isolated(5):
        drawn = torch.rand(3)
    assert torch.equal(drawn, torch.rand(3, generator=torch.Generator().manual_seed(5)))

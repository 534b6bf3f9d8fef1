"""Triton kernels under the interpreter, in real workers: the very line that leaves its tensors, read or write."""

from __future__ import annotations

import importlib.util
import json
import sys
from collections.abc import Iterator
from pathlib import Path

import jsonschema
import pytest

from opsdebug_ci.cli import outcome
from opsdebug_ci.execution import WorkerPool
from opsdebug_ci.execution.page_faults import page_faults
from opsdebug_ci.guard.pages import unavailable_reason
from opsdebug_ci.model import Case, Family, Layout
from opsdebug_ci.model.message import PageCase, PagesKept
from opsdebug_ci.model.vocabulary import PageMode

pytestmark = [
    pytest.mark.skipif(importlib.util.find_spec("triton") is None, reason="triton is not installed"),
    pytest.mark.skipif(unavailable_reason() is not None, reason=f"no pages: {unavailable_reason()}"),
]

KERNELS = """import os

os.environ["TRITON_INTERPRET"] = "1"

import torch
import triton
import triton.language as tl

from opsdebug_ci import operator, tensor


@triton.jit
def unmasked(x, out, n, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    value = tl.load(x + i)
    tl.store(out + i, value + value)


@triton.jit
def masked(x, out, n, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    value = tl.load(x + i, mask=i < n, other=0.0)
    tl.store(out + i, value + value, mask=i < n)


@triton.jit
def rewriting(x, out, n, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    value = tl.load(x + i, mask=i < n, other=0.0)
    tl.store(x + i, value, mask=i < n)
    tl.store(out + i, value + value, mask=i < n)


def launched(kernel, x):
    out = torch.empty_like(x)
    kernel[(triton.cdiv(x.numel(), 16),)](x, out, x.numel(), BLOCK=16)
    return out


@operator(kind="elementwise", x=tensor("N"), dims={"N": 21})
def strays(x):
    return launched(unmasked, x)


@operator(kind="elementwise", x=tensor("N"), dims={"N": 21})
def stays(x):
    return launched(masked, x)


@operator(kind="elementwise", x=tensor("N"), dims={"N": 21})
def rewrites(x):
    return launched(rewriting, x)


@operator(kind="elementwise", x=tensor("N"), dims={"N": 21})
def refuses(x):
    if x.data_ptr() % 4096:
        raise ValueError("unaligned")
    return x + x


for declared in (strays, stays, rewrites, refuses):
    declared.reference("torch")(lambda x: 2 * x)
"""

SCHEMA = Path(__file__).parents[2] / "docs" / "schema" / "opsdebug.trace.1.json"


def line_of(code: str) -> int:
    return next(number for number, line in enumerate(KERNELS.splitlines(), 1) if code in line)


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Path:
    directory = tmp_path_factory.mktemp("pages")
    (directory / "ops.py").write_text(KERNELS)
    (directory / "opsdebug.toml").write_text('operators = ["ops.py"]\n')
    return directory


@pytest.fixture(scope="module")
def pool(place: Path) -> Iterator[WorkerPool]:
    with WorkerPool(sys.executable, workers=1, directory=place) as pool:
        assert not pool.describe(["ops.py"], place).faults
        yield pool


def case(operator: str) -> Case:
    return Case(
        operator=operator, dims={"N": 21}, dtype="float32", layout=Layout.CONTIGUOUS, inputs=Family.NORMAL, seed=0
    )


def test_masked_kernels_touch_nothing(pool: WorkerPool) -> None:
    inquiry = page_faults(pool, case("stays"))
    assert [str(launch.mode) for launch in inquiry.launches] == ["tail", "head", "inputs_readable"]
    assert (inquiry.faults, inquiry.notes, inquiry.watched) == ((), (), True)


def test_an_operator_that_raises_tells_why(pool: WorkerPool) -> None:
    answer = pool.about(PageCase(case=case("refuses"), mode=PageMode.TAIL), PagesKept)
    assert isinstance(answer, PagesKept)
    assert not answer.watched
    assert answer.reason.startswith("it raised ValueError: unaligned (at ")
    assert pool.about(PageCase(case=case("refuses"), mode=PageMode.HEAD), PagesKept).watched


def test_a_store_and_a_load_without_mask_are_told_apart_by_line(pool: WorkerPool, place: Path) -> None:
    write, read = page_faults(pool, case("strays")).faults
    assert (write.access, write.side, write.source) == ("write", "tail", "tl.store(out + i, value + value)")
    assert (write.argument, write.own) == (None, True)
    assert write.place == f"{place}/ops.py:{line_of('tl.store(out + i, value + value)')}"
    assert (read.access, read.side, read.source) == ("read", "tail", "value = tl.load(x + i)")
    assert (read.argument, read.own) == ("x", False)
    assert read.place == f"{place}/ops.py:{line_of('value = tl.load(x + i)')}"


def test_the_command_names_the_line_in_text_and_json(
    place: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(place)
    axes = ("--dims", "N=21", "--dtype", "float32", "--seed", "0", "--inputs", "normal", "--layout", "contiguous")
    assert outcome(["trace", "rewrites", *axes, "--guard", "pages", "--json"]) == 0
    document = json.loads(capsys.readouterr().out)
    jsonschema.Draft202012Validator(json.loads(SCHEMA.read_text())).validate(document)
    (fault,) = document["pages"]["faults"]
    line = line_of("tl.store(x + i, value, mask=i < n)")
    assert (fault["side"], fault["place"]) == ("inside", f"{place}/ops.py:{line}")
    assert document["conclusion"] == [
        f"writes into argument `x` that the contract lets nobody write at ops.py:{line} in rewriting: "
        "`tl.store(x + i, value, mask=i < n)` (dies when it can only be read)"
    ]
    assert [finding["cause"] for finding in document["subject"]["findings"]] == ["input_mutated"]
    assert document["subject"]["verdict"] == "pass"
    assert document["next"] == [f"opsdebug trace rewrites {' '.join(axes)} --guard pages"]

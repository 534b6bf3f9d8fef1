"""Triton and C kernels against their torch siblings; what is said where they cannot run; that kernels compile."""

from __future__ import annotations

import ctypes
import os
import stat
import subprocess
import sys
from pathlib import Path

import pytest
import torch
from catalogue_agreement import problems
from catalogue_inputs import accepts_special, arguments, sizes

from opsdebug_ci import Operator
from opsdebug_ci.catalogue import OPERATORS, UNAVAILABLE, compiled, compiler, normalisation, softmaxes
from opsdebug_ci.catalogue.triton_runtime import power_of_two
from opsdebug_ci.errors import EnvironmentLimitError

TRITON = [operator for operator in OPERATORS if operator.name.startswith("triton_")]
C = [operator for operator in OPERATORS if operator.name.startswith("c_")]


def test_every_kernel_is_either_available_or_explained() -> None:
    names = {operator.name for operator in OPERATORS}
    triton = {"triton_add", "triton_gelu", "triton_softmax", "triton_layer_norm", "triton_rms_norm", "triton_matmul"}
    wanted = triton | {"c_softmax", "c_rms_norm"}
    assert names & set(UNAVAILABLE) == set()
    assert wanted <= names | set(UNAVAILABLE)
    assert all(reason for reason in UNAVAILABLE.values())


@pytest.mark.parametrize("dtype", ["float32", "float16", "bfloat16"])
@pytest.mark.parametrize("operator", TRITON, ids=lambda operator: operator.name)
def test_triton_agrees_with_the_references(operator: Operator, dtype: str) -> None:
    for seed, dims in enumerate(sizes(operator)):
        given = arguments(operator, dims, dtype, "normal", seed=seed)
        assert problems(operator, given, dtype) == [], dims


@pytest.mark.parametrize("layout", ["transposed", "strided", "padded", "expanded"])
@pytest.mark.parametrize("operator", TRITON, ids=lambda operator: operator.name)
def test_triton_reads_views_through_their_strides(operator: Operator, layout: str) -> None:
    given = arguments(operator, operator.dims, "bfloat16", "normal", seed=3, layout=layout)
    assert problems(operator, given, "bfloat16") == []


@pytest.mark.parametrize("family", ["specials", "special_rows", "signed_zeros", "shifted"])
@pytest.mark.parametrize("operator", TRITON, ids=lambda operator: operator.name)
def test_triton_treats_special_values_as_the_references_do(operator: Operator, family: str) -> None:
    assert accepts_special(operator)
    for dtype in ("float32", "bfloat16"):
        given = arguments(operator, operator.dims, dtype, family, seed=4)
        assert problems(operator, given, dtype) == []


@pytest.mark.parametrize(("size", "block"), [(0, 1), (1, 1), (2, 2), (3, 4), (64, 64), (65, 128), (1000, 256)])
def test_block_edges_are_powers_of_two(size: int, block: int) -> None:
    assert power_of_two(size, 256) == block


@pytest.mark.slow
def test_triton_kernels_compile_for_a_gpu_that_is_not_here(tmp_path: Path) -> None:
    pytest.importorskip("triton")
    environment = {**os.environ, "TRITON_INTERPRET": "0", "TRITON_CACHE_DIR": str(tmp_path)}
    script = Path(__file__).parent / "compile_for_gpu.py"
    result = subprocess.run(
        [sys.executable, str(script)], env=environment, capture_output=True, text=True, check=False, timeout=240
    )
    assert result.returncode == 0, result.stderr
    assert result.stdout.split() == [
        "add_kernel",
        "gelu_kernel",
        "softmax_kernel",
        "layer_norm_kernel",
        "rms_norm_kernel",
        "matmul_kernel",
    ]


def test_c_agrees_with_its_torch_siblings() -> None:
    siblings = {"c_softmax": softmaxes.softmax, "c_rms_norm": normalisation.rms_norm}
    assert {operator.name for operator in C} | set(compiled.UNAVAILABLE) == set(siblings)
    for operator in C:
        given = arguments(operator, {"B": 2, "S": 7, "H": 37}, "float32", "normal", seed=1).values()
        torch.testing.assert_close(operator(*given), siblings[operator.name](*given), rtol=16 * 2.0**-24, atol=0.0)


@pytest.fixture
def source(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder of C sources holding `twice.c`."""
    folder = tmp_path / "c"
    folder.mkdir()
    (folder / "twice.c").write_text("double twice(double x) { return 2.0 * x; }\n")
    monkeypatch.setattr(compiler, "SOURCES", folder)
    return folder


needs_compiler = pytest.mark.skipif(bool(compiled.UNAVAILABLE), reason=f"no C kernels here: {compiled.UNAVAILABLE}")


def _twice(library: ctypes.CDLL) -> float:
    function = library.twice
    function.argtypes, function.restype = [ctypes.c_double], ctypes.c_double
    return float(function(21.0))


@needs_compiler
def test_a_source_is_compiled_once_and_again_when_it_changes(source: Path, tmp_path: Path) -> None:
    cache = tmp_path / "deep" / "cache"
    assert _twice(compiler.load("twice", cache)) == 42.0
    first = {path: path.stat().st_mtime_ns for path in cache.iterdir()}
    compiler.load("twice", cache)
    assert {path: path.stat().st_mtime_ns for path in cache.iterdir()} == first
    (source / "twice.c").write_text("double twice(double x) { return 2.0 * x + 1.0; }\n")
    assert _twice(compiler.load("twice", cache)) == 43.0
    assert len(list(cache.iterdir())) == 2
    assert stat.S_IMODE(cache.stat().st_mode) == 0o700


def test_no_compiler_is_an_environment_limit_with_a_next_step(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("CC", "no-such-compiler-here -O1")
    with pytest.raises(EnvironmentLimitError, match=r"tried no-such-compiler-here, found none\n  next: install gcc"):
        compiler.load("softmax", tmp_path)
    operators, reasons = compiled.build_all()
    assert operators == []
    assert set(reasons) == {"c_softmax", "c_rms_norm"}


def test_the_compiler_named_by_cc_is_the_one_called(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CC", f"{sys.executable} -I")
    assert compiler.compiler_command() == [sys.executable, "-I"]


@needs_compiler
def test_a_refused_source_leaves_nothing_behind(source: Path, tmp_path: Path) -> None:
    (source / "twice.c").write_text("this is not C\n")
    with pytest.raises(EnvironmentLimitError, match=r"refused twice\.c \(exit 1\): .*error"):
        compiler.load("twice", tmp_path / "cache")
    assert list((tmp_path / "cache").iterdir()) == []


@needs_compiler
def test_a_cache_that_cannot_be_made_is_an_environment_limit(source: Path, tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(EnvironmentLimitError, match=r"cannot keep or load compiled `twice\.c`"):
        compiler.load("twice", tmp_path / "file" / "cache")

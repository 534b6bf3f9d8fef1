from __future__ import annotations

from pathlib import Path

import pytest
from plan_notation import described

from opsdebug_ci.plan.changed import is_harmless, unchanged


def found(changed: str, root: Path, **options: tuple[Path, ...]) -> str:
    operators = (
        described("gelu", source_files=(str(root / "ops/gelu.py"), str(root / "ops/shared.py"))),
        described("softmax", source_files=("ops/softmax.py", "ops/shared.py")),
        described("tested", source_files=(str(root / "tests/example.py"),)),
        described("unknown"),
    )
    return " ".join(unchanged(operators, [Path(name) for name in changed.split()], root, **options))


@pytest.mark.parametrize(
    ("changed", "left_out"),
    [
        ("", "gelu softmax tested"),
        ("README.md docs/index.html LICENSE tests/test_gelu.py", "gelu softmax tested"),
        ("ops/gelu.py", "softmax tested"),
        ("ops/gelu.py ops/softmax.py", "tested"),
        ("ops/shared.py", "tested"),
        ("ops/gelu.py README.md", "softmax tested"),
        ("tests/example.py", "gelu softmax"),
        ("ops/other.py", ""),
        ("ops/gelu.py ops/other.py", ""),
        ("kernel.cu", ""),
        ("tests/kernel.cu", ""),
        ("__pycache__/gelu.cpython-312.pyc", "gelu softmax tested"),
        ("src/kernel.cpp", ""),
        ("include/kernel.h", ""),
        ("pyproject.toml", ""),
        ("requirements.txt", ""),
        ("license.py", ""),
        ("ops/weights.bin", ""),
        (".github/workflows/ci.yml", ""),
        ("../elsewhere.py", ""),
    ],
)
def test_only_what_no_change_can_affect_is_left_out(tmp_path: Path, changed: str, left_out: str) -> None:
    assert found(changed, tmp_path) == left_out


def test_absolute_and_relative_names_mean_the_same_file(tmp_path: Path) -> None:
    assert found(str(tmp_path / "ops/softmax.py"), tmp_path) == "gelu tested"


def test_a_root_reached_through_a_link_is_the_same_place(tmp_path: Path) -> None:
    real, link = tmp_path / "real", tmp_path / "link"
    real.mkdir()
    link.symlink_to(real)
    assert found(str(real / "ops/gelu.py"), link) == "softmax tested"


def test_what_the_tool_writes_affects_nothing(tmp_path: Path) -> None:
    stored = "baselines/runs/date=2026-11-29/1.parquet"
    assert found(stored, tmp_path) == ""
    assert found(stored, tmp_path, outputs=(tmp_path / "baselines",)) == "gelu softmax tested"
    assert found(f"{stored} baselines.py", tmp_path, outputs=(tmp_path / "baselines",)) == ""


@pytest.mark.parametrize(
    ("name", "harmless"),
    [
        ("README.md", True),
        ("a/b/guide.rst", True),
        ("docs/conf.py", True),
        ("Docs/diagram.svg", True),
        ("LICENSE", True),
        ("LICENSE.txt", True),
        ("CHANGELOG", True),
        ("conftest.py", True),
        ("ops/test_gelu.py", True),
        ("tests/data.json", True),
        ("ops/latest.py", False),
        ("contest.py", False),
        ("notice.py", False),
        ("docs/kernel.cuh", False),
        ("Makefile", False),
        ("setup.cfg", False),
    ],
)
def test_documents_and_tests_are_harmless(tmp_path: Path, name: str, harmless: bool) -> None:
    assert is_harmless(Path(name), tmp_path) is harmless


def test_a_folder_above_the_root_does_not_make_files_harmless(tmp_path: Path) -> None:
    root = tmp_path / "tests" / "project"
    root.mkdir(parents=True)
    assert not is_harmless(Path("kernel.py"), root)

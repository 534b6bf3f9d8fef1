"""The example in the documentation is complete: as printed, it passes."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest

pytestmark = pytest.mark.slow

pytest.importorskip("onnx", reason="onnx is not installed")
pytest.importorskip("onnxruntime", reason="onnxruntime is not installed")

PAGE = Path(__file__).parents[2] / "docs" / "foreign.md"


def block(language: str) -> str:
    (text,) = re.findall(rf"```{language}\n(.*?)```", PAGE.read_text(encoding="utf-8"), re.DOTALL)
    return str(text)


def test_the_example_passes_as_printed(tmp_path: Path) -> None:
    (tmp_path / "operators.py").write_text(block("python"), encoding="utf-8")
    (tmp_path / "opsdebug.toml").write_text(block("toml"), encoding="utf-8")
    command = [sys.executable, "-m", "opsdebug_ci", *block("console").split()[2:]]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, timeout=120, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    assert re.match(r"PASS: 0 of \d+ cases of 1 operator failed; \d+ pass", done.stdout)

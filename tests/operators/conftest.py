"""A project on disk, written file by file, imported and forgotten again."""

from __future__ import annotations

import sys
import textwrap
from collections.abc import Iterator
from pathlib import Path

import pytest
from operators_notation import WriteFiles

import opsdebug_ci.catalogue.triton_runtime  # noqa: F401 - before torch imports Triton: kernels are interpreted or not


@pytest.fixture
def write_files(tmp_path: Path) -> Iterator[WriteFiles]:
    """Writes files below a fresh root, and takes their modules back out of the interpreter."""
    modules, path = dict(sys.modules), list(sys.path)

    def write(files: dict[str, str]) -> Path:
        for name, text in files.items():
            target = tmp_path / name
            target.parent.mkdir(parents=True, exist_ok=True)
            target.write_text(textwrap.dedent(text), encoding="utf-8")
        return tmp_path

    yield write
    sys.path[:] = path
    for name in set(sys.modules) - set(modules):
        if str(tmp_path) in str(vars(sys.modules[name]).get("__file__")):
            del sys.modules[name]

"""What is stored of a run has no path of the machine it was made on."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from store_documents import full_document

from opsdebug_ci.model import OperatorSource
from opsdebug_ci.pipeline.keeping import portable


def test_operators_are_where_they_are_in_the_repository(tmp_path: Path) -> None:
    (tmp_path / "link").symlink_to(tmp_path / "tree")
    (tmp_path / "tree" / "kernels").mkdir(parents=True)
    files = ["tree/kernels/softmax.py", "link/kernels/gelu.py", "elsewhere/site-packages/lib/add.py"]
    sources = tuple(OperatorSource(operator=name, file=str(tmp_path / name), line=1) for name in files)
    told = portable(replace(full_document(), sources=sources), tmp_path / "tree")
    assert [source.file for source in told.sources] == ["kernels/softmax.py", "kernels/gelu.py", "add.py"]
    assert portable(told, tmp_path / "tree") == told

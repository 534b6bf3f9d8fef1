"""What a bundle keeps of paths: enough to know an installed file, whatever stands before it."""

from __future__ import annotations

from pathlib import Path

import pytest

from opsdebug_ci.bundle.privacy import portable
from opsdebug_ci.model import Blame, Cause, Finding


@pytest.mark.parametrize(
    ("text", "kept"),
    [
        ("at /opt/py/lib/python3.11/site-packages/torch/f.py:3", "at .../site-packages/torch/f.py:3"),
        ("at /opt/my env/lib/python3.11/site-packages/torch/f.py:3", "at .../site-packages/torch/f.py:3"),
        ("at /srv/ü x/lib/python3.11/json/decoder.py:3", "at .../python3.11/json/decoder.py:3"),
        ('File "/opt/a b c d e/lib/python3.11/site-packages/t.py"', 'File ".../site-packages/t.py"'),
        ("at /opt/my env/lib/python3.11/site-packages/opsdebug_ci/worker/a.py:3", "at .../opsdebug_ci/worker/a.py:3"),
        ("see file:///opt/py/site-packages/t.py", "see .../site-packages/t.py"),
        ("at /srv/my work/ops/a.py:3", "at ops/a.py:3"),
        ("n / 2 of site-packages/t.py", "n / 2 of site-packages/t.py"),
    ],
)
def test_an_installed_file_keeps_its_name_and_no_place(text: str, kept: str) -> None:
    finding = Finding(
        cause=Cause.EXCEPTION, confidence=1.0, blame=Blame.OPERATOR, statement=text, evidence={}, next="opsdebug doctor"
    )
    assert portable(finding, Path("/srv/my work")).statement == kept

"""What a log is told while cases run."""

from __future__ import annotations

import pytest
from judge_notation import judged, ran

from opsdebug_ci.cli import progress


def test_time_that_is_left_is_told_once_it_is_worth_it(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    clock = iter([0.0, 0.0, 30.0, 33.0])
    monkeypatch.setattr(progress.time, "monotonic", lambda: next(clock))
    lines = progress.Lines()
    lines.start(3)
    lines.step(judged(ran()))
    lines.step(judged(ran()))
    assert capsys.readouterr().err.splitlines() == [
        "3 cases",
        "1/3 cases, 0 in trouble, about 60 s left",
        "2/3 cases, 0 in trouble, about 16 s left",
    ]

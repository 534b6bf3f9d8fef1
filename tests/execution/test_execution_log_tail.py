"""What is kept of a log: the operator's last words, however long the report of its death is."""

from __future__ import annotations

import pytest

from opsdebug_ci.execution.last_frames import log_tail

MODULES = "Extension modules: " + ", ".join(f"torch._part{number}" for number in range(200)) + " (total: 200)\n"


def report(frames: int, *, folder: str = "/srv/kernels", modules: str = MODULES) -> str:
    lines = [f'  File "{folder}/ops.py", line {number} in step{number}\n' for number in range(frames)]
    head = "Fatal Python error: Aborted\n\nCurrent thread 0x1 (most recent call first):\n"
    return head + "".join(lines) + "\n" + modules


@pytest.mark.parametrize("frames", [1, 12, 100])
@pytest.mark.parametrize("folder", ["/a", "/srv/" + "deep/" * 40])
def test_last_words_and_the_beginning_of_the_report_are_both_kept(frames: int, folder: str) -> None:
    found = log_tail("x" * 5_000 + "last words\n" + report(frames, folder=folder), 2_000)
    assert "last words\nFatal Python error: Aborted" in found
    assert f'File "{folder}/ops.py", line 0 in step0' in found
    assert "Extension modules" not in found
    assert len(found) <= 2_000


def test_a_short_report_leaves_more_to_what_was_said() -> None:
    found = log_tail("x" * 5_000 + report(1), 2_000)
    assert len(found) == 2_000
    assert found.endswith("in step0\n\n")
    assert found.count("x") > 1_800


@pytest.mark.parametrize("log", ["", "short", "y" * 3_000 + "end"])
def test_a_log_without_a_report_is_kept_from_its_end(log: str) -> None:
    assert log_tail(log, 2_000) == log[-2_000:]


def test_a_short_log_is_kept_whole() -> None:
    assert log_tail("words\n" + report(2, modules=""), 2_000) == "words\n" + report(2, modules="")

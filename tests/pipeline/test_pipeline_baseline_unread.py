"""A baseline of which a part cannot be read is never taken for a whole one."""

from __future__ import annotations

import pytest

from opsdebug_ci.pipeline.baseline_words import unread_words


@pytest.mark.parametrize(
    ("paths", "words"),
    [
        ("", ""),
        (
            "a/1",
            "1 file of the store cannot be read and is left out: a/1 (`opsdebug baselines verify` says why)",
        ),
        (
            "a/1 a/2 b/1 b/2",
            "4 files of the store cannot be read and are left out: a/1, a/2, b/1 and 1 more "
            "(`opsdebug baselines verify` says why)",
        ),
    ],
)
def test_files_that_are_left_out_are_named(paths: str, words: str) -> None:
    assert unread_words(paths.split()) == words

"""What a comment tells a maintainer to write is what the bot understands."""

from __future__ import annotations

import re
from dataclasses import replace
from html import unescape

import pytest
from publication_notation import EVERY

from opsdebug_ci.github.bot.instruction import Instruction, read_instruction
from opsdebug_ci.report.comment import rungs

_SHOWN = re.compile(r"comments (?P<fence>`+) ?(?P<command>/opsdebug accept .*?) REASON ?(?P=fence)")


@pytest.mark.parametrize(
    "operator", ["softmax", "fused gelu", "until=3", "`odd` name", "it's", '"a b"', "`x", "a|b <c>"]
)
def test_the_command_that_is_shown_is_understood_as_it_is(operator: str) -> None:
    publication = EVERY["regressed"]()
    assert publication.document is not None
    publication = replace(publication, document=replace(publication.document, regressions=(operator,)))
    shown = _SHOWN.search(rungs(publication, limit_bytes=50_000)[0])
    assert shown
    told = read_instruction(f"{unescape(shown['command'])} because")
    assert isinstance(told, Instruction)
    assert (told.operator, told.reason) == (operator, "because")

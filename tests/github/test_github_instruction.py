"""What is an instruction to the bot, and what only looks like one."""

from __future__ import annotations

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from opsdebug_ci.github.bot.instruction import (
    BODY_LIMIT,
    NAME_LIMIT,
    REASON_LIMIT,
    Instruction,
    Misunderstood,
    label_instruction,
    read_instruction,
)
from opsdebug_ci.github.plain_text import one_line
from opsdebug_ci.model.instruction import instruction_for


@pytest.mark.parametrize(
    ("body", "operator", "until", "reason"),
    [
        ("/opsdebug accept gelu", "gelu", None, ""),
        ("/opsdebug  accept\tgelu  ", "gelu", None, ""),
        ("/opsdebug accept gelu exact erf costs that", "gelu", None, "exact erf costs that"),
        ("/opsdebug accept gelu until=30d exact erf", "gelu", "30d", "exact erf"),
        ("/opsdebug accept gelu until=2026-12-31\r\nexact\r\nerf\r\n\r\nnot this", "gelu", "2026-12-31", "exact erf"),
        ("/opsdebug accept gelu\n\n\nexact erf", "gelu", None, "exact erf"),
        ("/opsdebug accept gelu exact erf\n\nnot this", "gelu", None, "exact erf"),
        ("/opsdebug accept gelu see until=30d", "gelu", None, "see until=30d"),
        ("/opsdebug accept gelu until=", "gelu", "", ""),
        ("/opsdebug accept `fused gelu` why", "fused gelu", None, "why"),
        ('/opsdebug accept "fused gelu" until=3d why', "fused gelu", "3d", "why"),
        ("/opsdebug accept ``a`b`` why", "a`b", None, "why"),
        ("/opsdebug accept **gelu** why", "**gelu**", None, "why"),
        ("/opsdebug accept 'gelu", "'gelu", None, ""),
        ("/opsdebug accept gelu\u202e\x07 wh\u200by", "gelu", None, "why"),
        # only the writer's own words are a reason, and only the first line tells the bot anything
        ("/opsdebug accept gelu\n> said somebody else", "gelu", None, ""),
        ("/opsdebug accept gelu\n```\ncode\n```", "gelu", None, ""),
        ("/opsdebug accept gelu\nexact erf\n> said somebody else", "gelu", None, "exact erf"),
        ("/opsdebug accept gelu\n/opsdebug accept softmax", "gelu", None, ""),
    ],
)
def test_the_first_line_names_operator_day_and_reason(body: str, operator: str, until: str | None, reason: str) -> None:
    assert read_instruction(body) == Instruction(operator=operator, until=until, reason=reason)


@pytest.mark.parametrize(
    "body",
    [
        "",
        "looks good to me",
        " /opsdebug accept gelu",
        "\n/opsdebug accept gelu",
        "\u200b/opsdebug accept gelu",
        "\ufeff/opsdebug accept gelu",
        "    /opsdebug accept gelu",
        "> /opsdebug accept gelu",
        "`/opsdebug accept gelu`",
        "```\n/opsdebug accept gelu\n```",
        "- /opsdebug accept gelu",
        "please say\n/opsdebug accept gelu",
        "<!-- -->/opsdebug accept gelu",
        "/opsdebugger accept gelu",
        "/opsdebug\u200b accept gelu",
        "/OPSDEBUG accept gelu",
        "//opsdebug accept gelu",
        "&#47;opsdebug accept gelu",
    ],
)
def test_what_is_quoted_indented_or_further_down_is_none(body: str) -> None:
    assert read_instruction(body) is None


@pytest.mark.parametrize(
    ("body", "problem"),
    [
        ("/opsdebug", "nothing behind `/opsdebug`; wanted `accept`"),
        ("/opsdebug reject gelu", "`reject` behind `/opsdebug`; wanted `accept`"),
        ("/opsdebug Accept gelu", "`Accept` behind"),
        ("/opsdebug accept", "no operator is named"),
        ("/opsdebug accept until=30d because", "no operator is named"),
        ("/opsdebug accept ``  ``", "no operator is named"),
        ("/opsdebug accept \u200b", "no operator is named"),
        ("/opsdebug accept " + "x" * (NAME_LIMIT + 1), "more than 200 characters"),
        ("/opsdebug " + "y" * 10**6, "wanted `accept`"),
    ],
)
def test_what_is_not_understood_is_said(body: str, problem: str) -> None:
    found = read_instruction(body)
    assert isinstance(found, Misunderstood)
    assert problem in found.problem and len(found.problem) < 200


def test_a_comment_of_any_length_is_read_to_its_limit() -> None:
    found = read_instruction("/opsdebug accept gelu " + "why " * BODY_LIMIT)
    assert isinstance(found, Instruction) and len(found.reason) == REASON_LIMIT


@given(st.text(max_size=40))
@example("`a` b")
@example("until=3d")
@example("a\n/opsdebug accept b")
@example("'\"`")
def test_what_is_offered_for_copying_names_that_operator(name: str) -> None:
    plain = one_line(name, NAME_LIMIT)
    found = read_instruction(instruction_for(plain))
    if plain:
        assert found == Instruction(operator=plain)
    else:
        assert isinstance(found, Misunderstood)


@given(st.text(max_size=200))
def test_no_text_breaks_it_and_none_hides_anything(text: str) -> None:
    found = read_instruction(f"/opsdebug accept {text}")
    assert found is not None
    told = found.problem if isinstance(found, Misunderstood) else f"{found.operator}{found.until}{found.reason}"
    assert not set(told) & set("\n\r\x00\x1b\u202e\u200b")


@pytest.mark.parametrize(
    ("label", "instruction"),
    [
        ("opsdebug-accept", Instruction(operator=None)),
        ("Opsdebug-Accept", Instruction(operator=None)),
        ("opsdebug-accept: gelu", Instruction(operator="gelu")),
        ("opsdebug-accept:fused gelu", Instruction(operator="fused gelu")),
        ("opsdebug-accept:", None),
        ("opsdebug-accepted", None),
        ("opsdebug", None),
        ("no opsdebug-accept", None),
        ("bug", None),
        ("", None),
    ],
)
def test_a_label_accepts_one_operator_or_all(label: str, instruction: Instruction | None) -> None:
    assert label_instruction(label) == instruction

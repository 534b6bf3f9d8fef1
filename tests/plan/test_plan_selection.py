from __future__ import annotations

import pytest
from plan_notation import described

from opsdebug_ci.errors import UsageError
from opsdebug_ci.plan.selection import select

FOUND = tuple(described(name) for name in ("gelu", "gelu_tanh", "softmax", "log_softmax"))


@pytest.mark.parametrize(
    ("patterns", "expected"),
    [
        ([], "gelu gelu_tanh softmax log_softmax"),
        (["softmax"], "softmax"),
        (["softmax", "gelu", "softmax"], "gelu softmax"),
        (["gelu*"], "gelu gelu_tanh"),
        (["*softmax", "gelu"], "gelu softmax log_softmax"),
        (["gelu_tan?", "[s]oftmax"], "gelu_tanh softmax"),
    ],
)
def test_names_and_globs_pick_in_the_order_of_discovery(patterns: list[str], expected: str) -> None:
    assert " ".join(description.name for description in select(FOUND, patterns)) == expected


def test_a_name_with_glob_characters_is_found_as_it_is() -> None:
    odd = described("sum[fp32]")
    assert select((odd,), ["sum[fp32]"]) == (odd,)


def test_an_unknown_name_is_told_with_close_matches() -> None:
    with pytest.raises(UsageError) as caught:
        select(FOUND, ["sofmax", "gelu", "conv*", "xyz"])
    assert str(caught.value) == (
        "no operator matches `sofmax`; did you mean `softmax` or `log_softmax`?; no operator matches `conv*`; "
        "no operator matches `xyz`\n"
        "  next: pick from the 4 available: gelu, gelu_tanh, log_softmax, softmax"
    )


def test_many_names_are_cut_and_counted() -> None:
    with pytest.raises(UsageError) as caught:
        select([described(f"op{number:02}") for number in range(30)], ["zzz"])
    assert caught.value.next_step == (
        "pick from the 30 available: op00, op01, op02, op03, op04, op05, op06, op07, op08, op09, op10, op11, ..."
    )


def test_nothing_discovered_points_at_the_configuration() -> None:
    with pytest.raises(UsageError) as caught:
        select([], ["gelu"])
    assert str(caught.value) == (
        "no operator matches `gelu`\n  next: no operator was found: check `operators` in the configuration"
    )

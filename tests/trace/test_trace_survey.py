"""The quick look: what it flags, what it samples, and flags that wait on a device."""

from __future__ import annotations

import pytest
import torch
from trace_notation import surveyed

from opsdebug_ci.trace.sampling import DRAWN, FIRST, sample, seed_of

LARGE = 1 << 21


def test_what_any_step_makes_unhealthy_is_flagged_though_it_vanishes_again() -> None:
    found = surveyed(lambda x: torch.nan_to_num(torch.log(x)), torch.tensor([-1.0]))
    assert found.anything()
    assert found.flagged is not None
    assert (found.flagged.name, found.flagged.sampled) == ("log", None)


def test_a_healthy_run_is_silent_and_counted() -> None:
    found = surveyed(lambda x: torch.exp(x) + 1.0, torch.ones(3))
    assert not found.anything()
    assert found.looked_at == 2


def test_large_results_are_sampled_and_outputs_looked_at_in_full() -> None:
    def function(x: torch.Tensor) -> torch.Tensor:
        y = x + 1.0
        y.numpy()[LARGE // 2] = float("nan")  # outside torch, and hardly in a sample
        return y * 1.0

    inside = surveyed(lambda x: (x / x).nan_to_num() + 1.0, torch.zeros(LARGE))
    assert inside.flagged is not None
    assert (inside.flagged.name, inside.flagged.sampled) == ("div", FIRST + DRAWN)
    at_the_end = surveyed(function, torch.ones(LARGE))
    assert at_the_end.flagged is not None
    assert (at_the_end.flagged.name, at_the_end.flagged.sampled) == ("out0", None)


def test_flags_of_a_device_wait_until_they_are_asked_for() -> None:
    sick = surveyed(lambda x: torch.nan_to_num(torch.log(x)), torch.tensor([-1.0]), remote=lambda values: True)
    assert sick.flagged is None
    assert sick.anything()
    well = surveyed(torch.exp, torch.ones(3), remote=lambda values: True)
    assert not well.anything()


def test_a_limit_of_steps_leaves_the_rest_alone() -> None:
    found = surveyed(lambda x: torch.nan_to_num(torch.log(x + 1.0)), torch.tensor([-3.0]), limit=1)
    assert (found.looked_at, found.anything()) == (1, False)


@pytest.mark.parametrize("layout", ["contiguous", "transposed", "strided", "offset", "expanded"])
def test_a_sample_is_read_through_the_strides(layout: str) -> None:
    base = torch.arange(4.0 * 3000 * 1500).reshape(6000, 3000)
    values = {
        "contiguous": base,
        "transposed": base.t(),
        "strided": base[:, ::2],
        "offset": base[7:, 5:],
        "expanded": base[0].expand(2000, 3000),
    }[layout]
    places = torch.cat(
        (
            torch.arange(FIRST),
            torch.randint(values.numel(), (DRAWN,), generator=torch.Generator().manual_seed(7)),
        )
    )
    assert torch.equal(sample(values, 7), values.flatten()[places])


def test_the_seed_follows_from_case_and_step_alone() -> None:
    assert seed_of("case", "log") == seed_of("case", "log")
    assert len({seed_of("case", "log"), seed_of("case", "log #2"), seed_of("other", "log")}) == 3
    assert 0 <= seed_of("case", "log") < 1 << 63

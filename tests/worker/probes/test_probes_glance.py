"""What is clear at a glance, and what takes a closer look."""

from __future__ import annotations

import torch

from opsdebug_ci.model.dtype import FLOAT_FORMATS
from opsdebug_ci.model.vocabulary import Kind
from opsdebug_ci.numerics.failure import Failure
from opsdebug_ci.worker.probes.glance import glance

RIGHT = torch.linspace(1, 2, 12, dtype=torch.float64)
SINGLE = FLOAT_FORMATS["float32"]


def failure(tolerance: torch.Tensor | None) -> Failure:
    return Failure(
        output="out0",
        kind=Kind.AUTO,
        actual=RIGHT.float() + 1,
        expected=RIGHT,
        bad=torch.ones(12, dtype=torch.bool),
        tolerance=tolerance,
        deviation=None,
        compute=SINGLE,
        accumulate=SINGLE,
        arguments={},
        dims={},
    )


FLOATS = failure(1e-7 * RIGHT)
LONGER = torch.linspace(1, 3, 30, dtype=torch.float64)


def test_what_lies_within_everywhere_is_right() -> None:
    assert glance(FLOATS, LONGER.float(), LONGER) is True


def test_what_lies_far_beyond_anywhere_is_wrong() -> None:
    assert glance(FLOATS, LONGER.float().index_fill(0, torch.tensor([29]), 2.9), LONGER) is False


def test_what_lies_between_takes_a_closer_look() -> None:
    assert glance(FLOATS, LONGER.float() + 1e-5, LONGER) is None


def test_classes_come_first() -> None:
    assert glance(FLOATS, LONGER.float().index_fill(0, torch.tensor([3]), torch.nan), LONGER) is False
    assert glance(FLOATS, LONGER.float(), LONGER.index_fill(0, torch.tensor([3]), torch.inf)) is None


def test_other_shapes_say_nothing() -> None:
    assert glance(FLOATS, LONGER.float()[:3], LONGER) is None


def test_integers_are_equal_or_not() -> None:
    numbers = torch.arange(5)
    assert glance(failure(None), numbers, numbers) is True
    assert glance(failure(None), numbers + 1, numbers) is False

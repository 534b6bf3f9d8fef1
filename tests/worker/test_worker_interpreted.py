"""Operators whose kernels are interpreted: what this machine lacks is no verdict, and their time no kernel's."""

from __future__ import annotations

import pytest
import torch
from worker_notation import case_of, run, unary

from opsdebug_ci import Operator
from opsdebug_ci.catalogue.triton_runtime import DEVICES, unavailable_reason
from opsdebug_ci.judge import judge
from opsdebug_ci.model import Status, Verdict
from opsdebug_ci.model.message import ProfileCase, TimeCase
from opsdebug_ci.worker.profiling import profile
from opsdebug_ci.worker.timed_case import TimedCases

if unavailable_reason() is not None or DEVICES != ("cpu",):
    pytest.skip("kernels are not interpreted here", allow_module_level=True)

import worker_kernels


def by(name: str) -> Operator:
    def function(x: torch.Tensor) -> torch.Tensor:
        out = torch.empty_like(x)
        getattr(worker_kernels, name)[(1,)](x, out, *([x.numel()] if name == "negates" else []), SIZE=8)
        return out

    return unary(function, torch.neg)


def test_what_the_interpreter_lacks_is_skipped_with_one_reason() -> None:
    found = {run(by("needs_a_gpu"), N=8, inputs=inputs).reason for inputs in ("normal", "specials")}
    assert found == {
        "limit of this machine: Triton's interpreter cannot run it (inline_asm not supported in interpreter mode)"
    }
    observation = run(by("needs_a_gpu"), N=8)
    assert observation.status is Status.SKIPPED
    assert judge(case_of(by("needs_a_gpu"), N=8), observation, by("needs_a_gpu").contract).verdict is Verdict.SKIPPED


def test_an_accelerator_that_is_not_there_is_a_limit_too() -> None:
    observation = run(unary(lambda x: x.to("cuda").neg().cpu(), torch.neg))
    assert observation.status is Status.SKIPPED
    assert str(observation.reason).startswith("limit of this machine: no accelerator driver (")


def test_a_mistake_in_a_kernel_is_the_operators() -> None:
    assert run(by("mistaken"), N=8).status is Status.RAISED
    assert run(unary(lambda x: x.reshape(-1, 4), torch.neg)).status is Status.RAISED


def test_the_time_of_an_interpreted_kernel_is_said_to_be_that() -> None:
    operator, plain = by("negates"), unary(torch.neg, torch.neg)
    for one, interpreted in ((operator, True), (plain, False)):
        assert profile(one, ProfileCase(case=case_of(one), budget_s=0.05)).interpreted is interpreted
        assert TimedCases().visit(one, TimeCase(case=case_of(one), samples=3, calls=1)).interpreted is interpreted


def test_what_cannot_be_timed_here_is_no_failure_of_the_operator() -> None:
    operator = by("needs_a_gpu")
    timed = TimedCases().visit(operator, TimeCase(case=case_of(operator, N=8), samples=3, calls=1))
    assert timed.unsupported
    assert str(timed.reason).startswith("limit of this machine: ")

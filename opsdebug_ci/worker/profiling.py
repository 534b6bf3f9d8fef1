"""Profiling an operator on a case: what it must move and compute, and where its time goes."""

from __future__ import annotations

from opsdebug_ci.model.message import ProfileCase
from opsdebug_ci.model.profile import CaseProfile
from opsdebug_ci.operators import Operator


def profile(operator: Operator, request: ProfileCase) -> CaseProfile:
    """Profile one case; nothing that the operator raises escapes."""
    raise NotImplementedError

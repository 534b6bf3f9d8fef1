"""Whether a case lies in the operator's declared domain.

Decides what the answers of `requires` mean. Deliberately makes no inputs: what they or the operator say comes later.
"""

from __future__ import annotations

from opsdebug_ci.errors import InputsError, OpsdebugError, Unsupported
from opsdebug_ci.model.case import Case
from opsdebug_ci.operators import Operator


def check_domain(operator: Operator, case: Case) -> None:
    """Raises Unsupported outside the operator's declared domain, InputsError when its `requires` raised."""
    if operator.requires_function is None:
        return
    try:
        answer = operator.requires_function(case)
    except (OpsdebugError, Unsupported):
        raise
    except Exception as error:  # user code: whatever it raises is the fault to report
        raise InputsError(
            f"`requires` of `{operator.name}` raised {type(error).__name__}: {error}",
            next_step="it is called with the case and returns True, or a reason to skip it",
        ) from error
    if isinstance(answer, str) or (answer is not None and not bool(answer)):
        raise Unsupported(
            str(answer) if isinstance(answer, str) and answer else "outside the operator's declared domain"
        )

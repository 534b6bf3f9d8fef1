"""One launch under watched pages: the worker answers that none was touched, or dies of it.

Decides what is launched and on which copies. Deliberately tells nothing else of the launch: whether its outputs are
right is another request, and what a death means is the control side's to say.
"""

from __future__ import annotations

import copy
from collections.abc import Callable
from dataclasses import replace
from typing import Any

from opsdebug_ci.errors import EnvironmentLimitError, OpsdebugError, Unsupported
from opsdebug_ci.guard.pages import Placement, has_pages, unavailable_reason, watch_results, watch_values
from opsdebug_ci.model.message import Breadcrumb, PageCase, PagesKept
from opsdebug_ci.model.vocabulary import Direction, Phase
from opsdebug_ci.operators import Arguments, Operator, written_names
from opsdebug_ci.worker.domain import check_domain
from opsdebug_ci.worker.exceptions import text_of
from opsdebug_ci.worker.isolation import isolated
from opsdebug_ci.worker.launches import Launcher, NotAnOutput, OperatorFault
from opsdebug_ci.worker.preservation import inputs_of
from opsdebug_ci.worker.properties.gradients import gradient_operator


def keep_pages(operator: Operator, request: PageCase, trail: Callable[[Breadcrumb], None]) -> PagesKept:
    """Launch the case once. Nothing the operator raises escapes; a touched page ends the process."""
    case = request.case
    reason = unavailable_reason() if case.device == "cpu" else f"pages are watched on the CPU, not on {case.device}"
    if reason is not None:
        return PagesKept(case_id=case.id, watched=False, reason=reason)
    trail(Breadcrumb(phase=Phase.INPUTS))
    try:
        with isolated(case.seed):
            check_domain(operator, case)
            arguments = inputs_of(operator, case, request.inputs)
            if case.direction is not Direction.FORWARD:
                trail(Breadcrumb(phase=Phase.REFERENCE, detail="gradients"))
                operator = gradient_operator(operator, arguments, case)
    except Unsupported as refusal:
        return PagesKept(case_id=case.id, watched=False, reason=str(refusal) or "unsupported")
    except OpsdebugError as error:
        return PagesKept(case_id=case.id, watched=False, reason=error.message)
    return _launched(operator, request, arguments, trail)


def _launched(
    operator: Operator, request: PageCase, arguments: Arguments, trail: Callable[[Breadcrumb], None]
) -> PagesKept:
    """With the operator's own tensors watched; where it raises then, e.g. because it resizes them, without."""
    trail(Breadcrumb(phase=Phase.FUNCTION, detail=str(request.mode)))
    kept = _kept(operator, request, arguments, results=True)
    return kept if kept.watched else _kept(operator, request, arguments, results=False)


def _kept(operator: Operator, request: PageCase, arguments: Arguments, *, results: bool) -> PagesKept:
    placement = Placement(mode=request.mode, alignment=request.alignment, protected=request.protected)
    written = frozenset(written_names(operator.contract, arguments))
    locked = [name not in written for name in arguments.names]
    asked = [request.only in (None, name) for name in arguments.names]
    reason: str | None = None
    try:
        values, storages = watch_values(arguments.values, locked, placement, asked)
        beside = placement if request.only is None else replace(placement, protected=False)
        subject = _watching(operator, beside) if results else operator
        Launcher(subject, arguments, request.case.seed).on(values)
    except EnvironmentLimitError as refusal:
        reason = refusal.message
    except Unsupported as refusal:
        reason = str(refusal) or "unsupported"
    except OperatorFault as fault:
        reason = f"it raised {text_of(fault.__cause__ or fault)}"
    except NotAnOutput:
        reason = None  # it returned, which is all that is asked here
    else:
        reason = None if storages or results else "no argument has bytes"
    return PagesKept(
        case_id=request.case.id,
        watched=reason is None,
        reason=reason,
        results=results,
        arguments=tuple(name for name, value in arguments.items() if has_pages(value)),
    )


def _watching(operator: Operator, placement: Placement) -> Operator:
    """`operator` with its own tensors in watched pages."""
    watching = copy.copy(operator)

    def function(*args: Any, **kwargs: Any) -> Any:
        with watch_results(placement):
            return operator.function(*args, **kwargs)

    watching.function = function
    return watching

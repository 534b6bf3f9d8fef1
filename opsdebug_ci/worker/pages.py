"""One launch under watched pages: the worker answers that none was touched, or dies of it.

Decides what is launched and on which copies. Deliberately tells nothing else of the launch: whether its outputs are
right is another request, and what a death means is the control side's to say.
"""

from __future__ import annotations

from collections.abc import Callable

from opsdebug_ci.errors import OpsdebugError, Unsupported
from opsdebug_ci.guard.pages import Placement, unavailable_reason, watch_results, watch_values
from opsdebug_ci.model.message import Breadcrumb, PageCase, PagesKept
from opsdebug_ci.model.vocabulary import Direction, Phase
from opsdebug_ci.operators import Arguments, Operator, written_names
from opsdebug_ci.worker.domain import check_domain
from opsdebug_ci.worker.exceptions import text_of
from opsdebug_ci.worker.isolation import isolated
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
            if case.direction is Direction.BACKWARD:
                trail(Breadcrumb(phase=Phase.REFERENCE, detail="gradients"))
                operator = gradient_operator(operator, arguments, case.seed)
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
    case_id = request.case.id
    try:
        storages = _launch(operator, request, arguments, results=results)
    except Unsupported as refusal:
        return PagesKept(case_id=case_id, watched=False, reason=str(refusal) or "unsupported", results=results)
    except BaseException as error:  # noqa: BLE001 - the operator's own, sys.exit and KeyboardInterrupt too
        return PagesKept(case_id=case_id, watched=False, reason=f"it raised {text_of(error)}", results=results)
    if not storages and not results:
        return PagesKept(case_id=case_id, watched=False, reason="no argument has bytes", results=results)
    return PagesKept(case_id=case_id, watched=True, results=results)


def _launch(operator: Operator, request: PageCase, arguments: Arguments, *, results: bool) -> int:
    """Storages that were watched. Raises what the operator does."""
    placement = Placement(mode=request.mode, alignment=request.alignment, protected=request.protected)
    written = frozenset(written_names(operator.contract, arguments))
    values, storages = watch_values(arguments.values, [name not in written for name in arguments.names], placement)
    moved = Arguments(names=arguments.names, values=values, by_keyword=arguments.by_keyword)
    with isolated(request.case.seed):
        if results:
            with watch_results(placement):
                moved.call(operator.function)
        else:
            moved.call(operator.function)
    return storages

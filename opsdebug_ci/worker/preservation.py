"""The inputs of a case, made once more and written as raw storages: what a bundle is made of.

Decides what is written and how: one file per distinct storage, named by the sha256 of its bytes, whole or not at all.
Launches nothing. What inputs are is `input_table`'s to say; bringing them back is `restoration`'s.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

from opsdebug_ci.bundle.durable import write_whole
from opsdebug_ci.errors import OpsdebugError, Unsupported
from opsdebug_ci.model.bundle import StoredInputs
from opsdebug_ci.model.case import Case
from opsdebug_ci.model.message import Breadcrumb, KeepInputs, KeptInputs
from opsdebug_ci.operators import Arguments, Operator
from opsdebug_ci.worker.arguments import private_arguments
from opsdebug_ci.worker.domain import check_domain
from opsdebug_ci.worker.input_table import HeldInputs, held_inputs, memory_of
from opsdebug_ci.worker.isolation import isolated
from opsdebug_ci.worker.restoration import rebuilt

Trail = Callable[[Breadcrumb], None]
"""Where breadcrumbs go."""


def inputs_of(operator: Operator, case: Case, stored: StoredInputs | None) -> Arguments:
    """The inputs kept from an earlier run of `case`, or fresh ones.

    Raises:
        InputsError: they cannot be made, or are not those that were kept.
        Unsupported: the operator's callable says that the case is outside its domain.
    """
    return private_arguments(operator, case) if stored is None else rebuilt(operator, case, stored)


def telling_digest(trail: Trail, made: Arguments) -> tuple[Trail, str]:
    """A trail whose breadcrumbs say what the case runs on, as does what was observed so far; and the digest itself."""
    digest = held_inputs(made).table.digest

    def leave(crumb: Breadcrumb) -> None:
        known = crumb.observation
        told = known if known is None else replace(known, inputs_digest=digest)
        trail(replace(crumb, inputs_digest=digest, observation=told))

    return leave, digest


def keep_inputs(operator: Operator, request: KeepInputs) -> KeptInputs:
    """Make the inputs of a case as `run_case` makes them and write their storages."""
    case = request.case
    try:
        with isolated(case.seed):
            check_domain(operator, case)
            held = held_inputs(private_arguments(operator, case))
    except Unsupported as refusal:
        return KeptInputs(case_id=case.id, table=None, reason=str(refusal) or "unsupported")
    except OpsdebugError as error:
        return KeptInputs(case_id=case.id, table=None, reason=error.message)
    size_bytes = held.table.size_bytes
    if size_bytes > request.most_bytes:
        reason = f"its inputs take {size_bytes} bytes; at most {request.most_bytes} are kept"
        return KeptInputs(case_id=case.id, table=held.table, reason=reason)
    _write(held, Path(request.directory))
    return KeptInputs(case_id=case.id, table=held.table, written=True)


def write_storages(arguments: Arguments, directory: Path) -> None:
    """Write every storage of `arguments` to a file of an existing directory, named by the sha256 of its bytes."""
    _write(held_inputs(arguments), directory)


def _write(held: HeldInputs, directory: Path) -> None:
    for entry, storage in zip(held.table.storages, held.storages, strict=True):
        path = directory / entry.sha256
        if not path.exists():
            write_whole(path, memory_of(storage))

"""Outputs of an operator beside what its references answered.

Decides what is handed to the comparison with each output: how it is compared, its spread, what an index points into.
"""

from __future__ import annotations

from typing import Any

import torch

from opsdebug_ci.model.case import Case
from opsdebug_ci.model.vocabulary import Family, Kind
from opsdebug_ci.numerics.compared import ComparedOutput
from opsdebug_ci.numerics.comparison import offer_choices
from opsdebug_ci.operators import Arguments, Operator
from opsdebug_ci.worker.arithmetic import arithmetic_of
from opsdebug_ci.worker.launch_reading import Outputs
from opsdebug_ci.worker.references import ReferenceAnswers


def beside(
    operator: Operator,
    declared: Operator,
    case: Case,
    arguments: Arguments,
    outputs: Outputs,
    answers: ReferenceAnswers,
) -> list[ComparedOutput]:
    """Every output beside what the references answered.

    Args:
        operator: the function under test: the operator, or its gradients.
        declared: the operator as declared.
        case: the case.
        arguments: pristine.
        outputs: of one launch, as many as every reference gave.
        answers: of the references.
    """
    source, axis = _indexed(operator, arguments)
    derived = any(r.derived and r.answered for r in answers.readings)
    compared = []
    for position, (name, actual) in enumerate(outputs.items()):
        kind = _kind(operator, answers, name, position)
        compared.append(
            ComparedOutput(
                name=name,
                kind=kind,
                actual=actual,
                references={which: each[position] for which, each in answers.outputs.items()},
                derived_precise=derived,
                spread=None,
                evaluate=answers.evaluate,
                truth=answers.truth,
                own_values=case.inputs in (Family.OWN, Family.OWN_EMPTY),
                position=position,
                adjust=answers.adjust(position),
                arithmetic=arithmetic_of(declared, case),
                contract=operator.contract,
                index_source=source if kind is Kind.INDEX else None,
                index_axis=axis,
                arguments=dict(arguments.items()),
                dims=case.dims,
            )
        )
    offer_choices(compared)
    return compared


def _kind(operator: Operator, answers: ReferenceAnswers, name: str, position: int) -> Kind:
    """How an output is compared: exactly where nothing is declared and the references round nothing."""
    kind = operator.kind_of(name, position)
    return Kind.EXACT if kind is Kind.AUTO and answers.exact else kind


def _indexed(operator: Operator, arguments: Arguments) -> tuple[Any, int | None]:
    """What an index of the operator points into, and along which axis: as promised, else the only tensor of reals."""
    if operator.contract.index:
        return arguments[operator.contract.index[0]], operator.contract.index[1]
    tensors = [v for v in arguments.values if isinstance(v, torch.Tensor) and v.is_floating_point()]
    return (tensors[0] if len(tensors) == 1 else None), None

"""`torch.library.opcheck` on custom operators, for its verdict to stand beside ours.

Decides which functions it is asked about and once per what. It knows a custom operator's schema, which we do not: what
it may write and alias, and whether it can be traced. Deliberately not its test of compilation, which takes seconds and
is about the compiler.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import torch

from opsdebug_ci.guard import clone_values
from opsdebug_ci.model.case import Case
from opsdebug_ci.model.property import Property, PropertyReading
from opsdebug_ci.operators import Operator
from opsdebug_ci.worker.exceptions import text_of
from opsdebug_ci.worker.isolation import isolated
from opsdebug_ci.worker.launch_reading import LaunchReading
from opsdebug_ci.worker.probes.scene import Scene

TESTS = ("test_schema", "test_autograd_registration", "test_faketensor")
"""What is asked."""

_CUSTOM = (torch._library.custom_ops.CustomOpDef, torch._ops.OpOverload, torch._ops.OpOverloadPacket)

_MUTATION = ("not defined as mutable but was mutated",)
_ALIASING = ("not defined to alias output but was aliasing", "may not alias any inputs")
"""How the schema test words an undeclared write and an undeclared alias."""


def opcheck(scene: Scene, launch: LaunchReading) -> Iterator[PropertyReading]:
    """Some launches by the framework, once per operator and dtype. Silent about what is no custom operator."""
    del launch
    function = scene.operator.function
    if not isinstance(function, _CUSTOM) or not _is_first(scene.operator, scene.case):
        return
    values = clone_values(scene.arguments.values)
    positional, by_name = (
        ((), dict(zip(scene.arguments.names, values, strict=True))) if scene.arguments.by_keyword else (values, {})
    )
    with isolated(scene.case.seed):
        answers = _asked(function, positional, by_name)
    failed = {test: answer for test, answer in answers.items() if answer is not None}
    evidence = {"undeclared": _undeclared(failed.get("test_schema", "")), **failed}
    yield PropertyReading(property=Property.OPCHECK, compared=len(TESTS), broken=len(failed), evidence=evidence)


def _is_first(operator: Operator, case: Case) -> bool:
    """One case per dtype: the operator's own dims and the first seed."""
    return case.seed == 0 and dict(case.dims) == dict(operator.dims)


def _asked(function: Any, positional: tuple[Any, ...], by_name: dict[str, Any]) -> dict[str, str | None]:
    """First line of what each test says; None: it passed."""
    try:
        answers = torch.library.opcheck(function, positional, by_name, test_utils=TESTS, raise_exception=False)
    except BaseException as error:  # noqa: BLE001 - user code: what it raises, exits too, is what became of it
        return {**dict.fromkeys(TESTS), TESTS[0]: text_of(error)}
    return {test: None if str(answer) == "SUCCESS" else _first_line(answer) for test, answer in answers.items()}


def _first_line(answer: object) -> str:
    return " ".join(str(answer).split())[:300]


def _undeclared(schema_answer: str) -> str | None:
    """`mutation` or `aliasing` where the schema test saw one that is not declared."""
    if any(words in schema_answer for words in _MUTATION):
        return "mutation"
    return "aliasing" if any(words in schema_answer for words in _ALIASING) else None

"""What an operator or its torch reference refuses without the operator being at fault.

Decides it by further launches, never by the words of a message: (1) an exception on arguments without elements; (2) a
check of the operator's own that passes on contiguous copies of the same values; (3) a reference that raises here and
not at the operator's own sizes, or whose answer for a dim of 0 contradicts its answers for 1 and 2. What writes to its
arguments or launches a kernel before it raises has refused nothing, and a mistake in the code is no refusal either.
"""

from __future__ import annotations

import dis
import sys
from collections.abc import Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field, replace
from typing import Any

import torch
from torch.utils._python_dispatch import TorchDispatchMode

from opsdebug_ci.errors import OpsdebugError, ReferenceFaultError, Unsupported
from opsdebug_ci.guard import Grounds, ZoneFills
from opsdebug_ci.model.argument import TensorArgument
from opsdebug_ci.model.case import Case
from opsdebug_ci.model.vocabulary import Family, Layout, ReferenceKind, Refusal
from opsdebug_ci.numerics.custom_calls import FRAMEWORK, called_inside, device_inside
from opsdebug_ci.operators import Arguments, Operator, positional_outputs, written_names
from opsdebug_ci.trace import is_own
from opsdebug_ci.trace.interception import launches_through
from opsdebug_ci.worker.arguments import private_arguments
from opsdebug_ci.worker.exceptions import text_of
from opsdebug_ci.worker.isolation import isolated

MISTAKES = (AttributeError, NameError, ImportError)
"""What a mistake in the operator's own code raises, whatever its inputs; never a sign of an unusual domain."""

PLATFORM = frozenset({"torch", "triton", "numpy", *sys.stdlib_module_names})
"""Packages whose exceptions nobody raised for the operator's sake."""


def refusal_of(
    operator: Operator, arguments: Arguments, case: Case, error: BaseException
) -> tuple[Refusal, str] | None:
    """Why the operator's `error` holds nothing against it, and in which words; None: it does.

    The torch reference is known to answer on these `arguments`.
    """
    if not isinstance(error, Exception) or isinstance(error, MISTAKES):
        return None
    trial = _Trial.of(operator, arguments, case.seed)
    if type(trial.error) is not type(error) or trial.left_traces:
        return None
    if empty_arguments(operator, case):
        return Refusal.EMPTY, f"{type(error).__name__}: {error}"[:500]
    # An offset alone moves nothing but the alignment: who checks that makes no difference.
    checked = trial.is_own_check or case.layout is Layout.OFFSET
    needed = _needs_copying(operator, arguments, case.seed) if checked else ()
    if not needed:
        return None
    declared = ", ".join(_declaration(name, operator.tensors.get(name)) for name in needed)
    words = f"a check refuses this layout, {text_of(error)}, and passes on contiguous copies"
    return Refusal.LAYOUT, f"{words}; to declare that: {declared}"


def empty_arguments(operator: Operator, case: Case) -> tuple[str, ...]:
    """Declared tensors without elements here that have some at the operator's own sizes."""
    if case.inputs is Family.OWN_EMPTY:
        return ("the last of every list",)

    def is_empty(argument: TensorArgument, dims: Any) -> bool:
        return any(dim.size(dims) == 0 for dim in argument.shape)

    return tuple(
        name
        for name, argument in operator.tensors.items()
        if is_empty(argument, case.dims) and not is_empty(argument, operator.dims)
    )


def refused_by_reference(operator: Operator, arguments: Arguments, case: Case, *, returned: int) -> str | None:
    """Why the torch reference, which raised, is not broken: it answers in the same dtype at the operator's own sizes.

    Args:
        operator: whose reference it is.
        arguments: on which it raised.
        case: they are of.
        returned: how many outputs the operator has there.
    """
    _, error = _ask(operator, arguments, case.seed)
    if not isinstance(error, Exception) or isinstance(error, MISTAKES):
        return None
    if isinstance(error, ReferenceFaultError) and returned:
        return None
    everyday = replace(case, dims=dict(operator.dims), layout=Layout.CONTIGUOUS, inputs=Family.NORMAL)
    if not operator.tensors or _answers(operator, everyday) is None:
        return None
    what = "returns no output" if isinstance(error, ReferenceFaultError) else f"raises here, {text_of(error)}"
    return f"the torch reference {what}, so there is nothing to compare with"


def contradicted(operator: Operator, case: Case, got: Sequence[torch.Tensor]) -> str | None:
    """How the torch reference's answer to a dim of 0 contradicts its own for 1 and 2, and `got` does not.

    An axis that is as long for 1 as for 2 does not depend on that dim, and neither does a value that stays the same
    while all arguments are ones. A reference that nevertheless has another length, or a finite value, for 0 follows
    a convention; an operator that has the length which continues the others, or NaN as 0/0, does not err.
    """
    zero = [name for name, size in case.dims.items() if size == 0 and operator.dims.get(name)]
    if not zero or not empty_arguments(operator, case):
        return None
    answers = [
        _answers(operator, replace(case, dims={**case.dims, **dict.fromkeys(zero, n)}), ones=True) for n in (0, 1, 2)
    ]
    nothing, one, two = answers
    if nothing is None or one is None or two is None or not len(nothing) == len(one) == len(two) == len(got):
        return None
    where = ", ".join(f"{name}=0" for name in zero)
    for mine, theirs, first, second in zip(got, nothing, one, two, strict=True):
        if first.shape != second.shape:
            continue
        if theirs.shape != first.shape == mine.shape:
            return f"the torch reference returns shape {list(theirs.shape)} where {where}, {list(first.shape)} else"
        constant = theirs.is_floating_point() and theirs.shape == first.shape and torch.allclose(first, second)
        if constant and theirs.isfinite().all() and not torch.isclose(theirs, first).any() and mine.isnan().all():
            return f"the torch reference has a value where {where}, by convention; the operator has NaN, as 0/0"
    return None


def _answers(operator: Operator, case: Case, *, ones: bool = False) -> list[torch.Tensor] | None:
    """What the torch reference says on fresh inputs of `case`, floating ones all 1 if `ones`; None: nothing."""

    def one(_: str, value: Any) -> Any:
        return torch.ones_like(value) if isinstance(value, torch.Tensor) and value.is_floating_point() else value

    try:
        made = private_arguments(operator, case)
    except (OpsdebugError, Unsupported):  # not every dim can be 0, 1 and 2
        return None
    return _ask(operator, made.map(one) if ones else made, case.seed)[0]


def _ask(operator: Operator, arguments: Arguments, seed: int) -> tuple[list[torch.Tensor] | None, BaseException | None]:
    """What the torch reference returns or raises on copies of `arguments`."""
    reference = operator.references.get(ReferenceKind.TORCH)
    if reference is None:
        return None, None
    copies = replace(arguments, values=Grounds(arguments.names, arguments.values, frozenset()).plain().values)
    try:
        with isolated(seed), torch.no_grad():
            return [output.clone() for output in positional_outputs(copies.call(reference))], None
    except BaseException as error:  # noqa: BLE001 - user code: what it raises, exits too, is what became of it
        return None, error


@dataclass(slots=True, kw_only=True)
class _Trial:
    """One more launch, watched for what it does before it raises."""

    error: BaseException | None = None
    """What it raised; None: it returned."""

    handled: BaseException | None = field(default_factory=lambda: sys.exc_info()[1])
    """What was being handled when it was launched, which Python takes for the context of whatever it raises."""

    left_traces: bool = False
    """It changed bytes it may not write, or launched a kernel."""

    framework_errors: list[BaseException] = field(default_factory=list)
    """What calls of the framework raised in it."""

    @classmethod
    def of(cls, operator: Operator, arguments: Arguments, seed: int) -> _Trial:
        """Launch on copies of `arguments` between guard zones."""
        trial = cls()
        written = frozenset(written_names(operator.contract, arguments))
        laid = Grounds(arguments.names, arguments.values, written).laid(ZoneFills())
        laid.remember()

        def launched(*launch: Any) -> Any:
            trial.left_traces = True
            return launch[-1]()

        with ExitStack() as around:
            around.enter_context(isolated(seed))
            around.enter_context(launches_through(launched))
            around.enter_context(_Listening(trial.framework_errors))
            try:
                replace(arguments, values=laid.values).call(operator.function)
            except BaseException as error:  # noqa: BLE001 - user code: what it raises, exits too, is what is asked for
                trial.error = error
        trial.left_traces |= bool(laid.changes())
        return trial

    @property
    def is_own_check(self) -> bool:
        """It raised by a `raise` or `assert` statement that is not the platform's, or by a check in an extension.

        A check in C++ is a plain RuntimeError that no call of the framework raised. A failing `view` is one that did:
        the operator relies on a layout without saying so. So is whatever was raised while handling such an error.
        """
        error = self.error
        if error is None or error in self.framework_errors or error.__traceback__ is None:
            return False
        earlier = error.__cause__ or (None if error.__suppress_context__ else error.__context__)
        if earlier not in (None, self.handled):
            return False
        innermost = error.__traceback__
        while innermost.tb_next is not None:
            innermost = innermost.tb_next
        code = innermost.tb_frame.f_code
        step = next((each.opname for each in dis.get_instructions(code) if each.offset == innermost.tb_lasti), None)
        if step != "RAISE_VARARGS":
            return type(error) is RuntimeError
        package = str(innermost.tb_frame.f_globals.get("__name__", "")).partition(".")[0]
        return is_own(code.co_filename) or package not in PLATFORM


class _Listening(TorchDispatchMode):  # type: ignore[no-untyped-call]  # torch types its metaclass hook partly
    """Keeps what calls of the framework raise, those inside custom operators too."""

    def __init__(self, heard: list[BaseException]) -> None:
        super().__init__()  # type: ignore[no-untyped-call]  # as above
        self._heard = heard

    @classmethod
    def _should_skip_dynamo(cls) -> bool:
        return False  # True makes torch import its compiler at the first call

    def __torch_dispatch__(
        self, func: Any, types: Any, args: tuple[Any, ...] = (), kwargs: dict[str, Any] | None = None
    ) -> Any:
        kwargs = kwargs or {}
        device = device_inside(func, args, kwargs)
        try:
            return func(*args, **kwargs) if device is None else called_inside(self, func, device, args, kwargs)
        except Exception as error:
            if getattr(func, "namespace", None) in FRAMEWORK:
                self._heard.append(error)
            raise


def _needs_copying(operator: Operator, arguments: Arguments, seed: int) -> tuple[str, ...]:
    """Arguments that must be copied to contiguous memory for the operator to return; empty: that does not help."""

    def returns(copied: Sequence[str]) -> bool:
        given = arguments.map(
            lambda name, value: value.clone(memory_format=torch.contiguous_format) if name in copied else value
        )
        return _Trial.of(operator, given, seed).error is None

    needed = [
        name
        for name, value in arguments.items()
        if isinstance(value, torch.Tensor)
        and value.layout is torch.strided
        and (not value.is_contiguous() or value.storage_offset())
    ]
    if not needed or not returns(needed):
        return ()
    for name in tuple(needed):
        rest = [other for other in needed if other != name]
        if rest and returns(rest):
            needed = rest
    return tuple(needed)


def _declaration(name: str, argument: TensorArgument | None) -> str:
    """The line that declares an argument contiguous."""
    if argument is None:
        return f"`{name}` is always contiguous"
    dtype = "" if argument.dtype is None else f'dtype="{argument.dtype}", '
    return f'{name}=tensor("{argument.shape_text}", {dtype}layouts="contiguous")'

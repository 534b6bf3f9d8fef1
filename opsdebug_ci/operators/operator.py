"""`Operator`: the function under test with its arguments, references, cost and contract.

Decides what a declaration must satisfy. Deliberately runs nothing but the user's small callables (cost, requires).
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from typing import Any, TypeVar, Union, final

from opsdebug_ci.errors import DeclarationError
from opsdebug_ci.model.argument import ScalarArgument, TensorArgument
from opsdebug_ci.model.contract import Contract, Cost
from opsdebug_ci.model.dims import bind
from opsdebug_ci.model.dtype import DTYPE_NAMES
from opsdebug_ci.model.vocabulary import Kind, ReferenceKind
from opsdebug_ci.operators.arguments import leaves
from opsdebug_ci.operators.signature import argument_names, call_problem, inputs_from_signature, with_defaults

Function = Callable[..., Any]
CostFunction = Callable[[Mapping[str, int], str], Cost]
RequiresFunction = Callable[[Any], Union[bool, str]]
Inputs = Union[Mapping[str, object], Function]
AnyFunction = TypeVar("AnyFunction", bound=Function)


@final
class Operator:
    """An operator under test; stays callable as the function it wraps.

    Args:
        name: unique name.
        function: the operator itself; called with the arguments in declared order.
        inputs: argument name -> `tensor(...)`, `scalar(...)` or a plain value; or a callable `(seed, dims, dtype)`
            returning a sequence or mapping of tensors and plain values; or None to take them from the signature.
        references: `torch`, `naive` and `precise` -> function of the same arguments, returning the outputs in order.
        kind: how outputs are compared, for all of them or output name -> kind.
        dtypes: dtypes to run.
        dims: dim name -> size; unbound ones are B=1, S=128, H=128, others 16, less where intermediates would be large.
        contract: what the operator promises.
        cost: `(dims, dtype) -> Cost`.
        requires: `case -> True` or a reason to skip it.
        devices: devices it supports.
        backward: gradients are to be verified as well.

    Raises:
        DeclarationError: any of these is unusable; the message lists every problem at once.
    """

    def __init__(
        self,
        name: str,
        function: Function,
        inputs: Inputs | None,
        references: Mapping[str, Function],
        *,
        kind: str | Mapping[str, str] = "auto",
        dtypes: Sequence[str] = ("float32",),
        dims: Mapping[str, int] | None = None,
        contract: Contract | None = None,
        cost: CostFunction | None = None,
        requires: RequiresFunction | None = None,
        devices: Sequence[str] = ("cpu",),
        backward: bool = False,
    ) -> None:
        problems = [
            *_problems(name, function, references, kind, dtypes, dims or {}, devices),
            *_input_problems(function, inputs),
        ]
        if problems:
            raise DeclarationError(f"operator `{name}`: " + "; ".join(problems))
        self.name = name
        self.function = function
        self._declared: Inputs = inputs_from_signature(function) if inputs is None else inputs
        self.inputs: Inputs = self._declared
        """As declared, with defaults of the function that stand between or that a reference takes."""
        self.contract = contract or Contract()
        self.dtypes = tuple(dtypes)
        self.devices = tuple(devices)
        self.backward = backward
        self.references = {ReferenceKind(key): reference for key, reference in references.items()}
        self.kinds = {key: Kind(value) for key, value in kind.items()} if isinstance(kind, Mapping) else Kind(kind)
        self.dims = bind([item.shape for item in self.tensors.values()], dims or {})
        self.cost_function = cost
        self.requires_function = requires
        self._add_defaults()

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        return self.function(*args, **kwargs)

    def __repr__(self) -> str:
        return f"Operator({self.name!r})"

    @property
    def tensors(self) -> dict[str, TensorArgument]:
        """Declared tensor arguments by name; empty when a callable makes the inputs."""
        if not isinstance(self.inputs, Mapping):
            return {}
        return {name: item for name, item in self.inputs.items() if isinstance(item, TensorArgument)}

    @property
    def argument_names(self) -> tuple[str, ...]:
        """Declared names, or the function's parameter names when a callable makes the inputs."""
        return tuple(self.inputs) if isinstance(self.inputs, Mapping) else argument_names(self.function)

    def kind_of(self, output: str, position: int = 0) -> Kind:
        """Kind of one output, by its name, by that of the list, tuple or dict it lies in, or by `out<position>`."""
        if isinstance(self.kinds, Kind):
            return self.kinds
        root = re.split(r"[\[.]", output)[0]
        named = (output, root, *([f"out{position}"] if root == output else []))
        return next((self.kinds[name] for name in named if name in self.kinds), Kind.AUTO)

    def reference(self, which: str) -> Callable[[AnyFunction], AnyFunction]:
        """Decorator registering a reference: `torch`, `naive` or `precise`. Raises DeclarationError otherwise."""
        problem = _reference_problem(which)
        if problem:
            raise DeclarationError(f"operator `{self.name}`: {problem}")

        def register(function: AnyFunction) -> AnyFunction:
            self.references[ReferenceKind(which)] = function
            self._add_defaults()
            return function

        return register

    def _add_defaults(self) -> None:
        if isinstance(self._declared, Mapping):
            self.inputs = with_defaults(self.function, self._declared, self.references.values())

    def cost(self, function: AnyFunction) -> AnyFunction:
        """Decorator registering `(dims, dtype) -> Cost`."""
        self.cost_function = function
        return function

    def requires(self, function: AnyFunction) -> AnyFunction:
        """Decorator registering `case -> True` or a reason."""
        self.requires_function = function
        return function


def _problems(
    name: str,
    function: object,
    references: Mapping[str, object],
    kind: str | Mapping[str, str],
    dtypes: Sequence[str],
    dims: Mapping[str, int],
    devices: Sequence[str],
) -> list[str]:
    kinds = kind.values() if isinstance(kind, Mapping) else [kind]
    known = [str(member) for member in Kind]
    sequences = [
        f"`{label}` is {value!r}; wanted a tuple of names, e.g. ({str(value)!r},)"
        for label, value in (("dtypes", dtypes), ("devices", devices))
        if isinstance(value, str) or not value
    ]
    unknown_dtypes = [] if isinstance(dtypes, str) else [d for d in dtypes if d not in DTYPE_NAMES]
    return [
        *([] if isinstance(name, str) and name.strip() == name and name else [f"`name` is {name!r}; wanted a word"]),
        *([] if callable(function) else [f"`function` is {function!r}; wanted something callable"]),
        *(p for p in map(_reference_problem, references) if p),
        *(f"reference `{key}` is {r!r}; wanted a function" for key, r in references.items() if not callable(r)),
        *(f"`kind` has `{k}`; wanted one of {', '.join(known)}" for k in kinds if str(k) not in known),
        *sequences,
        *(f"`dtypes` has `{d}`; wanted some of {', '.join(DTYPE_NAMES)}" for d in unknown_dtypes),
        *(f"`dims` has {d}={s!r}; wanted a whole number >= 0" for d, s in dims.items() if not _is_size(s)),
    ]


def _input_problems(function: Function, inputs: object) -> list[str]:
    if inputs is None or (callable(inputs) and not isinstance(inputs, Mapping)):
        return []
    if not isinstance(inputs, Mapping):
        return [f"`inputs` is {inputs!r}; wanted a mapping of argument names, or a callable (seed, dims, dtype)"]
    if not callable(function):
        return []
    misfit = call_problem(function, *inputs)
    fits = [f"the arguments {', '.join(inputs)} do not fit the function: {misfit}"] if misfit else []
    nested = [
        f"`{place}` is declared inside another value; wanted `arguments=` with the function that makes all inputs"
        for name, value in inputs.items()
        for place, leaf in leaves(name, value)
        if leaf is not value and isinstance(leaf, (TensorArgument, ScalarArgument))
    ]
    return [*fits, *nested, *_stray_callables(function, inputs)]


def _stray_callables(function: Function, inputs: Mapping[str, object]) -> list[str]:
    """Functions given under a name the operator has no parameter of: meant to make the inputs, not to be one."""
    parameters = argument_names(function)
    return [
        f"`{name}` is a function, and the operator has no such parameter; wanted `tensor(...)`, `scalar(...)` or a "
        "plain value, or `arguments=` with the function that makes all inputs"
        for name, value in inputs.items()
        if parameters and name not in parameters and callable(value)
    ]


def _reference_problem(which: str) -> str | None:
    known = [str(member) for member in ReferenceKind]
    return None if str(which) in known else f"reference `{which}` is unknown; wanted one of {', '.join(known)}"


def _is_size(value: object) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and value >= 0

"""What the worker tells the control side about the operators it found, so that cases can be planned without torch."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from opsdebug_ci.model.contract import Contract
from opsdebug_ci.model.vocabulary import Kind, Layout, ReferenceKind, ValueDomain


@dataclass(frozen=True, slots=True, kw_only=True)
class TensorDescription:
    """A declared tensor argument, as planning sees it."""

    name: str
    """Argument name."""

    shape: str
    """Shape as written, e.g. `B S H`."""

    dtype: str | None
    """Fixed dtype, or None to follow the case."""

    layouts: tuple[Layout, ...]
    """Layouts the operator accepts here."""

    values: ValueDomain | None
    """Accepted values; None when a function of the operator's own makes them."""


@dataclass(frozen=True, slots=True, kw_only=True)
class OperatorDescription:
    """One operator, without anything that needs torch."""

    name: str
    """Unique name."""

    kind: Kind
    """Kind of its first output."""

    dtypes: tuple[str, ...]
    """Dtypes to run."""

    dims: Mapping[str, int]
    """Every named dim with its declared or default size."""

    fixed_dims: tuple[str, ...]
    """Dims that must keep their size: those an input callable decides about."""

    tensors: tuple[TensorDescription, ...]
    """Declared tensor arguments in order; empty when a callable makes the inputs."""

    own_inputs: bool
    """A callable of the operator's own makes the inputs."""

    lists: bool = False
    """They hold lists of tensors."""

    references: tuple[ReferenceKind, ...]
    """References that exist or can be derived."""

    devices: tuple[str, ...]
    """Devices the operator supports."""

    contract: Contract
    """What it promises."""

    has_cost: bool
    """It states its flops."""

    module: str
    """Module as configured: a path or a dotted name."""

    source_file: str | None
    """File of the function, or None when it has none."""

    source_line: int | None
    """First line of the function."""

    source_files: tuple[str, ...]
    """Every project file its module imports, itself included; what `--changed` compares."""

    other_kinds: tuple[Kind, ...] = ()
    """Kinds of its other outputs."""

    backward: bool = False
    """Its gradients are to be verified as well."""


@dataclass(frozen=True, slots=True, kw_only=True)
class DiscoveryFault:
    """One thing that went wrong while looking for operators."""

    where: str
    """Module, file or operator."""

    found: str
    """What was found there."""

    expected: str
    """What was expected."""

    next_step: str
    """What to do about it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Unavailable:
    """An operator that exists but cannot run on this machine."""

    operator: str
    """Operator name."""

    reason: str
    """What is missing, in a sentence."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Catalogue:
    """Answer to `describe`: what was found and what went wrong, never one without the other."""

    operators: tuple[OperatorDescription, ...]
    """In order of discovery."""

    faults: tuple[DiscoveryFault, ...]
    """Every problem at once."""

    unavailable: tuple[Unavailable, ...] = ()
    """Operators that the modules list as impossible here."""

    outside: tuple[str, ...] = ()
    """Imported files and loaded libraries of torch that are neither under the root nor installed; absolute."""

    installed: tuple[str, ...] = ()
    """Imported files of installed packages, of each package the outermost, and loaded libraries of torch; absolute."""

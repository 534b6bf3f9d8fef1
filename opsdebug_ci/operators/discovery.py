"""Finding operators in the configured files and modules.

Decides what counts as declared: every `Operator` bound at module level, or held in a module-level list or tuple. A
module may say in `UNAVAILABLE`, operator name -> reason, which others cannot run on this machine.
Collects every fault instead of stopping at the first.
"""

from __future__ import annotations

import hashlib
import importlib
import importlib.util
import sys
import traceback
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType

from opsdebug_ci.errors import DeclarationError
from opsdebug_ci.model.description import DiscoveryFault, Unavailable
from opsdebug_ci.operators.dependencies import is_own
from opsdebug_ci.operators.operator import Operator
from opsdebug_ci.operators.triton_interpreter import mend_when_imported


@dataclass(frozen=True, slots=True, kw_only=True)
class FoundOperator:
    """An operator and where it was found."""

    operator: Operator
    """The operator."""

    module: ModuleType
    """The module that holds it."""

    configured: str
    """The configuration's name for that module."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Discovery:
    """What was found and what went wrong."""

    found: tuple[FoundOperator, ...]
    """In order; names are unique."""

    faults: tuple[DiscoveryFault, ...]
    """Every problem."""

    unavailable: tuple[Unavailable, ...] = ()
    """What the modules list as impossible here."""


def discover(modules: tuple[str, ...], root: Path) -> Discovery:
    """Import every configured module (a file under `root`, or a dotted name) and collect its operators."""
    root = root.resolve()
    mend_when_imported()
    found: dict[str, FoundOperator] = {}
    faults: list[DiscoveryFault] = []
    unavailable: dict[str, str] = {}
    for configured in modules:
        module = _import(configured, root)
        if isinstance(module, DiscoveryFault):
            faults.append(module)
            continue
        here = [FoundOperator(operator=op, module=module, configured=configured) for op in _operators_in(module)]
        missing = vars(module).get("UNAVAILABLE")
        unavailable |= missing if isinstance(missing, dict) else {}
        if not here and not missing:
            faults.append(_nothing_found(configured))
        for item in here:
            faults += _faults_of(item, found)
            found.setdefault(item.operator.name, item)
    return Discovery(
        found=tuple(found.values()),
        faults=tuple(faults),
        unavailable=tuple(Unavailable(operator=str(name), reason=str(why)) for name, why in unavailable.items()),
    )


def _import(configured: str, root: Path) -> ModuleType | DiscoveryFault:
    is_file = configured.endswith(".py") or "/" in configured
    path = (root / configured).resolve()
    if is_file and not path.is_file():
        return DiscoveryFault(
            where=configured,
            found=f"no file {path}",
            expected="a Python file that declares operators",
            next_step="correct `operators` in the configuration; paths are relative to its directory",
        )
    try:
        return _import_file(path, root) if is_file else _import_name(configured, root)
    except DeclarationError as error:
        return _import_fault(configured, error, root, "operators declared as the documentation says")
    except (Exception, SystemExit) as error:  # noqa: BLE001 - user code: whatever it raises is the fault to report
        expected = "a module that imports without error in the worker's interpreter"
        return _import_fault(configured, error, root, expected)


def _import_name(name: str, *directories: Path) -> ModuleType:
    _put_on_path(*directories)
    return importlib.import_module(name)


def _put_on_path(*directories: Path) -> None:
    for directory in directories:
        if str(directory) not in sys.path:
            sys.path.insert(0, str(directory))


def _import_file(path: Path, root: Path) -> ModuleType:
    """A file of a package under its dotted name there, so that its relative imports work; any other under its stem."""
    home, parts = path.parent, [path.stem] if path.stem != "__init__" else []
    while (home / "__init__.py").is_file():
        home, parts = home.parent, [home.name, *parts]
    if home == path.parent:
        _put_on_path(root, home)
        return _load_file(path)
    return _import_name(".".join(parts), root, home)


def _load_file(path: Path) -> ModuleType:
    name = path.stem if _is_free(path.stem, path) else f"opsdebug_operators_{_short_hash(path)}"
    taken = sys.modules.get(name)
    if taken is not None:
        return taken
    spec = importlib.util.spec_from_file_location(name, path)
    if spec is None or spec.loader is None:
        raise ImportError(f"{path} is not a Python file")
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module
    try:
        spec.loader.exec_module(module)
    except BaseException:
        del sys.modules[name]
        raise
    return module


def _is_free(name: str, path: Path) -> bool:
    """No other file goes by that name."""
    taken = sys.modules.get(name)
    return taken is None or Path(vars(taken).get("__file__") or "").resolve() == path


def _short_hash(path: Path) -> str:
    return hashlib.sha256(str(path).encode()).hexdigest()[:12]


def _operators_in(module: ModuleType) -> list[Operator]:
    operators: dict[int, Operator] = {}
    for value in list(vars(module).values()):
        for item in value if isinstance(value, (list, tuple)) else (value,):
            if isinstance(item, Operator):
                operators.setdefault(id(item), item)
    return list(operators.values())


def _faults_of(item: FoundOperator, known: dict[str, FoundOperator]) -> list[DiscoveryFault]:
    operator, faults = item.operator, []
    where = f"{item.configured}: operator `{operator.name}`"
    earlier = known.get(operator.name)
    if earlier is not None and earlier.operator is not operator:
        faults.append(
            _fault(where, f"the name is taken by {earlier.configured}", "unique names", "rename one of the two")
        )
    if not operator.references:
        faults.append(_fault(where, "no reference", "at least one", f'add one: @{operator.name}.reference("torch")'))
    names = operator.argument_names
    unknown = [name for name in _contract_arguments(operator) if names and not _is_argument(name, names)]
    if unknown:
        faults.append(
            _fault(
                where,
                f"the contract names {', '.join(map(repr, unknown))}",
                f"some of its arguments: {', '.join(names)}",
                "correct `Contract(out=..., mutates=..., index=...)`",
            )
        )
    return faults


def _contract_arguments(operator: Operator) -> list[str | int]:
    contract = operator.contract
    named = [contract.out, *contract.mutates, contract.index[0] if contract.index else None]
    return [name for name in named if name is not None]


def _is_argument(which: str | int, names: tuple[str, ...]) -> bool:
    return which in names if isinstance(which, str) else -len(names) <= which < len(names)


def _nothing_found(configured: str) -> DiscoveryFault:
    return _fault(
        configured,
        "no operator",
        "an `Operator` bound at module level, or in a module-level list or tuple",
        "decorate a function with @operator(...), or correct `operators` in the configuration",
    )


def _import_fault(configured: str, error: BaseException, root: Path, expected: str) -> DiscoveryFault:
    place = _place(error, root)
    return _fault(
        configured,
        f"{type(error).__name__}: {_first_line(error)}" + (f" at {place}" if place else ""),
        expected,
        "import it with that interpreter to see the whole traceback",
    )


def _first_line(error: BaseException) -> str:
    text = error.msg if isinstance(error, SyntaxError) else str(error)
    return text.strip().partition("\n")[0]


def _place(error: BaseException, root: Path) -> str | None:
    """`file:line` of the user's code that failed: the innermost frame in a file of the project."""
    if isinstance(error, SyntaxError) and error.filename:
        return f"{error.filename}:{error.lineno}"
    frames = [frame for frame in traceback.extract_tb(error.__traceback__) if _is_project_file(frame.filename, root)]
    return f"{frames[-1].filename}:{frames[-1].lineno}" if frames else None


def _is_project_file(filename: str, root: Path) -> bool:
    path = Path(filename)
    return path.is_absolute() and path.parent != Path(__file__).parent and is_own(path.resolve(), root)


def _fault(where: str, found: str, expected: str, next_step: str) -> DiscoveryFault:
    return DiscoveryFault(where=where, found=found, expected=expected, next_step=next_step)

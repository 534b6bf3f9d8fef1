"""`Axes`: the values a person fixes with `--dims`, `--dtype`, `--seed`, `--inputs` and `--layout`.

Decides what can be typed, and whether an operator has it. Deliberately makes no cases: `stages` does.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import TypeVar

from opsdebug_ci.errors import UsageError
from opsdebug_ci.model.dtype import DTYPE_NAMES
from opsdebug_ci.model.vocabulary import Family, Layout, Word
from opsdebug_ci.plan.problem import suggestion

Choice = TypeVar("Choice", bound=Word)

SEED_LIMIT = 2**63
"""Seeds are below it, so they fit the signed 64-bit column they are stored in."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Axes:
    """Fixed values; an empty axis is left to the plan."""

    dims: Mapping[str, int] = field(default_factory=dict)
    """Sizes; dims not named keep the size the operator declares."""

    dtypes: tuple[str, ...] = ()
    """Dtypes."""

    seeds: tuple[int, ...] = ()
    """Seeds."""

    families: tuple[Family, ...] = ()
    """Input families."""

    layouts: tuple[Layout, ...] = ()
    """Layouts."""


def parse_axes(
    *,
    dims: str | None = None,
    dtype: str | None = None,
    seed: str | None = None,
    inputs: str | None = None,
    layout: str | None = None,
) -> Axes:
    """Axes from the texts of the options; None is "not given". Raises UsageError for the first that is wrong."""
    return Axes(
        dims={} if dims is None else parse_dims(dims),
        dtypes=() if dtype is None else parse_dtypes(dtype),
        seeds=() if seed is None else parse_seeds(seed),
        families=() if inputs is None else parse_families(inputs),
        layouts=() if layout is None else parse_layouts(layout),
    )


def parse_dims(text: str) -> dict[str, int]:
    """`B=1,S=128` as sizes by name."""
    sizes: dict[str, int] = {}
    for item in _items(text, "--dims", "B=1,S=128"):
        name, _, size = (part.strip() for part in item.partition("="))
        if not name.isidentifier() or not _is_whole(size):
            raise UsageError(
                f"`--dims` has `{item}`; wanted NAME=SIZE with a whole number >= 0",
                next_step="write e.g. --dims B=1,S=128",
            )
        if name in sizes:
            raise UsageError(f"`--dims` has `{name}` twice; wanted each dim once", next_step=f"keep one `{name}=`")
        sizes[name] = int(size)
    return sizes


def parse_dtypes(text: str) -> tuple[str, ...]:
    """`float32,bfloat16` as dtype names."""
    names = _items(text, "--dtype", "float32")
    for name in names:
        if name not in DTYPE_NAMES:
            raise UsageError(
                f"`--dtype` has `{name}`; {suggestion(name, DTYPE_NAMES)}",
                next_step=f"pick from {', '.join(DTYPE_NAMES)}",
            )
    return names


def parse_seeds(text: str) -> tuple[int, ...]:
    """`0,1,2` as seeds."""
    items = _items(text, "--seed", "0,1,2")
    for item in items:
        if not _is_whole(item) or int(item) >= SEED_LIMIT:
            raise UsageError(
                f"`--seed` has `{item}`; wanted whole numbers from 0 to 2**63 - 1", next_step="write e.g. --seed 0,1,2"
            )
    return tuple(dict.fromkeys(int(item) for item in items))


def parse_families(text: str) -> tuple[Family, ...]:
    """`normal,specials` as families."""
    return _choices(text, "--inputs", Family)


def parse_layouts(text: str) -> tuple[Layout, ...]:
    """`contiguous,transposed` as layouts."""
    return _choices(text, "--layout", Layout)


def _choices(text: str, option: str, choices: type[Choice]) -> tuple[Choice, ...]:
    known = {str(member): member for member in choices}
    items = _items(text, option, next(iter(known)))
    for item in items:
        if item not in known:
            raise UsageError(
                f"`{option}` has `{item}`; {suggestion(item, known)}", next_step=f"pick from {', '.join(known)}"
            )
    return tuple(known[item] for item in items)


def _items(text: str, option: str, example: str) -> tuple[str, ...]:
    items = tuple(dict.fromkeys(item.strip() for item in text.split(",") if item.strip()))
    if not items:
        raise UsageError(f"`{option}` is empty; wanted at least one value", next_step=f"write e.g. {option} {example}")
    return items


def _is_whole(text: str) -> bool:
    return text.isascii() and text.isdecimal() and len(text) <= len(str(SEED_LIMIT))


def lacking(option: str, wanted: Iterable[object], offered: Iterable[object], what: str) -> str | None:
    """Why an operator lacks some of `wanted`, e.g. `--dims has `K`, but its dims are B, S`; None when it has all."""
    names = [str(item) for item in offered]
    missing = [str(item) for item in wanted if str(item) not in names]
    if not missing:
        return None
    return f"`{option}` has {', '.join(f'`{name}`' for name in missing)}, but its {what} {', '.join(names) or 'none'}"

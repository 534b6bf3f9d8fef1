"""How numbers are written, everywhere in text and markdown. docs/measures.md defines what they mean.

Decides rounding and units. Measures nothing.
"""

from __future__ import annotations

from collections.abc import Mapping

from opsdebug_ci.model.accuracy import Accuracy
from opsdebug_ci.model.vocabulary import Zone

MISSING = "-"
"""What stands where there is no number."""


def count(value: float | None) -> str:
    """A count or a ULP distance: thousands separated; a fraction keeps two digits, large ones three significant."""
    if value is None:
        return MISSING
    if value != int(value):
        return f"{value:.2f}" if value < 1000 else f"{value:.3g}"
    return f"{int(value):,}" if abs(value) < 1e9 else f"{value:.3g}"


def counted(number: int, noun: str, plural: str = "") -> str:
    """`1 run`, `2 runs`; a plural that is not the noun with an s is given."""
    return f"{number:,} {noun if number == 1 else plural or noun + 's'}"


def measure(value: float | None) -> str:
    """A measured quantity: three significant digits."""
    return MISSING if value is None else f"{value:.3g}"


def value(element: float | None, dtype: str) -> str:
    """An element: 17 digits for float64, 9 below, enough to tell neighbours apart (IEEE 754-2019, 5.12.2)."""
    if element is None:
        return "not finite"
    return f"{element:.17g}" if dtype == "float64" else f"{element:.9g}"


def percent(share: float | None) -> str:
    """A share as a percentage with three significant digits."""
    return MISSING if share is None else f"{100 * share:.3g} %"


def tally(counts: Mapping[str, int]) -> str:
    """` (accumulation_order 3, unknown 1)`; nothing when there is nothing to tell."""
    listed = ", ".join(f"{name} {number:,}" for name, number in counts.items())
    return f" ({listed})" if listed else ""


def milliseconds(nanoseconds: int) -> str:
    """A duration: three significant digits."""
    return f"{nanoseconds / 1e6:.3g} ms"


def cosine(value: float | None) -> str:
    """As 1 minus itself, which keeps the digits that matter: 1 - cos is half the squared relative error."""
    return MISSING if value is None else f"1 - {1 - value:.2g}" if value < 1 else "1"


def index(where: tuple[int, ...] | None) -> str:
    """`[3, 17]`."""
    return MISSING if where is None else f"[{', '.join(map(str, where))}]"


def error_size(accuracy: Accuracy | None) -> str:
    """Largest error in units of its tolerance, and the zone when it is not green; the zone alone without a ratio.

    `0` where every element is equal, `-` where none was compared.
    """
    if accuracy is None or accuracy.compared == 0:
        return MISSING
    ratio = accuracy.worst.ratio if accuracy.worst is not None else None
    if ratio is None:
        equal = accuracy.zone is Zone.GREEN and accuracy.max_abs_err == 0
        return "0" if equal else str(accuracy.zone)
    return f"{ratio:.3g} x tol" + ("" if accuracy.zone is Zone.GREEN else f", {accuracy.zone}")

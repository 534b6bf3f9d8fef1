"""What is wrong in a configuration, collected so that all of it is told at once.

Decides the wording of one line. Deliberately reads no files: `source` knows where a key stands.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from difflib import get_close_matches

from opsdebug_ci.errors import ConfigurationError


@dataclass(frozen=True, slots=True, kw_only=True)
class Problem:
    """One mistake."""

    where: str
    """File with line where known, e.g. `pyproject.toml:12`, or `command line`."""

    key: str
    """Key as written, e.g. `threshold.gelu`."""

    found: str
    """What was found, ready to follow the key: `is "sometimes"`."""

    expected: str
    """What was expected, as a clause: `wanted one of new, all, never`."""

    def __str__(self) -> str:
        return f"{self.where}: `{self.key}` {self.found}; {self.expected}"


def suggestion(name: str, known: Iterable[str]) -> str:
    """`did you mean ...?` for a near miss, else the whole list of what is known."""
    names = tuple(known)
    inside = [known_name for known_name in names if known_name.startswith(f"{name}.")]
    close = inside or get_close_matches(name, names, n=1)
    return f"did you mean `{close[0]}`?" if close else f"wanted one of {', '.join(names)}"


def configuration_error(problems: Iterable[Problem]) -> ConfigurationError:
    """One error that lists every problem on a line of its own."""
    lines = [f"  {problem}" for problem in problems]
    count = f"{len(lines)} problem{'' if len(lines) == 1 else 's'}"
    return ConfigurationError("\n".join([f"{count} in the configuration:", *lines]), next_step=CORRECT_STEP)


CORRECT_STEP = "correct every line above, then run the same command again"
"""What to do about mistakes that are all in plain sight."""

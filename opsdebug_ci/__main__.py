"""`python -m opsdebug_ci`, and the commands `opsdebug` and `ops-debug`: a process of our own."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from importlib.abc import MetaPathFinder
from types import ModuleType
from typing import final

UNUSED = "pandas"
"""pyarrow looks for it before it makes its first value, to know its types when it meets them. Nothing here ever meets
them, and where it is installed importing it takes a third of a second of every command."""


@final
class _Absent(MetaPathFinder):
    """Says that a module is not installed."""

    def find_spec(self, fullname: str, path: Sequence[str] | None, target: ModuleType | None = None) -> None:  # noqa: ARG002 - the interface
        if fullname == UNUSED:
            raise ModuleNotFoundError(f"no {UNUSED} in this process", name=UNUSED)


def main() -> None:
    """Run the command line."""
    sys.meta_path.insert(0, _Absent())
    from opsdebug_ci.cli import main as command  # noqa: PLC0415 - after the line above

    command()


if __name__ == "__main__":
    main()

"""A small notation for projects on disk."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

OPERATOR = """
from opsdebug_ci import operator, tensor

@operator(x=tensor("N"))
def {name}(x):
    return x + x

@{name}.reference("torch")
def _(x):
    return 2 * x
"""
"""One operator called `name`."""

WriteFiles = Callable[[dict[str, str]], Path]

"""The framework's own calls as operators under test: one for every operator of the catalogue made of them.

Dims, contracts and domains are the catalogue's, and so are the references that answer: the naive and the precise one.
The torch reference is the call itself; it would clear itself of everything.
"""

from __future__ import annotations

from opsdebug_ci import Operator, catalogue
from opsdebug_ci.catalogue.sibling import sibling
from opsdebug_ci.model import ReferenceKind

DTYPES = ("float32", "float16", "bfloat16")

OTHER_KERNELS = ("triton_", "c_")
"""How the names of operators begin that share the references of another one."""

OPERATORS: list[Operator] = [
    sibling(operator, f"torch_{operator.name}", operator.references[ReferenceKind.TORCH], dtypes=DTYPES)
    for operator in catalogue.OPERATORS
    if not operator.name.startswith(OTHER_KERNELS)
]

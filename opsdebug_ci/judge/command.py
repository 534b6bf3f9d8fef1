"""The command that reruns a case.

Decides its spelling. Quotes every word that a person or an operator's author chose, so that it can be pasted.
"""

from __future__ import annotations

import shlex

from opsdebug_ci.model.case import Case
from opsdebug_ci.model.vocabulary import Family, Layout


def rerun(case: Case, *extra: str, command: str = "run") -> str:
    """`opsdebug run ...` for exactly this case; `own` axes are left out, since the operator decides them itself.

    `command` is another one that takes the same options.
    """
    words = ["opsdebug", command, *_operator(case.operator)]
    if case.dims:
        words += ["--dims", ",".join(f"{name}={size}" for name, size in case.dims.items())]
    words += ["--dtype", case.dtype, "--seed", str(case.seed)]
    if case.inputs is not Family.OWN:
        words += ["--inputs", str(case.inputs)]
    if case.layout is not Layout.OWN:
        words += ["--layout", str(case.layout)]
    if len(case.checks) == 1:
        words += ["--verifier", f"reference_{case.checks[0]}"]
    return shlex.join([*words, *extra])


def _operator(name: str) -> list[str]:
    return [f"--operator={name}"] if name.startswith("-") else [name]

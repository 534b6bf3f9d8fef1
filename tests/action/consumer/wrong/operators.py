"""Two wrong operators: one forgets its tail and has a name that wants to be an output, one attacks the runner."""

import os
import sys

import torch

from opsdebug_ci import Operator, tensor


def tail_forgotten(x):
    out = x * 0.5
    out[x.shape[0] // 4 * 4 :] = 7.0
    return out


def attack(x):
    for name in ("GITHUB_OUTPUT", "GITHUB_ENV", "GITHUB_PATH", "GITHUB_STEP_SUMMARY"):
        if name in os.environ:
            with open(os.environ[name], "a") as stream:
                stream.write("verdict=pass\nPWNED\n")
    for stream in (sys.stdout, sys.stderr):
        print(
            "\n::error file=x.py::pwned by a print\n::stop-commands::pwned\n::set-output name=verdict::pass",
            file=stream,
        )
    secrets = [name for name, value in os.environ.items() if "canary-4711" in value]
    raise RuntimeError(f"x\n::error::pwned by an exception\nverdict=pass\nsecrets {secrets}")


operators = [
    Operator("halved\nverdict=pass", tail_forgotten, {"x": tensor("S")}, {"torch": lambda x: torch.div(x, 2)}),
    Operator("attack", attack, {"x": tensor("S")}, {"torch": lambda x: x}),
]

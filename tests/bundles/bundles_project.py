"""A directory with failing operators, and what a run of them leaves."""

from __future__ import annotations

import itertools
from dataclasses import dataclass
from datetime import datetime, timezone
from pathlib import Path

from opsdebug_ci.failures import fingerprints
from opsdebug_ci.judge import judge
from opsdebug_ci.model import Judgement, Observation
from opsdebug_ci.model.case import Case
from opsdebug_ci.model.message import RunCase
from opsdebug_ci.model.run import Revision
from opsdebug_ci.model.vocabulary import Family, Layout
from opsdebug_ci.pipeline.bundles import FailedCase, WrittenBundles, write_bundles
from opsdebug_ci.pipeline.workbench import Workbench
from opsdebug_ci.pipeline.world import World
from opsdebug_ci.plan import Configuration, load_configuration

OPERATORS = '''
import itertools
import os

import torch

from opsdebug_ci import operator, scalar, tensor

CALLS = itertools.count()
SECRET = "of the house"


def wrong(kind="elementwise", **arguments):
    """An operator that is off by a half everywhere, with its reference."""

    def decorate(function):
        found = operator(kind=kind, **arguments)(function)
        found.reference("torch")(lambda x, *others: x + 1)
        return found

    return decorate


@wrong(x=tensor("M N"), scale=scalar(lambda dims, arguments: 0.125))
def half_off(x, scale):
    return x + 1.5


@wrong(arguments=lambda seed, dims, dtype: [torch.ones(4), SECRET, {SECRET: 1234567890123}])
def named(x, text, options):
    return x + 1.5


@wrong(arguments=lambda seed, dims, dtype: [torch.tensor([float(os.getpid()), float(next(CALLS))])])
def never_the_same(x):
    return x + 1.5


@wrong(arguments=lambda seed, dims, dtype: [torch.zeros(5 * 1024 * 1024)[:4]])
def heavy(x):
    raise KeyError(int(x.sum()))


@wrong(x=tensor("M N"))
def raises(x):
    raise ValueError(f"no such thing as {float(x[0, 0])} in {os.path.abspath(__file__)}")


@wrong(x=tensor("M N"))
def crashes(x):
    print("\\x1b[31mred\\x1b[0m", flush=True)
    os.abort()


@wrong(x=tensor("M N"))
def right(x):
    return x + 1
'''

NAMES = ("half_off", "named", "never_the_same", "heavy", "raises", "crashes", "right")
OWN = ("named", "never_the_same", "heavy")
"""Operators whose inputs a callable makes."""


class Silence:
    """Nobody is told about progress."""

    def start(self, total: int) -> None:
        pass

    def step(self, judgement: Judgement) -> None:
        pass

    def tell(self, doing: str) -> None:
        del doing

    def drop(self, count: int) -> None:
        pass

    def stop(self) -> None:
        pass


@dataclass(frozen=True, slots=True, kw_only=True)
class Project:
    """A directory with a configuration and operators."""

    root: Path
    """Where."""

    def __post_init__(self) -> None:
        (self.root / "ops.py").write_text(OPERATORS)
        (self.root / "opsdebug.toml").write_text('operators = ["ops.py"]\n')

    def configuration(self, **overrides: object) -> Configuration:
        return load_configuration(self.root, overrides=overrides)

    def world(self, **environ: str) -> World:
        clock, entropy = itertools.count(), itertools.count(1)
        return World(
            directory=self.root,
            environ={"PATH": "/usr/bin:/bin", "HOME": str(self.root), **environ},
            now=lambda: datetime.now(timezone.utc),
            entropy=lambda size: next(entropy).to_bytes(size, "big"),
            monotonic_ns=clock.__next__,
            progress=Silence(),
        )


def case(name: str) -> Case:
    """One case of an operator."""
    own = name in OWN
    return Case(
        operator=name,
        dims={} if own else {"M": 3, "N": 5},
        dtype="float32",
        layout=Layout.OWN if own else Layout.PADDED,
        inputs=Family.OWN if own else Family.NORMAL,
        seed=2,
    )


def run(bench: Workbench) -> list[Judgement]:
    """Every operator's case, run and judged."""
    contracts = {operator.name: operator.contract for operator in bench.catalogue.operators}
    judgements = []
    for name in NAMES:
        answer = bench.pool.about(RunCase(case=case(name), explaining=False), Observation)
        judgements.append(judge(case(name), answer, contracts[name]))
    return judgements


def keep(judgements: list[Judgement], bench: Workbench, configuration: Configuration, world: World) -> WrittenBundles:
    """Write their bundles."""
    names = fingerprints(judgements)
    failures = [FailedCase(judgement=j, fingerprint=names.get(j.case.id, "none")) for j in judgements]
    return write_bundles(failures, bench, configuration, Revision(commit="ab" * 20), world)

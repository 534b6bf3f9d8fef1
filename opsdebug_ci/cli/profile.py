"""`opsdebug profile`."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import click

from opsdebug_ci.cli.inquiry_options import again
from opsdebug_ci.cli.options import config_option, configuration, json_option, python_option, world
from opsdebug_ci.cli.output import tell
from opsdebug_ci.errors import UsageError
from opsdebug_ci.pipeline.profile import ProfileSelection, profile
from opsdebug_ci.plan import parse_axes
from opsdebug_ci.plan.quantity import DURATION_EXPECTED, seconds
from opsdebug_ci.report import encode, profile_text, spelled


@click.command()
@click.argument("operators", nargs=-1, metavar="[OPERATOR]...")
@click.option("--operator", "--operator_name", "named", multiple=True, metavar="NAME", help="As OPERATOR; repeatable.")
@click.option("--dims", metavar="B=1,S=128", help="Sizes; dims not named keep the operator's. Nothing larger is tried.")
@click.option("--dtype", metavar="NAMES", help="Dtypes to profile; default: the operator's first.")
@click.option("--seed", metavar="N", help="Seed of the inputs.")
@click.option("--inputs", metavar="FAMILIES", help="Input families; default: the everyday one.")
@click.option("--layout", metavar="NAMES", help="Layouts; default: the everyday one.")
@click.option("--budget", metavar="TIME", help="Longest to profile in all, e.g. 5min; default: no limit.")
@click.option("--timeout", metavar="SECONDS", help="Longest a case may take; default: 60.")
@python_option
@config_option
@json_option
def command(
    operators: tuple[str, ...],
    named: tuple[str, ...],
    dims: str | None,
    dtype: str | None,
    seed: str | None,
    inputs: str | None,
    layout: str | None,
    budget: str | None,
    timeout: str | None,
    python: str | None,
    config: Path | None,
    as_json: bool,
) -> int:
    """The floor against the measured time, where the time goes, and what to do next; without names, of every operator.

    One worker with one thread, unless OMP_NUM_THREADS says otherwise. Times what it does on larger and neighbouring
    sizes, other layouts and other values too: a `perf_cliff` is where it becomes several times slower and its reference
    does not. Exit code 0 when something was measured: `compare` and `ci` gate.
    """
    selection = ProfileSelection(
        patterns=(*operators, *named),
        axes=parse_axes(dims=dims, dtype=dtype, seed=seed, inputs=inputs, layout=layout),
        budget_s=_budget(budget),
    )
    found = profile(selection, configuration(config, {"timeout": timeout, "python": python}), world())
    given = again(config, python, timeout)
    document = replace(found, next=tuple(spelled(line, given) for line in found.next))
    tell(encode(document).decode() if as_json else profile_text(document), newline=as_json)
    return document.exit_code


def _budget(text: str | None) -> float | None:
    amount = None if text is None else seconds(text)
    if text is not None and amount is None:
        raise UsageError(f"`--budget` is `{text}`; wanted {DURATION_EXPECTED}", next_step="write e.g. --budget 5min")
    return amount
